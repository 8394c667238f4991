//! SlyFi without a machine under it: Tryst (discovery and binding), Shroud (data transport), the
//! address table that both share, and the client and access-point machines on top.
//!
//! ```text
//!   Pairing ── Directory ──(addresses of the interval)──> AddressTable <──(window w)── ShroudReceiver
//!                  │                                           │
//!                  └── TrystKeys ── tryst::seal / open         └── one lookup per position, no cryptography
//!
//!   tryst exchange ── agreement ── SessionSecrets ── ShroudSender / ShroudReceiver
//! ```
//!
//! No sockets, no threads, no clocks and no entropy of its own: time and randomness are arguments.
#![no_std]

extern crate alloc;
#[cfg(any(test, feature = "vectors"))]
extern crate std;

pub mod agreement;
pub mod ap;
pub mod backhaul;
mod binding;
pub mod client;
pub mod directory;
mod enrol;
mod group;
pub mod invite;
mod kdf;
mod keylog;
pub mod keys;
mod neighbour;
mod outbox;
pub mod pairing;
mod pool;
pub mod replay;
mod session;
pub mod shroud;
pub mod sizes;
pub mod suite;
pub mod table;
#[cfg(test)]
mod testing;
pub mod tryst;
#[cfg(feature = "vectors")]
pub mod vectors;

/// The longest Ethernet payload that a frame of either suite can carry beside the longest headers.
fn session_mtu(sizes: sizes::Sizes) -> usize {
    use slyfi_wire::message::{DataHeader, LinkHeader};
    let message = sizes.max_message(suite::Suite::S2008).min(sizes.max_message(suite::Suite::AEAD));
    message.saturating_sub(LinkHeader::MAX_LEN + DataHeader::MAX_LEN)
}
