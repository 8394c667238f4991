use core::arch::x86_64::*;

use crate::Block;
use crate::batch::Job;
use crate::x86::lanes::{Lanes, run};

/// Four lanes in each of four registers.
const LANES: usize = 16;

/// Round keys of all lanes: for each round, four registers.
type Keys = [[__m512i; LANES / 4]; 11];

/// Seals every job.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,vaes")]
pub(crate) fn seal<J: Job>(jobs: &mut [J]) {
    run::<J, LANES>(jobs, kernel::<true>);
}

/// Computes the tag of every job's ciphertext.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,vaes")]
pub(crate) fn authenticate<J: Job>(jobs: &mut [J]) {
    run::<J, LANES>(jobs, kernel::<false>);
}

/// # Safety
/// See `lanes::Kernel`.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,vaes")]
unsafe fn kernel<const SEALS: bool>(lanes: &mut Lanes<LANES>, count: usize) {
    // SAFETY: the contract is the same.
    unsafe {
        match lanes.busy.div_ceil(4) {
            1 => step::<1, SEALS>(lanes, count),
            2 => step::<2, SEALS>(lanes, count),
            3 => step::<3, SEALS>(lanes, count),
            _ => step::<4, SEALS>(lanes, count),
        }
    }
}

/// Takes the first `4 * W` lanes on by `count` blocks.
///
/// # Safety
/// See `lanes::Kernel`.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,vaes")]
unsafe fn step<const W: usize, const SEALS: bool>(lanes: &mut Lanes<LANES>, count: usize) {
    let zeros = [_mm512_setzero_si512(); W];
    let at = lanes.at;
    // SAFETY: `Lanes` is aligned to 64 bytes and each of these begins at a multiple of that; sixteen
    // 128-bit vectors are four of 512 bits.
    let (enc, mac, ciphertexts, pendings) = unsafe {
        (
            &*(&raw const lanes.enc).cast::<Keys>(),
            &*(&raw const lanes.mac).cast::<Keys>(),
            &mut *(&raw mut lanes.ciphertext).cast::<[__m512i; 4]>(),
            &mut *(&raw mut lanes.pending).cast::<[__m512i; 4]>(),
        )
    };
    let mut chains = Chains::<W> { enc, mac, ciphertext: zeros, pending: zeros };
    chains.ciphertext.copy_from_slice(&ciphertexts[..W]);
    chains.pending.copy_from_slice(&pendings[..W]);
    let (quads, rest) = (count / 4, count % 4);
    let blocks: [_; W] = core::array::from_fn(|w| Quad { at: [0, 1, 2, 3].map(|lane| at[4 * w + lane]) });
    for quad in 0..quads {
        let mut data = [[_mm512_setzero_si512(); 4]; W];
        for w in 0..W {
            // SAFETY: the caller's contract: `count` blocks are readable at every lane.
            data[w] = unsafe { blocks[w].load(4 * quad) };
        }
        macro_rules! go { ($i:literal) => {
            let mut x = zeros;
            for w in 0..W {
                x[w] = data[w][$i];
            }
            x = chains.step::<SEALS>(x);
            for w in 0..W {
                data[w][$i] = x[w];
            }
        } }
        go!(0); go!(1); go!(2); go!(3);
        if SEALS {
            for w in 0..W {
                // SAFETY: the caller's contract: writable as well.
                unsafe { blocks[w].store(4 * quad, data[w]) };
            }
        }
    }
    for i in count - rest..count {
        let mut x = zeros;
        for w in 0..W {
            // SAFETY: the caller's contract: `count` blocks are readable at every lane.
            x[w] = unsafe { gather(&at, w, i) };
        }
        x = chains.step::<SEALS>(x);
        if SEALS {
            for w in 0..W {
                // SAFETY: the caller's contract: writable as well.
                unsafe { scatter(&at, w, i, x[w]) };
            }
        }
    }
    ciphertexts[..W].copy_from_slice(&chains.ciphertext);
    pendings[..W].copy_from_slice(&chains.pending);
}

/// Block `i` of the four lanes of register `w`.
///
/// # Safety
/// The blocks must be readable.
#[inline]
#[target_feature(enable = "avx512f")]
unsafe fn gather(at: &[*mut Block; LANES], w: usize, i: usize) -> __m512i {
    // SAFETY: the caller's contract.
    unsafe {
        let block = |lane: usize| _mm_loadu_si128(at[4 * w + lane].add(i).cast());
        let x = _mm512_castsi128_si512(block(0));
        let x = _mm512_inserti32x4::<1>(x, block(1));
        let x = _mm512_inserti32x4::<2>(x, block(2));
        _mm512_inserti32x4::<3>(x, block(3))
    }
}

/// Stores block `i` of the four lanes of register `w`.
///
/// # Safety
/// The blocks must be writable.
#[inline]
#[target_feature(enable = "avx512f")]
unsafe fn scatter(at: &[*mut Block; LANES], w: usize, i: usize, value: __m512i) {
    // SAFETY: the caller's contract.
    unsafe {
        let store = |lane: usize, block| _mm_storeu_si128(at[4 * w + lane].add(i).cast(), block);
        store(0, _mm512_castsi512_si128(value));
        store(1, _mm512_extracti32x4_epi32::<1>(value));
        store(2, _mm512_extracti32x4_epi32::<2>(value));
        store(3, _mm512_extracti32x4_epi32::<3>(value));
    }
}

/// The chains of `4 * W` lanes.
struct Chains<'a, const W: usize> {
    enc: &'a Keys,
    mac: &'a Keys,
    ciphertext: [__m512i; W],
    pending: [__m512i; W],
}

impl<const W: usize> Chains<'_, W> {
    /// Takes every lane on by one block; returns the ciphertext.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vl,vaes")]
    fn step<const SEALS: bool>(&mut self, blocks: [__m512i; W]) -> [__m512i; W] {
        let Self { enc, mac, .. } = *self;
        let (mut x, mut y) = (blocks, self.pending);
        for w in 0..W {
            y[w] = _mm512_xor_si512(y[w], mac[0][w]);
            if SEALS {
                x[w] = _mm512_ternarylogic_epi64::<0x96>(self.ciphertext[w], x[w], enc[0][w]);
            }
        }
        for round in 1..10 {
            for w in 0..W {
                y[w] = pin(_mm512_aesenc_epi128(y[w], mac[round][w]));
                if SEALS {
                    x[w] = pin(_mm512_aesenc_epi128(x[w], enc[round][w]));
                }
            }
        }
        for w in 0..W {
            if SEALS {
                x[w] = _mm512_aesenclast_epi128(x[w], enc[10][w]);
            }
            // The last round's key takes the ciphertext block with it.
            self.pending[w] = _mm512_aesenclast_epi128(y[w], _mm512_xor_si512(mac[10][w], x[w]));
        }
        self.ciphertext = x;
        x
    }
}

/// Keeps the compiler from moving an instruction past its neighbours: it would run the chains one
/// after another to save registers, and keep copies of the round keys instead of reading them in place.
#[inline]
#[target_feature(enable = "avx512f")]
fn pin(mut value: __m512i) -> __m512i {
    // SAFETY: no instruction at all.
    unsafe { core::arch::asm!("/* {0} */", inout(zmm_reg) value, options(nostack, preserves_flags)) };
    value
}

/// Four lanes whose blocks stand side by side in a register.
#[derive(Clone, Copy)]
struct Quad {
    at: [*mut Block; 4],
}

impl Quad {
    /// Blocks `i..i + 4` of the lanes.
    #[inline]
    #[target_feature(enable = "avx512f")]
    unsafe fn load(self, i: usize) -> [__m512i; 4] {
        // SAFETY: the caller's contract.
        transpose(self.at.map(|at| unsafe { _mm512_loadu_si512(at.add(i).cast()) }))
    }

    /// Stores blocks `i..i + 4` of the lanes.
    #[inline]
    #[target_feature(enable = "avx512f")]
    unsafe fn store(self, i: usize, blocks: [__m512i; 4]) {
        let rows = transpose(blocks);
        for (at, row) in self.at.into_iter().zip(rows) {
            // SAFETY: the caller's contract.
            unsafe { _mm512_storeu_si512(at.add(i).cast(), row) };
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
