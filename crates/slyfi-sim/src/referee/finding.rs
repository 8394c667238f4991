//! What the referee says.

use crate::NodeId;
use slyfi_base::{Instant, Rate};
use std::fmt;

/// Something that an outsider could hold on to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// True time of the frame that showed it.
    pub at: Instant,
    /// Who really sent that frame.
    pub sender: NodeId,
    /// Which frame of the run it was, counted from 0.
    pub frame: u64,
    /// What it is.
    pub leak: Leak,
}

/// What leaks, with the evidence. Positions count from the end of the carrier, or from the start of
/// a frame that has no carrier.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Leak {
    /// The frame does not begin with the carrier's bytes.
    NotCarrier {
        /// Offset of the first other byte in the frame.
        offset: usize,
    },
    /// Frames of the run are sent at more than one rate.
    Rate {
        /// This one's.
        rate: Rate,
        /// The first one's.
        usual: Rate,
    },
    /// A length that the size policy does not have.
    Size {
        /// Bytes behind the carrier.
        len: usize,
    },
    /// An address was used before and must not have been.
    RepeatedAddress {
        /// When it was first used.
        first: Instant,
        /// By whom.
        by: NodeId,
    },
    /// A Tryst address outside of its interval.
    OutsideInterval {
        /// Microseconds outside, negative before.
        by_micros: i64,
    },
    /// A byte of known plaintext: a payload, an address, a name.
    Cleartext {
        /// What it is.
        what: &'static str,
        /// Where it begins.
        position: usize,
    },
    /// Eight bytes that were on the air before.
    RepeatedRun {
        /// Where they begin in this frame.
        position: usize,
        /// Where they began in the first one.
        first_position: usize,
        /// Who sent the first one.
        by: NodeId,
    },
    /// A field that counts.
    Counter {
        /// Where its two bytes begin.
        position: usize,
    },
    /// Bits that never change.
    Constant {
        /// Where, counted from which end.
        place: Place,
        /// The bits.
        mask: u8,
        /// In how many frames.
        frames: u64,
        /// Whether in those of this sender, or of all.
        scope: Scope,
    },
    /// A byte whose values are not evenly spread.
    Uneven {
        /// Where, counted from which end.
        place: Place,
        /// In how many frames.
        frames: u64,
        /// Chi-square with 255 degrees of freedom, rounded down.
        chi_square: u64,
        /// Whether in those of this sender, or of all.
        scope: Scope,
    },
    /// A bit that is more often one value than the other.
    UnevenBit {
        /// Where, counted from which end.
        place: Place,
        /// The bit.
        bit: u8,
        /// In how many frames.
        frames: u64,
        /// In how many of them it is 1.
        ones: u64,
        /// Whether in those of this sender, or of all.
        scope: Scope,
    },
}

/// A byte position.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    /// Counted from the end of the carrier.
    FromStart(usize),
    /// Counted from the end of the frame; 0 is the last byte.
    FromEnd(usize),
}

/// Whose frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Those of the finding's sender.
    Sender,
    /// All.
    All,
}

/// The kinds of leak, for counting.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LeakKind {
    /// [`Leak::NotCarrier`] and [`Leak::Rate`].
    Carrier,
    /// [`Leak::Size`].
    Size,
    /// [`Leak::RepeatedAddress`].
    RepeatedAddress,
    /// [`Leak::OutsideInterval`].
    OutsideInterval,
    /// [`Leak::Cleartext`].
    Cleartext,
    /// [`Leak::RepeatedRun`].
    RepeatedRun,
    /// [`Leak::Counter`].
    Counter,
    /// [`Leak::Constant`], [`Leak::Uneven`] and [`Leak::UnevenBit`].
    StableByte,
}

impl LeakKind {
    /// Every kind.
    pub const ALL: [LeakKind; 8] = [
        LeakKind::Carrier,
        LeakKind::Size,
        LeakKind::RepeatedAddress,
        LeakKind::OutsideInterval,
        LeakKind::Cleartext,
        LeakKind::RepeatedRun,
        LeakKind::Counter,
        LeakKind::StableByte,
    ];
}

impl Leak {
    /// Returns its kind.
    pub const fn kind(&self) -> LeakKind {
        match self {
            Leak::NotCarrier { .. } | Leak::Rate { .. } => LeakKind::Carrier,
            Leak::Size { .. } => LeakKind::Size,
            Leak::RepeatedAddress { .. } => LeakKind::RepeatedAddress,
            Leak::OutsideInterval { .. } => LeakKind::OutsideInterval,
            Leak::Cleartext { .. } => LeakKind::Cleartext,
            Leak::RepeatedRun { .. } => LeakKind::RepeatedRun,
            Leak::Counter { .. } => LeakKind::Counter,
            Leak::Constant { .. } | Leak::Uneven { .. } | Leak::UnevenBit { .. } => {
                LeakKind::StableByte
            }
        }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Finding { at, sender, frame, leak } = self;
        write!(f, "{} us, node {}, frame {frame}: {leak:?}", at.as_micros(), sender.0)
    }
}
