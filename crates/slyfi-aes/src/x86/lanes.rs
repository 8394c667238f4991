use core::arch::x86_64::*;

use zeroize::Zeroize;

use super::chain::{self, Chains};
use super::keys::vectors;
use super::load;
use crate::Block;
use crate::batch::Job;

/// The most blocks of one run of a kernel: 2 KiB, a whole frame in most cases.
const RUN: usize = 128;

/// `N` frames at different places of their chains, a key pair each, laid out for a kernel: for each
/// round, the keys of all lanes side by side.
///
/// The busy lanes are always the first ones, so a kernel may stop at the registers that hold any.
#[repr(C, align(64))]
pub(super) struct Lanes<const N: usize> {
    /// Round keys of the encryption.
    pub(super) enc: [[__m128i; N]; 11],
    /// Round keys of the MAC.
    pub(super) mac: [[__m128i; N]; 11],
    /// [`Chains::ciphertext`] of each lane; unused when opening.
    pub(super) ciphertext: [__m128i; N],
    /// [`Chains::pending`] of each lane.
    pub(super) pending: [__m128i; N],
    /// The next block of each lane. An idle lane has scratch memory to work on.
    pub(super) at: [*mut Block; N],
    /// Blocks until the end of each lane's frame.
    left: [usize; N],
    /// Which job each lane works on.
    job: [usize; N],
    /// How many lanes are busy.
    pub(super) busy: usize,
}

/// Takes the lanes on by so many blocks.
///
/// # Safety
/// The CPU must have the kernel's features, and so many blocks must be readable at every
/// `Lanes::at`, and writable if it seals.
pub(super) type Kernel<const N: usize> = unsafe fn(&mut Lanes<N>, usize);

/// Runs all jobs through the lanes; a lane that has finished its job takes the next one.
#[inline]
#[target_feature(enable = "aes,sse4.1")]
pub(super) fn run<J: Job, const N: usize>(jobs: &mut [J], kernel: Kernel<N>) {
    let mut scratch = [[0; 16]; RUN];
    let mut lanes = Lanes::<N>::idle(&mut scratch);
    let mut next = 0;
    while lanes.busy < N && lanes.take_next(lanes.busy, jobs, &mut next) {
        lanes.busy += 1;
    }
    while lanes.busy > 0 {
        let count = lanes.left[..lanes.busy].iter().fold(RUN, |least, left| least.min(*left));
        // SAFETY: the caller named a kernel of its own features; every busy lane has at least
        // `count` blocks left and every idle one has the scratch, which is no shorter.
        unsafe { kernel(&mut lanes, count) };
        // Backwards: a lane that falls idle is filled from the last busy one, already dealt with.
        for lane in (0..lanes.busy).rev() {
            lanes.left[lane] -= count;
            // SAFETY: the frame has these blocks, or ends here.
            lanes.at[lane] = unsafe { lanes.at[lane].add(count) };
            if lanes.left[lane] > 0 {
                continue;
            }
            let job = &mut jobs[lanes.job[lane]];
            let tag = chain::finish(&job.key().mac, lanes.pending[lane]);
            job.finish(tag);
            if !lanes.take_next(lane, jobs, &mut next) {
                lanes.busy -= 1;
                lanes.fill_from_last(lane, scratch.as_mut_ptr());
            }
        }
    }
    lanes.wipe();
}

impl<const N: usize> Lanes<N> {
    #[inline]
    #[target_feature(enable = "sse2")]
    fn idle(scratch: &mut [Block; RUN]) -> Self {
        let zeros = [_mm_setzero_si128(); N];
        Self {
            enc: [zeros; 11],
            mac: [zeros; 11],
            ciphertext: zeros,
            pending: zeros,
            at: [scratch.as_mut_ptr(); N],
            left: [0; N],
            job: [0; N],
            busy: 0,
        }
    }

    /// Puts the next job that has work for a lane into this one; false if there is none left.
    #[inline]
    #[target_feature(enable = "aes,sse4.1")]
    fn take_next<J: Job>(&mut self, lane: usize, jobs: &mut [J], next: &mut usize) -> bool {
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
    fn take<J: Job>(&mut self, lane: usize, job: &mut J) -> bool {
        let (key, iv, mac_prefix, blocks) = job.parts();
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
        for (row, round_key) in self.mac.iter_mut().zip(vectors(&key.mac.cipher.keys)) {
            row[lane] = round_key;
        }
        if J::SEALS {
            for (row, round_key) in self.enc.iter_mut().zip(vectors(&key.encrypt.keys)) {
                row[lane] = round_key;
            }
        }
        let blocks = &mut blocks[done..];
        self.at[lane] = blocks.as_mut_ptr();
        self.left[lane] = blocks.len();
        true
    }

    /// Moves the job of the last busy lane (number `busy`, by now) into this one.
    #[inline]
    #[target_feature(enable = "sse2")]
    fn fill_from_last(&mut self, lane: usize, scratch: *mut Block) {
        let last = self.busy;
        if lane == last {
            self.at[last] = scratch;
            return;
        }
        for row in self.enc.iter_mut().chain(&mut self.mac) {
            row[lane] = row[last];
        }
        self.ciphertext[lane] = self.ciphertext[last];
        self.pending[lane] = self.pending[last];
        self.at[lane] = self.at[last];
        self.left[lane] = self.left[last];
        self.job[lane] = self.job[last];
        self.at[last] = scratch;
    }

    /// Leaves no key on the stack.
    fn wipe(&mut self) {
        self.enc.zeroize();
        self.mac.zeroize();
    }
}
