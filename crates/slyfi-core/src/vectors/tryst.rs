//! What Tryst vectors of both suites have in common.

use super::Failed;
use super::case::{Case, Script};
use crate::directory::{Directory, Side};
use crate::pairing::{Kind, NetworkName, Pairing, Terms};
use crate::sizes::Sizes;
use crate::table::{AddressTable, Entry};
use crate::tryst::{self, Class, Recipient, TrystKeys};
use crate::{keys::Key128, suite::Suite};
use slyfi_base::{Duration, UnixTime};
use std::string::ToString;
use std::vec;
use std::vec::Vec;

/// A receiver: the pairing in a directory, its addresses in a table.
pub(super) struct Ear {
    directory: Directory,
    table: AddressTable,
    index: u32,
    wall: UnixTime,
}

/// What an [`Ear`] heard.
#[derive(PartialEq, Eq)]
pub(super) struct Heard {
    pub(super) header: usize,
    pub(super) recipients: usize,
    pub(super) class: Class,
    pub(super) interval: u64,
    pub(super) payload: Vec<u8>,
}

impl Ear {
    pub(super) fn new(side: Side, pairing: &Pairing, wall: UnixTime) -> Self {
        let mut table = AddressTable::new(&mut Script::new(&[]));
        let mut directory = Directory::new(side);
        let index = directory.insert(pairing.clone(), wall, &mut table);
        let index = index.expect("the first of an empty directory");
        Ear { directory, table, index, wall }
    }

    pub(super) fn hear(&self, body: &mut [u8]) -> Option<Heard> {
        let (header, entry) = self.table.lookup_frame(body)?;
        let Entry::Tryst { pairing, class, interval } = entry else { return None };
        let interval = self.directory.resolve(pairing, interval, self.wall)?;
        let keys = self.directory.receiving(pairing, interval).ok()?;
        let suite = self.directory.get(pairing)?.suite();
        let opened = tryst::open(suite, &keys, body, header).ok()?;
        let payload = body[opened.payload].to_vec();
        Some(Heard { header, recipients: opened.recipients, class, interval, payload })
    }
}

pub(super) fn class(case: &Case<'_>) -> Result<Class, Failed> {
    match case.number("class")? {
        0 => Ok(Class::Probe),
        1 => Ok(Class::Authentication),
        _ => Err(case.failed("the class is not known")),
    }
}

/// The terms of a vector's pairing; the name and kind do not matter to it.
pub(super) fn terms(case: &Case<'_>, suite: Suite) -> Result<Terms, Failed> {
    let network = NetworkName::new(b"vectors").ok_or_else(|| case.failed("no name"))?;
    let mut terms = Terms::new(network, suite, case.time("t0_s")?, Kind::Member);
    terms.interval = case.seconds("interval_s")?;
    if case.has("skew") {
        terms.skew = case.number("skew")? as u8;
    }
    Ok(terms)
}

/// Checks interval, day and address; returns the keys of the day.
pub(super) fn keys_at(
    case: &Case<'_>,
    pairing: &Pairing,
    sender: Side,
    class: Class,
    wall: UnixTime,
) -> Result<(u64, TrystKeys), Failed> {
    let interval = case.number("i")?;
    case.equal("i", &pairing.interval_at(wall), &(interval as i64))?;
    case.equal("day", &pairing.day_of(interval), &case.number("day")?)?;
    let keys = pairing.tryst_keys(sender.sends(), interval);
    let keys = keys.map_err(|_| case.failed("no keys for that day"))?;
    let address = tryst::address(&keys.addr, class, interval);
    case.equal("address", &address, &case.fixed("address")?)?;
    // What the directory sends with must be the same.
    let ear = Ear::new(sender, pairing, wall);
    let sending = ear.directory.sending(ear.index, class, wall);
    case.equal("address to send with", &sending, &Ok((address, keys.clone())))?;
    Ok((interval, keys))
}

/// Seals a vector's packet again.
pub(super) fn seals(
    case: &Case<'_>,
    suite: Suite,
    sizes: Sizes,
    to: &[(TrystKeys, [u8; 16])],
) -> Result<(), Failed> {
    let recipients: Vec<_> = to.iter().map(|(keys, address)| Recipient { keys, address }).collect();
    let kp: Key128 = case.key128("kp")?;
    let mut out = vec![0xee; sizes.max_body()];
    let len = tryst::seal_with(suite, sizes, &recipients, &case.bytes("payload")?, &kp, &mut out);
    let len = len.map_err(|_| case.failed("the payload is not sealed"))?;
    case.equal("packet", &out[..len], &case.bytes("packet")?)
}

/// The twins of a packet with one header, sent by `sender` at `wall`.
pub(super) fn single_twins(
    case: &Case<'_>,
    pairing: &Pairing,
    other_keys: &Pairing,
    sender: Side,
    wall: UnixTime,
    interval: u64,
) -> Result<usize, Failed> {
    let receiver = match sender {
        Side::Client => Side::AccessPoint,
        Side::AccessPoint => Side::Client,
    };
    let packet = case.bytes("packet")?;
    let expected = Heard {
        header: 0,
        recipients: 1,
        class: class(case)?,
        interval,
        payload: case.bytes("payload")?,
    };
    let ear = Ear::new(receiver, pairing, wall);
    let heard = ear.hear(&mut packet.clone()).ok_or_else(|| case.failed("is not opened"))?;
    if heard != expected {
        return Err(case.failed("opens to something else"));
    }

    let mut twins = case.refuses_damage(&packet, |p| ear.hear(p).is_some())?;
    let hears = |ear: &Ear| ear.hear(&mut packet.clone()).is_some();
    let swapped = Ear::new(sender, pairing, wall);
    twins += case.refused("the direction swapped", hears(&swapped))?;
    let stranger = Ear::new(receiver, other_keys, wall);
    twins += case.refused("a wrong key", hears(&stranger))?;

    let i = pairing.interval().as_secs();
    let skew = u64::from(pairing.skew());
    for (clock, within) in [(skew, true), (skew + 1, false)] {
        let slow = pairing.begins(interval.saturating_sub(clock));
        let fast = pairing.begins(interval + clock) + Duration::from_secs(i - 1);
        for wall in [slow, fast] {
            // Before T0 there is no interval to be slow in.
            if wall == slow && interval < clock {
                continue;
            }
            let ear = Ear::new(receiver, pairing, wall);
            let what = "a clock at the edge of the window";
            if hears(&ear) != within {
                return Err(case.failed(what));
            }
            twins += usize::from(!within);
        }
    }

    // The body under the keys of the same day, but as if it were of another interval or class.
    let keys = pairing.tryst_keys(sender.sends(), interval);
    let keys = keys.map_err(|_| case.failed("no keys for that day"))?;
    let other_class = match expected.class {
        Class::Probe => Class::Authentication,
        Class::Authentication => Class::Probe,
    };
    for (what, klass, i) in [
        ("the other class's address", other_class, interval),
        ("the next interval's address", expected.class, interval + 1),
    ] {
        let mut moved = packet.clone();
        moved[..16].copy_from_slice(&tryst::address(&keys.addr, klass, i));
        twins += case.refused(what, ear.hear(&mut moved).is_some())?;
    }
    Ok(twins)
}

/// The twins of a scoped broadcast: each recipient opens it, damage to it does not pass.
pub(super) fn scoped_twins(
    case: &Case<'_>,
    pairings: &[(Pairing, u64)],
    wall: UnixTime,
) -> Result<usize, Failed> {
    let packet = case.bytes("packet")?;
    let payload = case.bytes("payload")?;
    let mut twins = 0;
    for (header, (pairing, interval)) in pairings.iter().enumerate() {
        let ear = Ear::new(Side::AccessPoint, pairing, wall);
        let expected = Heard {
            header,
            recipients: pairings.len(),
            class: Class::Probe,
            interval: *interval,
            payload: payload.clone(),
        };
        let heard = ear.hear(&mut packet.clone()).ok_or_else(|| case.failed("is not opened"))?;
        if heard != expected {
            return Err(case.failed(&std::format!("header {header} opens to something else")));
        }
        // In suite 2008 nothing binds the other recipients' headers to this one's.
        let own = header * tryst::HEADER_LEN..(header + 1) * tryst::HEADER_LEN;
        let ctext = pairings.len() * tryst::HEADER_LEN;
        for at in 0..packet.len() {
            if pairing.suite().is_aead() || own.contains(&at) || at >= ctext {
                let mut flipped = packet.clone();
                flipped[at] ^= 0x10;
                let what = std::format!("byte {at} damaged, to recipient {header}");
                twins += case.refused(&what, ear.hear(&mut flipped).is_some())?;
            }
            let what = "only a part of it".to_string();
            twins += case.refused(&what, ear.hear(&mut packet[..at].to_vec()).is_some())?;
        }
        let swapped = Ear::new(Side::Client, pairing, wall);
        twins +=
            case.refused("the direction swapped", swapped.hear(&mut packet.clone()).is_some())?;
    }
    Ok(twins)
}
