//! Vectors of suite `2008` (slyfi-2008 §3.3, §3.4, §4.1).

use super::case::Case;
use super::{Check, Failed, shroud, tryst};
use crate::directory::Side;
use crate::keys::{Key128, Key256};
use crate::pairing::Pairing;
use crate::shroud::DirectionSecret;
use crate::sizes::{SizePolicy, Sizes};
use crate::suite::Suite;
use crate::tryst::{Class, TrystKeys};
use std::vec::Vec;

pub(super) const GROUPS: [(&str, Check); 3] =
    [("tryst", single), ("tryst_scoped", scoped), ("shroud", one_frame)];

/// The longest that the carrier takes: the vectors know no policy.
const SIZES: Sizes = Sizes::new(SizePolicy::None, usize::MAX);

fn single(case: &Case<'_>) -> Result<usize, Failed> {
    let (pairing, other) = pairings(case)?;
    let wall = case.time("t_s")?;
    let class = tryst::class(case)?;
    let (interval, keys) = tryst::keys_at(case, &pairing, Side::Client, class, wall)?;
    tryst::seals(case, Suite::S2008, SIZES, &[(keys, case.fixed("address")?)])?;
    tryst::single_twins(case, &pairing, &other, Side::Client, wall, interval)
}

fn scoped(case: &Case<'_>) -> Result<usize, Failed> {
    let wall = case.time("t_s")?;
    let (mut to, mut heard) = (Vec::new(), Vec::new());
    for who in case.children("recipients")? {
        let (pairing, _) = pairings(&who)?;
        let (interval, keys) = tryst::keys_at(&who, &pairing, Side::Client, Class::Probe, wall)?;
        to.push((keys, who.fixed("address")?));
        heard.push((pairing, interval));
    }
    tryst::seals(case, Suite::S2008, SIZES, &to)?;
    tryst::scoped_twins(case, &heard, wall)
}

/// The vector's pairing, and one that differs from it in the keys of headers only.
fn pairings(case: &Case<'_>) -> Result<(Pairing, Pairing), Failed> {
    let keys = |flip: u8| {
        let [addr, mut enc, mut mac]: [[u8; 16]; 3] =
            [case.fixed("k_addr")?, case.fixed("k_enc")?, case.fixed("k_mac")?];
        enc[3] ^= flip;
        mac[12] ^= flip;
        Ok(TrystKeys { addr: Key128::new(addr), enc: Key128::new(enc), mac: Key128::new(mac) })
    };
    // The vectors are of one direction; the other gets keys of its own.
    let down = || TrystKeys {
        addr: Key128::new([0xd0; 16]),
        enc: Key128::new([0xd1; 16]),
        mac: Key128::new([0xd2; 16]),
    };
    let terms = tryst::terms(case, Suite::S2008)?;
    let make = |flip| {
        Pairing::from_keys_2008(&terms, [1; 8], &keys(flip)?, &down())
            .map_err(|_| case.failed("interval or skew out of range"))
    };
    Ok((make(0)?, make(0x20)?))
}

fn one_frame(case: &Case<'_>) -> Result<usize, Failed> {
    let halves: [[u8; 16]; 2] = [case.fixed("ks_enc")?, case.fixed("ks_mac")?];
    let secret = Key256::from_slice(halves.as_flattened());
    let secret = secret.ok_or_else(|| case.failed("the keys have not 32 bytes"))?;
    shroud::frame(case, &DirectionSecret::new(Suite::S2008, secret), SIZES)
}
