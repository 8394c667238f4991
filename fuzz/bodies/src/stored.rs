//! What comes back from a store or from a person: pairings, records, invites.

use crate::Choices;
use crate::network::{START, Seeded, start};
use slyfi_base::{Duration, UnixTime};
use slyfi_core::directory::{Directory, Side};
use slyfi_core::invite::Invite;
use slyfi_core::pairing::{Direction, Pairing};
use slyfi_core::replay::ReplayRecord;
use slyfi_core::table::AddressTable;

/// Reads the input as each of the stored forms.
///
/// # Panics
/// When what was read is not written as it was, or a pairing that was read does harm.
pub fn run(input: &[u8]) {
    let mut c = Choices::new(input);
    match c.below(4) {
        0 => {
            let wall = UnixTime::from_secs(c.long() >> c.below(64));
            pairing(c.rest(), wall);
        }
        1 => {
            let bytes = c.rest();
            if let Some(record) = ReplayRecord::decode(bytes) {
                let again = ReplayRecord::decode(&record.encode());
                assert_eq!(again, Some(record));
            }
        }
        2 => {
            if let Ok(url) = core::str::from_utf8(c.rest()) {
                invite(url);
            }
        }
        // Without its checksum an invite is rarely hit upon: make one, and spoil it.
        _ => {
            let name = slyfi_core::pairing::NetworkName::new(c.run());
            let suite = crate::network::suite(c.below(3));
            let lifetime = Duration::from_secs(1 + u64::from(c.word()) % 600_000);
            let Some(name) = name else { return };
            let Ok(made) = Invite::new(suite, name, START, lifetime, &mut Seeded(7)) else {
                return;
            };
            let mut url = made.to_url().as_bytes().to_vec();
            assert_eq!(Invite::from_url(&made.to_url(), START).as_ref(), Ok(&made));
            let at = usize::from(c.short()) % url.len();
            url[at] = url[at].wrapping_add(c.byte());
            if let Ok(url) = core::str::from_utf8(&url) {
                invite(url);
            }
        }
    }
}

fn invite(url: &str) {
    let Ok(invite) = Invite::from_url(url, START) else { return };
    assert_eq!(Invite::from_url(&invite.to_url(), START).as_ref(), Ok(&invite));
    let stands_for = invite.pairing();
    assert_eq!(Pairing::decode(&stands_for.encode()).as_ref(), Ok(&stands_for));
}

/// A pairing that decodes is the one that encodes to these bytes, and every use of it is bounded.
fn pairing(bytes: &[u8], wall: UnixTime) {
    let Ok(pairing) = Pairing::decode(bytes) else { return };
    assert_eq!(&pairing.encode()[..], bytes, "a pairing has one encoding");
    let interval = u64::try_from(pairing.interval_at(wall)).unwrap_or(0);
    for direction in [Direction::Up, Direction::Down] {
        let _ = pairing.tryst_keys(direction, interval);
    }
    assert!(pairing.begins(interval) <= pairing.expires(interval));
    let skew = usize::from(pairing.skew());
    for side in [Side::Client, Side::AccessPoint] {
        let mut table = AddressTable::new(&mut Seeded(1));
        let mut directory = Directory::new(side);
        let index = directory.insert(pairing.clone(), wall, &mut table).expect("the only one");
        for wall in [wall, start().wall, wall + pairing.interval()] {
            let _ = directory.turn(wall, &mut table, 64);
            assert!(table.len() <= 2 * (2 * skew + 1), "{} addresses", table.len());
        }
        assert!(directory.remove(index, &mut table).is_some());
        assert!(table.is_empty(), "addresses of a pairing that is gone");
    }
}
