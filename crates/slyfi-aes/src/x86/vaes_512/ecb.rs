use super::{broadcast, encrypt, load_blocks, store_blocks};
use crate::Block;
use crate::key_words::KeyWords;

/// Encrypts each block: sixteen in flight, then as many registers as the rest needs.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,vaes")]
pub(crate) fn encrypt_blocks(keys: &KeyWords<11>, blocks: &mut [Block]) {
    let keys = broadcast(keys);
    let (groups, rest) = blocks.as_chunks_mut::<16>();
    for group in groups {
        let at = group.as_mut_ptr();
        // SAFETY: four times four blocks are the group's sixteen.
        let state = unsafe { [0, 4, 8, 12].map(|i| load_blocks(at.add(i), 4)) };
        let state = encrypt(&keys, state);
        for (i, value) in state.into_iter().enumerate() {
            // SAFETY: as above.
            unsafe { store_blocks(at.add(4 * i), 4, value) };
        }
    }
    for group in rest.chunks_mut(4) {
        let (at, count) = (group.as_mut_ptr(), group.len());
        // SAFETY: `count` blocks are the whole group.
        let [value] = encrypt(&keys, [unsafe { load_blocks(at, count) }]);
        // SAFETY: as above.
        unsafe { store_blocks(at, count, value) };
    }
}
