use core::arch::x86_64::*;
use core::mem::{MaybeUninit, offset_of};

use zeroize::Zeroize;

use super::quad::{Quad, round, side_by_side};
use crate::batch::Job;
use crate::x86::lanes::{Lanes, run};

/// Four lanes in each of four registers.
const LANES: usize = 16;

/// Seals every job.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,vaes")]
pub(crate) fn seal<'k, J: Job<'k>>(jobs: &mut [J]) {
    advance_all::<J, true>(jobs);
}

/// Computes the tag of every job's ciphertext.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,vaes")]
pub(crate) fn authenticate<'k, J: Job<'k>>(jobs: &mut [J]) {
    advance_all::<J, false>(jobs);
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,vaes")]
fn advance_all<'k, J: Job<'k>, const SEALS: bool>(jobs: &mut [J]) {
    // Six kilobytes that most batches write once: clearing them first would cost as much.
    let mut tables = [const { MaybeUninit::uninit() }; LANES / 4];
    let mut filled = 0;
    run::<J, LANES>(jobs, |lanes, count| {
        for (group, table) in tables.iter_mut().enumerate() {
            if lanes.changed & 1 << group != 0 {
                table.write(Table::new::<SEALS>(lanes, group));
                filled = filled.max(group + 1);
            }
        }
        // SAFETY: `run` keeps so many blocks at every lane of the groups that have a busy one, and
        // says that a group has changed before it is used for the first time.
        unsafe {
            match lanes.busy.div_ceil(4) {
                1 => step::<1, SEALS>(lanes, &tables, count),
                2 => step::<2, SEALS>(lanes, &tables, count),
                3 => step::<3, SEALS>(lanes, &tables, count),
                _ => step::<4, SEALS>(lanes, &tables, count),
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
    enc: [__m512i; 11],
    mac: [__m512i; 11],
    /// The last MAC round key and the first, in one.
    mac_ends: __m512i,
}

impl Table {
    /// The keys of the lanes of `group`.
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn new<const SEALS: bool>(lanes: &Lanes<'_, LANES>, group: usize) -> Self {
        let keys = [0, 1, 2, 3].map(|lane| lanes.key[4 * group + lane]);
        let mac = side_by_side::<11, 11>(keys.map(|key| &key.mac.cipher.keys));
        let enc = if SEALS {
            side_by_side::<11, 11>(keys.map(|key| &key.encrypt.keys))
        } else {
            [_mm512_setzero_si512(); 11]
        };
        Self { enc, mac, mac_ends: _mm512_xor_si512(mac[10], mac[0]) }
    }

    /// How far behind the first table the encryption keys of this group and round are, in bytes.
    const fn enc_at(group: usize, round: usize) -> usize {
        group * size_of::<Self>() + offset_of!(Self, enc) + round * size_of::<__m512i>()
    }

    /// The same for the MAC keys.
    const fn mac_at(group: usize, round: usize) -> usize {
        group * size_of::<Self>() + offset_of!(Self, mac) + round * size_of::<__m512i>()
    }

    /// Leaves no key on the stack.
    fn wipe(&mut self) {
        self.enc.zeroize();
        self.mac.zeroize();
        self.mac_ends.zeroize();
    }
}

/// Takes every lane on by one block; gives the ciphertext.
///
/// A macro, because the compiler calls a function of this size instead of inlining it, and because
/// where a round key is has to be a constant.
macro_rules! advance {
    ($chains:ident, $blocks:expr) => {{
        let tables = $chains.tables;
        let (mut x, mut y) = ($blocks, $chains.pending);
        if SEALS {
            for w in 0..W {
                let before = $chains.ciphertext[w];
                x[w] = _mm512_ternarylogic_epi64::<0x96>(before, x[w], tables[w].enc[0]);
            }
        }
        advance!(@round x, y, tables, 1);
        advance!(@round x, y, tables, 2);
        advance!(@round x, y, tables, 3);
        advance!(@round x, y, tables, 4);
        advance!(@round x, y, tables, 5);
        advance!(@round x, y, tables, 6);
        advance!(@round x, y, tables, 7);
        advance!(@round x, y, tables, 8);
        advance!(@round x, y, tables, 9);
        for w in 0..W {
            if SEALS {
                x[w] = _mm512_aesenclast_epi128(x[w], tables[w].enc[10]);
            }
            // The last round's key takes the ciphertext block with it.
            let last = _mm512_xor_si512(tables[w].mac_ends, x[w]);
            $chains.pending[w] = _mm512_aesenclast_epi128(y[w], last);
        }
        $chains.ciphertext = x;
        x
    }};
    (@round $x:ident, $y:ident, $tables:ident, $round:literal) => {
        advance!(@group $x, $y, $tables, $round, 0);
        advance!(@group $x, $y, $tables, $round, 1);
        advance!(@group $x, $y, $tables, $round, 2);
        advance!(@group $x, $y, $tables, $round, 3);
    };
    (@group $x:ident, $y:ident, $tables:ident, $round:literal, $w:literal) => {
        if $w < W {
            // SAFETY: there are W tables, and 11 keys in each half of one.
            unsafe {
                $y[$w] = round::<{ Table::mac_at($w, $round) }>($y[$w], $tables.as_ptr().cast());
                if SEALS {
                    $x[$w] = round::<{ Table::enc_at($w, $round) }>($x[$w], $tables.as_ptr().cast());
                }
            }
        }
    };
}

/// Takes the first `4 * W` lanes on by `count` blocks and computes their tags.
///
/// # Safety
/// So many blocks must be readable at each of these lanes, and writable if `SEALS`. The first `W`
/// tables must be filled.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,vaes")]
unsafe fn step<const W: usize, const SEALS: bool>(
    lanes: &mut Lanes<'_, LANES>,
    tables: &[MaybeUninit<Table>; LANES / 4],
    count: usize,
) {
    let zeros = [_mm512_setzero_si512(); W];
    // SAFETY: the caller's contract, and W is at most four.
    let tables = unsafe { &*tables.as_ptr().cast::<[Table; W]>() };
    let at: [_; W] =
        core::array::from_fn(|w| Quad([0, 1, 2, 3].map(|lane| lanes.at[4 * w + lane])));
    // SAFETY: `Lanes` is aligned to 64 bytes and each of these arrays begins at a multiple of that;
    // sixteen 128-bit vectors are four of 512 bits.
    let (ciphertext, pending, k1, tag) = unsafe {
        (
            &mut *(&raw mut lanes.ciphertext).cast::<[__m512i; 4]>(),
            &mut *(&raw mut lanes.pending).cast::<[__m512i; 4]>(),
            &*(&raw const lanes.k1).cast::<[__m512i; 4]>(),
            &mut *(&raw mut lanes.tag).cast::<[__m512i; 4]>(),
        )
    };
    let mut chains = Chains { tables, ciphertext: zeros, pending: zeros };
    chains.ciphertext.copy_from_slice(&ciphertext[..W]);
    for w in 0..W {
        chains.pending[w] = _mm512_xor_si512(pending[w], tables[w].mac[0]);
    }

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
        let blocks = [advance!(chains, a), advance!(chains, b)];
        if SEALS {
            for w in 0..W {
                // SAFETY: the caller's contract: writable as well.
                unsafe {
                    at[w].store_one(i, blocks[0][w]);
                    at[w].store_one(i + 1, blocks[1][w]);
                }
            }
        }
    }
    for i in count - rest..count {
        let mut blocks = zeros;
        for w in 0..W {
            // SAFETY: the caller's contract: `count` blocks are readable.
            blocks[w] = unsafe { at[w].load_one(i) };
        }
        let blocks = advance!(chains, blocks);
        if SEALS {
            for w in 0..W {
                // SAFETY: the caller's contract: writable as well.
                unsafe { at[w].store_one(i, blocks[w]) };
            }
        }
    }
    ciphertext[..W].copy_from_slice(&chains.ciphertext);
    for w in 0..W {
        pending[w] = _mm512_xor_si512(chains.pending[w], tables[w].mac[0]);
    }
    tag[..W].copy_from_slice(&chains.tags(k1));
}

/// The chains of `4 * W` lanes.
struct Chains<'t, const W: usize> {
    tables: &'t [Table; W],
    ciphertext: [__m512i; W],
    pending: [__m512i; W],
}

impl<const W: usize> Chains<'_, W> {
    /// The tags, if the frames end here.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vl,vaes")]
    fn tags(&self, k1: &[__m512i; 4]) -> [__m512i; W] {
        let mut y = self.pending;
        for (y, k1) in y.iter_mut().zip(k1) {
            *y = _mm512_xor_si512(*y, *k1);
        }
        for round in 1..10 {
            for (y, table) in y.iter_mut().zip(self.tables) {
                *y = _mm512_aesenc_epi128(*y, table.mac[round]);
            }
        }
        for (y, table) in y.iter_mut().zip(self.tables) {
            *y = _mm512_aesenclast_epi128(*y, table.mac[10]);
        }
        y
    }
}
