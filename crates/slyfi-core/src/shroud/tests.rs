use super::*;
use crate::sizes::{SizePolicy, Sizes};
use crate::suite::Suite;
use crate::table::{AddressTable, Entry};
use crate::testing::TestRandom;
use proptest::prelude::*;
use std::collections::BTreeSet;
use std::vec;
use std::vec::Vec;

struct Pair {
    sender: ShroudSender,
    receiver: ShroudReceiver,
    table: AddressTable,
}

impl Pair {
    fn new(suite: Suite, window: Window) -> Self {
        let mut rng = TestRandom::new(11);
        let secret = DirectionSecret::random(suite, &mut rng);
        let mut table = AddressTable::new(&mut rng);
        let mut receiver = ShroudReceiver::new(&secret, window);
        receiver.install(&mut table, Slot::Link(3));
        Pair { sender: ShroudSender::new(&secret, Sizes::default()), receiver, table }
    }

    fn seal(&mut self, message: &[u8]) -> Vec<u8> {
        let mut body = vec![0; 1600];
        body[self.sender.suite().message_offset()..][..message.len()].copy_from_slice(message);
        let len = self.sender.seal(&mut body, message.len()).unwrap();
        body.truncate(len);
        body
    }

    /// Looks up, opens, accepts.
    fn hear(&mut self, body: &[u8]) -> Option<Vec<u8>> {
        let (0, Entry::Shroud { link: 3, number }) = self.table.lookup_frame(body)? else {
            return None;
        };
        let mut body = body.to_vec();
        let opened = self.receiver.open(number, &mut body).ok()?;
        let accepted = self.receiver.accept(opened.number, &mut self.table);
        accepted.then(|| body[opened.message].to_vec())
    }
}

fn window(ahead: u16, late: u8) -> Window {
    Window { ahead, late }
}

#[test]
fn carries_messages_of_every_length_in_every_suite() {
    for suite in Suite::ALL {
        let mut pair = Pair::new(suite, Window::default());
        for len in (0..=pair.sender.max_message()).step_by(13) {
            let message = vec![len as u8; len];
            let body = pair.seal(&message);
            assert!(pair.sender.sizes().allows(suite, body.len()));
            assert_eq!(pair.hear(&body), Some(message), "{suite} {len}");
        }
    }
}

#[test]
fn rejects_replayed_frame() {
    for suite in Suite::ALL {
        for late in [0, 8] {
            let mut pair = Pair::new(suite, window(50, late));
            let body = pair.seal(b"once");
            assert!(pair.hear(&body).is_some());
            assert!(pair.hear(&body).is_none());
        }
    }
}

/// Like the tables for replay windows of transport protocols: what is pending after what came.
#[test]
fn window_edges() {
    // (ahead, late, numbers received, then: number, can it come)
    let table: &[(u16, u8, &[u64], u64, bool)] = &[
        (4, 0, &[], 0, false),
        (4, 0, &[], 1, true),
        (4, 0, &[], 4, true),
        (4, 0, &[], 5, false),
        (4, 0, &[1], 1, false),
        (4, 0, &[1], 5, true),
        (4, 0, &[1], 6, false),
        (4, 0, &[4], 3, false),
        (4, 0, &[4], 8, true),
        (4, 0, &[4], 9, false),
        (4, 2, &[4], 4, false),
        (4, 2, &[4], 3, true),
        (4, 2, &[4], 2, false),
        (4, 2, &[4], 1, false),
        (4, 2, &[4, 3], 3, false),
        (4, 2, &[4, 3], 5, true),
        (4, 2, &[3, 4], 3, false),
        (4, 2, &[2, 4], 3, true),
        (4, 2, &[4, 8], 7, true),
        (4, 2, &[4, 8], 6, false),
        (4, 2, &[4, 8], 3, false),
        (4, 2, &[4, 8], 12, true),
        (4, 2, &[4, 8], 13, false),
        (100, 64, &[70], 7, true),
        (100, 64, &[70], 6, false),
        (100, 64, &[70, 7], 7, false),
        (100, 64, &[70, 71], 7, false),
        (100, 64, &[70, 71], 8, true),
        (100, 64, &[70, 8, 71], 8, false),
        (100, 64, &[100, 200], 136, false),
        (100, 64, &[100, 200], 137, true),
        (1, 0, &[1], 2, true),
        (1, 0, &[1], 3, false),
        (1, 64, &[1, 2, 3], 2, false),
    ];
    for (ahead, late, received, number, expected) in table {
        let mut pair = Pair::new(Suite::AEAD, window(*ahead, *late));
        for n in *received {
            assert!(pair.receiver.accept(*n, &mut pair.table), "{received:?}");
        }
        let what = std::format!("w {ahead}, late {late}, after {received:?}: {number}");
        assert_eq!(pair.receiver.is_pending(*number), *expected, "{what}");
        assert_eq!(pair.receiver.accept(*number, &mut pair.table), *expected, "{what}");
    }
}

#[test]
fn bridges_the_loss_of_w_frames_less_one_and_no_more() {
    for (lost, heard) in [(49, true), (50, false)] {
        let mut pair = Pair::new(Suite::S2008, Window::default());
        for _ in 0..lost {
            let _ = pair.seal(b"lost");
        }
        let body = pair.seal(b"next");
        assert_eq!(pair.hear(&body).is_some(), heard, "{lost} lost");
    }
}

#[test]
fn forged_frame_does_not_move_the_window() {
    for suite in Suite::ALL {
        let mut pair = Pair::new(suite, Window::default());
        let good = pair.seal(b"good");
        for _ in 0..40 {
            let _ = pair.seal(b"lost");
        }
        let mut forged = pair.seal(b"far ahead");
        let last = forged.len() - 1;
        forged[last] ^= 1;
        assert_eq!(pair.hear(&forged), None);
        assert_eq!(pair.receiver.highest(), 0);
        assert_eq!(pair.hear(&good).as_deref(), Some(&b"good"[..]));
    }
}

#[test]
fn table_holds_the_pending_addresses_and_only_those() {
    let mut pair = Pair::new(Suite::S2008, window(50, 4));
    assert_eq!(pair.table.len(), 50);
    let bodies: Vec<_> = (0..40).map(|_| pair.seal(b"x")).collect();
    for i in [0, 3, 2, 9, 8, 7, 39, 36] {
        assert!(pair.hear(&bodies[i]).is_some(), "{i}");
        let from = pair.receiver.highest().saturating_sub(70);
        let to = pair.receiver.highest() + 100;
        let pending = (from..to).filter(|n| pair.receiver.is_pending(*n)).count();
        assert_eq!(pair.table.len(), pending);
    }
    pair.receiver.remove_all(&mut pair.table);
    assert!(pair.table.is_empty());
    // Not installed, it follows without touching the table.
    assert!(pair.receiver.accept(60, &mut pair.table));
    assert!(pair.table.is_empty());
    pair.receiver.install(&mut pair.table, Slot::Group(1));
    assert_eq!(pair.table.len(), 54 - 1);
}

#[test]
fn installing_twice_leaves_one_set_of_addresses() {
    let mut pair = Pair::new(Suite::AEAD, window(10, 0));
    pair.receiver.install(&mut pair.table, Slot::Link(4));
    assert_eq!(pair.table.len(), 10);
    let body = pair.seal(b"x");
    assert!(matches!(pair.table.lookup_frame(&body), Some((0, Entry::Shroud { link: 4, .. }))));
}

#[test]
fn resync_goes_forward_only() {
    let mut pair = Pair::new(Suite::AEAD, window(10, 3));
    pair.receiver.resync_forward(1000, &mut pair.table);
    assert_eq!(pair.table.len(), 10);
    assert!(!pair.receiver.is_pending(999));
    assert!(pair.receiver.is_pending(1000));
    pair.receiver.resync_forward(500, &mut pair.table);
    assert_eq!(pair.receiver.highest(), 999);
    pair.sender.skip_to(1003);
    let body = pair.seal(b"after the gap");
    assert!(pair.hear(&body).is_some());
    pair.sender.skip_to(7);
    assert_eq!(pair.sender.next_number(), 1004);
}

#[test]
fn numbers_are_used_up_even_if_not_sent_and_never_twice() {
    let mut pair = Pair::new(Suite::AEAD, Window::default());
    let mut seen = BTreeSet::new();
    for n in 1..=20 {
        assert_eq!(pair.sender.next_number(), n);
        assert!(seen.insert(pair.seal(b"same")[..16].to_vec()));
    }
}

#[test]
fn the_hard_limit_fails_closed() {
    for suite in Suite::ALL {
        let mut pair = Pair::new(suite, Window::default());
        pair.sender.set_limits(Limits { soft: 2, hard: 3 });
        let mut worn = Vec::new();
        for _ in 0..3 {
            worn.push(pair.sender.is_worn());
            let _ = pair.seal(b"x");
        }
        assert_eq!(worn, [false, false, true]);
        let mut body = vec![0x55; 1600];
        assert_eq!(pair.sender.seal(&mut body, 1), Err(SealError::Exhausted));
        assert!(body.iter().all(|b| *b == 0x55), "nothing was written");
        let (sender, body) = (&mut pair.sender, &mut body[..]);
        let mut jobs = [ShroudSeal { sender, body, message_len: 1, sealed: Ok(0) }];
        seal_batch(&mut jobs);
        assert_eq!(jobs[0].sealed, Err(SealError::Exhausted));
        pair.sender.set_limits(Limits { soft: u64::MAX, hard: u64::MAX });
        for _ in 0..3 {
            let _ = pair.seal(b"lowered limits can be raised again, to the default");
        }
    }
}

#[test]
fn a_message_that_does_not_fit_uses_up_no_number() {
    let mut pair = Pair::new(Suite::AEAD, Window::default());
    let most = pair.sender.max_message();
    let mut body = vec![0; 4000];
    assert_eq!(pair.sender.seal(&mut body, most + 1), Err(SealError::TooLong));
    assert_eq!(pair.sender.seal(&mut body[..100], 80), Err(SealError::TooLong));
    assert_eq!(pair.sender.seal(&mut [], 0), Err(SealError::TooLong));
    assert_eq!(pair.sender.next_number(), 1);
    assert_eq!(pair.sender.seal(&mut body, most), Ok(1600));
}

#[test]
fn batches_do_what_single_frames_do() {
    let suites: Vec<_> = Suite::ALL.into_iter().cycle().take(37).collect();
    let mut singles: Vec<_> = suites.iter().map(|s| Pair::new(*s, Window::default())).collect();
    let mut batched: Vec<_> = suites.iter().map(|s| Pair::new(*s, Window::default())).collect();
    let message = |i: usize| vec![i as u8; i * 41];
    let expected: Vec<_> =
        singles.iter_mut().enumerate().map(|(i, p)| p.seal(&message(i))).collect();

    let mut bodies = vec![[0_u8; 1600]; batched.len()];
    let mut jobs = Vec::new();
    for (i, (pair, body)) in batched.iter_mut().zip(&mut bodies).enumerate() {
        body[pair.sender.suite().message_offset()..][..i * 41].copy_from_slice(&message(i));
        let sender = &mut pair.sender;
        let sealed = Err(SealError::TooLong);
        jobs.push(ShroudSeal { sender, body, message_len: i * 41, sealed });
    }
    seal_batch(&mut jobs);
    let lens: Vec<_> = jobs.iter().map(|j| j.sealed.unwrap()).collect();
    for ((body, len), expected) in bodies.iter().zip(&lens).zip(&expected) {
        assert_eq!(&body[..*len], expected);
    }

    // Every third is damaged.
    let mut jobs = Vec::new();
    for (i, ((pair, body), len)) in batched.iter().zip(&mut bodies).zip(&lens).enumerate() {
        body[len - 1 - i] ^= u8::from(i % 3 == 2);
        let opened = Err(Unverified);
        jobs.push(ShroudOpen { receiver: &pair.receiver, low: 1, body: &mut body[..*len], opened });
    }
    open_batch(&mut jobs);
    for (i, job) in jobs.iter().enumerate() {
        match &job.opened {
            Ok(opened) => {
                assert_ne!(i % 3, 2);
                assert_eq!(
                    (opened.number, &job.body[opened.message.clone()]),
                    (1, &message(i)[..])
                );
            }
            Err(Unverified) => assert_eq!(i % 3, 2, "{i}"),
        }
    }
}

#[test]
fn two_copies_in_one_batch_are_accepted_once() {
    let mut pair = Pair::new(Suite::S2008, Window::default());
    let (mut a, mut b) = {
        let body = pair.seal(b"twice");
        (body.clone(), body)
    };
    let receiver = &pair.receiver;
    let mut jobs =
        [&mut a, &mut b].map(|body| ShroudOpen { receiver, low: 1, body, opened: Err(Unverified) });
    open_batch(&mut jobs);
    let numbers = jobs.map(|j| j.opened.unwrap().number);
    let accepted = numbers.map(|n| pair.receiver.accept(n, &mut pair.table));
    assert_eq!(accepted, [true, false]);
}

#[test]
fn two_seals_of_one_message_share_no_run_of_eight_bytes() {
    for suite in Suite::ALL {
        let mut pair = Pair::new(suite, Window::default());
        let bodies: Vec<_> = (0..12).map(|_| pair.seal(&[0; 700])).collect();
        let mut runs = BTreeSet::new();
        for body in &bodies {
            for run in body.windows(8) {
                assert!(runs.insert(run.to_vec()), "{suite}");
            }
        }
    }
    // The control: without encryption they would.
    let plain = [0; 700];
    let runs: BTreeSet<_> = plain.windows(8).collect();
    assert_eq!(runs.len(), 1);
}

#[test]
fn directions_do_not_open_each_other() {
    let mut rng = TestRandom::new(5);
    for suite in Suite::ALL {
        let mut up = Pair::new(suite, Window::default());
        let secret = DirectionSecret::random(suite, &mut rng);
        let down = ShroudReceiver::new(&secret, Window::default());
        let mut body = up.seal(b"up");
        assert_eq!(down.open(1, &mut body), Err(Unverified));
    }
}

#[test]
fn secrets_never_print() {
    let mut rng = TestRandom::new(6);
    let secret = DirectionSecret::random(Suite::AEAD, &mut rng);
    let shown = std::format!(
        "{secret:?} {:?} {:?}",
        ShroudSender::new(&secret, Sizes::new(SizePolicy::None, 500)),
        ShroudReceiver::new(&secret, Window::default())
    );
    for byte in secret.as_bytes().chunks(4) {
        assert!(!shown.contains(&std::format!("{}, {}, {}", byte[0], byte[1], byte[2])));
    }
    assert!(shown.starts_with("DirectionSecret { suite: Aead"));
}

proptest! {
    /// Whatever arrives in whatever order, a number is accepted at most once, and the table always
    /// holds what can come.
    #[test]
    fn every_number_is_accepted_at_most_once(
        ahead in 1..90_u16,
        late in 0..=64_u8,
        steps in prop::collection::vec(-90_i64..120, 1..200),
    ) {
        let mut pair = Pair::new(Suite::AEAD, window(ahead, late));
        let mut accepted = BTreeSet::new();
        let mut highest = 0_u64;
        for step in steps {
            let number = highest.saturating_add_signed(step);
            let expected = !accepted.contains(&number)
                && number > highest.saturating_sub(late.into())
                && number <= highest + u64::from(ahead);
            prop_assert_eq!(pair.receiver.accept(number, &mut pair.table), expected);
            if expected {
                accepted.insert(number);
                highest = highest.max(number);
            }
            let low = highest.saturating_sub(late.into());
            let used = accepted.range(low + 1..).count();
            let window = (highest + u64::from(ahead) - low) as usize;
            prop_assert_eq!(pair.table.len(), window - used);
        }
    }

    #[test]
    fn opening_junk_never_panics_and_never_succeeds(
        suite in 0..Suite::ALL.len(),
        low in any::<u32>(),
        mut body in prop::collection::vec(any::<u8>(), 0..200),
    ) {
        let pair = Pair::new(Suite::ALL[suite], window(50, 64));
        prop_assert_eq!(pair.receiver.open(low & 0x1fff_ffff, &mut body), Err(Unverified));
    }
}
