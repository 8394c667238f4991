//! What stands in key data (IEEE 802.11-2020 §12.7.2, Table 12-9): elements, and key data
//! encapsulations that look like vendor elements.

use super::KeyBytes;
use slyfi_wire::element::{Elements, VENDOR};

/// One item of key data that matters for keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kde<'a> {
    /// A group key.
    Gtk {
        /// Its identifier, 1 to 3.
        key_id: u8,
        /// The key.
        key: KeyBytes,
    },
    /// An integrity group key.
    Igtk {
        /// Its identifier, 4 or 5.
        key_id: u16,
        /// The key.
        key: KeyBytes,
    },
    /// The key identifier of the pairwise key, when extended identifiers are in use.
    KeyId(u8),
    /// The PMK's name.
    Pmkid([u8; 16]),
    /// An ordinary element.
    Element {
        /// Which.
        id: u8,
        /// Its contents.
        data: &'a [u8],
    },
}

/// The longest key data that a handshake here sends: an element of at most 128 bytes and a group key.
pub(crate) const MAX_KEY_DATA: usize = 256;

/// Writes a group key encapsulation (Figure 12-35); returns its length, `None` if it does not fit.
pub(crate) fn emit_gtk(key_id: u8, key: &[u8], out: &mut [u8]) -> Option<usize> {
    let len = key.len() + 8;
    let (head, rest) = out.get_mut(..len)?.split_at_mut(8);
    // The length counts organisation, type, and the two octets before the key; Tx is for pairwise
    // keys only.
    head.copy_from_slice(&[VENDOR, u8::try_from(len - 2).ok()?, 0x00, 0x0f, 0xac, 1, key_id, 0]);
    rest.copy_from_slice(key);
    Some(len)
}

/// Iterates over key data; padding and damage end it, unknown encapsulations are skipped.
pub fn kdes(data: &[u8]) -> impl Iterator<Item = Kde<'_>> {
    Elements::new(data)
        .map_while(Result::ok)
        // Padding is 0xdd followed by zeros (§12.7.2), which reads as empty vendor elements.
        .take_while(|e| !(e.id == VENDOR && e.data.is_empty()))
        .filter_map(|e| match e.data {
            [0x00, 0x0f, 0xac, kind, data @ ..] if e.id == VENDOR => encapsulated(*kind, data),
            _ => Some(Kde::Element { id: e.id, data: e.data }),
        })
}

fn encapsulated(kind: u8, data: &[u8]) -> Option<Kde<'_>> {
    match kind {
        1 => {
            let (head, key) = data.split_at_checked(2)?;
            Some(Kde::Gtk { key_id: head.first()? & 3, key: KeyBytes::new(key)? })
        }
        4 => Some(Kde::Pmkid(data.try_into().ok()?)),
        9 => {
            let (head, key) = data.split_at_checked(8)?;
            let [low, high, ..] = *head else { return None };
            Some(Kde::Igtk { key_id: u16::from_le_bytes([low, high]), key: KeyBytes::new(key)? })
        }
        10 => Some(Kde::KeyId(data.first()? & 3)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_found_between_elements_and_padding_ends_the_list() {
        let data = [
            48, 2, 1, 0, 0xdd, 7, 0, 0x0f, 0xac, 1, 0x06, 0, 0xaa, 0xdd, 5, 0, 0x0f, 0xac, 10,
            0xc1, 0xdd, 0, 0xdd, 5, 0, 0x0f, 0xac, 10, 2,
        ];
        let mut items = kdes(&data);
        assert_eq!(items.next(), Some(Kde::Element { id: 48, data: &[1, 0] }));
        let key = KeyBytes::new(&[0xaa]).unwrap();
        assert_eq!(items.next(), Some(Kde::Gtk { key_id: 2, key }));
        assert_eq!(items.next(), Some(Kde::KeyId(1)));
        assert_eq!(items.next(), None);
    }

    #[test]
    fn a_group_key_is_read_as_it_was_written() {
        let mut out = [0; 64];
        let len = emit_gtk(3, &[7; 32], &mut out).unwrap();
        let key = KeyBytes::new(&[7; 32]).unwrap();
        assert!(kdes(&out[..len]).eq([Kde::Gtk { key_id: 3, key }]));
        assert_eq!(emit_gtk(3, &[7; 32], &mut out[..39]), None);
    }

    #[test]
    fn encapsulations_too_short_or_too_long_for_a_key_are_skipped() {
        assert_eq!(kdes(&[0xdd, 5, 0, 0x0f, 0xac, 1, 1]).count(), 0);
        assert_eq!(kdes(&[0xdd, 5, 0, 0x0f, 0xac, 9, 1]).count(), 0);
        assert_eq!(kdes(&[0xdd, 9, 0, 0x0f]).count(), 0);
    }
}
