//! The two machines behind one face, for the event loop.

use slyfi_base::link::RecordKind;
use slyfi_base::{Link, Now};
use slyfi_core::ap::{ApLink, SessionInfo};
use slyfi_core::client::ClientLink;
use slyfi_core::pairing::Pairing;
use slyfi_linux::OsRandom;

use crate::config::Role;

/// A client's or an access point's machine, on the operating system's randomness.
// One of these per process: their size does not matter.
#[expect(clippy::large_enum_variant, reason = "there is one per process")]
pub enum Machine {
    /// An access point's.
    AccessPoint(ApLink<OsRandom>),
    /// A client's.
    Client(ClientLink<OsRandom>),
}

impl Machine {
    /// Returns which it is.
    pub fn role(&self) -> Role {
        match self {
            Machine::AccessPoint(_) => Role::AccessPoint,
            Machine::Client(_) => Role::Client,
        }
    }

    /// Returns what both have in common.
    pub fn link(&mut self) -> &mut dyn Link {
        match self {
            Machine::AccessPoint(ap) => ap,
            Machine::Client(client) => client,
        }
    }

    /// Returns the counters of dropped frames.
    pub fn drops(&self) -> &slyfi_base::reason::DropCounters {
        match self {
            Machine::AccessPoint(ap) => ap.drops(),
            Machine::Client(client) => client.drops(),
        }
    }

    /// Takes a pairing from the store; `None` when it is there already or has no room.
    pub fn add_pairing(&mut self, now: Now, pairing: Pairing) -> Option<u32> {
        match self {
            Machine::AccessPoint(ap) => ap.add_pairing(now, pairing).ok(),
            Machine::Client(client) => client.add_pairing(now, pairing).ok(),
        }
    }

    /// Voids a pairing and ends its link.
    pub fn remove_pairing(&mut self, now: Now, pairing: u32) {
        match self {
            Machine::AccessPoint(ap) => {
                ap.remove_pairing(now, pairing);
            }
            Machine::Client(client) => {
                client.remove_pairing(now, pairing);
            }
        }
    }

    /// Takes back a record; returns whether it was understood.
    pub fn restore(&mut self, now: Now, kind: RecordKind, bytes: &[u8]) -> bool {
        match self {
            Machine::AccessPoint(ap) => ap.restore(now, kind, bytes),
            // What a client keeps is in its pairings: answers count for one open request only.
            Machine::Client(_) => true,
        }
    }

    /// Returns an access point's sessions; a client has none.
    pub fn sessions(&self) -> Vec<SessionInfo> {
        match self {
            Machine::AccessPoint(ap) => ap.sessions().collect(),
            Machine::Client(_) => Vec::new(),
        }
    }

    /// Returns the longest Ethernet payload that every frame can carry, in bytes.
    pub fn mtu(&self) -> usize {
        match self {
            Machine::AccessPoint(ap) => ap.mtu(),
            Machine::Client(client) => client.mtu(),
        }
    }
}
