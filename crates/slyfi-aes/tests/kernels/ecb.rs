//! Single blocks: FIPS 197 and SP 800-38A answers, and every kernel against the portable twin.

use crate::support::{Noise, backends, hex_array};
use slyfi_aes::{
    Backend, Block, DecryptKey, EncryptKey, encrypt_blocks_with, encrypt_blocks_with_many,
    encrypt_blocks_with_many_on, encrypt_blocks_with_on,
};

#[test]
fn fips_197_appendix_c_1_encrypts_and_decrypts() {
    let key = hex_array("000102030405060708090a0b0c0d0e0f");
    let plain: Block = hex_array("00112233445566778899aabbccddeeff");
    let cipher: Block = hex_array("69c4e0d86a7b0430d8cdb78070b4c55a");
    for backend in backends() {
        let mut block = plain;
        EncryptKey::on(backend, &key).encrypt_block(&mut block);
        assert_eq!(block, cipher, "{backend}");
        DecryptKey::on(backend, &key).decrypt_block(&mut block);
        assert_eq!(block, plain, "{backend}");
    }
}

#[test]
fn sp_800_38a_f_1_1_in_one_call_of_each_kind() {
    let key = hex_array("2b7e151628aed2a6abf7158809cf4f3c");
    let plain: [Block; 4] = [
        hex_array("6bc1bee22e409f96e93d7e117393172a"),
        hex_array("ae2d8a571e03ac9c9eb76fac45af8e51"),
        hex_array("30c81c46a35ce411e5fbc1191a0a52ef"),
        hex_array("f69f2445df4f9b17ad2b417be66c3710"),
    ];
    let cipher: [Block; 4] = [
        hex_array("3ad77bb40d7a3660a89ecaf32466ef97"),
        hex_array("f5d3d58503b9699de785895a96fdbaaf"),
        hex_array("43b1cd7f598ece23881b00e3ed030688"),
        hex_array("7b0c785e27e8ad3f8223207104725dd4"),
    ];
    for backend in backends() {
        let mut blocks = plain;
        EncryptKey::on(backend, &key).encrypt_blocks(&mut blocks);
        assert_eq!(blocks, cipher, "{backend}");
        let mut blocks = plain;
        encrypt_blocks_with_on(backend, &key, &mut blocks);
        assert_eq!(blocks, cipher, "{backend}");
        let mut blocks = [plain];
        encrypt_blocks_with_many_on(backend, &[key], &mut blocks);
        assert_eq!(blocks, [cipher], "{backend}");
    }
}

#[test]
fn any_number_of_blocks_equals_the_portable_twin() {
    let mut noise = Noise(1);
    for backend in backends() {
        for count in 0..=70 {
            let key = noise.array();
            let plain: Vec<Block> = (0..count).map(|_| noise.array()).collect();
            let mut expected = plain.clone();
            EncryptKey::on(Backend::Portable, &key).encrypt_blocks(&mut expected);

            let mut blocks = plain.clone();
            EncryptKey::on(backend, &key).encrypt_blocks(&mut blocks);
            assert_eq!(blocks, expected, "{backend}, {count} blocks");
            let mut blocks = plain.clone();
            encrypt_blocks_with_on(backend, &key, &mut blocks);
            assert_eq!(blocks, expected, "{backend}, {count} blocks");
            let decrypt = DecryptKey::on(backend, &key);
            blocks.iter_mut().for_each(|block| decrypt.decrypt_block(block));
            assert_eq!(blocks, plain, "{backend}, {count} blocks");
        }
    }
}

fn many_keys_equal_one_at_a_time<const B: usize>() {
    let mut noise = Noise(2);
    for backend in backends() {
        for count in 0..=40 {
            let keys: Vec<[u8; 16]> = (0..count).map(|_| noise.array()).collect();
            let mut blocks: Vec<[Block; B]> =
                (0..count).map(|_| std::array::from_fn(|_| noise.array())).collect();
            let mut expected = blocks.clone();
            for (key, blocks) in keys.iter().zip(&mut expected) {
                EncryptKey::on(Backend::Portable, key).encrypt_blocks(blocks);
            }
            encrypt_blocks_with_many_on(backend, &keys, &mut blocks);
            assert_eq!(blocks, expected, "{backend}, {count} keys, {B} blocks each");
        }
    }
}

#[test]
fn many_keys_with_0_to_7_blocks_each() {
    many_keys_equal_one_at_a_time::<0>();
    many_keys_equal_one_at_a_time::<1>();
    many_keys_equal_one_at_a_time::<2>();
    many_keys_equal_one_at_a_time::<3>();
    many_keys_equal_one_at_a_time::<7>();
}

#[test]
fn the_functions_without_a_backend_take_the_best_one() {
    let mut noise = Noise(3);
    let key = noise.array();
    let plain: Block = noise.array();
    let [mut a, mut b, mut c] = [plain; 3];
    EncryptKey::new(&key).encrypt_block(&mut a);
    encrypt_blocks_with(&key, std::slice::from_mut(&mut b));
    encrypt_blocks_with_many(
        &[key],
        std::slice::from_mut(std::slice::from_mut(&mut c).first_chunk_mut::<1>().expect("one")),
    );
    assert_eq!((a, b), (b, c));
    DecryptKey::new(&key).decrypt_block(&mut a);
    assert_eq!(a, plain);
}

#[test]
#[should_panic(expected = "a group of blocks for each key")]
fn keys_without_blocks_are_a_mistake_of_the_caller() {
    encrypt_blocks_with_many::<1>(&[[0; 16]], &mut []);
}
