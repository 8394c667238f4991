//! A deterministic 802.11a medium for SlyFi's links.
//!
//! ```text
//!   Host ─▶ Link ─▶ queue ─▶ DCF ─▶ Channel ─▶ Medium ─▶ Link ─▶ Host
//!                                  (collisions)  (loss, rules)
//!                     every frame ─▶ Referee          └─▶ sniffers, attackers
//! ```
//!
//! Everything follows from one seed: no wall clock, no other randomness, no iteration over hash
//! maps. Two runs with one seed write the same capture, byte for byte. Any [`slyfi_base::Link`]
//! runs here; the [`Referee`] watches every run for what an outsider could hold on to.

pub mod adversary;
mod air;
pub mod capture;
mod channel;
pub mod clock;
pub mod dcf;
mod disk;
mod faulty;
pub mod host;
pub mod linkability;
pub mod medium;
mod node;
mod pcap_tap;
mod radio;
pub mod referee;
mod rng;
mod scenario;
mod schedule;
mod sniffer;
mod sweep;
mod traced;

pub use adversary::{Adversary, Attack};
pub use air::{Air, CrashPoint, RunError};
pub use clock::NodeClock;
pub use disk::{Disk, Record};
pub use faulty::{Faults, Faulty};
pub use host::{FlowHost, FlowReport, Host, HostOutput, IpHost, PingHost, SilentHost};
pub use linkability::Linkability;
pub use medium::{Fcs, LinkQuality, Loss, Medium, OnAir, Rule, Verdict};
pub use node::{AnyLink, Happened, NodeConfig, NodeId, NodeStats, Recorded};
pub use pcap_tap::PcapTap;
pub use radio::{SimRadio, SimRadioError};
pub use referee::{Finding, Referee};
pub use rng::SimRng;
pub use scenario::Scenario;
pub use sniffer::Sniffer;
pub use sweep::{Sweep, SweepFailure, seed_from_env, seeds_from_env};
pub use traced::{Trace, Traced};
