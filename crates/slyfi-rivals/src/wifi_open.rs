//! wifi-open: IEEE 802.11 infrastructure mode without encryption (slyfi-2008 §5.1, §5.2).
//!
//! ```text
//!   station                                access point
//!   Idle
//!    | Connect
//!   Probing         -- Probe Request ------>
//!                   <----- Probe Response --
//!   Authenticating  -- Authentication 1 --->   open system
//!                   <--- Authentication 2 --   Authenticated
//!   Associating     -- Association Request ->
//!                   <- Association Response-   Associated
//!   Linked          <------- data -------->
//!    | silence, deauthentication: Probing      | silence: deauthentication
//!    | no answer: Waiting, then Probing
//!    | Leave: deauthentication, Idle
//! ```
//!
//! Frames are what any 802.11a device sends and understands: three-address data frames without QoS,
//! LLC/SNAP, sequence numbers counted per card, the access point relaying between its members and
//! repeating group frames for all. Acknowledgement and retransmission of unicast frames are the
//! radio's business, as on a real card; the timers here are those of the management exchanges.
//!
//! Not there: power saving, fragmentation and its reassembly, A-MSDU, roaming between access
//! points, passive scanning (beacons are sent, and prove the access point alive, but a station finds
//! its network by probing).
//!
//! # Security
//! Everything is in the clear and nothing is authenticated: names, addresses, contents. That is the
//! point of it. A forged deauthentication ends a link.

mod ap;
mod card;
mod config;
mod frames;
mod outbox;
mod station;

pub use ap::OpenAp;
pub use config::{ApConfig, Ssid, StationConfig, Timers};
pub use station::OpenStation;

/// The longest Ethernet frame that is carried, in bytes: an MSDU has at most 2304
/// (IEEE 802.11-2020 §9.2.4.7), eight of which are LLC/SNAP.
pub const MAX_PACKET: usize = slyfi_wire::ethernet::HEADER_LEN + 2304 - slyfi_wire::llc::HEADER_LEN;
