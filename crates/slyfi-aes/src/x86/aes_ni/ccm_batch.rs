use core::arch::x86_64::*;

use crate::ccm_batch::CcmJob;
use crate::x86::ccm_lanes::{self, Pass, swap};
use crate::x86::keys::vector;
use crate::x86::{load, store};

/// Each lane has two chains, and eight are as many as the AES units can take.
const LANES: usize = 4;

type Lanes<'k> = ccm_lanes::Lanes<'k, LANES>;

/// Runs every job, with AES of `R` rounds.
#[target_feature(enable = "aes,sse4.1")]
pub(crate) fn run<'k, J: CcmJob<'k>, const R: usize>(jobs: &mut [J]) {
    ccm_lanes::run::<J, LANES>(jobs, |lanes, pass| match lanes.busy {
        1 => step::<J, R, 1>(lanes, pass),
        2 => step::<J, R, 2>(lanes, pass),
        _ => step::<J, R, 4>(lanes, pass),
    });
}

#[target_feature(enable = "aes,sse4.1")]
fn step<'k, J: CcmJob<'k>, const R: usize, const W: usize>(lanes: &mut Lanes<'k>, pass: Pass) {
    match pass {
        Pass::Encrypt => {
            let out = encrypt::<R, W>(lanes, &lanes.pending);
            lanes.out[..W].copy_from_slice(&out);
        }
        // SAFETY: `ccm_lanes::run` keeps so many blocks at every lane.
        Pass::Advance(count) => unsafe { advance::<J, R, W>(lanes, count) },
        Pass::Tags => {
            let (macs, masks) =
                (encrypt::<R, W>(lanes, &lanes.pending), encrypt::<R, W>(lanes, &lanes.a0));
            for w in 0..W {
                lanes.out[w] = _mm_xor_si128(macs[w], masks[w]);
            }
        }
    }
}

/// Takes the first `W` lanes on by `count` blocks.
///
/// # Safety
/// So many blocks must be readable and writable at each of these lanes.
#[target_feature(enable = "aes,sse4.1")]
unsafe fn advance<'k, J: CcmJob<'k>, const R: usize, const W: usize>(
    lanes: &mut Lanes<'k>,
    count: usize,
) {
    let zeros = [_mm_setzero_si128(); W];
    let (mut counter, mut pending) = (zeros, zeros);
    counter.copy_from_slice(&lanes.counter[..W]);
    pending.copy_from_slice(&lanes.pending[..W]);
    let at = lanes.at;
    let keys = lanes.key;
    let key = |w: usize, round: usize| vector(keys[w].keys.0[round]);
    for i in 0..count {
        let (mut x, mut y, mut before) = (zeros, zeros, zeros);
        for w in 0..W {
            counter[w] = _mm_add_epi64(counter[w], _mm_set_epi64x(0, 1));
            x[w] = _mm_xor_si128(swap(counter[w]), key(w, 0));
            y[w] = _mm_xor_si128(pending[w], key(w, 0));
            // SAFETY: the caller's contract.
            before[w] = load(unsafe { &*at[w].add(i) });
        }
        for round in 1..R {
            for w in 0..W {
                x[w] = _mm_aesenc_si128(x[w], key(w, round));
                y[w] = _mm_aesenc_si128(y[w], key(w, round));
            }
        }
        for w in 0..W {
            let after = _mm_aesenclast_si128(x[w], _mm_xor_si128(key(w, R), before[w]));
            // SAFETY: the caller's contract.
            store(unsafe { &mut *at[w].add(i) }, after);
            // The last round's key takes the text with it.
            let text = if J::SEALS { before[w] } else { after };
            pending[w] = _mm_aesenclast_si128(y[w], _mm_xor_si128(key(w, R), text));
        }
    }
    lanes.counter[..W].copy_from_slice(&counter);
    lanes.pending[..W].copy_from_slice(&pending);
}

/// Encrypts a block of each of the first `W` lanes.
#[inline]
#[target_feature(enable = "aes,sse4.1")]
fn encrypt<const R: usize, const W: usize>(
    lanes: &Lanes<'_>,
    blocks: &[__m128i; LANES],
) -> [__m128i; W] {
    let key = |w: usize, round: usize| vector(lanes.key[w].keys.0[round]);
    let mut state = [_mm_setzero_si128(); W];
    for w in 0..W {
        state[w] = _mm_xor_si128(blocks[w], key(w, 0));
    }
    for round in 1..R {
        for (w, x) in state.iter_mut().enumerate() {
            *x = _mm_aesenc_si128(*x, key(w, round));
        }
    }
    for (w, x) in state.iter_mut().enumerate() {
        *x = _mm_aesenclast_si128(*x, key(w, R));
    }
    state
}
