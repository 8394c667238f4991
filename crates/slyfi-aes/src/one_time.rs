//! Blocks under keys that are used once: the round keys are made beside the rounds and never stored.

use crate::backend::on_backend;
#[cfg(target_arch = "x86_64")]
use crate::x86;
use crate::{Backend, Block, backend, portable};

/// Encrypts the blocks (ECB) under a key that is used for nothing else.
pub fn encrypt_blocks_with(key: &[u8; 16], blocks: &mut [Block]) {
    with_backend(backend(), key, blocks);
}

/// The same on a backend of the caller's choice, for tests and measurements.
#[doc(hidden)]
pub fn encrypt_blocks_with_on(backend: Backend, key: &[u8; 16], blocks: &mut [Block]) {
    assert!(backend.is_available(), "this machine has no {backend}");
    with_backend(backend, key, blocks);
}

fn with_backend(backend: Backend, key: &[u8; 16], blocks: &mut [Block]) {
    on_backend!(
        backend,
        portable::block::encrypt(key, blocks),
        x86::aes_ni::once::encrypt_blocks(key, blocks),
        x86::aes_ni::once::encrypt_blocks(key, blocks),
    );
}

/// Encrypts `B` blocks (ECB) under each of many keys: `blocks[i]` under `keys[i]`.
///
/// # Panics
/// If there are not as many keys as groups of blocks.
pub fn encrypt_blocks_with_many<const B: usize>(keys: &[[u8; 16]], blocks: &mut [[Block; B]]) {
    many_with_backend(backend(), keys, blocks);
}

/// The same on a backend of the caller's choice, for tests and measurements.
#[doc(hidden)]
pub fn encrypt_blocks_with_many_on<const B: usize>(
    backend: Backend,
    keys: &[[u8; 16]],
    blocks: &mut [[Block; B]],
) {
    assert!(backend.is_available(), "this machine has no {backend}");
    many_with_backend(backend, keys, blocks);
}

fn many_with_backend<const B: usize>(
    backend: Backend,
    keys: &[[u8; 16]],
    blocks: &mut [[Block; B]],
) {
    assert_eq!(keys.len(), blocks.len(), "a group of blocks for each key");
    on_backend!(
        backend,
        for (key, blocks) in keys.iter().zip(blocks) {
            portable::block::encrypt(key, blocks);
        },
        x86::aes_ni::once::encrypt_many(keys, blocks),
        x86::vaes_512::once::encrypt_many(keys, blocks),
    );
}
