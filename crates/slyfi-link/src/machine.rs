//! The two machines behind one face, for the event loop.

use slyfi_base::link::RecordKind;
use slyfi_base::{Link, Now};
use slyfi_core::ap::ApLink;
use slyfi_core::client::ClientLink;
use slyfi_core::pairing::Pairing;
use slyfi_linux::OsRandom;

use crate::config::Role;

/// A client's or an access point's machine, on the operating system's randomness.
// One of these per process: their size does not matter.
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

    /// Returns the id of the pairing with this number.
    pub fn pairing_id(&self, pairing: u32) -> Option<[u8; 8]> {
        let pairing = match self {
            Machine::AccessPoint(ap) => ap.pairing(pairing),
            Machine::Client(client) => client.pairing(pairing),
        };
        pairing.map(|p| *p.id())
    }

    /// Returns the number of an access point's pairing. It also has pairings that nobody gave it:
    /// its siblings tell it of theirs.
    pub fn number_of(&self, id: &[u8; 8]) -> Option<u32> {
        let Machine::AccessPoint(ap) = self else { return None };
        // Numbers have gaps where pairings were removed; the count says when all have been seen.
        let mut left = ap.pairings();
        let mut numbers = 0..u32::MAX;
        while left > 0 {
            let number = numbers.next()?;
            if let Some(pairing) = ap.pairing(number) {
                if pairing.id() == id {
                    return Some(number);
                }
                left -= 1;
            }
        }
        None
    }

    /// Returns the longest Ethernet payload that every frame can carry, in bytes.
    pub fn mtu(&self) -> usize {
        match self {
            Machine::AccessPoint(ap) => ap.mtu(),
            Machine::Client(client) => client.mtu(),
        }
    }
}
