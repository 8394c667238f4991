use core::arch::x86_64::*;

use super::ecb;
use crate::Block;
use crate::key_words::KeyWords;
use crate::x86::keys::inverse_vectors;
use crate::x86::{load, store};

/// CBC decryption (SP 800-38A §6.2), which, unlike encryption, has no chain: eight blocks at once.
#[target_feature(enable = "aes,sse4.1")]
pub(crate) fn decrypt(keys: &KeyWords<11>, iv: &Block, blocks: &mut [Block]) {
    let inverse = inverse_vectors(keys);
    let (groups, rest) = blocks.as_chunks_mut::<8>();
    let mut previous = load(iv);
    for group in groups {
        previous = decrypt_group(&inverse, previous, group);
    }
    for block in rest.as_chunks_mut::<1>().0 {
        previous = decrypt_group(&inverse, previous, block);
    }
}

/// Decrypts a group whose predecessor was `previous`; returns its last ciphertext block.
#[inline]
#[target_feature(enable = "aes,sse4.1")]
fn decrypt_group<const W: usize>(
    inverse: &[__m128i; 11],
    mut previous: __m128i,
    group: &mut [Block; W],
) -> __m128i {
    let state = ecb::decrypt(inverse, group.each_ref().map(|block| load(block)));
    for (block, value) in group.iter_mut().zip(state) {
        let ciphertext = load(block);
        store(block, _mm_xor_si128(value, previous));
        previous = ciphertext;
    }
    previous
}
