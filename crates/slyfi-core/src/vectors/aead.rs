//! Vectors of suite `aead`.

use super::case::{Case, Script, hex};
use super::{Check, Failed, shroud, tryst};
use crate::agreement::{self, Offer, SessionSecrets, roam};
use crate::directory::Side;
use crate::invite::Invite;
use crate::keys::Key256;
use crate::pairing::{Direction, Kind, NetworkName, Pairing, Terms};
use crate::shroud::{DirectionSecret, Window};
use crate::suite::Suite;
use crate::tryst::Class;
use serde_json::Value;
use slyfi_base::{Duration, UnixTime};
use std::vec::Vec;

pub(super) const GROUPS: [(&str, Check); 9] = [
    ("ratchet", ratchet),
    ("tryst", single),
    ("tryst_scoped", scoped),
    ("shroud", one_frame),
    ("window", window),
    ("agreement", agree),
    ("roam", roams),
    ("invite", invite),
    ("stored", stored),
];

fn ratchet(case: &Case<'_>) -> Result<usize, Failed> {
    let network = NetworkName::new(b"vectors").ok_or_else(|| case.failed("no name"))?;
    let mut terms = Terms::new(network, case.suite()?, UnixTime::default(), Kind::Member);
    terms.interval = Duration::from_secs(86_400);
    let (first, other) = (case.key256("day_0")?, Key256::new([0xd0; 32]));
    let day = case.number("day")? as u32;
    let make = |up, down| {
        Pairing::from_day_secrets(&terms, [1; 8], up, down).map_err(|_| case.failed("terms"))
    };
    // The same in either direction, looked ahead to or advanced to.
    let (mut up, down) = (make(&first, &other)?, make(&other, &first)?);
    let ahead = down.tryst_keys(Direction::Down, day.into());
    up.advance(day).map_err(|_| case.failed("not advanced"))?;
    let there = up.tryst_keys(Direction::Up, day.into());
    for keys in [ahead, there] {
        let keys = keys.map_err(|_| case.failed("no keys for that day"))?;
        case.equal("k_addr", &keys.addr, &case.key128("k_addr")?)?;
        case.equal("k_enc", &keys.enc, &case.key128("k_enc")?)?;
        case.equal("k_mac", &keys.mac, &case.key128("k_mac")?)?;
    }
    let secret = make(&case.key256("secret")?, &other)?.tryst_keys(Direction::Up, 0);
    case.equal("secret", &secret, &up.tryst_keys(Direction::Up, day.into()))?;
    match day.checked_sub(1) {
        Some(past) => {
            case.refused("an erased day", up.tryst_keys(Direction::Up, past.into()).is_ok())
        }
        None => Ok(0),
    }
}

/// The vector's pairing, and one whose secrets differ in one bit.
fn pairings(case: &Case<'_>, suite: Suite) -> Result<(Pairing, Pairing), Failed> {
    let terms = tryst::terms(case, suite)?;
    let make = |flip: u8| {
        let (mut up, mut down): ([u8; 32], [u8; 32]) = (case.fixed("up")?, case.fixed("down")?);
        up[31] ^= flip;
        down[0] ^= flip;
        Pairing::from_day_secrets(&terms, [1; 8], &Key256::new(up), &Key256::new(down))
            .map_err(|_| case.failed("interval or skew out of range"))
    };
    Ok((make(0)?, make(0x40)?))
}

fn single(case: &Case<'_>) -> Result<usize, Failed> {
    let suite = case.suite()?;
    let (pairing, other) = pairings(case, suite)?;
    let sender = match case.str("direction")? {
        "up" => Side::Client,
        "down" => Side::AccessPoint,
        _ => return Err(case.failed("the direction is not known")),
    };
    let wall = case.time("t_s")?;
    let class = tryst::class(case)?;
    let (interval, keys) = tryst::keys_at(case, &pairing, sender, class, wall)?;
    tryst::seals(case, suite, case.sizes()?, &[(keys, case.fixed("address")?)])?;
    tryst::single_twins(case, &pairing, &other, sender, wall, interval)
}

fn scoped(case: &Case<'_>) -> Result<usize, Failed> {
    let (suite, wall) = (case.suite()?, case.time("t_s")?);
    let (mut to, mut heard) = (Vec::new(), Vec::new());
    for who in case.children("recipients")? {
        let (pairing, _) = pairings(&who, suite)?;
        let (interval, keys) = tryst::keys_at(&who, &pairing, Side::Client, Class::Probe, wall)?;
        to.push((keys, who.fixed("address")?));
        heard.push((pairing, interval));
    }
    tryst::seals(case, suite, case.sizes()?, &to)?;
    tryst::scoped_twins(case, &heard, wall)
}

fn one_frame(case: &Case<'_>) -> Result<usize, Failed> {
    let secret = DirectionSecret::new(case.suite()?, case.key256("secret")?);
    shroud::frame(case, &secret, case.sizes()?)
}

/// After each receipt exactly the addresses that the vector lists are live.
fn window(case: &Case<'_>) -> Result<usize, Failed> {
    let secret = DirectionSecret::new(case.suite()?, case.key256("secret")?);
    let window = Window { ahead: case.number("ahead")? as u16, late: case.number("late")? as u8 };
    let mut ear = shroud::Ear::new(&secret, window, 1);
    let received = case.array("received")?.iter().map(Value::as_u64);
    let mut twins = 0;
    for (live, number) in case.array("live")?.iter().zip(core::iter::once(None).chain(received)) {
        if let Some(number) = number {
            if !ear.receiver.accept(number, &mut ear.table) {
                return Err(case.failed(&std::format!("number {number} is not accepted")));
            }
            twins += case.refused("a used number", ear.receiver.accept(number, &mut ear.table))?;
        }
        let live = live.as_array().ok_or_else(|| case.failed("live is no array of arrays"))?;
        case.equal("the count of live addresses", &ear.table.len(), &live.len())?;
        let mut addresses: Vec<_> = ear.table.addresses().map(|a| Value::from(hex(&a))).collect();
        addresses.sort_by(|a, b| a.as_str().cmp(&b.as_str()));
        case.equal("the live addresses", addresses.as_slice(), live.as_slice())?;
    }
    Ok(twins)
}

fn agree(case: &Case<'_>) -> Result<usize, Failed> {
    let suite = case.suite()?;
    let with_ml_kem = case.has("client_mlkem_seed");
    let seed = if with_ml_kem { case.bytes("client_mlkem_seed")? } else { Vec::new() };
    let client = [case.bytes("client_random")?, case.bytes("client_x25519")?, seed].concat();
    let (request, response) = (case.bytes("request")?, case.bytes("response")?);
    let offer = || Offer::new(suite, &mut Script::new(&[&client]));
    case.equal("request", offer().request_bytes(), &request)?;
    let secrets = offer().finish(&response).map_err(|_| case.failed("is not finished"))?;
    let expected = SessionSecrets {
        up: DirectionSecret::new(suite, case.key256("up")?),
        down: DirectionSecret::new(suite, case.key256("down")?),
        roam: case.key256("roam")?,
        export: case.key256("export")?,
    };
    case.equal("the session's secrets", &secrets, &expected)?;

    // The randomness of the ciphertext is not in the vector; the access point's own half is checked
    // where there is none, and against the client's where there is.
    let ap = [case.bytes("ap_random")?, case.bytes("ap_x25519")?].concat();
    let answered = agreement::answer(suite, &request, &mut Script::new(&[&ap]));
    let (theirs, answer) = answered.map_err(|_| case.failed("is not answered"))?;
    case.equal("the random and key of the response", &answer[..64], &response[..64])?;
    if !with_ml_kem {
        case.equal("response", &answer[..], &response)?;
        case.equal("the access point's secrets", &theirs, &expected)?;
    }
    let ours = offer().finish(&answer).map_err(|_| case.failed("is not finished"))?;
    case.equal("the secrets of both sides", &ours, &theirs)?;

    let mut twins = 0;
    let equal = |response: &[u8]| offer().finish(response).is_ok_and(|s| s.up == expected.up);
    for at in 0..response.len() {
        let mut flipped = response.clone();
        flipped[at] ^= 1 << (at % 8);
        twins += case.refused("a damaged response", equal(&flipped))?;
        let truncated = offer().finish(&response[..at]).is_ok();
        twins += case.refused("a truncated response", truncated)?;
    }
    for at in 0..request.len() {
        let answered = agreement::answer(suite, &request[..at], &mut Script::new(&[&ap])).is_ok();
        twins += case.refused("a truncated request", answered)?;
    }
    Ok(twins)
}

fn roams(case: &Case<'_>) -> Result<usize, Failed> {
    let (suite, roaming, salt) = (case.suite()?, case.key256("roam")?, case.bytes("salt")?);
    let generation = case.number("generation")? as u32;
    let up = DirectionSecret::new(suite, case.key256("up")?);
    let down = DirectionSecret::new(suite, case.key256("down")?);
    let made = roam::derive(suite, &roaming, &salt, generation);
    case.equal("the derived secrets", &made, &(up.clone(), down.clone()))?;
    let mut other_salt = salt.clone();
    other_salt[0] ^= 1;
    let mut twins = case.refused("the direction swapped", made == (down, up))?;
    for other in [
        roam::derive(suite, &roaming, &other_salt, generation),
        roam::derive(suite, &roaming, &salt, generation ^ 1),
        roam::derive(Suite::S2008, &roaming, &salt, generation),
    ] {
        let same = other.0.as_bytes() == made.0.as_bytes();
        twins += case.refused("another access point, move or suite", same)?;
    }
    Ok(twins)
}

fn invite(case: &Case<'_>) -> Result<usize, Failed> {
    let (url, expires) = (case.str("url")?, case.time("expires_s")?);
    let before = expires.shifted(-1_000_000);
    let invite = Invite::from_url(url, before);
    let invite = invite.map_err(|e| case.failed(&std::format!("{e}")))?;
    case.equal("suite", &invite.suite(), &case.suite()?)?;
    case.equal("network", invite.network().as_bytes(), &case.bytes("network")?)?;
    case.equal("expires_s", &invite.expires(), &expires)?;
    case.equal("url", invite.to_url().as_str(), url)?;
    let pairing = invite.pairing();
    case.equal("id", pairing.id(), &case.fixed("id")?)?;
    case.equal("stored", &pairing.encode()[..], &case.bytes("stored")?)?;
    case.equal("secret", &invite.encode()[10..26], &case.bytes("secret")?)?;
    let mut terms = tryst::terms(case, case.suite()?)?;
    terms.network = invite.network().clone();
    terms.kind = Kind::Invite { expires };
    let (up, down) = (case.key256("up")?, case.key256("down")?);
    let made = Pairing::from_day_secrets(&terms, case.fixed("id")?, &up, &down);
    case.equal("the pairing", &made.as_ref(), &Ok(&pairing))?;
    case.equal("lower case", &Invite::from_url(&url.to_lowercase(), before), &Ok(invite))?;

    let mut twins = case.refused("its time past", Invite::from_url(url, expires).is_ok())?;
    for at in 0..url.len() {
        let mut damaged = url.as_bytes().to_vec();
        damaged[at] = if damaged[at] == b'A' { b'B' } else { b'A' };
        let read = core::str::from_utf8(&damaged).map(|u| Invite::from_url(u, before).is_ok());
        twins += case.refused("a wrong character", read == Ok(true))?;
        twins += case.refused("its end missing", Invite::from_url(&url[..at], before).is_ok())?;
    }
    Ok(twins)
}

fn stored(case: &Case<'_>) -> Result<usize, Failed> {
    let network = NetworkName::new(&case.bytes("network")?).ok_or_else(|| case.failed("name"))?;
    let mut terms = Terms::new(network, case.suite()?, case.time("t0_s")?, Kind::Member);
    terms.interval = case.seconds("interval_s")?;
    terms.skew = case.number("skew")? as u8;
    let (up, down) = (case.key256("up")?, case.key256("down")?);
    let pairing = Pairing::from_day_secrets(&terms, case.fixed("id")?, &up, &down);
    let mut pairing = pairing.map_err(|_| case.failed("interval or skew out of range"))?;
    pairing.advance(case.number("day")? as u32).map_err(|_| case.failed("not advanced"))?;
    let bytes = case.bytes("stored")?;
    case.equal("stored", &pairing.encode()[..], &bytes)?;
    case.equal("what is read back", &Pairing::decode(&bytes), &Ok(pairing))?;
    let mut twins = 0;
    for at in 0..bytes.len() {
        twins += case.refused("its end missing", Pairing::decode(&bytes[..at]).is_ok())?;
    }
    let longer = [&bytes[..], &[0]].concat();
    twins += case.refused("a byte more", Pairing::decode(&longer).is_ok())?;
    Ok(twins)
}
