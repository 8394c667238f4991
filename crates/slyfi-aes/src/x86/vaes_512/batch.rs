use core::arch::x86_64::*;
use core::mem::{MaybeUninit, offset_of};

use zeroize::Zeroize;

use crate::Block;
use crate::batch::Job;
use crate::key_words::KeyWords;
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
        let mac = side_by_side(keys.map(|key| &key.mac.cipher.keys));
        let enc = if SEALS {
            side_by_side(keys.map(|key| &key.encrypt.keys))
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

/// For each round, the round keys of four lanes.
#[inline]
#[target_feature(enable = "avx512f")]
fn side_by_side(keys: [&KeyWords<11>; 4]) -> [__m512i; 11] {
    let mut rounds = [_mm512_setzero_si512(); 11];
    // Four at a time; the last four begin with one that the second four end with.
    for first in [0, 4, 7] {
        let rows = keys.map(|key| {
            let row: &[u128; 4] = key.0[first..].first_chunk().expect("11 round keys");
            // SAFETY: four words are 64 bytes.
            unsafe { _mm512_loadu_si512(row.as_ptr().cast()) }
        });
        rounds[first..first + 4].copy_from_slice(&transpose(rows));
    }
    rounds
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
                $y[$w] = round::<{ Table::mac_at($w, $round) }>($y[$w], $tables.as_ptr());
                if SEALS {
                    $x[$w] = round::<{ Table::enc_at($w, $round) }>($x[$w], $tables.as_ptr());
                }
            }
        }
    };
}

/// One round of AES, with the keys that are `AT` bytes after the first table.
///
/// Not the intrinsic: the compiler would take the loads of the keys out of the loop and, as there
/// are more of them than registers, put copies on the stack, which cost time and which nobody
/// wipes. It would also run the chains one after another to save registers.
///
/// # Safety
/// `AT` must be the place of a register's worth of keys in the tables.
#[inline]
#[target_feature(enable = "avx512f,vaes")]
unsafe fn round<const AT: usize>(mut state: __m512i, tables: *const Table) -> __m512i {
    // SAFETY: the caller's contract: 64 readable bytes. Without `pure`, so the order stays.
    unsafe {
        core::arch::asm!(
            "vaesenc {state}, {state}, zmmword ptr [{tables} + {at}]",
            state = inout(zmm_reg) state,
            tables = in(reg) tables,
            at = const AT,
            options(readonly, nostack, preserves_flags),
        );
    }
    state
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

/// Where the four lanes of a register are.
#[derive(Clone, Copy)]
struct Quad([*mut Block; 4]);

impl Quad {
    /// Blocks `i` and `i + 1` of the lanes, a register for each.
    ///
    /// # Safety
    /// The blocks must be readable.
    #[inline]
    #[target_feature(enable = "avx512f")]
    unsafe fn load_two(self, i: usize) -> [__m512i; 2] {
        // SAFETY: the caller's contract.
        let [a, b, c, d] = self.0.map(|at| unsafe { _mm256_loadu_si256(at.add(i).cast()) });
        let ab = _mm512_inserti64x4::<1>(_mm512_castsi256_si512(a), b);
        let cd = _mm512_inserti64x4::<1>(_mm512_castsi256_si512(c), d);
        [_mm512_shuffle_i64x2::<0x88>(ab, cd), _mm512_shuffle_i64x2::<0xdd>(ab, cd)]
    }

    /// Block `i` of the lanes.
    ///
    /// # Safety
    /// The blocks must be readable.
    #[inline]
    #[target_feature(enable = "avx512f")]
    unsafe fn load_one(self, i: usize) -> __m512i {
        // SAFETY: the caller's contract.
        let [b0, b1, b2, b3] = self.0.map(|at| unsafe { _mm_loadu_si128(at.add(i).cast()) });
        let x = _mm512_inserti32x4::<1>(_mm512_castsi128_si512(b0), b1);
        let x = _mm512_inserti32x4::<2>(x, b2);
        _mm512_inserti32x4::<3>(x, b3)
    }

    /// Stores block `i` of the lanes.
    ///
    /// One by one: a quarter of a register goes to memory without a shuffle, so that two blocks of
    /// a lane in one store would only cost more.
    ///
    /// # Safety
    /// The blocks must be writable.
    #[inline]
    #[target_feature(enable = "avx512f")]
    unsafe fn store_one(self, i: usize, value: __m512i) {
        let blocks = [
            _mm512_castsi512_si128(value),
            _mm512_extracti32x4_epi32::<1>(value),
            _mm512_extracti32x4_epi32::<2>(value),
            _mm512_extracti32x4_epi32::<3>(value),
        ];
        for (at, block) in self.0.into_iter().zip(blocks) {
            // SAFETY: the caller's contract.
            unsafe { _mm_storeu_si128(at.add(i).cast(), block) };
        }
    }
}

/// Block `j` of row `i` becomes block `i` of row `j`.
#[inline]
#[target_feature(enable = "avx512f")]
fn transpose([a, b, c, d]: [__m512i; 4]) -> [__m512i; 4] {
    let ab_low = _mm512_shuffle_i64x2::<0x44>(a, b); // a0 a1 b0 b1
    let ab_high = _mm512_shuffle_i64x2::<0xee>(a, b); // a2 a3 b2 b3
    let cd_low = _mm512_shuffle_i64x2::<0x44>(c, d);
    let cd_high = _mm512_shuffle_i64x2::<0xee>(c, d);
    [
        _mm512_shuffle_i64x2::<0x88>(ab_low, cd_low), // a0 b0 c0 d0
        _mm512_shuffle_i64x2::<0xdd>(ab_low, cd_low), // a1 b1 c1 d1
        _mm512_shuffle_i64x2::<0x88>(ab_high, cd_high),
        _mm512_shuffle_i64x2::<0xdd>(ab_high, cd_high),
    ]
}
