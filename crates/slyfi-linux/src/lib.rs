//! Sockets and ioctls: what the daemon needs of Linux, behind safe types.
//!
//! ```text
//!   host <-> Tap            PacketRadio  <-> monitor interface, veth, wire
//!                           UdpRadio     <-> loopback, LAN        (both: Radio + AirSocket)
//!            Poll, Waker, Signals        what a loop waits for
//!            Clock, OsRandom             what the machines are handed
//!            drop_privileges             after everything is open
//!            Mapping                     large files, read as memory
//! ```
//!
//! This crate moves bytes and metadata. It knows the carrier's constant bytes, to have the kernel
//! drop everything else, and nothing of keys or of what is inside a frame.
//!
//! # Tests
//! Those that make interfaces need root and `/dev/net/tun`, and make them in network namespaces of
//! their own. Without, they say `SKIPPED`, and fail where the environment has `CI`. Under
//! AddressSanitizer (the sanitizer ships with stable, the flag does not):
//!
//! ```text
//! RUSTC_BOOTSTRAP=1 RUSTFLAGS=-Zsanitizer=address \
//!     cargo test -p slyfi-linux --target x86_64-unknown-linux-gnu
//! ```

mod air;
mod batch;
mod bpf;
mod clock;
mod drop_privileges;
mod error;
mod mapping;
pub mod netconfig;
pub mod netinfo;
pub mod packet;
mod poll;
mod random;
mod signals;
mod socket;
mod tap;
pub mod udp;

pub use air::{AirCounters, AirSocket};
pub use batch::Flush;
pub use clock::{Clock, SyncState};
pub use drop_privileges::{DropError, Target, drop_privileges, user_ids};
pub use error::RadioError;
pub use mapping::Mapping;
pub use netconfig::AdminState;
pub use netinfo::Interface;
pub use packet::{PacketConfig, PacketRadio};
pub use poll::{Interest, Poll, Ready, Token, Waker};
pub use random::OsRandom;
pub use signals::{Signal, Signals};
pub use tap::{Persistence, Tap, TapConfig, TapError, TapMode};
pub use udp::{UdpAir, UdpConfig, UdpRadio};
