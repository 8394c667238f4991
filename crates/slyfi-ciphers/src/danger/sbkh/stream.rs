//! The keystream of one direction, and where in it a node stands.

use super::{BaseKeys, Direction, Parameters, Position, Ssc};
use crate::danger::rc4::Rc4;

/// A node's place in the keystream: the RC4 state and the SSC that the next packet has.
#[derive(Clone, Debug)]
pub(super) struct Stream {
    rc4: Rc4,
    pub hop: u32,
    pub next: Ssc,
    /// Bytes of the epoch's keystream that are used up.
    used: u32,
}

impl Stream {
    /// Runs KSA, discards I-Offset bytes and goes to the front of an epoch.
    pub fn begin(keys: &BaseKeys, p: Parameters, direction: Direction, at: Position) -> Self {
        let mut rc4 = Rc4::new(&[keys.pair(at.hop).key(direction)]);
        rc4.skip(u64::from(p.i_offset()) + u64::from(at.epoch) * u64::from(p.s_offset()));
        Stream { rc4, hop: at.hop, next: Ssc { epoch: at.epoch, number: 0 }, used: 0 }
    }

    /// Returns whether `len` more bytes and one more packet fit in the epoch.
    pub const fn fits(&self, p: Parameters, len: usize) -> bool {
        self.next.number <= Ssc::LAST && len <= (p.s_offset() - self.used) as usize
    }

    /// Goes to the front of a later epoch: S-Offset by S-Offset.
    pub fn jump(&mut self, p: Parameters, epoch: u16) {
        let epochs = u64::from(epoch.saturating_sub(self.next.epoch));
        if epochs > 0 {
            self.rc4.skip(epochs * u64::from(p.s_offset()) - u64::from(self.used));
            (self.next, self.used) = (Ssc { epoch, number: 0 }, 0);
        }
    }

    /// Gives the keystream for one packet of `len` bytes, which fit, and moves behind it.
    pub fn advance(&mut self, len: usize) -> &mut Rc4 {
        // `fits` bounded it by the S-Offset.
        self.used += len as u32;
        self.next.number += 1;
        &mut self.rc4
    }

    /// Returns whether any packet was taken from this epoch.
    pub const fn is_used(&self) -> bool {
        self.next.number > 0
    }

    pub const fn position(&self) -> Position {
        Position { hop: self.hop, epoch: self.next.epoch }
    }
}
