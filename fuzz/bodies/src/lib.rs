//! What the fuzz targets do with their input.
//!
//! ```text
//!   fuzz/fuzz_targets/NAME.rs ----------------.
//!                                             |--> one body here --> the crate under test
//!   crates/*/tests/fuzz_replay.rs --corpus----'
//! ```
//!
//! A body takes any bytes and panics when a promise of the crate under test is broken. It draws its
//! decisions from the bytes ([`Choices`]), so an input is a whole scenario and replays exactly.

mod choices;
mod replay;
#[cfg(any(feature = "machines", feature = "ciphers", feature = "retrieval"))]
mod seeded;
pub mod wire;

#[cfg(feature = "machines")]
mod air;
#[cfg(feature = "machines")]
mod forge;
#[cfg(feature = "machines")]
mod host;
#[cfg(feature = "machines")]
mod network;
#[cfg(feature = "machines")]
mod world;

#[cfg(feature = "machines")]
pub mod access_point;
#[cfg(feature = "machines")]
pub mod backhaul;
#[cfg(feature = "machines")]
pub mod client;
#[cfg(feature = "machines")]
pub mod hostile_access_point;
#[cfg(feature = "machines")]
pub mod hostile_member;
#[cfg(feature = "machines")]
pub mod pair;
#[cfg(feature = "machines")]
pub mod stored;
#[cfg(feature = "machines")]
pub mod wifi_open;

#[cfg(feature = "ciphers")]
pub mod ccm;
#[cfg(feature = "ciphers")]
pub mod four_way;
#[cfg(feature = "ciphers")]
pub mod handshake;
#[cfg(feature = "ciphers")]
pub mod link_ciphers;
#[cfg(feature = "ciphers")]
pub mod sbkh;

#[cfg(feature = "capture")]
pub mod capture;
#[cfg(feature = "capture")]
pub mod hostile_peer;
#[cfg(feature = "capture")]
pub mod key_file;

#[cfg(feature = "wifi")]
pub mod wifi_ciphers;

#[cfg(feature = "tracedge")]
mod honest;
#[cfg(feature = "retrieval")]
mod memory;
#[cfg(feature = "retrieval")]
mod spoil;

#[cfg(feature = "retrieval")]
pub mod retrieval;
#[cfg(feature = "tracedge")]
pub mod tracedge;
#[cfg(feature = "tracedge")]
pub mod tracedge_service;

pub use choices::Choices;
pub use replay::{Failure, replay};
