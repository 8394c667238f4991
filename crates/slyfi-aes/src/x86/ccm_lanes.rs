use core::arch::x86_64::*;

use zeroize::Zeroize;

use super::{load, store};
use crate::ccm_batch::CcmJob;
use crate::{Block, CcmKey};

/// `N` messages at different places of their chains, a key each.
///
/// As in `x86::lanes`, the busy lanes are always the first ones, and an idle lane beside a busy one in
/// the same group of four mirrors the first lane of the group: it reads the same blocks and writes
/// the same results over them.
#[repr(C, align(64))]
pub(super) struct Lanes<'k, const N: usize> {
    /// The counter of each lane's last block, its bytes reversed.
    pub(super) counter: [__m128i; N],
    /// The MAC of each lane with the last block taken in, and not encrypted since.
    pub(super) pending: [__m128i; N],
    /// A₀ of each lane.
    pub(super) a0: [__m128i; N],
    /// Out: the block that a pass gives each lane.
    pub(super) out: [__m128i; N],
    /// The key of each lane.
    pub(super) key: [&'k CcmKey; N],
    /// The next block of each lane.
    pub(super) at: [*mut Block; N],
    /// One bit for each group of four lanes: whether a key in it is not the one it was before.
    pub(super) changed: u32,
    /// How many lanes are busy.
    pub(super) busy: usize,
    part: [Part; N],
}

/// What a lane has of its message before it: whole blocks where they are, or the last bytes of the
/// message in a block of their own.
#[derive(Clone, Copy)]
struct Part {
    job: usize,
    /// Blocks to the end of this part.
    left: usize,
    /// Bytes after the whole blocks.
    tail: usize,
    /// Where those bytes belong, once this part is they.
    tail_at: Option<*mut u8>,
}

/// What a kernel does to all groups that have a busy lane.
#[derive(Clone, Copy)]
pub(super) enum Pass {
    /// Gives out the encryption of `pending`.
    Encrypt,
    /// Takes both chains on by so many blocks, at least one.
    Advance(usize),
    /// Gives out the tags, as if all messages ended here.
    Tags,
}

/// Runs all jobs through the lanes; a lane that has finished its job takes the next one.
///
/// When it advances, `kernel` must read a block of all lanes of a group before it writes any.
#[inline]
#[target_feature(enable = "aes,sse4.1")]
pub(super) fn run<'k, J: CcmJob<'k>, const N: usize>(
    jobs: &mut [J],
    mut kernel: impl FnMut(&mut Lanes<'k, N>, Pass),
) {
    let Some(first) = jobs.first() else { return };
    let mut lanes = Lanes::<N>::idle(first.key());
    let mut tails = [[0; 16]; N];
    let tail_blocks = tails.as_mut_ptr();
    let (mut next, mut fresh) = (0, 0_u32);
    while lanes.busy < N && next < jobs.len() {
        fresh |= 1 << lanes.busy;
        lanes.take(lanes.busy, next, &mut jobs[next]);
        lanes.busy += 1;
        next += 1;
    }
    while lanes.busy > 0 {
        lanes.mirror();
        if fresh != 0 {
            lanes.take_heads_in(jobs, fresh, &mut kernel);
            fresh = 0;
            lanes.mirror();
        }
        lanes.advance(&mut kernel);
        let mut ended = 0_u32;
        for lane in 0..lanes.busy {
            if lanes.part[lane].left == 0 {
                // SAFETY: `N` tail blocks.
                let tail = unsafe { tail_blocks.add(lane) };
                // SAFETY: nothing else refers to the message while the lane is busy with it, and
                // nothing else at all to the tail block.
                if unsafe { lanes.ends::<J>(lane, tail) } {
                    ended |= 1 << lane;
                }
            }
        }
        if ended == 0 {
            continue;
        }
        kernel(&mut lanes, Pass::Tags);
        // Backwards: a lane that falls idle is filled from the last busy one, already dealt with.
        for lane in (0..lanes.busy).rev().filter(|lane| ended >> lane & 1 == 1) {
            let mut tag = [0; 16];
            store(&mut tag, lanes.out[lane]);
            jobs[lanes.part[lane].job].finish(tag);
            if let Some(job) = jobs.get_mut(next) {
                fresh |= 1 << lane;
                lanes.take(lane, next, job);
                next += 1;
            } else {
                lanes.busy -= 1;
                lanes.copy(lanes.busy, lane);
                // The moved lane may be one that has just taken a job.
                fresh |= (fresh >> lanes.busy & 1) << lane;
                fresh &= !(1 << lanes.busy);
            }
        }
    }
    tails.zeroize();
}

impl<'k, const N: usize> Lanes<'k, N> {
    /// All lanes idle, with some key.
    #[inline]
    #[target_feature(enable = "sse2")]
    fn idle(key: &'k CcmKey) -> Self {
        let zeros = [_mm_setzero_si128(); N];
        Self {
            counter: zeros,
            pending: zeros,
            a0: zeros,
            out: zeros,
            key: [key; N],
            at: [core::ptr::null_mut(); N],
            // No key is in any kernel's table yet.
            changed: u32::MAX,
            busy: 0,
            part: [Part { job: 0, left: 0, tail: 0, tail_at: None }; N],
        }
    }

    /// Puts job number `number` into a lane, its first block taken in.
    #[inline]
    #[target_feature(enable = "aes,sse4.1")]
    fn take<J: CcmJob<'k>>(&mut self, lane: usize, number: usize, job: &mut J) {
        self.set_key(lane, job.key());
        let (head, data) = job.parts();
        self.a0[lane] = load(&head.counter);
        self.counter[lane] = swap(self.a0[lane]);
        self.pending[lane] = load(&head.block(0).unwrap_or_default());
        let (blocks, tail) = data.as_chunks_mut();
        self.at[lane] = blocks.as_mut_ptr();
        let (left, tail) = (blocks.len(), tail.len());
        self.part[lane] = Part { job: number, left, tail, tail_at: None };
    }

    /// The MACs of fresh lanes take in the rest of their heads, side by side.
    #[inline]
    #[target_feature(enable = "aes,sse4.1")]
    fn take_heads_in<J: CcmJob<'k>>(
        &mut self,
        jobs: &mut [J],
        fresh: u32,
        kernel: &mut impl FnMut(&mut Self, Pass),
    ) {
        let mut waiting = fresh;
        for i in 1.. {
            let mut blocks = [[0; 16]; N];
            for lane in (0..self.busy).filter(|lane| fresh >> lane & 1 == 1) {
                match jobs[self.part[lane].job].parts().0.block(i) {
                    Some(block) => blocks[lane] = block,
                    None => waiting &= !(1 << lane),
                }
            }
            if waiting == 0 {
                return;
            }
            kernel(self, Pass::Encrypt);
            for lane in (0..self.busy).filter(|lane| waiting >> lane & 1 == 1) {
                self.pending[lane] = _mm_xor_si128(self.out[lane], load(&blocks[lane]));
            }
        }
    }

    /// Takes the lanes on to where the first of them is at the end of its part.
    #[inline]
    #[target_feature(enable = "aes,sse4.1")]
    fn advance(&mut self, kernel: &mut impl FnMut(&mut Self, Pass)) {
        let parts = &self.part[..self.busy];
        let count = parts.iter().map(|part| part.left).min().unwrap_or(0);
        if count == 0 {
            return;
        }
        kernel(self, Pass::Advance(count));
        for lane in 0..self.busy {
            self.part[lane].left -= count;
            self.at[lane] = self.at[lane].wrapping_add(count);
        }
    }

    /// Goes on to the last bytes of a message whose whole blocks are done, in `tail`; true if there
    /// are none, or if they are done as well.
    ///
    /// # Safety
    /// `tail` and the message must be writable and nobody else's.
    #[inline]
    #[target_feature(enable = "sse2")]
    unsafe fn ends<J: CcmJob<'k>>(&mut self, lane: usize, tail: *mut Block) -> bool {
        let part = &mut self.part[lane];
        if let Some(tail_at) = part.tail_at {
            // Not `tail`: the lane may have been moved meanwhile. It is behind its block now.
            let tail = self.at[lane].wrapping_sub(1);
            // SAFETY: the caller's contract, and the message goes on for so many bytes there.
            unsafe { tail_at.copy_from_nonoverlapping(tail.cast(), part.tail) };
            if !J::SEALS {
                // SAFETY: the caller's contract.
                let mut padding = unsafe { *tail };
                // What the padding decrypted to is no text, and the MAC has taken it in.
                padding[..part.tail].fill(0);
                self.pending[lane] = _mm_xor_si128(self.pending[lane], load(&padding));
            }
            return true;
        }
        if part.tail == 0 {
            return true;
        }
        let tail_at = self.at[lane].cast::<u8>();
        // SAFETY: as above; a tail is shorter than a block.
        unsafe {
            *tail = [0; 16];
            tail.cast::<u8>().copy_from_nonoverlapping(tail_at, part.tail);
        }
        part.tail_at = Some(tail_at);
        part.left = 1;
        self.at[lane] = tail;
        false
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
        self.set_key(to, self.key[from]);
        self.counter[to] = self.counter[from];
        self.pending[to] = self.pending[from];
        self.a0[to] = self.a0[from];
        self.at[to] = self.at[from];
        self.part[to] = self.part[from];
    }

    fn set_key(&mut self, lane: usize, key: &'k CcmKey) {
        if !core::ptr::eq(self.key[lane], key) {
            self.changed |= 1 << (lane / 4);
        }
        self.key[lane] = key;
    }
}

/// Reverses the bytes: the counter is big-endian.
#[inline]
#[target_feature(enable = "sse4.1")]
pub(super) fn swap(block: __m128i) -> __m128i {
    let order = _mm_set_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    _mm_shuffle_epi8(block, order)
}
