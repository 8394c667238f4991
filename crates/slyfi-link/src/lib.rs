//! The daemon library: what turns SlyFi's machines into a program that runs.
//!
//! ```text
//!   config ──> daemon::open ──> Daemon ──> run
//!                 │               │
//!        Tap, AirSocket, Store    └─ machine (slyfi-core), control, backhaul, capture, key log
//! ```
//!
//! Or, with a cipher configured, a machine of ordinary 802.11 ([`wifi`]), for comparison on the same air.
//!
//! No protocol is decided here: the machines of `slyfi-core` decide, this crate keeps their records,
//! moves their frames and tells people about their events.

#[macro_use]
pub mod logging;
pub mod backhaul;
pub mod config;
pub mod control;
pub mod daemon;
pub mod error;
pub mod host_port;
pub mod keylog;
pub mod machine;
pub mod metrics;
pub mod pairing;
pub mod pcap;
pub mod store;
pub mod wifi;

pub use error::{Error, ErrorKind, Result};

#[cfg(test)]
mod testing;
