//! The anonymous carrier: the one constant 802.11 header around every Tryst and Shroud packet.
//!
//! # Layout
//! | offset | bytes | field | value |
//! |-------:|------:|-------|-------|
//! | 0  | 2 | frame control | management, subtype Action (IEEE 802.11-2020 §9.2.4.1.3), no flags |
//! | 2  | 2 | duration | 0: nothing follows a group frame (§9.2.5) |
//! | 4  | 6 | address 1 | broadcast |
//! | 10 | 6 | address 2 | [`ADDRESS_OF_ALL`] |
//! | 16 | 6 | address 3 | [`ADDRESS_OF_ALL`] |
//! | 22 | 2 | sequence control | 0 |
//! | 24 | 1 | category | 127, vendor specific (§9.4.1.11) |
//! | 25 | 3 | organisation | [`ORGANISATION`] |
//! | 28 | 16 | | the SlyFi address, at this place in every frame (slyfi-2008 §3.4) |
//!
//! # Why these values
//! * slyfi-2008 §4.3 asks for an "anonymous" header with constant fields and addresses; §3.5 for
//!   management frames that normal devices ignore. A vendor-specific Action frame to the broadcast
//!   address under a foreign BSSID is that: nobody answers it, and nobody returns it as
//!   unknown (group-addressed Action frames are not returned).
//! * Action, not Action No Ack: address 1 is a group address, so nobody acknowledges either, and the
//!   older subtype is the one that every card and driver passes.
//! * Nothing here can be configured, per network or otherwise: a value that differs between two
//!   networks tells them apart in every frame.
//! * 802.11 fragmentation is never used (drivers stall on it); longer messages are cut above.
//!
//! # Security
//! That a frame has this header tells everyone "this is SlyFi". The header hides *which* SlyFi
//! device; it does not hide the protocol.

/// The carrier's generation: the last octet of [`ADDRESS_OF_ALL`]. A change of anything in
/// [`HEADER`] is a new version for everyone at once.
pub const VERSION: u8 = 1;

/// Three octets where an organisation's identifier stands.
///
/// The low nibble of the first octet is 2: locally administered, so no OUI (whose X bit is 0), and
/// not of the form that company identifiers have (low nibble `A`). No registered owner can exist
/// (IEEE Std 802-2014 §8.2.2, IEEE Std 802c-2017).
pub const ORGANISATION: [u8; 3] = [0x02, b'S', b'L'];

/// The transmitter and BSSID of every SlyFi frame: locally administered, administratively assigned
/// (IEEE Std 802c-2017), the same for all.
pub const ADDRESS_OF_ALL: [u8; 6] = [0x02, b'S', b'L', b'Y', b'F', VERSION];

/// Bytes of the carrier before the SlyFi address.
pub const HEADER_LEN: usize = 28;

/// The carrier, every byte of it.
pub const HEADER: [u8; HEADER_LEN] = {
    let a = ADDRESS_OF_ALL;
    let o = ORGANISATION;
    [
        0xd0, 0x00, 0x00, 0x00, // frame control, duration
        0xff, 0xff, 0xff, 0xff, 0xff, 0xff, // address 1
        a[0], a[1], a[2], a[3], a[4], a[5], // address 2
        a[0], a[1], a[2], a[3], a[4], a[5], // address 3
        0x00, 0x00, // sequence control
        127, o[0], o[1], o[2], // vendor-specific Action
    ]
};

/// Bytes of a SlyFi address (slyfi-2008 §3.3, §3.4: one AES block).
pub const ADDRESS_LEN: usize = 16;

/// The shortest body: an address and a tag around nothing ("even if p is null", slyfi-2008 §3.4).
pub const MIN_BODY: usize = ADDRESS_LEN + 16;

/// The longest body: an MMPDU carries at most 2304 bytes after its MAC header
/// (IEEE 802.11-2020 clause 9, maximum data unit sizes), four of which are the carrier's. A card may take less.
pub const MAX_BODY: usize = 2304 - 4;

/// The shortest SlyFi frame, in bytes without frame check sequence.
pub const MIN_FRAME: usize = HEADER_LEN + MIN_BODY;

/// The longest SlyFi frame, in bytes without frame check sequence.
pub const MAX_FRAME: usize = HEADER_LEN + MAX_BODY;

/// Frame control bits that cards are known to set on their own: retry, power management, more data.
/// With the duration and the sequence control these are all that a card may rewrite without making
/// the frame another one.
const CARD_FLAGS: u8 = 0x08 | 0x10 | 0x20;

/// Why bytes are no frame of the carrier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CarrierError {
    /// Some other frame.
    NotCarrier,
    /// The sending card rewrote a byte that must be constant. Only [`verify_constant`] says this;
    /// receivers accept such a frame and report it.
    Rewritten {
        /// Offset of the first rewritten byte.
        offset: u8,
    },
    /// A carrier, but its body is shorter than [`MIN_BODY`] or longer than [`MAX_BODY`].
    BadLength,
}

/// A frame of the carrier, as received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CarrierView {
    /// Where the body begins: [`HEADER_LEN`].
    pub body_offset: usize,
    /// Offset of the first byte that the sending card rewrote.
    ///
    /// # Security
    /// A sequence number counted by the card links its owner's frames. A sender has to see this on
    /// its own frames (from a second radio) and stop; a receiver opens the frame all the same,
    /// because dropping it would help nobody.
    pub rewritten: Option<u8>,
}

/// Looks at a received frame (frame check sequence removed).
///
/// # Errors
/// [`CarrierError::NotCarrier`] or [`CarrierError::BadLength`].
pub fn view(frame: &[u8]) -> Result<CarrierView, CarrierError> {
    let (header, body) = frame.split_first_chunk().ok_or(CarrierError::NotCarrier)?;
    if !is_header(header) {
        return Err(CarrierError::NotCarrier);
    }
    if !(MIN_BODY..=MAX_BODY).contains(&body.len()) {
        return Err(CarrierError::BadLength);
    }
    let rewritten = if *header == HEADER {
        None
    } else {
        // The position is below 28.
        header.iter().zip(HEADER).position(|(a, b)| *a != b).map(|at| at as u8)
    };
    Ok(CarrierView { body_offset: HEADER_LEN, rewritten })
}

/// Whether these are the carrier's bytes, leaving out those that a card may have rewritten.
fn is_header(h: &[u8; HEADER_LEN]) -> bool {
    h[0] == HEADER[0]
        && h[1] & !CARD_FLAGS == HEADER[1]
        && h[4..22] == HEADER[4..22]
        && h[24..] == HEADER[24..]
}

/// Returns the body of a frame: the address and all that follows it.
///
/// # Errors
/// As [`view`]. Rewritten bytes are no error.
pub fn body(frame: &[u8]) -> Result<&[u8], CarrierError> {
    let at = view(frame)?.body_offset;
    frame.get(at..).ok_or(CarrierError::BadLength)
}

/// Returns the body of a frame for opening it in place.
///
/// # Errors
/// As [`body`].
pub fn body_mut(frame: &mut [u8]) -> Result<&mut [u8], CarrierError> {
    let at = view(frame)?.body_offset;
    frame.get_mut(at..).ok_or(CarrierError::BadLength)
}

/// Returns the SlyFi address of a frame, or `None` if it is none.
///
/// This is all that is done for a foreign frame before the table lookup.
#[inline]
pub fn address(frame: &[u8]) -> Option<&[u8; ADDRESS_LEN]> {
    let (header, body) = frame.split_first_chunk()?;
    if !is_header(header) || !(MIN_BODY..=MAX_BODY).contains(&body.len()) {
        return None;
    }
    body.first_chunk()
}

/// Writes the carrier to the front of `frame` and returns the rest, for the body.
///
/// # Errors
/// [`crate::NoSpace`] when there is not even room for the header.
pub fn emit(frame: &mut [u8]) -> Result<&mut [u8], crate::NoSpace> {
    match frame.split_first_chunk_mut() {
        Some((header, body)) => {
            *header = HEADER;
            Ok(body)
        }
        None => Err(crate::NoSpace { needed: HEADER_LEN }),
    }
}

/// Verifies that a captured SlyFi frame has every constant byte: the test of a sending card.
///
/// # Errors
/// [`CarrierError::Rewritten`] names the first byte that the card changed; the others as [`view`].
pub fn verify_constant(frame: &[u8]) -> Result<(), CarrierError> {
    match view(frame)?.rewritten {
        Some(offset) => Err(CarrierError::Rewritten { offset }),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether a card may rewrite the byte at `offset`: flags, duration, sequence control.
    fn is_cards(offset: usize) -> bool {
        matches!(offset, 1..=3 | 22..=23)
    }

    fn frame() -> [u8; MIN_FRAME + 9] {
        let mut f = [0xa5; MIN_FRAME + 9];
        emit(&mut f).unwrap();
        f
    }

    #[test]
    fn every_frame_has_its_address_at_the_same_place() {
        let f = frame();
        assert_eq!(address(&f), Some(&[0xa5; 16]));
        assert_eq!(body(&f).unwrap().len(), f.len() - HEADER_LEN);
        assert_eq!(view(&f), Ok(CarrierView { body_offset: 28, rewritten: None }));
        assert_eq!(verify_constant(&f), Ok(()));
    }

    #[test]
    fn every_bit_of_the_header_is_either_essential_or_reported_as_rewritten() {
        for byte in 0..HEADER_LEN {
            for bit in 0..8 {
                let mut f = frame();
                f[byte] ^= 1 << bit;
                let tolerated = is_cards(byte) && (byte != 1 || CARD_FLAGS & (1 << bit) != 0);
                if tolerated {
                    let offset = byte as u8;
                    assert_eq!(view(&f).unwrap().rewritten, Some(offset));
                    assert_eq!(verify_constant(&f), Err(CarrierError::Rewritten { offset }));
                    assert!(address(&f).is_some());
                    assert!(body_mut(&mut f).is_ok());
                } else {
                    assert_eq!(view(&f), Err(CarrierError::NotCarrier));
                    assert_eq!(address(&f), None);
                    assert!(body_mut(&mut f).is_err());
                }
            }
        }
    }

    #[test]
    fn lengths_outside_the_bounds_are_refused() {
        let mut big = [0u8; MAX_FRAME + 1];
        emit(&mut big).unwrap();
        for len in 0..big.len() {
            let r = view(&big[..len]);
            let f = &big[..len];
            if len < HEADER_LEN {
                assert_eq!(r, Err(CarrierError::NotCarrier));
            } else if len < MIN_FRAME {
                assert_eq!(r, Err(CarrierError::BadLength));
            } else {
                assert!(r.is_ok());
            }
            assert_eq!(address(f).is_some(), r.is_ok());
        }
        assert_eq!(view(&big), Err(CarrierError::BadLength));
        assert_eq!(address(&big), None);
    }

    #[test]
    fn the_addresses_are_local_and_the_organisation_cannot_be_registered() {
        assert_eq!(
            ADDRESS_OF_ALL[0] & 0x0f,
            0b0010,
            "local, individual, administratively assigned"
        );
        assert_eq!(ORGANISATION[0] & 0x02, 0x02, "not an OUI");
        assert_ne!(ORGANISATION[0] & 0x0f, 0x0a, "not a company identifier");
    }

    #[test]
    fn a_header_needs_its_room() {
        assert_eq!(emit(&mut [0; HEADER_LEN - 1]), Err(crate::NoSpace { needed: HEADER_LEN }));
        assert_eq!(emit(&mut [0; HEADER_LEN]).unwrap().len(), 0);
    }
}
