//! The exchange of bare-wireless-2016 §5.4.1 (Figure 12) over UDP.
//!
//! ```text
//!   client                                   server
//!     | -- one clear message of n bytes -----> |
//!     | <------- m clear messages of n bytes --| ST0 … ST1        D2
//!     |  CT0 … CT1                          D0 |
//!     | -- one sealed message of n bytes ----> | verified, decrypted
//!     | <------ m sealed messages of n bytes --| ST2 … ST3        D3
//!     |  CT2 … CT3   each verified, decrypted D1
//! ```
//!
//! A run is one such exchange of one size; keys, salts and counters are new for each. Nothing is
//! repeated but the client's requests, until the first answer comes: a lost answer ends the run with
//! [`Failure::Lost`], as a time over fewer messages would be no result.
//!
//! The code is the same with and without an operating system: what differs stands behind
//! [`Datagrams`] and [`Clock`].

mod client;
mod cost;
mod message;
mod report;
mod server;

pub use client::{ClientTimes, request};
pub use cost::Cost;
pub use message::{Direction, Opener, Packet, Refused, Run, SEALED_OVERHEAD, Sealer, Template};
pub use report::{Outcome, Report};
pub use server::{ServerTimes, serve};

use slyfi_base::{Duration, Redacted};
use zeroize::Zeroizing;

/// The least bytes of a message: the run's and the message's number.
pub const MIN_SIZE: usize = 8;

/// The most bytes of a message: what an unfragmented datagram carries, sealed, on Ethernet
/// (1500 − 20 of IPv4 − 8 of UDP).
pub const MAX_SIZE: usize = 1472 - SEALED_OVERHEAD;

/// UDP between two programs, with or without an operating system under it.
pub trait Datagrams {
    /// Why nothing more can be sent or received.
    type Error: core::fmt::Debug;

    /// Sends one datagram of `len` bytes, which `fill` writes, to the peer; waits while there is no
    /// room.
    ///
    /// # Errors
    /// When the network is gone or refuses the datagram.
    fn send(&mut self, len: usize, fill: impl FnOnce(&mut [u8])) -> Result<(), Self::Error>;

    /// Takes one datagram into `buf` and returns its length; `None` when none has come for
    /// `patience`. Datagrams longer than `buf` are cut.
    ///
    /// # Errors
    /// When the network is gone.
    fn receive(&mut self, buf: &mut [u8], patience: Duration)
    -> Result<Option<usize>, Self::Error>;

    /// Returns for how long, in nanoseconds since the start, [`Datagrams::send`] has waited for room;
    /// zero where that cannot be told.
    fn waited_nanos(&self) -> u64;

    /// Makes the sender of the datagram received last the peer of [`Datagrams::send`].
    fn answer_sender(&mut self);

    /// Waits until everything sent has left, as far as that can be known.
    ///
    /// # Errors
    /// When the network is gone.
    fn flush(&mut self) -> Result<(), Self::Error>;
}

/// The clock that timings are read from, in nanoseconds since any origin.
pub trait Clock {
    /// Returns the time.
    fn nanos(&mut self) -> u64;
}

/// What both ends of a run have to agree on, and how long they wait.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Bytes of each message, n; [`MIN_SIZE`] to [`MAX_SIZE`].
    pub size: usize,
    /// Messages of each burst, m.
    pub burst: u32,
    /// Which run this is: messages of other runs are not taken for this one's.
    pub run: u32,
    /// The AES-128 key.
    pub key: Redacted<Zeroizing<[u8; 16]>>,
    /// How long a request is waited for, and an answer.
    pub patience: Duration,
}

/// How long a client waits for the first answer before it asks again.
const ASK_AGAIN: Duration = Duration::from_millis(1_000);

/// Why a run has no result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure<E> {
    /// The network failed.
    Network(E),
    /// Nobody asked, or nobody answered.
    NoPeer,
    /// Sealed messages came, and none of them verified: the keys differ.
    NotVerified {
        /// How many were refused.
        refused: u32,
    },
    /// Only some of the burst arrived intact.
    Lost {
        /// How many messages arrived and were right.
        received: u32,
        /// How many were refused.
        refused: u32,
    },
}

#[cfg(test)]
mod tests;
