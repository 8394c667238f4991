//! Attackers: nodes that hear everything in range and send what they like.

mod ack;
mod flip;
mod jam;
mod junk;
mod replay;

pub use ack::AckSpoofer;
pub use flip::BitFlipper;
pub use jam::Jammer;
pub use junk::{Junk, JunkFlooder};
pub use replay::{Replay, Replayer};

use slyfi_base::{Duration, Instant, Now, RxMeta, TxMeta};
use std::any::Any;

/// An attacker. Sans-IO: after every `handle_*` and `hear` it is polled until it says
/// [`Attack::Wait`].
pub trait Adversary: Any {
    /// Hears a frame.
    fn hear(&mut self, now: Now, meta: RxMeta, frame: &[u8]);

    /// The instant asked for has come.
    fn handle_timeout(&mut self, now: Now) {
        let _ = now;
    }

    /// Returns the next thing to do; `room` is how many frames its radio's queue still takes.
    fn poll_attack(&mut self, now: Now, room: usize) -> Attack;
}

/// What an attacker does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Attack {
    /// Sends a frame as any station does, after contention.
    Send {
        /// The frame.
        frame: Vec<u8>,
        /// How.
        meta: TxMeta,
    },
    /// Sends a frame after a delay without asking the channel.
    Force {
        /// The frame.
        frame: Vec<u8>,
        /// How.
        meta: TxMeta,
        /// Delay behind now.
        after: Duration,
    },
    /// Sends energy without a frame.
    Noise {
        /// For how long.
        span: Duration,
    },
    /// Nothing until the given instant (or until something is heard).
    Wait(Option<Instant>),
}
