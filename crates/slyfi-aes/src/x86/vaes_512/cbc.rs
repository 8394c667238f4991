use core::arch::x86_64::*;

use super::{load_blocks, store_blocks};
use crate::Block;
use crate::key_words::KeyWords;
use crate::x86::keys::inverse_vectors;
use crate::x86::load;

/// CBC decryption (SP 800-38A §6.2), which, unlike encryption, has no chain: sixteen blocks at once.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,vaes")]
pub(crate) fn decrypt(keys: &KeyWords<11>, iv: &Block, blocks: &mut [Block]) {
    let inverse = inverse_vectors(keys).map(|key| _mm512_broadcast_i32x4(key));
    // Only the last lane of `previous` counts: the block before the next one.
    let mut previous = _mm512_broadcast_i32x4(load(iv));
    let (groups, rest) = blocks.as_chunks_mut::<16>();
    for group in groups {
        previous = decrypt_group::<4>(&inverse, previous, group);
    }
    for group in rest.chunks_mut(4) {
        previous = decrypt_group::<1>(&inverse, previous, group);
    }
}

/// Decrypts up to `4 * W` blocks; returns the register with the last of them, if it was full.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,vaes")]
fn decrypt_group<const W: usize>(
    inverse: &[__m512i; 11],
    mut previous: __m512i,
    group: &mut [Block],
) -> __m512i {
    debug_assert!(group.len() == 4 * W || W == 1);
    let at = group.as_mut_ptr();
    let count = group.len().min(4);
    let mut ciphertext = [_mm512_setzero_si512(); W];
    for (i, register) in ciphertext.iter_mut().enumerate() {
        // SAFETY: the group has `4 * W` blocks, or `W` is 1 and it has `count`.
        *register = unsafe { load_blocks(at.add(4 * i), count) };
    }
    let mut state = ciphertext.map(|x| _mm512_xor_si512(x, inverse[0]));
    for key in &inverse[1..10] {
        state = state.map(|x| _mm512_aesdec_epi128(x, *key));
    }
    for i in 0..W {
        let value = _mm512_aesdeclast_epi128(state[i], inverse[10]);
        // Each lane's predecessor: the last lane of `previous`, then the first three of this one.
        let chained = _mm512_alignr_epi64::<6>(ciphertext[i], previous);
        previous = ciphertext[i];
        // SAFETY: as above.
        unsafe { store_blocks(at.add(4 * i), count, _mm512_xor_si512(value, chained)) };
    }
    previous
}
