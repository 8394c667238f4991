//! What TKIP, CCMP and GCMP have in common: a 48-bit packet number in an eight-byte header, a key
//! identifier, and halves that count.

use crate::replay::{Lane, ReplayCounters};
use slyfi_base::{Exhausted, LinkCipher, OpenHalf, Opened, Overhead, SealHalf, Undecryptable};
use slyfi_wire::ieee80211::MacHeader;

/// A 48-bit packet number (PN; TKIP calls it TSC).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct PacketNumber(u64);

impl PacketNumber {
    /// The highest number; a key that reached it is spent.
    pub const MAX: PacketNumber = PacketNumber((1 << 48) - 1);

    /// Returns the number, or `None` for more than 48 bits.
    pub const fn new(n: u64) -> Option<Self> {
        if n <= Self::MAX.0 { Some(PacketNumber(n)) } else { None }
    }

    /// Returns the value.
    pub const fn get(self) -> u64 {
        self.0
    }

    /// Returns the six octets, PN5 first: as nonces have it.
    pub const fn to_be_bytes(self) -> [u8; 6] {
        let [_, _, a, b, c, d, e, f] = self.0.to_be_bytes();
        [a, b, c, d, e, f]
    }

    /// Returns the number of six octets, PN0 first.
    pub const fn from_le_bytes(b: [u8; 6]) -> Self {
        let [a, b, c, d, e, f] = b;
        PacketNumber(u64::from_le_bytes([a, b, c, d, e, f, 0, 0]))
    }

    /// Returns the next number, or `None` after the last.
    pub const fn next(self) -> Option<Self> {
        Self::new(self.0 + 1)
    }
}

/// A key identifier, 0 to 3: the two top bits of the fourth octet (IEEE 802.11-2020 §12.5.2.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct KeyId(u8);

impl KeyId {
    /// The identifier of a pairwise key, unless the two sides agreed on extended identifiers.
    pub const PAIRWISE: KeyId = KeyId(0);

    /// Returns the identifier, or `None` above 3.
    pub const fn new(id: u8) -> Option<Self> {
        if id < 4 { Some(KeyId(id)) } else { None }
    }

    /// Returns the value, 0 to 3.
    pub const fn get(self) -> u8 {
        self.0
    }

    /// Returns the identifier in the key identifier octet.
    pub const fn of_octet(octet: u8) -> Self {
        KeyId(octet >> 6)
    }

    /// Returns the octet, all other bits zero.
    pub const fn octet(self) -> u8 {
        self.0 << 6
    }
}

/// The Ext IV bit of the key identifier octet: an eight-byte header, so TKIP, CCMP or GCMP.
pub const EXT_IV: u8 = 0x20;

/// Bytes of the header of CCMP and GCMP (and, ordered otherwise, of TKIP).
pub const HEADER_LEN: usize = 8;

/// Returns the CCMP header of §12.5.3.2: `PN0 PN1 0 key-id PN2 PN3 PN4 PN5`.
pub(crate) const fn emit_header(number: PacketNumber, key_id: KeyId) -> [u8; HEADER_LEN] {
    let [p5, p4, p3, p2, p1, p0] = number.to_be_bytes();
    [p0, p1, 0, EXT_IV | key_id.octet(), p2, p3, p4, p5]
}

/// Reads the CCMP or GCMP header at the front of a body; `None` without Ext IV or when short.
pub fn parse_header(body: &[u8]) -> Option<(PacketNumber, KeyId)> {
    let [p0, p1, _, octet, p2, p3, p4, p5] = *body.first_chunk::<HEADER_LEN>()?;
    (octet & EXT_IV != 0)
        .then_some((PacketNumber::from_le_bytes([p0, p1, p2, p3, p4, p5]), KeyId::of_octet(octet)))
}

/// A frame that verified, and under which number.
#[derive(Debug, PartialEq, Eq)]
#[must_use]
pub struct PacketOpened {
    /// Where the payload lies.
    pub opened: Opened,
    /// The number.
    pub number: PacketNumber,
    /// The key identifier the frame named.
    pub key_id: KeyId,
}

/// A temporal key that seals at a given number and opens whatever verifies: no counters.
pub trait PacketKey: Clone {
    /// Room around the payload.
    const OVERHEAD: Overhead;

    /// Seals the payload at `buf[headroom..headroom + len]`; returns the sealed length.
    ///
    /// `None` when `header` is no data or management header, or `buf` is too short; `buf` is
    /// unchanged then.
    ///
    /// # Security
    /// A number must never be used twice with one key and transmitter.
    fn seal_at(
        &self,
        number: PacketNumber,
        key_id: KeyId,
        header: &[u8],
        buf: &mut [u8],
        len: usize,
    ) -> Option<usize>;

    /// Opens `buf` in place, whatever its number and key identifier.
    ///
    /// # Errors
    /// [`Undecryptable`]; the contents of `buf` are undefined then.
    fn open_any(&self, header: &[u8], buf: &mut [u8]) -> Result<PacketOpened, Undecryptable>;
}

/// A [`PacketKey`] as a link cipher: both directions share the key, as 802.11's temporal keys do (the
/// transmitter's address keeps their nonces apart).
#[derive(Clone, Debug)]
pub struct PacketCipher<K> {
    key: K,
    key_id: KeyId,
    last_sent: PacketNumber,
    received: ReplayCounters,
}

impl<K: PacketKey> PacketCipher<K> {
    /// A fresh key: numbers begin at 1.
    pub fn new(key: K, key_id: KeyId) -> Self {
        Self::resumed(key, key_id, PacketNumber::default(), ReplayCounters::default())
    }

    /// A key that was in use: the last number sent and the counters of what was received.
    pub const fn resumed(
        key: K,
        key_id: KeyId,
        last_sent: PacketNumber,
        received: ReplayCounters,
    ) -> Self {
        PacketCipher { key, key_id, last_sent, received }
    }
}

impl<K: PacketKey> LinkCipher for PacketCipher<K> {
    const OVERHEAD: Overhead = K::OVERHEAD;
    type Seal = PacketSeal<K>;
    type Open = PacketOpen<K>;

    fn split(self) -> (PacketSeal<K>, PacketOpen<K>) {
        let PacketCipher { key, key_id, last_sent, received } = self;
        (
            PacketSeal { key: key.clone(), key_id, last: last_sent },
            PacketOpen { key, key_id, received },
        )
    }
}

/// The sending half: each frame takes the next number.
#[derive(Clone, Debug)]
pub struct PacketSeal<K> {
    key: K,
    key_id: KeyId,
    last: PacketNumber,
}

impl<K> PacketSeal<K> {
    /// Returns the number of the last frame sealed.
    pub const fn last_number(&self) -> PacketNumber {
        self.last
    }
}

impl<K: PacketKey> SealHalf for PacketSeal<K> {
    /// Also [`Exhausted`], and no number is spent, when `header` is not a data or management header
    /// or `buf` has no room: nothing can be sent either way.
    fn seal(&mut self, header: &[u8], buf: &mut [u8], len: usize) -> Result<usize, Exhausted> {
        let number = self.last.next().ok_or(Exhausted)?;
        let sealed = self.key.seal_at(number, self.key_id, header, buf, len).ok_or(Exhausted)?;
        self.last = number;
        Ok(sealed)
    }
}

/// The receiving half: refuses replays, other key identifiers, and fragments.
///
/// A fragment is not a whole payload, and mixing fragments of different frames is an attack of its
/// own; reassembly is not here, so fragments are refused.
#[derive(Clone, Debug)]
pub struct PacketOpen<K> {
    key: K,
    key_id: KeyId,
    received: ReplayCounters,
}

impl<K: PacketKey> OpenHalf for PacketOpen<K> {
    fn open(&mut self, header: &[u8], buf: &mut [u8]) -> Result<Opened, Undecryptable> {
        let mac = protected_whole(header)?;
        let lane = Lane::of(&mac);
        let packet = self.key.open_any(header, buf)?;
        if packet.key_id != self.key_id || !self.received.is_new(lane, packet.number) {
            return Err(Undecryptable);
        }
        self.received.accept(lane, packet.number);
        Ok(packet.opened)
    }
}

/// Returns the header of a frame that says it is protected and is no fragment.
pub(crate) fn protected_whole(header: &[u8]) -> Result<MacHeader<'_>, Undecryptable> {
    let mac = MacHeader::new_checked(header).map_err(|_| Undecryptable)?;
    let fc = mac.frame_control();
    let fragment = fc.has_more_fragments() || mac.sequence().is_none_or(|s| s.fragment() != 0);
    if fc.is_protected() && !fragment { Ok(mac) } else { Err(Undecryptable) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_header_keeps_number_and_key_identifier_in_their_places() {
        let number = PacketNumber::new(0xb503_9776_e70c).unwrap();
        for id in 0..4 {
            let key_id = KeyId::new(id).unwrap();
            let header = emit_header(number, key_id);
            assert_eq!(header, [0x0c, 0xe7, 0, 0x20 | id << 6, 0x76, 0x97, 0x03, 0xb5]);
            assert_eq!(parse_header(&header), Some((number, key_id)));
        }
        assert_eq!(KeyId::new(4), None);
        assert_eq!(parse_header(&[0; 8]), None, "no Ext IV");
        assert_eq!(parse_header(&[0xff; 7]), None);
    }

    #[test]
    fn numbers_end_at_48_bits() {
        assert_eq!(PacketNumber::new(1 << 48), None);
        assert_eq!(PacketNumber::MAX.next(), None);
        assert_eq!(PacketNumber::default().next(), PacketNumber::new(1));
    }
}
