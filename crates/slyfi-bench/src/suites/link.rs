//! What SlyFi's own mechanisms cost: the address table, the turn of an interval, frames, the set-up of
//! a link, and the memory of an association.

use std::hint::black_box;

use slyfi_base::{SecureRandom, UnixTime};
use slyfi_core::agreement::{self, Offer};
use slyfi_core::directory::{Directory, Side};
use slyfi_core::pairing::{Kind, NetworkName, Pairing, Terms};
use slyfi_core::shroud::{
    DirectionSecret, ShroudOpen, ShroudReceiver, ShroudSeal, ShroudSender, Slot, Unverified,
    Window, open_batch, seal_batch,
};
use slyfi_core::sizes::Sizes;
use slyfi_core::suite::{Kem, KeySize, Suite};
use slyfi_core::table::{AddressTable, Entry};
use slyfi_core::tryst::{self, Class, Recipient};

use crate::harness::{Contest, Measurement, Outcome};
use crate::memory;
use crate::report::{Bar, Row};

/// A full Ethernet payload.
const PAYLOAD: usize = 1500;

/// Frames for somebody else: more than a branch predictor learns, and few enough to stay in the
/// second-level cache, where a card's driver leaves them.
const FOREIGN_FRAMES: usize = 512;

/// T0 of the pairings.
const T0: u64 = 1_700_000_000;

const AEAD_ML_KEM: Suite = Suite::Aead { key: KeySize::Aes128, kem: Kem::X25519MlKem768 };

/// Measures everything.
pub fn run(rounds: u32) -> Vec<Row> {
    let mut rows = vec![
        foreign(rounds, 50, Bar::Nanoseconds(60.0)),
        foreign(rounds, 500_000, Bar::Nanoseconds(200.0)),
    ];
    for suite in [Suite::S2008, Suite::AEAD] {
        rows.push(turn(rounds, suite, 10_000));
        rows.push(turn(rounds, suite, 1_000_000));
    }
    for suite in [Suite::S2008, Suite::AEAD] {
        rows.push(seal(rounds, suite, 1));
        rows.push(seal(rounds, suite, 16));
        rows.push(open(rounds, suite, 1));
        rows.push(open(rounds, suite, 16));
    }
    rows.push(set_up(rounds, Suite::S2008, Bar::Nanoseconds(1e6)));
    rows.push(set_up(rounds, Suite::AEAD, Bar::Nanoseconds(1e6)));
    rows.push(set_up(rounds, AEAD_ML_KEM, Bar::Nanoseconds(1e6)));
    for suite in [Suite::S2008, Suite::AEAD] {
        rows.push(association(suite));
        rows.push(pairing_memory(suite));
    }
    rows
}

/// Drops a 1500-byte frame for somebody else, all eight places of an address looked at: each frame
/// another one, as they would come from the air.
fn foreign(rounds: u32, live: u32, bar: Bar) -> Row {
    let mut rng = Seeded(1);
    let mut table = AddressTable::new(&mut rng);
    for pairing in 0..live {
        let mut address = [0; 16];
        rng.fill(&mut address);
        table.insert(&address, Entry::Tryst { pairing, class: Class::Probe, interval: 1 });
    }
    let mut frames = vec![[0; PAYLOAD]; FOREIGN_FRAMES];
    for frame in &mut frames {
        rng.fill(frame);
    }
    let mut next = 0;
    let mut contest = Contest::default();
    contest.enter("slyfi-core", move || {
        next = (next + 1) % FOREIGN_FRAMES;
        assert!(table.lookup_frame(black_box(&frames[next])).is_none());
    });
    Row::new(&format!("drop a foreign frame, {live} live addresses"), bar, contest.run(rounds, 1))
}

/// The turn of a directory, second by second, for each key; table, day ratchet and all. T0 is spread
/// evenly, so that in every second a 300th of the keys turns.
fn turn(rounds: u32, suite: Suite, keys: u32) -> Row {
    let mut rng = Seeded(2);
    let mut table = AddressTable::new(&mut rng);
    let mut directory = Directory::new(Side::AccessPoint);
    let mut wall = T0 + 3 * 86_400;
    for key in 0..keys {
        let pairing = pairing(suite, T0 + u64::from(key) % 86_400, &mut rng);
        let inserted = directory.insert(pairing, UnixTime::from_secs(wall), &mut table);
        inserted.expect("ids are random");
    }
    let mut contest = Contest::default();
    contest.enter("slyfi-core", move || {
        wall += 1;
        let turn = directory.turn(UnixTime::from_secs(wall), &mut table, usize::MAX);
        assert!(!black_box(turn).more);
        assert_eq!(table.len(), keys as usize * 6);
    });
    let what = format!("new interval, per key of {keys}, suite {suite}");
    Row::new(&what, Bar::Nanoseconds(1000.0), contest.run(rounds, keys / 300))
}

/// Seals frames of 1500 bytes, of a link each: number, address, padding, encryption, tag.
fn seal(rounds: u32, suite: Suite, frames: usize) -> Row {
    let mut rng = Seeded(3);
    let mut senders: Vec<_> = (0..frames).map(|_| link(suite, &mut rng).0).collect();
    let mut bodies = vec![[0; 1600]; frames];
    let mut contest = Contest::default();
    contest.enter("slyfi-core", move || {
        if let ([sender], [body]) = (&mut senders[..], &mut bodies[..]) {
            // A secret lasts for 2^32 frames, more than are sealed here.
            black_box(sender.seal(body, PAYLOAD)).expect("a fresh secret");
            return;
        }
        let jobs = senders.iter_mut().zip(&mut bodies);
        let mut jobs: Vec<_> = jobs
            .map(|(sender, body)| ShroudSeal { sender, body, message_len: PAYLOAD, sealed: Ok(0) })
            .collect();
        seal_batch(&mut jobs);
        assert!(jobs.iter().all(|j| j.sealed.is_ok()));
    });
    let what = format!("seal {frames} frame(s) of 1500 B, per frame, suite {suite}");
    Row::new(&what, Bar::None, contest.run(rounds, frames as u32))
}

/// Opens frames of 1500 bytes, of a link each. Copying the frame back in place is counted, too.
fn open(rounds: u32, suite: Suite, frames: usize) -> Row {
    let mut rng = Seeded(4);
    let mut receivers = Vec::new();
    let mut sealed = Vec::new();
    for _ in 0..frames {
        let (mut sender, receiver) = link(suite, &mut rng);
        let mut body = vec![0; 1600];
        let len = sender.seal(&mut body, PAYLOAD).expect("a fresh secret");
        body.truncate(len);
        receivers.push(receiver);
        sealed.push(body);
    }
    let mut bodies = sealed.clone();
    let mut contest = Contest::default();
    contest.enter("slyfi-core", move || {
        for (body, sealed) in bodies.iter_mut().zip(&sealed) {
            body.copy_from_slice(sealed);
        }
        if let ([receiver], [body]) = (&receivers[..], &mut bodies[..]) {
            assert!(black_box(receiver.open(1, body)).is_ok());
            return;
        }
        let jobs = receivers.iter().zip(&mut bodies);
        let mut jobs: Vec<_> = jobs
            .map(|(receiver, body)| ShroudOpen { receiver, low: 1, body, opened: Err(Unverified) })
            .collect();
        open_batch(&mut jobs);
        assert!(jobs.iter().all(|j| j.opened.is_ok()));
    });
    let what = format!("open {frames} frame(s) of 1500 B, per frame, suite {suite}");
    Row::new(&what, Bar::None, contest.run(rounds, frames as u32))
}

/// All cryptography of setting a link up, both sides: probe and answer, authentication and answer with
/// the agreement, windows of w = 50 installed, association and answer under Shroud.
fn set_up(rounds: u32, suite: Suite, bar: Bar) -> Row {
    let mut rng = Seeded(5);
    let wall = UnixTime::from_secs(T0 + 4321);
    let pairing = pairing(suite, T0, &mut rng);
    let mut ends = [Side::Client, Side::AccessPoint].map(|side| {
        let mut table = AddressTable::new(&mut rng);
        let mut directory = Directory::new(side);
        directory.insert(pairing.clone(), wall, &mut table).expect("the first");
        End { directory, table, wall }
    });
    let mut contest = Contest::default();
    contest.enter("slyfi-core", move || {
        let [client, ap] = &mut ends;
        let probe = client.send(Class::Probe, b"probe", &mut rng);
        assert_eq!(ap.receive(probe), b"probe");
        let reply = ap.send(Class::Probe, b"reply", &mut rng);
        assert_eq!(client.receive(reply), b"reply");

        let offer = Offer::new(suite, &mut rng);
        let request = client.send(Class::Authentication, offer.request_bytes(), &mut rng);
        let request = ap.receive(request);
        let (theirs, response) =
            agreement::answer(suite, &request, &mut rng).expect("a sound request");
        let response = ap.send(Class::Authentication, &response, &mut rng);
        let ours = offer.finish(&client.receive(response)).expect("a sound response");

        for (from, to, end) in
            [(&ours.up, &theirs.up, &mut *ap), (&theirs.down, &ours.down, &mut *client)]
        {
            let mut receiver = ShroudReceiver::new(to, Window::default());
            receiver.install(&mut end.table, Slot::Link(0));
            let mut body = [0; 1600];
            let mut sender = ShroudSender::new(from, Sizes::default());
            let len = sender.seal(&mut body, 200).expect("a fresh secret");
            let found = end.table.lookup_frame(&body[..len]);
            let Some((0, Entry::Shroud { number, .. })) = found else { panic!("not heard") };
            let opened = receiver.open(number, &mut body[..len]).expect("sealed just now");
            assert!(receiver.accept(opened.number, &mut end.table));
            receiver.remove_all(&mut end.table);
        }
    });
    Row::new(&format!("set a link up, suite {suite}"), bar, contest.run(rounds, 1))
}

/// A machine's end of a pairing.
struct End {
    directory: Directory,
    table: AddressTable,
    wall: UnixTime,
}

impl End {
    fn send(&self, class: Class, payload: &[u8], rng: &mut Seeded) -> Vec<u8> {
        let (address, keys) = self.directory.sending(0, class, self.wall).expect("after T0");
        let suite = self.directory.get(0).expect("the first").suite();
        let to = [Recipient { keys: &keys, address: &address }];
        let mut body = vec![0; 1600];
        let len = tryst::seal(suite, Sizes::default(), &to, payload, rng, &mut body);
        body.truncate(len.expect("it fits"));
        body
    }

    fn receive(&self, mut body: Vec<u8>) -> Vec<u8> {
        let found = self.table.lookup_frame(&body);
        let Some((header, Entry::Tryst { pairing, interval, .. })) = found else {
            panic!("not heard")
        };
        let interval = self.directory.resolve(pairing, interval, self.wall).expect("a pairing");
        let keys = self.directory.receiving(pairing, interval).expect("in the window");
        let suite = self.directory.get(pairing).expect("a pairing").suite();
        let opened = tryst::open(suite, &keys, &mut body, header).expect("sealed just now");
        body[opened.payload].to_vec()
    }
}

/// One side's state of an association: both directions and their entries in a table that holds a
/// thousand others, whose growth is shared out among all.
fn association(suite: Suite) -> Row {
    const ASSOCIATIONS: usize = 1000;
    let mut rng = Seeded(6);
    let mut table = AddressTable::new(&mut rng);
    let secrets = DirectionSecret::random(suite, &mut rng);
    let before = memory::allocated();
    let ends: Vec<_> = (0..ASSOCIATIONS as u32)
        .map(|slot| {
            let sender = ShroudSender::new(&secrets, Sizes::default());
            let secret = DirectionSecret::random(suite, &mut rng);
            let mut receiver = ShroudReceiver::new(&secret, Window::default());
            receiver.install(&mut table, Slot::Link(slot));
            Box::new((sender, receiver))
        })
        .collect();
    let bytes = (memory::allocated() - before) / ASSOCIATIONS;
    assert_eq!((table.len(), ends.len()), (ASSOCIATIONS * 50, ASSOCIATIONS));
    let what = format!("one association, w = 50, suite {suite}");
    memory_row(&what, Bar::Bytes(8192.0), bytes)
}

/// One pairing in the directory, its six addresses in the table included.
fn pairing_memory(suite: Suite) -> Row {
    const PAIRINGS: usize = 100_000;
    let mut rng = Seeded(7);
    let mut table = AddressTable::new(&mut rng);
    let mut directory = Directory::new(Side::AccessPoint);
    let before = memory::allocated();
    for _ in 0..PAIRINGS {
        let t0 = T0 + rng.below(86_400);
        let pairing = pairing(suite, t0, &mut rng);
        let wall = UnixTime::from_secs(T0 + 3 * 86_400);
        directory.insert(pairing, wall, &mut table).expect("ids are random");
    }
    let bytes = (memory::allocated() - before) / PAIRINGS;
    memory_row(&format!("one pairing of 100000, suite {suite}"), Bar::None, bytes)
}

fn memory_row(what: &str, bar: Bar, bytes: usize) -> Row {
    let ours = Measurement { name: "slyfi-core".to_owned(), value: bytes as f64 };
    Row::bytes(what, bar, Outcome { ours, peers: Vec::new(), missing: Vec::new() })
}

fn link(suite: Suite, rng: &mut Seeded) -> (ShroudSender, ShroudReceiver) {
    let secret = DirectionSecret::random(suite, rng);
    let sender = ShroudSender::new(&secret, Sizes::default());
    (sender, ShroudReceiver::new(&secret, Window::default()))
}

fn pairing(suite: Suite, t0: u64, rng: &mut Seeded) -> Pairing {
    let network = NetworkName::new(b"bench").expect("1 to 32 bytes");
    let terms = Terms::new(network, suite, UnixTime::from_secs(t0), Kind::Member);
    Pairing::generate(&terms, rng).expect("the paper's interval and skew")
}

/// SplitMix64: reproducible, and of no use but here.
struct Seeded(u64);

impl Seeded {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}

impl SecureRandom for Seeded {
    fn fill(&mut self, out: &mut [u8]) {
        for chunk in out.chunks_mut(8) {
            chunk.copy_from_slice(&self.next().to_le_bytes()[..chunk.len()]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::Verdict;

    #[test]
    fn an_association_takes_no_more_than_8_kb() {
        for suite in Suite::ALL {
            let row = association(suite);
            assert_eq!(row.verdict, Verdict::Reached, "{row:?}");
            // The control: the sender's and the receiver's keys alone are several hundred bytes.
            assert!(row.ours.value > 1000.0, "{row:?}");
        }
    }
}
