//! The vocabulary and the contracts that every SlyFi crate shares.
//!
//! ```text
//!   host (TAP)  <->  Link (sans-IO machine)  <->  Radio (monitor interface, UDP air, simulator)
//!                      |          ^
//!                      v          |
//!                 LinkCipher     Now, SecureRandom        (always arguments, never reached for)
//! ```
//!
//! This crate has no dependencies, no allocation and no `std`: a firmware, the simulator and the
//! daemon all speak in its types.
#![no_std]

pub mod cipher;
pub mod ether;
pub mod event;
pub mod link;
pub mod radio;
pub mod random;
pub mod reason;
pub mod redacted;
pub mod time;
pub mod units;

pub use cipher::{
    Exhausted, LinkCipher, OpenFrame, OpenHalf, Opened, Overhead, SealFrame, SealHalf,
    Undecryptable,
};
pub use ether::MacAddress;
pub use event::{Event, LinkId};
pub use link::{ApiMisuse, Command, Link, LinkError, Output, Refused};
pub use radio::{Capabilities, Radio, RadioChange, RadioConfig, RxMeta, TxMeta};
pub use random::SecureRandom;
pub use reason::DropReason;
pub use redacted::Redacted;
pub use time::{Duration, Instant, Now, UnixTime};
pub use units::{Dbm, Mhz, Rate};
