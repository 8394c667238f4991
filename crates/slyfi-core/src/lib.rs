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
pub mod directory;
pub mod invite;
mod kdf;
pub mod keys;
pub mod pairing;
pub mod replay;
pub mod shroud;
pub mod sizes;
pub mod suite;
pub mod table;
pub mod tryst;
#[cfg(feature = "vectors")]
pub mod vectors;
