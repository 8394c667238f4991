use core::arch::x86_64::*;

use super::chain::{self, Chains};
use super::{load, store};
use crate::batch::Job;
use crate::{Block, CbcCmacKey};

/// `N` frames at different places of their chains, a key pair each.
///
/// The busy lanes are always the first ones, so a kernel may stop at the last register that holds
/// any. An idle lane beside a busy one in the same group of four mirrors the first lane of the
/// group: it reads the same blocks and writes the same results over them.
#[repr(C, align(64))]
pub(super) struct Lanes<'k, const N: usize> {
    /// [`Chains::ciphertext`] of each lane; unused when opening.
    pub(super) ciphertext: [__m128i; N],
    /// [`Chains::pending`] of each lane.
    pub(super) pending: [__m128i; N],
    /// The first CMAC subkey of each lane.
    pub(super) k1: [__m128i; N],
    /// Out: the tag of each lane, if its frame ended here.
    pub(super) tag: [__m128i; N],
    /// The key pair of each lane.
    pub(super) key: [&'k CbcCmacKey; N],
    /// The next block of each lane.
    pub(super) at: [*mut Block; N],
    /// One bit for each group of four lanes: whether a key in it is not the one it was before.
    pub(super) changed: u32,
    /// Blocks until the end of each lane's frame.
    left: [usize; N],
    /// The least of `left`. Kept by hand: a vector load right after the stores of the lanes' numbers
    /// would wait for all of them.
    shortest: usize,
    /// Which job each lane works on.
    job: [usize; N],
    /// How many lanes are busy.
    pub(super) busy: usize,
}

/// Runs all jobs through the lanes; a lane that has finished its job takes the next one.
///
/// `kernel` takes the lanes on by so many blocks, at least one, and leaves the tags as if all frames
/// ended there. It must read a group's blocks before it writes any of them.
#[inline]
#[target_feature(enable = "aes,sse4.1")]
pub(super) fn run<'k, J: Job<'k>, const N: usize>(
    jobs: &mut [J],
    mut kernel: impl FnMut(&mut Lanes<'k, N>, usize),
) {
    let Some(first) = jobs.first() else { return };
    let mut lanes = Lanes::<N>::idle(first.key());
    let mut next = 0;
    while lanes.busy < N && lanes.take_next(lanes.busy, jobs, &mut next) {
        lanes.busy += 1;
    }
    while lanes.busy > 0 {
        lanes.mirror();
        let count = core::mem::replace(&mut lanes.shortest, usize::MAX);
        kernel(&mut lanes, count);
        lanes.changed = 0;
        // Backwards: a lane that falls idle is filled from the last busy one, already dealt with.
        for lane in (0..lanes.busy).rev() {
            lanes.left[lane] -= count;
            lanes.at[lane] = lanes.at[lane].wrapping_add(count);
            if lanes.left[lane] > 0 {
                lanes.shortest = lanes.shortest.min(lanes.left[lane]);
                continue;
            }
            let mut tag = [0; 16];
            store(&mut tag, lanes.tag[lane]);
            jobs[lanes.job[lane]].finish(tag);
            if !lanes.take_next(lane, jobs, &mut next) {
                lanes.busy -= 1;
                lanes.copy(lanes.busy, lane);
            }
        }
    }
}

impl<'k, const N: usize> Lanes<'k, N> {
    /// All lanes idle, with some key.
    #[inline]
    #[target_feature(enable = "sse2")]
    fn idle(key: &'k CbcCmacKey) -> Self {
        let zeros = [_mm_setzero_si128(); N];
        Self {
            ciphertext: zeros,
            pending: zeros,
            k1: zeros,
            tag: zeros,
            key: [key; N],
            at: [core::ptr::null_mut(); N],
            changed: 0,
            left: [0; N],
            shortest: usize::MAX,
            job: [0; N],
            busy: 0,
        }
    }

    /// Puts the next job that has work for a lane into this one; false if there is none left.
    #[inline]
    #[target_feature(enable = "aes,sse4.1")]
    fn take_next<J: Job<'k>>(&mut self, lane: usize, jobs: &mut [J], next: &mut usize) -> bool {
        while let Some(job) = jobs.get_mut(*next) {
            self.job[lane] = *next;
            *next += 1;
            if self.take(lane, job) {
                return true;
            }
        }
        false
    }

    /// Puts the job into the lane, or finishes it at once if it is too short for one.
    #[inline]
    #[target_feature(enable = "aes,sse4.1")]
    fn take<J: Job<'k>>(&mut self, lane: usize, job: &mut J) -> bool {
        let key = job.key();
        let (iv, mac_prefix, blocks) = job.parts();
        if blocks.len() < 2 {
            job.finish_alone();
            return false;
        }
        let (chains, done) = if J::SEALS {
            chain::start(key, iv, mac_prefix, blocks)
        } else {
            let (first, done) = mac_prefix.map_or((&blocks[0], 1), |prefix| (prefix, 0));
            (Chains { ciphertext: load(iv), pending: load(first) }, done)
        };
        self.ciphertext[lane] = chains.ciphertext;
        self.pending[lane] = chains.pending;
        self.k1[lane] = load(&key.mac.k1());
        self.key[lane] = key;
        self.changed |= 1 << (lane / 4);
        let blocks = &mut blocks[done..];
        self.at[lane] = blocks.as_mut_ptr();
        self.left[lane] = blocks.len();
        self.shortest = self.shortest.min(blocks.len());
        true
    }

    /// Makes the idle lanes of the last group mirror its first lane.
    #[inline]
    #[target_feature(enable = "sse2")]
    fn mirror(&mut self) {
        let first = (self.busy - 1) / 4 * 4;
        for lane in self.busy..first + 4 {
            self.copy(first, lane);
        }
    }

    #[inline]
    #[target_feature(enable = "sse2")]
    fn copy(&mut self, from: usize, to: usize) {
        if from == to {
            return;
        }
        self.ciphertext[to] = self.ciphertext[from];
        self.pending[to] = self.pending[from];
        self.k1[to] = self.k1[from];
        self.key[to] = self.key[from];
        self.changed |= 1 << (to / 4);
        self.at[to] = self.at[from];
        self.left[to] = self.left[from];
        self.job[to] = self.job[from];
    }
}
