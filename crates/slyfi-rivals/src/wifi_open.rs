//! wifi-open: IEEE 802.11 infrastructure mode without encryption (slyfi-2008 §5.1, §5.2).
//!
//! [`crate::wifi`] with no protection.
//!
//! # Security
//! Everything is in the clear and nothing is authenticated: names, addresses, contents. That is the
//! point of it.

pub use crate::wifi::{ApConfig, MAX_PACKET, Open, Ssid, StationConfig, Timers};

/// An access point of ordinary 802.11 without encryption.
pub type OpenAp = crate::wifi::AccessPoint<Open>;
/// A station of ordinary 802.11 without encryption.
pub type OpenStation<R> = crate::wifi::Station<R, Open>;
