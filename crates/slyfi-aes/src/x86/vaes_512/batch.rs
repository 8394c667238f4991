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
    let (mut ciphertext, mut pending) = (zeros, zeros);
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
    ciphertext.copy_from_slice(&ciphertexts[..W]);
    pending.copy_from_slice(&pendings[..W]);
    for i in 0..count {
        let (mut x, mut y) = (zeros, zeros);
        for w in 0..W {
            // SAFETY: the caller's contract: `count` blocks are readable at every lane.
            x[w] = unsafe { gather(&at, w, i) };
            y[w] = _mm512_xor_si512(pending[w], mac[0][w]);
            if SEALS {
                x[w] = _mm512_ternarylogic_epi64::<0x96>(ciphertext[w], x[w], enc[0][w]);
            }
        }
        for round in 1..10 {
            for w in 0..W {
                y[w] = _mm512_aesenc_epi128(y[w], mac[round][w]);
                if SEALS {
                    x[w] = _mm512_aesenc_epi128(x[w], enc[round][w]);
                }
            }
        }
        for w in 0..W {
            if SEALS {
                x[w] = _mm512_aesenclast_epi128(x[w], enc[10][w]);
                // SAFETY: the caller's contract: writable as well.
                unsafe { scatter(&at, w, i, x[w]) };
            }
            // The last round's key takes the ciphertext block with it.
            pending[w] = _mm512_aesenclast_epi128(y[w], _mm512_xor_si512(mac[10][w], x[w]));
        }
        ciphertext = x;
    }
    ciphertexts[..W].copy_from_slice(&ciphertext);
    pendings[..W].copy_from_slice(&pending);
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
