//! Views and representations of bytes: what SlyFi puts on the air and what it meets there.
//!
//! ```text
//!   radiotap | 802.11 header                | elements ...        ordinary 802.11
//!   radiotap | carrier (28 constant bytes)  | Tryst or Shroud     SlyFi
//!   Ethernet | ARP, IPv4, IPv6 + NDP                              the host's side
//! ```
//!
//! Two kinds of type, never mixed:
//!
//! * A *view* (`MacHeader<'a>`, `ArpPacket<'a>`) borrows received bytes. `new_checked` verifies that
//!   every field is inside the buffer; after that no accessor can fail or panic.
//! * A *representation* (`…Repr`) holds the meaning of a packet. `emit` writes exactly
//!   `buffer_len()` bytes, and refuses a smaller buffer with [`NoSpace`].
//!
//! Nothing here allocates, encrypts, or keeps state.
#![no_std]

pub mod announcement;
pub mod arp;
pub mod carrier;
pub mod cursor;
pub mod element;
pub mod error;
pub mod ethernet;
pub mod ieee80211;
pub mod ip;
pub mod llc;
pub mod message;
pub mod ndp;
pub mod pcapng;
pub mod radiotap;
pub mod slyfi_frame;

pub use cursor::{Reader, Writer};
pub use error::{Malformed, NoSpace};
