//! Ordinary IEEE 802.11 infrastructure mode, with whatever protection is put on it.
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
//!   Securing        <--- key handshake ---->   where the protection has one
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
//! A [`Protection`] decides what is advertised, seals and opens data frames, and carries the key
//! handshake. [`Open`] does none of it. Protections with keys are put in from outside: this crate knows
//! no cryptography.
//!
//! Not there: power saving, fragmentation and its reassembly, A-MSDU, roaming between access
//! points, passive scanning (beacons are sent, and prove the access point alive, but a station finds
//! its network by probing), and the protection of management frames.
//!
//! # Security
//! Names and addresses are in the clear, management frames are authenticated by nothing: a forged
//! deauthentication ends a link, whatever protects its data.

mod access_point;
mod card;
mod config;
mod frames;
mod intake;
mod outbox;
mod protection;
mod station;

pub use access_point::AccessPoint;
pub use config::{ApConfig, Ssid, StationConfig, Timers};
pub use protection::{Effect, GroupDelivery, Open, Protection, Unfit};
pub use station::Station;

/// The longest Ethernet frame that is carried, in bytes: an MSDU has at most 2304
/// (IEEE 802.11-2020 §9.2.4.7), eight of which are LLC/SNAP.
pub const MAX_PACKET: usize = slyfi_wire::ethernet::HEADER_LEN + 2304 - slyfi_wire::llc::HEADER_LEN;

/// Reason codes that a [`Protection`] gives (IEEE 802.11-2020 §9.4.1.7).
pub mod reason {
    /// A Michael failure.
    pub const MICHAEL: u16 = 14;
    /// The 4-way handshake came to no end.
    pub const FOUR_WAY_TIMEOUT: u16 = 15;
    /// The group key handshake came to no end.
    pub const GROUP_TIMEOUT: u16 = 16;
    /// The keys are spent, or anything else.
    pub const UNSPECIFIED: u16 = 1;
}
