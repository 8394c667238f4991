//! All machines behind one face, for the event loop: SlyFi's two, and those of ordinary 802.11.

use slyfi_base::link::RecordKind;
use slyfi_base::{Link, Now};
use slyfi_core::ap::ApLink;
use slyfi_core::client::ClientLink;
use slyfi_core::pairing::Pairing;
use slyfi_linux::OsRandom;
use slyfi_rivals::wifi::{self, Protection};

use crate::config::Role;
use crate::wifi::{Cipher, Guard};

/// A client's or an access point's machine, on the operating system's randomness.
// One of these per process: their size does not matter.
pub enum Machine {
    /// An access point's.
    AccessPoint(ApLink<OsRandom>),
    /// A client's.
    Client(ClientLink<OsRandom>),
    /// An access point's of ordinary 802.11.
    WifiAccessPoint(wifi::AccessPoint<Guard>, Wifi),
    /// A station's of ordinary 802.11.
    WifiStation(wifi::Station<OsRandom, Guard>, Wifi),
}

/// What the machines of ordinary 802.11 do not know of themselves.
#[derive(Clone, Copy, Debug)]
pub struct Wifi {
    /// What protects the frames.
    pub cipher: Cipher,
    /// The longest Ethernet payload that a frame of the air carries, in bytes.
    pub mtu: usize,
}

impl Machine {
    /// Returns which it is.
    pub fn role(&self) -> Role {
        match self {
            Machine::AccessPoint(_) | Machine::WifiAccessPoint(..) => Role::AccessPoint,
            Machine::Client(_) | Machine::WifiStation(..) => Role::Client,
        }
    }

    /// Returns whether this is ordinary 802.11, which has no pairings.
    pub fn is_wifi(&self) -> bool {
        self.cipher().is_some()
    }

    /// Returns what protects the frames of ordinary 802.11; `None` for SlyFi.
    pub fn cipher(&self) -> Option<Cipher> {
        match self {
            Machine::AccessPoint(_) | Machine::Client(_) => None,
            Machine::WifiAccessPoint(_, wifi) | Machine::WifiStation(_, wifi) => Some(wifi.cipher),
        }
    }

    /// Returns what the protection of ordinary 802.11 counts.
    pub fn protection_counters(&self) -> Vec<(&'static str, u64)> {
        match self {
            Machine::AccessPoint(_) | Machine::Client(_) => Vec::new(),
            Machine::WifiAccessPoint(ap, _) => ap.protection().counters(),
            Machine::WifiStation(station, _) => station.protection().counters(),
        }
    }

    /// Returns what both have in common.
    pub fn link(&mut self) -> &mut dyn Link {
        match self {
            Machine::AccessPoint(ap) => ap,
            Machine::Client(client) => client,
            Machine::WifiAccessPoint(ap, _) => ap,
            Machine::WifiStation(station, _) => station,
        }
    }

    /// Returns the counters of dropped frames.
    pub fn drops(&self) -> &slyfi_base::reason::DropCounters {
        match self {
            Machine::AccessPoint(ap) => ap.drops(),
            Machine::Client(client) => client.drops(),
            Machine::WifiAccessPoint(ap, _) => ap.drops(),
            Machine::WifiStation(station, _) => station.drops(),
        }
    }

    /// Takes a pairing from the store; `None` when it is there already, has no room, or means nothing
    /// to this machine.
    pub fn add_pairing(&mut self, now: Now, pairing: Pairing) -> Option<u32> {
        match self {
            Machine::WifiAccessPoint(..) | Machine::WifiStation(..) => None,
            Machine::AccessPoint(ap) => ap.add_pairing(now, pairing).ok(),
            Machine::Client(client) => client.add_pairing(now, pairing).ok(),
        }
    }

    /// Voids a pairing and ends its link.
    pub fn remove_pairing(&mut self, now: Now, pairing: u32) {
        match self {
            Machine::WifiAccessPoint(..) | Machine::WifiStation(..) => {}
            Machine::AccessPoint(ap) => {
                ap.remove_pairing(now, pairing);
            }
            Machine::Client(client) => {
                client.remove_pairing(now, pairing);
            }
        }
    }

    /// Returns which records it takes back at the start.
    pub fn restores(&self) -> &'static [RecordKind] {
        if self.is_wifi() {
            return &[RecordKind::Counter];
        }
        &[RecordKind::Replay, RecordKind::InviteSpent, RecordKind::PairingRevoked]
    }

    /// Takes back a record; returns whether it was understood.
    pub fn restore(&mut self, now: Now, kind: RecordKind, bytes: &[u8]) -> bool {
        match self {
            Machine::AccessPoint(ap) => ap.restore(now, kind, bytes),
            // What a client keeps is in its pairings: answers count for one open request only.
            Machine::Client(_) => true,
            // A store may hold counters of another cipher that was used before: not this one's.
            Machine::WifiAccessPoint(ap, _) => {
                ap.protection_mut().restore(now, bytes);
                true
            }
            Machine::WifiStation(station, _) => {
                station.protection_mut().restore(now, bytes);
                true
            }
        }
    }

    /// Returns the id of the pairing with this number.
    pub fn pairing_id(&self, pairing: u32) -> Option<[u8; 8]> {
        let pairing = match self {
            Machine::WifiAccessPoint(..) | Machine::WifiStation(..) => None,
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
            Machine::WifiAccessPoint(_, wifi) | Machine::WifiStation(_, wifi) => wifi.mtu,
        }
    }
}
