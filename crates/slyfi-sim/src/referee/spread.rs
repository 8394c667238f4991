//! The spread of byte values at every position: constants, uneven bytes, uneven bits.

use super::{Finding, Leak, Place, Scope};
use crate::NodeId;
use slyfi_base::Instant;
use slyfi_wire::carrier::ADDRESS_LEN;
use slyfi_wire::slyfi_frame::{MAX_RECIPIENTS, TRYST_HEADER_LEN};

/// Positions counted for all senders together.
const DEEP: usize = 2304;
/// Positions counted for each sender.
const SHALLOW: usize = 64;
/// Positions counted from the end.
const TAIL: usize = 16;
/// Frames from which on a bit that never changes is called constant: by chance 2⁻⁶³ a bit.
const ENOUGH: u64 = 64;
/// Frames from which on chi-square is computed: an expectation of 10 a value.
const ENOUGH_FOR_CHI_SQUARE: u64 = 2560;
/// Chi-square with 255 degrees of freedom at 7 standard deviations by Wilson and Hilferty:
/// 255 (1 − 2/(9·255) + 7 √(2/(9·255)))³ = 447, exceeded by chance once in 10¹².
const CHI_SQUARE: u64 = 447;
/// A bit's ones may be 7 standard deviations (√n / 2 each) from n / 2.
const DEVIATIONS: u64 = 7;

/// Byte counts of all senders and of each.
pub(super) struct Spread {
    all: Counts,
    senders: Vec<Option<Counts>>,
}

struct Counts {
    depth: usize,
    /// `[position][value]`, made as positions appear.
    head: Vec<[u32; 256]>,
    tail: Vec<[u32; 256]>,
    /// Bits that were 1 in all frames, and in any, for every position.
    all: Vec<u8>,
    any: Vec<u8>,
    frames: Vec<u32>,
    last: (Instant, NodeId, u64),
}

impl Spread {
    pub(super) fn new() -> Self {
        let nobody = (Instant::ZERO, NodeId(0), 0);
        Spread { all: Counts::new(DEEP, nobody), senders: Vec::new() }
    }

    /// Takes a frame; the address fields of a repeated Tryst address are counted once, not again.
    pub(super) fn take(
        &mut self,
        at: Instant,
        sender: NodeId,
        frame: u64,
        body: &[u8],
        tryst_again: bool,
    ) {
        let from = (at, sender, frame);
        if self.senders.len() <= sender.index() {
            self.senders.resize_with(sender.index() + 1, || None);
        }
        let own = &mut self.senders[sender.index()];
        own.get_or_insert_with(|| Counts::new(SHALLOW, from)).take(from, body, tryst_again);
        self.all.take(from, body, tryst_again);
    }

    /// Judges everything so far.
    pub(super) fn judge(&self, mut found: impl FnMut(Finding)) {
        for counts in self.senders.iter().flatten() {
            counts.judge(Scope::Sender, &mut found);
        }
        self.all.judge(Scope::All, &mut found);
    }
}

impl Counts {
    fn new(depth: usize, last: (Instant, NodeId, u64)) -> Self {
        let tail = vec![[0; 256]; TAIL];
        let (head, all, any, frames) = Default::default();
        Counts { depth, head, tail, all, any, frames, last }
    }

    fn take(&mut self, from: (Instant, NodeId, u64), body: &[u8], tryst_again: bool) {
        self.last = from;
        let seen = &body[..body.len().min(self.depth)];
        if self.head.len() < seen.len() {
            self.head.resize(seen.len(), [0; 256]);
            self.all.resize(seen.len(), 0xff);
            self.any.resize(seen.len(), 0);
            self.frames.resize(seen.len(), 0);
        }
        if tryst_again {
            for (i, &b) in seen.iter().enumerate() {
                let in_address =
                    i % TRYST_HEADER_LEN < ADDRESS_LEN && i / TRYST_HEADER_LEN < MAX_RECIPIENTS;
                if !in_address {
                    self.head[i][usize::from(b)] += 1;
                    self.all[i] &= b;
                    self.any[i] |= b;
                    self.frames[i] += 1;
                }
            }
        } else {
            for (values, &b) in self.head.iter_mut().zip(seen) {
                values[usize::from(b)] += 1;
            }
            for ((all, any), &b) in self.all.iter_mut().zip(&mut self.any).zip(seen) {
                *all &= b;
                *any |= b;
            }
            for n in &mut self.frames[..seen.len()] {
                *n += 1;
            }
        }
        for (values, &b) in self.tail.iter_mut().zip(body.iter().rev()) {
            values[usize::from(b)] += 1;
        }
    }

    fn judge(&self, scope: Scope, found: &mut impl FnMut(Finding)) {
        let (at, sender, frame) = self.last;
        let mut say = |leak| found(Finding { at, sender, frame, leak });
        for (i, (all, any)) in self.all.iter().zip(&self.any).enumerate() {
            let frames = u64::from(self.frames[i]);
            let mask = all | !any;
            if frames >= ENOUGH && mask != 0 {
                say(Leak::Constant { place: Place::FromStart(i), mask, frames, scope });
            }
        }
        let head = self.head.iter().enumerate().map(|(i, v)| (Place::FromStart(i), v));
        let tail = self.tail.iter().enumerate().map(|(i, v)| (Place::FromEnd(i), v));
        for (place, values) in head.chain(tail) {
            if let Some(leak) = uneven(place, values, scope) {
                say(leak);
            }
        }
    }
}

/// Returns what is wrong with the spread of one byte, if anything.
fn uneven(place: Place, values: &[u32; 256], scope: Scope) -> Option<Leak> {
    let frames: u64 = values.iter().map(|v| u64::from(*v)).sum();
    if frames < ENOUGH {
        return None;
    }
    for bit in 0..8 {
        let ones: u64 =
            (0..256).filter(|v| v & 1 << bit != 0).map(|v: usize| u64::from(values[v])).sum();
        let off = (2 * ones).abs_diff(frames);
        // |2 ones − n| > 7 √n, in integers.
        if off * off > DEVIATIONS * DEVIATIONS * frames {
            return Some(Leak::UnevenBit { place, bit, frames, ones, scope });
        }
    }
    if frames < ENOUGH_FOR_CHI_SQUARE {
        return None;
    }
    // Σ (o − n/256)² / (n/256) = Σ (256 o − n)² / (256 n), in integers.
    let sum: u128 =
        values.iter().map(|v| u128::from((256 * u64::from(*v)).abs_diff(frames)).pow(2)).sum();
    let chi_square = (sum / (256 * u128::from(frames))) as u64;
    (chi_square > CHI_SQUARE).then_some(Leak::Uneven { place, frames, chi_square, scope })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SimRng;

    fn run(frames: u64, len: usize, change: impl Fn(u64, &mut [u8])) -> Vec<Leak> {
        let (mut s, mut rng) = (Spread::new(), SimRng::new(3));
        for i in 0..frames {
            let mut b = vec![0; len];
            rng.fill_bytes(&mut b);
            change(i, &mut b);
            s.take(Instant::ZERO, NodeId((i % 3) as u16), i, &b, false);
        }
        let mut leaks = Vec::new();
        s.judge(|f| leaks.push(f.leak));
        leaks
    }

    #[test]
    fn random_bodies_are_even() {
        for frames in [63, 64, 200, 2560, 9000] {
            assert_eq!(run(frames, 120, |_, _| ()), []);
        }
    }

    #[test]
    fn a_constant_bit_shows_after_64_frames_for_a_sender_and_for_all() {
        let stuck = |_, b: &mut [u8]| b[40] |= 0x10;
        let leaks = run(63, 120, stuck);
        assert_eq!(leaks, []);
        let leaks = run(64 * 3, 120, stuck);
        let constant: Vec<_> = leaks
            .iter()
            .filter(|l| matches!(l, Leak::Constant { place: Place::FromStart(40), mask: 0x10, .. }))
            .collect();
        assert_eq!(constant.len(), 4, "three senders and all: {leaks:?}");
        assert!(leaks.iter().all(|l| match l {
            Leak::Constant { place, .. } | Leak::UnevenBit { place, .. } =>
                *place == Place::FromStart(40),
            _ => false,
        }));
    }

    #[test]
    fn uneven_bytes_and_bits_show_at_both_ends() {
        // One value 1.7 times as often as it should be moves no bit by 7 deviations.
        let leaks = run(30_000, 80, |i, b| {
            if i % 180 == 0 {
                b[33] = 0x55;
            }
        });
        assert!(
            leaks.iter().any(|l| matches!(l, Leak::Uneven { place: Place::FromStart(33), .. })),
            "{leaks:?}"
        );
        let leaks = run(1000, 80, |i, b| {
            if i % 3 == 0 {
                b[79] &= 0x7f;
            }
        });
        let last = |l: &Leak| matches!(l, Leak::UnevenBit { place: Place::FromEnd(0), bit: 7, .. });
        assert!(leaks.iter().any(last), "{leaks:?}");
    }
}
