//! The sending half.

use super::stream::Stream;
use super::{BaseKeys, Direction, Parameters, Position, Ssc};
use crate::danger::wep::{HEADER_LEN, ICV_LEN, seal_stream};
use slyfi_base::{Exhausted, SealHalf, UnixTime};
use slyfi_wire::ieee80211::MacHeader;

/// Seals packet after packet from one keystream that never goes back.
///
/// A retransmission is the same bytes again, kept by the host. When a packet was not acknowledged and
/// is given up, the host calls [`SbkhSeal::resynchronise`]: the receiver may or may not have moved on,
/// and the next packet must be readable either way.
#[derive(Clone, Debug)]
pub struct SbkhSeal {
    keys: BaseKeys,
    parameters: Parameters,
    direction: Direction,
    stream: Stream,
    due: u32,
    reserved: Position,
}

impl SbkhSeal {
    /// A first start: no packet was ever sealed under these keys.
    pub fn new(keys: BaseKeys, parameters: Parameters, direction: Direction) -> Self {
        let stream = Stream::begin(&keys, parameters, direction, Position::default());
        SbkhSeal { keys, parameters, direction, stream, due: 0, reserved: Position::MAX }
    }

    /// A restart at `now`, when positions up to `reserved` may have been used: it begins behind them.
    ///
    /// Nothing can be sealed before the host has stored a later position and said so with
    /// [`SbkhSeal::reserve`]. `None` when the base key has no epoch left; the next hop has.
    pub fn resumed(
        keys: BaseKeys,
        parameters: Parameters,
        direction: Direction,
        reserved: Position,
        now: UnixTime,
    ) -> Option<Self> {
        let due = keys.hop_at(now).max(reserved.hop);
        let at = if due > reserved.hop {
            Position { hop: due, epoch: 0 }
        } else if reserved.epoch < Ssc::LAST {
            Position { hop: due, epoch: reserved.epoch + 1 }
        } else {
            return None;
        };
        let stream = Stream::begin(&keys, parameters, direction, at);
        Some(SbkhSeal { keys, parameters, direction, stream, due, reserved })
    }

    /// Allows every epoch up to `position`, which the host has stored durably.
    pub fn reserve(&mut self, position: Position) {
        self.reserved = position.max(self.reserved);
    }

    /// Returns where it stands.
    pub const fn position(&self) -> Position {
        self.stream.position()
    }

    /// Returns the SSC of the next packet, unless the epoch or the base key ends before it.
    pub const fn next_ssc(&self) -> Ssc {
        self.stream.next
    }

    /// Tells the time: the next packet takes the base key that is due. Hops never go back.
    pub fn advance_to(&mut self, now: UnixTime) {
        self.due = self.keys.hop_at(now).max(self.due);
    }

    /// Goes to the next epoch, S-Offset bytes behind the start of this one, so that a receiver that
    /// knows the base key can follow whatever it missed. Does nothing when this epoch is untouched.
    ///
    /// # Errors
    /// [`Exhausted`] when the base key has no epoch left: only the next hop helps.
    pub fn resynchronise(&mut self) -> Result<(), Exhausted> {
        if !self.stream.is_used() || self.due > self.stream.hop {
            return Ok(());
        }
        self.next_epoch()
    }

    fn next_epoch(&mut self) -> Result<(), Exhausted> {
        let epoch = self.stream.next.epoch;
        if epoch >= Ssc::LAST {
            return Err(Exhausted);
        }
        self.stream.jump(self.parameters, epoch + 1);
        Ok(())
    }
}

impl SealHalf for SbkhSeal {
    /// Also [`Exhausted`], and nothing moves but perhaps the epoch, when the position is not reserved,
    /// `header` is no header or names a group as receiver (the paper leaves groups to future work), or
    /// `buf` has no room.
    fn seal(&mut self, header: &[u8], buf: &mut [u8], len: usize) -> Result<usize, Exhausted> {
        let mac = MacHeader::new_checked(header).map_err(|_| Exhausted)?;
        if mac.addr1().is_group() {
            return Err(Exhausted);
        }
        let total = len.checked_add(HEADER_LEN + ICV_LEN).ok_or(Exhausted)?;
        let sealed = len + ICV_LEN;
        if sealed > self.parameters.s_offset() as usize {
            return Err(Exhausted);
        }
        let (front, rest) = buf.get_mut(..total).ok_or(Exhausted)?.split_at_mut(HEADER_LEN);
        if self.due > self.stream.hop {
            let at = Position { hop: self.due, epoch: 0 };
            self.stream = Stream::begin(&self.keys, self.parameters, self.direction, at);
        }
        if !self.stream.fits(self.parameters, sealed) {
            self.next_epoch()?;
        }
        if self.position() > self.reserved {
            return Err(Exhausted);
        }
        let [a, b, c] = self.stream.next.to_bytes();
        // The two bits of WEP's key identifier: which base key, modulo four.
        front.copy_from_slice(&[a, b, c, (self.stream.hop as u8 & 3) << 6]);
        seal_stream(self.stream.advance(sealed), rest);
        Ok(total)
    }
}
