//! Two ends of a link against each other, with losses of the test's choosing.

use super::*;
use crate::shroud::{DirectionSecret, Slot, Window};
use crate::sizes::{SizePolicy, Sizes};
use crate::suite::Suite;
use crate::table::{AddressTable, Entry};
use crate::testing::TestRandom;
use alloc::collections::BTreeSet;
use alloc::vec;
use alloc::vec::Vec;

/// One end with a table of its own.
struct End {
    session: Session,
    table: AddressTable,
    pool: PacketPool,
    got: Vec<u32>,
    numbers: BTreeSet<u64>,
}

const W: u64 = 16;

fn ends(late: u8) -> (End, End) {
    ends_with(W, late)
}

fn ends_with(w: u64, late: u8) -> (End, End) {
    let mut rng = TestRandom::new(1);
    let a = DirectionSecret::random(Suite::AEAD, &mut rng);
    let b = DirectionSecret::random(Suite::AEAD, &mut rng);
    let mut end = |tx: &DirectionSecret, rx: &DirectionSecret| {
        let config = SessionConfig {
            window: w,
            keeps_order: late == 0,
            ping_after: Some(Duration::from_secs(2)),
            dead_after: Duration::from_secs(10),
            cover: None,
        };
        let mut table = AddressTable::new(&mut rng);
        let mut receiver = ShroudReceiver::new(rx, Window { ahead: w as u16, late });
        receiver.install(&mut table, Slot::Link(0));
        let sender = ShroudSender::new(tx, Sizes::new(SizePolicy::None, 600));
        End {
            session: Session::new(sender, receiver, config, Instant::ZERO),
            table,
            pool: PacketPool::new(256, 600),
            got: Vec::new(),
            numbers: BTreeSet::new(),
        }
    };
    (end(&a, &b), end(&b, &a))
}

impl End {
    fn queue(&mut self, n: u32) {
        let packet = self.pool.take(&[&n.to_be_bytes()]).unwrap();
        let header = DataHeader { destination: None, source: None, ether_type: 1 };
        self.session.queue(PacketKind::Data(header), packet).unwrap();
    }

    /// Seals what wants to go now.
    fn send(&mut self, now: Instant) -> Vec<Vec<u8>> {
        let mut out = Vec::new();
        let mut body = vec![0; 700];
        let offset = self.session.sender.suite().message_offset();
        while let Some(len) = self.session.emit(now, &self.pool, &mut body[offset..]) {
            assert!(self.numbers.insert(self.session.sender.next_number()), "a number twice");
            let len = self.session.sender.seal(&mut body, len).unwrap();
            out.push(body[..len].to_vec());
        }
        out
    }

    fn take(&mut self, now: Instant, mut body: Vec<u8>) -> bool {
        let Some((_, Entry::Shroud { number, .. })) = self.table.lookup_frame(&body) else {
            return false;
        };
        let opened = self.session.receiver.open(number, &mut body).unwrap();
        assert!(self.session.receiver.accept(opened.number, &mut self.table));
        match self.session.on_message(now, &body, opened.message, &mut self.pool) {
            Ok(Received::InOrder(_, range)) => {
                self.got.push(u32::from_be_bytes(body[range].try_into().unwrap()));
                while let Some((_, packet)) = self.session.next_held() {
                    let bytes = self.pool.bytes(&packet).try_into().unwrap();
                    self.got.push(u32::from_be_bytes(bytes));
                    self.pool.give(packet);
                }
            }
            Ok(Received::Nothing) | Err(DropReason::Duplicate) => {}
            Err(other) => panic!("{other:?}"),
        }
        true
    }
}

/// Runs both ends for `ms`; `lose` says which frames are lost, by direction and count.
fn run(a: &mut End, b: &mut End, ms: u64, mut lose: impl FnMut(bool, u64) -> bool) -> Instant {
    let mut counts = [0; 2];
    let mut now = Instant::ZERO;
    for t in 0..ms {
        now = Instant::from_micros(t * 1_000);
        for from_a in [true, false] {
            let (tx, rx) = if from_a { (&mut *a, &mut *b) } else { (&mut *b, &mut *a) };
            for body in tx.send(now) {
                let n = counts[usize::from(from_a)];
                counts[usize::from(from_a)] += 1;
                if !lose(from_a, n) {
                    rx.take(now, body);
                }
            }
        }
    }
    now
}

#[test]
fn everything_arrives_once_and_in_order_however_a_third_is_lost() {
    for seed in 0..200u64 {
        let (mut a, mut b) = ends_with(50, 0);
        for n in 0..60 {
            a.queue(n);
        }
        for n in 0..20 {
            b.queue(n);
        }
        let mut state = seed;
        run(&mut a, &mut b, 9_000, |_, _| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % 10 < 3
        });
        assert_eq!(b.got, (0..60).collect::<Vec<_>>(), "seed {seed}");
        assert_eq!(a.got, (0..20).collect::<Vec<_>>(), "seed {seed}");
    }
}

#[test]
fn a_burst_as_long_as_the_window_breaks_nothing_and_one_longer_ends_the_link() {
    for (burst, survives) in [(W - 1, true), (W, true), (W + 1, true), (10 * W, false)] {
        let (mut a, mut b) = ends(0);
        for n in 0..40 {
            a.queue(n);
        }
        // The sender stops within the window by itself: a burst is longer than w only if the
        // time-outs that use the rest of the budget are lost too.
        let mut ended = None;
        let mut lost = 0;
        for t in 0..20_000u64 {
            let now = Instant::from_micros(t * 1_000);
            for body in a.send(now) {
                if lost < burst {
                    lost += 1;
                } else {
                    assert!(b.take(now, body), "burst {burst}: the peer knows the address");
                }
            }
            for body in b.send(now) {
                a.take(now, body);
            }
            ended = a.session.is_over(now);
            if ended.is_some() || b.got.len() == 40 {
                break;
            }
        }
        if survives && burst < W {
            assert_eq!(b.got.len(), 40, "burst {burst}");
        }
        if !survives {
            assert!(b.got.is_empty());
            assert!(
                matches!(ended, Some(Unlinked::LossBeyondWindow | Unlinked::Silent)),
                "burst {burst}: {ended:?}"
            );
        }
    }
}

#[test]
fn a_sender_never_goes_beyond_what_its_peer_can_know() {
    let (mut a, mut b) = ends(0);
    for n in 0..60 {
        a.queue(n);
    }
    for t in 0..5_000 {
        a.send(Instant::from_micros(t * 1_000));
    }
    assert_eq!(a.numbers.last(), Some(&W), "nothing was heard, so w numbers and no more");
    assert!(b.session.is_over(Instant::from_micros(9_999_999)).is_none());
    assert_eq!(b.session.is_over(Instant::from_micros(10_000_000)), Some(Unlinked::Silent));
    assert!(b.send(Instant::ZERO).is_empty());
}

#[test]
fn an_air_that_reorders_is_put_in_order_again() {
    let (mut a, mut b) = ends(16);
    for n in 0..8 {
        a.queue(n);
    }
    let mut frames = a.send(Instant::ZERO);
    frames.reverse();
    for body in frames {
        assert!(b.take(Instant::ZERO, body));
    }
    assert_eq!(b.got, (0..8).collect::<Vec<_>>());
}

#[test]
fn silence_is_asked_about_and_a_ping_is_answered() {
    let (mut a, mut b) = ends(0);
    let now = run(&mut a, &mut b, 9_000, |_, _| false);
    assert!(a.session.is_over(now).is_none() && b.session.is_over(now).is_none());
    assert!(a.session.last_heard() > Instant::from_micros(6_000_000));
    assert!(a.session.is_drained() && a.got.is_empty());
}

#[test]
fn numbers_come_back_from_their_low_bits() {
    let n = 5u64 << 32 | 7;
    assert_eq!(expand(7, n), n);
    assert_eq!(expand(3, n), 5 << 32 | 3);
    assert_eq!(expand(u32::MAX, n), (5 << 32) - 1);
    assert_eq!(expand(9, 5), 0, "never above what was sent");
}
