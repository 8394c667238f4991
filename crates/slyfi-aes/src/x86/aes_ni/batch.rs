use core::arch::x86_64::*;

use crate::batch::Job;
use crate::x86::keys::vector;
use crate::x86::lanes::{Lanes, run};

/// Lanes that seal: each has two chains, and eight chains are as many as the AES units can take.
const SEAL_LANES: usize = 4;

/// Lanes that authenticate: each has one chain.
const OPEN_LANES: usize = 8;

/// Seals every job.
#[target_feature(enable = "aes,sse4.1")]
pub(crate) fn seal<'k, J: Job<'k>>(jobs: &mut [J]) {
    run::<J, SEAL_LANES>(jobs, |lanes, count| {
        // SAFETY: `run` keeps so many blocks at every lane.
        unsafe {
            match lanes.busy {
                1 => step::<SEAL_LANES, 1, true>(lanes, count),
                2 => step::<SEAL_LANES, 2, true>(lanes, count),
                _ => step::<SEAL_LANES, 4, true>(lanes, count),
            }
        }
    });
}

/// Computes the tag of every job's ciphertext.
#[target_feature(enable = "aes,sse4.1")]
pub(crate) fn authenticate<'k, J: Job<'k>>(jobs: &mut [J]) {
    run::<J, OPEN_LANES>(jobs, |lanes, count| {
        // SAFETY: `run` keeps so many blocks at every lane.
        unsafe {
            match lanes.busy {
                1..=2 => step::<OPEN_LANES, 2, false>(lanes, count),
                3..=4 => step::<OPEN_LANES, 4, false>(lanes, count),
                _ => step::<OPEN_LANES, 8, false>(lanes, count),
            }
        }
    });
}

/// Takes the first `W` of `N` lanes on by `count` blocks and computes their tags.
///
/// # Safety
/// So many blocks must be readable at each of these lanes, and writable if `SEALS`.
#[target_feature(enable = "aes,sse4.1")]
unsafe fn step<const N: usize, const W: usize, const SEALS: bool>(
    lanes: &mut Lanes<'_, N>,
    count: usize,
) {
    let zeros = [_mm_setzero_si128(); W];
    let (mut ciphertext, mut pending) = (zeros, zeros);
    ciphertext.copy_from_slice(&lanes.ciphertext[..W]);
    pending.copy_from_slice(&lanes.pending[..W]);
    let at = lanes.at;
    let keys = lanes.key;
    let enc = |w: usize, round: usize| vector(keys[w].encrypt.keys.0[round]);
    let mac = |w: usize, round: usize| vector(keys[w].mac.cipher.keys.0[round]);
    for i in 0..count {
        let (mut x, mut y) = (zeros, zeros);
        for w in 0..W {
            // SAFETY: the caller's contract.
            x[w] = unsafe { _mm_loadu_si128(at[w].add(i).cast()) };
            y[w] = _mm_xor_si128(pending[w], mac(w, 0));
            if SEALS {
                x[w] = _mm_xor_si128(_mm_xor_si128(ciphertext[w], x[w]), enc(w, 0));
            }
        }
        for round in 1..10 {
            for w in 0..W {
                y[w] = _mm_aesenc_si128(y[w], mac(w, round));
                if SEALS {
                    x[w] = _mm_aesenc_si128(x[w], enc(w, round));
                }
            }
        }
        for w in 0..W {
            if SEALS {
                x[w] = _mm_aesenclast_si128(x[w], enc(w, 10));
                // SAFETY: the caller's contract.
                unsafe { _mm_storeu_si128(at[w].add(i).cast(), x[w]) };
            }
            // The last round's key takes the ciphertext block with it.
            pending[w] = _mm_aesenclast_si128(y[w], _mm_xor_si128(mac(w, 10), x[w]));
        }
        ciphertext = x;
    }
    lanes.ciphertext[..W].copy_from_slice(&ciphertext);
    lanes.pending[..W].copy_from_slice(&pending);

    let mut tag = pending;
    for (w, y) in tag.iter_mut().enumerate() {
        *y = _mm_xor_si128(_mm_xor_si128(*y, lanes.k1[w]), mac(w, 0));
    }
    for round in 1..10 {
        for (w, y) in tag.iter_mut().enumerate() {
            *y = _mm_aesenc_si128(*y, mac(w, round));
        }
    }
    for (w, y) in tag.into_iter().enumerate() {
        lanes.tag[w] = _mm_aesenclast_si128(y, mac(w, 10));
    }
}
