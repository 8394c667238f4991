//! Blocks under keys that are used once: the round keys are made beside the rounds and never stored.

use crate::{Block, portable};

/// Encrypts the blocks (ECB) under a key that is used for nothing else.
pub fn encrypt_blocks_with(key: &[u8; 16], blocks: &mut [Block]) {
    portable::block::encrypt(key, blocks);
}

/// Encrypts `B` blocks (ECB) under each of many keys: `blocks[i]` under `keys[i]`.
///
/// # Panics
/// If there are not as many keys as groups of blocks.
pub fn encrypt_blocks_with_many<const B: usize>(keys: &[[u8; 16]], blocks: &mut [[Block; B]]) {
    assert_eq!(keys.len(), blocks.len(), "a group of blocks for each key");
    for (key, blocks) in keys.iter().zip(blocks) {
        portable::block::encrypt(key, blocks);
    }
}
