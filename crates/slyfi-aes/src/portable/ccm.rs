use aes::cipher::{
    Array, BlockCipherEncBackend, BlockCipherEncClosure, BlockCipherEncrypt, BlockSizeUser,
    KeyInit, ParBlocks, consts::U16, typenum::Unsigned,
};
use aes::{Aes128, Aes192, Aes256};
use zeroize::{Zeroize, Zeroizing};

use crate::Block;
use crate::ccm::{CcmHead, KeySize};
use crate::key_words::KeyWords;

/// Takes both chains through the message (RFC 3610 §2.2, §2.3); returns the tag.
pub(crate) fn run<const SEALS: bool>(
    keys: &KeyWords<15>,
    size: KeySize,
    head: &CcmHead<'_>,
    data: &mut [u8],
) -> Block {
    let mut key = Zeroizing::new([0; 32]);
    key[..16].copy_from_slice(&keys.bytes(0));
    key[16..].copy_from_slice(&keys.bytes(1));
    let (key_128, key_192) = (key.first_chunk(), key.first_chunk());
    let mut tag = [0; 16];
    let chains = Chains::<SEALS> { head, data, tag: &mut tag };
    match size {
        KeySize::Aes128 => {
            let key: &[u8; 16] = key_128.expect("16 of 32 bytes");
            Aes128::new(key.into()).encrypt_with_backend(chains);
        }
        KeySize::Aes192 => {
            let key: &[u8; 24] = key_192.expect("24 of 32 bytes");
            Aes192::new(key.into()).encrypt_with_backend(chains);
        }
        KeySize::Aes256 => Aes256::new((&*key).into()).encrypt_with_backend(chains),
    }
    tag
}

/// Both chains of one message. A closure over the cipher's backend, so that its schedule is made
/// ready once and not for each block.
struct Chains<'a, const SEALS: bool> {
    head: &'a CcmHead<'a>,
    data: &'a mut [u8],
    tag: &'a mut Block,
}

impl<const SEALS: bool> BlockSizeUser for Chains<'_, SEALS> {
    type BlockSize = U16;
}

impl<const SEALS: bool> BlockCipherEncClosure for Chains<'_, SEALS> {
    #[inline(always)]
    fn call<B: BlockCipherEncBackend<BlockSize = U16>>(self, backend: &B) {
        let Chains { head, data, tag } = self;
        // What is absorbed is encrypted only beside the next counter block.
        let mut mac = [0; 16];
        let mut blocks = head.first.iter().map(|block| &block[..]).chain(head.rest.chunks(16));
        if let Some(block) = blocks.next() {
            absorb(&mut mac, block);
        }
        for block in blocks {
            encrypt_one(backend, &mut mac);
            absorb(&mut mac, block);
        }
        let a0 = u128::from_be_bytes(head.counter);
        let mut counter = a0;
        for bytes in data.chunks_mut(16) {
            counter = counter.wrapping_add(1);
            let stream = encrypt_two(backend, &mut mac, counter);
            if SEALS {
                absorb(&mut mac, bytes);
            }
            for (byte, stream) in bytes.iter_mut().zip(stream) {
                *byte ^= stream;
            }
            if !SEALS {
                absorb(&mut mac, bytes);
            }
        }
        let mask = encrypt_two(backend, &mut mac, a0);
        *tag = (u128::from_ne_bytes(mac) ^ u128::from_ne_bytes(mask)).to_ne_bytes();
        mac.zeroize();
    }
}

/// XORs a block, or a part of one that counts as padded with zeros, into the MAC.
#[inline(always)]
fn absorb(mac: &mut Block, bytes: &[u8]) {
    for (mac, byte) in mac.iter_mut().zip(bytes) {
        *mac ^= byte;
    }
}

#[inline(always)]
fn encrypt_one<B: BlockCipherEncBackend<BlockSize = U16>>(backend: &B, block: &mut Block) {
    backend.encrypt_block(Array::cast_from_core_mut(block).into());
}

/// Encrypts the MAC in place and returns the encrypted counter.
#[inline(always)]
fn encrypt_two<B: BlockCipherEncBackend<BlockSize = U16>>(
    backend: &B,
    mac: &mut Block,
    counter: u128,
) -> Block {
    let mut stream = counter.to_be_bytes();
    // The bitsliced software takes four blocks in the time of one; hardware takes eight or more, and
    // is better off with two.
    if B::ParBlocksSize::USIZE > 4 {
        encrypt_one(backend, mac);
        encrypt_one(backend, &mut stream);
        return stream;
    }
    let mut blocks = ParBlocks::<B>::default();
    for (block, bytes) in blocks.iter_mut().zip([*mac, stream]) {
        *block = Array(bytes);
    }
    backend.encrypt_par_blocks((&mut blocks).into());
    for (block, bytes) in blocks.iter().zip([mac, &mut stream]) {
        *bytes = block.0;
    }
    stream
}
