use core::arch::x86_64::*;
use core::mem::{MaybeUninit, offset_of};

use zeroize::Zeroize;

use super::ghash::swap;
use super::quad::{Quad, round, side_by_side};
use crate::ccm_batch::CcmJob;
use crate::x86::ccm_lanes::{self, Pass};

/// Four lanes in each of four registers.
const LANES: usize = 16;

type Lanes<'k> = ccm_lanes::Lanes<'k, LANES>;

/// Runs every job, with AES of `R` rounds.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,vaes")]
pub(crate) fn run<'k, J: CcmJob<'k>, const R: usize>(jobs: &mut [J]) {
    // Four kilobytes that most batches write once: clearing them first would cost as much.
    let mut tables = [const { MaybeUninit::uninit() }; LANES / 4];
    let mut filled = 0;
    ccm_lanes::run::<J, LANES>(jobs, |lanes, pass| {
        let groups = lanes.busy.div_ceil(4);
        for (group, table) in tables[..groups].iter_mut().enumerate() {
            if lanes.changed & 1 << group != 0 {
                table.write(Table::new::<R>(lanes, group));
                filled = filled.max(group + 1);
                lanes.changed &= !(1 << group);
            }
        }
        // SAFETY: `run` keeps as many blocks as it says at every lane of these groups, and every
        // group was marked as changed before it was used for the first time.
        unsafe {
            match groups {
                1 => step::<J, R, 1>(lanes, &tables, pass),
                2 => step::<J, R, 2>(lanes, &tables, pass),
                3 => step::<J, R, 3>(lanes, &tables, pass),
                _ => step::<J, R, 4>(lanes, &tables, pass),
            }
        }
    });
    for table in &mut tables[..filled] {
        // SAFETY: the busy lanes are the first ones, so the groups fill up in order.
        unsafe { table.assume_init_mut() }.wipe();
    }
}

/// The round keys of four lanes, side by side in a register for each round.
#[derive(Clone, Copy)]
struct Table {
    keys: [__m512i; 15],
    /// The last round key and the first, in one.
    ends: __m512i,
}

impl Table {
    /// The keys of the lanes of `group`.
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn new<const R: usize>(lanes: &Lanes<'_>, group: usize) -> Self {
        let keys = [0, 1, 2, 3].map(|lane| &lanes.key[4 * group + lane].keys);
        let keys = match R {
            10 => side_by_side::<15, 11>(keys),
            12 => side_by_side::<15, 13>(keys),
            _ => side_by_side::<15, 15>(keys),
        };
        Self { keys, ends: _mm512_xor_si512(keys[R], keys[0]) }
    }

    /// How far behind the first table the keys of this group and round are, in bytes.
    const fn at(group: usize, round: usize) -> usize {
        group * size_of::<Self>() + offset_of!(Self, keys) + round * size_of::<__m512i>()
    }

    /// Leaves no key on the stack.
    fn wipe(&mut self) {
        self.keys.zeroize();
        self.ends.zeroize();
    }
}

/// The rounds between the first key and the last, of all registers in `$x` and `$y`, side by side.
///
/// A macro, because where a round key is has to be a constant.
macro_rules! rounds {
    ($tables:expr, $x:ident, $y:ident) => {
        rounds!(@each $tables, $x, $y, 1 2 3 4 5 6 7 8 9 10 11 12 13)
    };
    (@each $tables:expr, $x:ident, $y:ident, $($round:literal)*) => {
        $(if $round < R {
            rounds!(@group $tables, $x, $y, $round, 0);
            rounds!(@group $tables, $x, $y, $round, 1);
            rounds!(@group $tables, $x, $y, $round, 2);
            rounds!(@group $tables, $x, $y, $round, 3);
        })*
    };
    (@group $tables:expr, $x:ident, $y:ident, $round:literal, $w:literal) => {
        if $w < W {
            // SAFETY: there are W tables, and 15 keys in each.
            unsafe {
                let tables = $tables.as_ptr().cast();
                $y[$w] = round::<{ Table::at($w, $round) }>($y[$w], tables);
                $x[$w] = round::<{ Table::at($w, $round) }>($x[$w], tables);
            }
        }
    };
}

/// Does a pass over the first `4 * W` lanes.
///
/// # Safety
/// The first `W` tables must be filled, and as many blocks as the pass advances by must be readable
/// and writable at each of these lanes.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,vaes")]
unsafe fn step<'k, J: CcmJob<'k>, const R: usize, const W: usize>(
    lanes: &mut Lanes<'k>,
    tables: &[MaybeUninit<Table>; LANES / 4],
    pass: Pass,
) {
    // SAFETY: the caller's contract, and W is at most four.
    let tables = unsafe { &*tables.as_ptr().cast::<[Table; W]>() };
    let at: [_; W] =
        core::array::from_fn(|w| Quad([0, 1, 2, 3].map(|lane| lanes.at[4 * w + lane])));
    // SAFETY: `Lanes` is aligned to 64 bytes and each of these arrays begins at a multiple of that;
    // sixteen 128-bit vectors are four of 512 bits.
    let (counter, pending, a0, out) = unsafe {
        (
            &mut *(&raw mut lanes.counter).cast::<[__m512i; 4]>(),
            &mut *(&raw mut lanes.pending).cast::<[__m512i; 4]>(),
            &*(&raw const lanes.a0).cast::<[__m512i; 4]>(),
            &mut *(&raw mut lanes.out).cast::<[__m512i; 4]>(),
        )
    };
    match pass {
        Pass::Encrypt => out[..W].copy_from_slice(&encrypt::<R, W>(tables, pending)),
        Pass::Tags => out[..W].copy_from_slice(&tags::<R, W>(tables, pending, a0)),
        Pass::Advance(count) => {
            let zeros = [_mm512_setzero_si512(); W];
            let mut chains = Chains::<W> { tables, counter: zeros, pending: zeros };
            chains.counter.copy_from_slice(&counter[..W]);
            for w in 0..W {
                chains.pending[w] = _mm512_xor_si512(pending[w], tables[w].keys[0]);
            }
            // SAFETY: the caller's contract.
            unsafe { chains.advance::<J, R>(at, count) };
            counter[..W].copy_from_slice(&chains.counter);
            for w in 0..W {
                pending[w] = _mm512_xor_si512(chains.pending[w], tables[w].keys[0]);
            }
        }
    }
}

/// The chains of `4 * W` lanes.
struct Chains<'t, const W: usize> {
    tables: &'t [Table; W],
    counter: [__m512i; W],
    /// Already XORed with the first round key.
    pending: [__m512i; W],
}

impl<const W: usize> Chains<'_, W> {
    /// Takes the lanes on by `count` blocks.
    ///
    /// # Safety
    /// So many blocks must be readable and writable at each lane.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vl,vaes")]
    unsafe fn advance<'k, J: CcmJob<'k>, const R: usize>(&mut self, at: [Quad; W], count: usize) {
        let zeros = [_mm512_setzero_si512(); W];
        let rest = count % 2;
        for i in (0..count - rest).step_by(2) {
            let mut blocks = [zeros; 2];
            for w in 0..W {
                // SAFETY: the caller's contract: `count` blocks are readable.
                let two = unsafe { at[w].load_two(i) };
                for (row, block) in blocks.iter_mut().zip(two) {
                    row[w] = block;
                }
            }
            let [a, b] = blocks;
            // Written out, so that all of it stays in registers.
            let blocks = [self.step::<J, R>(a), self.step::<J, R>(b)];
            for w in 0..W {
                // SAFETY: the caller's contract: writable as well.
                unsafe {
                    at[w].store_one(i, blocks[0][w]);
                    at[w].store_one(i + 1, blocks[1][w]);
                }
            }
        }
        for i in count - rest..count {
            let mut blocks = zeros;
            for w in 0..W {
                // SAFETY: the caller's contract: `count` blocks are readable.
                blocks[w] = unsafe { at[w].load_one(i) };
            }
            let blocks = self.step::<J, R>(blocks);
            for w in 0..W {
                // SAFETY: the caller's contract: writable as well.
                unsafe { at[w].store_one(i, blocks[w]) };
            }
        }
    }

    /// Takes every lane on by one block; returns what the blocks become.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vl,vaes")]
    fn step<'k, J: CcmJob<'k>, const R: usize>(&mut self, before: [__m512i; W]) -> [__m512i; W] {
        let tables = self.tables;
        let (mut x, mut y) = (before, self.pending);
        for w in 0..W {
            self.counter[w] = next(self.counter[w]);
            x[w] = _mm512_xor_si512(swap(self.counter[w]), tables[w].keys[0]);
        }
        rounds!(tables, x, y);
        for w in 0..W {
            let last = _mm512_xor_si512(tables[w].keys[R], before[w]);
            x[w] = _mm512_aesenclast_epi128(x[w], last);
        }
        let text = if J::SEALS { before } else { x };
        for w in 0..W {
            // The last round's key takes the text with it.
            let last = _mm512_xor_si512(tables[w].ends, text[w]);
            self.pending[w] = _mm512_aesenclast_epi128(y[w], last);
        }
        x
    }
}

/// The encryption of a block of each lane.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,vaes")]
fn encrypt<const R: usize, const W: usize>(
    tables: &[Table; W],
    blocks: &[__m512i; 4],
) -> [__m512i; W] {
    let mut x = [_mm512_setzero_si512(); W];
    for w in 0..W {
        x[w] = _mm512_xor_si512(blocks[w], tables[w].keys[0]);
    }
    for round in 1..R {
        for w in 0..W {
            x[w] = _mm512_aesenc_epi128(x[w], tables[w].keys[round]);
        }
    }
    for w in 0..W {
        x[w] = _mm512_aesenclast_epi128(x[w], tables[w].keys[R]);
    }
    x
}

/// The tags, if the messages end here.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,vaes")]
fn tags<const R: usize, const W: usize>(
    tables: &[Table; W],
    pending: &[__m512i; 4],
    a0: &[__m512i; 4],
) -> [__m512i; W] {
    let (mut macs, masks) = (encrypt::<R, W>(tables, pending), encrypt::<R, W>(tables, a0));
    for (mac, mask) in macs.iter_mut().zip(masks) {
        *mac = _mm512_xor_si512(*mac, mask);
    }
    macs
}

/// The next counter of four lanes, their bytes reversed.
#[inline]
#[target_feature(enable = "avx512f")]
fn next(counter: __m512i) -> __m512i {
    _mm512_add_epi64(counter, _mm512_set_epi64(0, 1, 0, 1, 0, 1, 0, 1))
}
