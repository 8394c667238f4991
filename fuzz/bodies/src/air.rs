//! What everybody hears, and what no frame on it may do.

use slyfi_base::UnixTime;
use slyfi_core::pairing::{Direction, Pairing};
use slyfi_core::sizes::{DEFAULT_MAX_BODY, SizePolicy, Sizes};
use slyfi_core::table::Address;
use slyfi_core::tryst::{self, Class};
use slyfi_wire::carrier;
use std::collections::{HashMap, HashSet};

/// The air: every frame that was ever sent, and by whom.
pub(crate) struct Air {
    pairings: Vec<Pairing>,
    /// Pairings and intervals whose Tryst addresses are known.
    intervals: HashSet<(usize, u64)>,
    tryst: HashSet<Address>,
    addresses: HashSet<Address>,
    pub(crate) log: Vec<(usize, Vec<u8>)>,
    bodies: HashMap<Vec<u8>, usize>,
}

impl Air {
    pub(crate) fn new(pairings: &[Pairing]) -> Self {
        Air {
            pairings: pairings.to_vec(),
            intervals: HashSet::new(),
            tryst: HashSet::new(),
            addresses: HashSet::new(),
            log: Vec::new(),
            bodies: HashMap::new(),
        }
    }

    /// Takes a frame that `from` sent.
    ///
    /// # Panics
    /// When it is not exactly the carrier, has a size that the policy does not have, or repeats a
    /// Shroud address.
    pub(crate) fn take(&mut self, from: usize, frame: &[u8]) {
        assert_eq!(carrier::verify_constant(frame), Ok(()), "the carrier is constant");
        let body = &frame[carrier::HEADER_LEN..];
        let sizes = Sizes::new(SizePolicy::Buckets, DEFAULT_MAX_BODY);
        assert!(
            self.pairings.iter().any(|p| sizes.allows(p.suite(), body.len())),
            "a body of {} bytes",
            body.len()
        );
        let address: Address = *body.first_chunk().expect("a carrier has an address");
        if !self.tryst.contains(&address) {
            assert!(self.addresses.insert(address), "a Shroud address is used again");
        }
        self.bodies.insert(body.to_vec(), from);
        self.log.push((from, frame.to_vec()));
    }

    /// Whether this body was sent by someone other than `receiver`.
    pub(crate) fn is_genuine(&self, body: &[u8], receiver: usize) -> bool {
        self.bodies.get(body).is_some_and(|from| *from != receiver)
    }

    /// Some node's clock says `wall`: Tryst addresses of that interval may be used, also a little
    /// later by a reply that waits, and more than once.
    pub(crate) fn note_clock(&mut self, wall: UnixTime) {
        for (n, pairing) in self.pairings.iter().enumerate() {
            let Ok(interval) = u64::try_from(pairing.interval_at(wall)) else { continue };
            if !self.intervals.insert((n, interval)) {
                continue;
            }
            for direction in [Direction::Up, Direction::Down] {
                let Ok(keys) = pairing.tryst_keys(direction, interval) else { continue };
                let addresses = Class::ALL.map(|c| tryst::address(&keys.addr, c, interval));
                self.tryst.extend(addresses);
            }
        }
    }
}
