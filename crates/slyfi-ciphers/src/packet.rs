//! What TKIP, CCMP and GCMP have in common: a 48-bit packet number in an eight-byte header, a key
//! identifier, and halves that count.

use crate::aad::Aad;
use crate::replay::{Lane, ReplayCounters};
use arrayvec::ArrayVec;
use slyfi_base::{
    Exhausted, LinkCipher, OpenFrame, OpenHalf, Opened, Overhead, SealFrame, SealHalf,
    Undecryptable,
};
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

    /// Returns whether [`PacketKey::seal_at`] would seal a payload of `len` bytes in `room` bytes.
    fn seals(header: &[u8], room: usize, len: usize) -> bool {
        let total = len.checked_add(Self::OVERHEAD.headroom + Self::OVERHEAD.tailroom);
        let header = MacHeader::new_checked(header).ok();
        total.is_some_and(|total| total <= room) && header.is_some_and(|h| Aad::new(&h).is_some())
    }

    /// Seals every frame as [`PacketKey::seal_at`] would, side by side where that is faster.
    fn seal_side_by_side(frames: &mut Frames<PacketSealFrame<'_, Self>>) {
        for f in frames {
            f.sealed = f.key.seal_at(f.number, f.key_id, f.header, f.buf, f.len);
        }
    }

    /// Opens every frame as [`PacketKey::open_any`] would, side by side where that is faster.
    fn open_side_by_side(frames: &mut Frames<PacketOpenFrame<'_, Self>>) {
        for f in frames {
            f.opened = f.key.open_any(f.header, f.buf);
        }
    }
}

/// How many frames go through the AES unit side by side: the lanes of `slyfi-aes`.
pub const SIDE_BY_SIDE: usize = 16;

/// Frames that are worked on side by side.
pub type Frames<F> = ArrayVec<F, SIDE_BY_SIDE>;

/// One frame to seal under its own key and number; see [`PacketKey::seal_at`].
#[derive(Debug)]
pub struct PacketSealFrame<'a, K> {
    /// The key.
    pub key: &'a K,
    /// The number, never used before with this key and transmitter.
    pub number: PacketNumber,
    /// The key identifier that the frame names.
    pub key_id: KeyId,
    /// The 802.11 header.
    pub header: &'a [u8],
    /// Room, and the payload in its place.
    pub buf: &'a mut [u8],
    /// The payload's length in bytes.
    pub len: usize,
    /// Out: the sealed length.
    pub sealed: Option<usize>,
}

/// One frame to open under its own key; see [`PacketKey::open_any`].
#[derive(Debug)]
pub struct PacketOpenFrame<'a, K> {
    /// The key.
    pub key: &'a K,
    /// The 802.11 header.
    pub header: &'a [u8],
    /// The sealed body.
    pub buf: &'a mut [u8],
    /// Out: the frame's number and where its payload lies.
    pub opened: Result<PacketOpened, Undecryptable>,
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

    fn seal_batch(links: &mut [&mut Self], frames: &mut [SealFrame<'_>]) {
        for frames in frames.chunks_mut(SIDE_BY_SIDE) {
            // The numbers first: they are all that changes in the halves.
            let mut numbers = Frames::<PacketNumber>::new();
            for frame in &mut *frames {
                let number = links.get_mut(frame.link).and_then(|half| half.take_number(frame));
                frame.sealed = number.map(|_| 0).ok_or(Exhausted);
                numbers.extend(number);
            }
            let mut numbers = numbers.into_iter();
            let (mut jobs, mut results) = (Frames::new(), Frames::new());
            for frame in frames.iter_mut().filter(|frame| frame.sealed.is_ok()) {
                let (Some(half), Some(number)) = (links.get(frame.link), numbers.next()) else {
                    break;
                };
                let SealFrame { header, ref mut buf, len, ref mut sealed, .. } = *frame;
                let (key, key_id) = (&half.key, half.key_id);
                jobs.push(PacketSealFrame { key, number, key_id, header, buf, len, sealed: None });
                results.push(sealed);
            }
            K::seal_side_by_side(&mut jobs);
            for (job, result) in jobs.into_iter().zip(results) {
                *result = job.sealed.ok_or(Exhausted);
            }
        }
    }
}

impl<K: PacketKey> PacketSeal<K> {
    /// Spends the next number on a frame, if the frame can be sealed.
    fn take_number(&mut self, frame: &SealFrame<'_>) -> Option<PacketNumber> {
        if !K::seals(frame.header, frame.buf.len(), frame.len) {
            return None;
        }
        self.last = self.last.next()?;
        Some(self.last)
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
        self.accept(lane, packet)
    }

    fn open_batch(links: &mut [&mut Self], frames: &mut [OpenFrame<'_>]) {
        for frames in frames.chunks_mut(SIDE_BY_SIDE) {
            let (mut jobs, mut results) = (Frames::new(), Frames::new());
            for frame in frames {
                frame.opened = Err(Undecryptable);
                let (Some(half), Ok(mac)) = (links.get(frame.link), protected_whole(frame.header))
                else {
                    continue;
                };
                let OpenFrame { link, header, ref mut buf, ref mut opened } = *frame;
                jobs.push(PacketOpenFrame {
                    key: &half.key,
                    header,
                    buf,
                    opened: Err(Undecryptable),
                });
                results.push((link, Lane::of(&mac), opened));
            }
            K::open_side_by_side(&mut jobs);
            // The replay counters last, in the order of the frames, as if each had come alone.
            let packets: Frames<_> = jobs.into_iter().map(|job| job.opened).collect();
            for (packet, (link, lane, opened)) in packets.into_iter().zip(results) {
                if let (Ok(packet), Some(half)) = (packet, links.get_mut(link)) {
                    *opened = half.accept(lane, packet);
                }
            }
        }
    }
}

impl<K> PacketOpen<K> {
    /// Delivers a frame that verified, unless it has another key identifier or is a replay.
    fn accept(&mut self, lane: Lane, packet: PacketOpened) -> Result<Opened, Undecryptable> {
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
