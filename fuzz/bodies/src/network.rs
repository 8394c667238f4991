//! The network that the machines' targets play on: names, pairings, machines.

pub(crate) use crate::seeded::Seeded;
use slyfi_base::{Duration, Instant, MacAddress, Now, UnixTime};
use slyfi_core::ap::{ApConfig, ApLink};
use slyfi_core::client::{ClientConfig, ClientLink};
use slyfi_core::pairing::{Kind, NetworkName, Pairing, Terms};
use slyfi_core::suite::{KeySize, Suite};

/// Civil time at which every scenario begins.
pub(crate) const START: UnixTime = UnixTime::from_secs(1_790_000_000);

/// A little more than a day: no scenario that keeps within [`MAX_PASSED`] sees a day turn.
const SINCE_PAIRING_S: u64 = 100_000;

/// The most time that passes in a scenario whose links have to come up again at its end.
pub(crate) const MAX_PASSED: Duration = Duration::from_secs(50_000);

pub(crate) const AP_MAC: MacAddress = MacAddress([2, 0, 0, 0, 0, 1]);

/// Packets that a machine can hold: few, so that running out is part of the game.
pub(crate) const PACKETS: u32 = 128;

/// Both clocks at the beginning.
pub(crate) fn start() -> Now {
    Now { mono: Instant::from_micros(1_000_000), wall: START }
}

/// The address of the host of client `n`.
pub(crate) fn client_mac(n: u8) -> MacAddress {
    MacAddress([2, 0xc1, 0, 0, 0, n])
}

/// The name of the network.
pub(crate) fn name() -> NetworkName {
    NetworkName::new(b"fuzzed").expect("a short name")
}

/// The suites that differ in their code paths (ML-KEM is left out: it only costs time here).
pub(crate) fn suite(choice: usize) -> Suite {
    let long = Suite::ALL.into_iter().find(
        |s| matches!(s, Suite::Aead { key: KeySize::Aes256, kem } if *kem == slyfi_core::suite::Kem::X25519),
    );
    [Suite::AEAD, Suite::S2008, long.unwrap_or(Suite::AEAD)][choice % 3]
}

/// The pairing number `n` of the network, of kind member or invite.
pub(crate) fn pairing(suite: Suite, n: u8, kind: Kind) -> Pairing {
    let t0 = UnixTime::from_secs(START.as_secs() - SINCE_PAIRING_S);
    let terms = Terms::new(name(), suite, t0, kind);
    Pairing::generate(&terms, &mut Seeded(1_000 + u64::from(n))).expect("terms in range")
}

/// How the access point behaves: bits of `choice` switch what is off by default.
pub(crate) fn ap_config(suite: Suite, choice: u8) -> ApConfig {
    ApConfig {
        suite,
        packets: PACKETS,
        diagnose: if choice & 1 == 0 { 0 } else { 2 },
        late: if choice & 2 == 0 { 0 } else { 8 },
        keeps_order: choice & 2 == 0,
        cover: (choice & 4 != 0).then_some(Duration::from_millis(700)),
        rekey_after: if choice & 8 == 0 { 1 << 31 } else { 40 },
        window: if choice & 16 == 0 { 50 } else { 8 },
        max_sessions: 4,
        ..ApConfig::default()
    }
}

/// How a client behaves, by the same bits.
pub(crate) fn client_config(choice: u8) -> ClientConfig {
    ClientConfig {
        packets: PACKETS,
        late: if choice & 2 == 0 { 0 } else { 8 },
        keeps_order: choice & 2 == 0,
        cover: (choice & 4 != 0).then_some(Duration::from_millis(900)),
        heed_announcements: choice & 32 != 0,
        rekey_after: if choice & 8 == 0 { 1 << 31 } else { 40 },
        window: if choice & 16 == 0 { 50 } else { 8 },
        ..ClientConfig::default()
    }
}

/// Makes the access point with its pairings.
pub(crate) fn access_point(
    config: ApConfig,
    pairings: &[Pairing],
    seed: u64,
    now: Now,
) -> ApLink<Seeded> {
    let mut ap = ApLink::new(config, AP_MAC, Seeded(seed), now);
    for p in pairings {
        ap.add_pairing(now, p.clone()).expect("ids differ");
    }
    ap
}

/// Makes client `n` with its pairing.
pub(crate) fn client(
    config: ClientConfig,
    pairing: &Pairing,
    n: u8,
    seed: u64,
    now: Now,
) -> ClientLink<Seeded> {
    let mut client = ClientLink::new(config, client_mac(n), Seeded(seed), now);
    client.add_pairing(now, pairing.clone()).expect("the only one");
    client
}

/// An Ethernet frame.
pub(crate) fn ethernet(
    to: MacAddress,
    from: MacAddress,
    ether_type: u16,
    payload: &[u8],
) -> Vec<u8> {
    [&to.0[..], &from.0, &ether_type.to_be_bytes(), payload].concat()
}

/// The most addresses that these many pairings and session ends can make a machine listen for.
pub(crate) fn most_addresses(pairings: usize, diagnose: usize, receivers: usize) -> usize {
    // Two classes in 2k + 1 intervals and in those diagnosed; w and the late ones of a receiver.
    pairings * 2 * (2 * (1 + diagnose) + 1) + receivers * (50 + 8)
}
