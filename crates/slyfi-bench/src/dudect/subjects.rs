//! What is looked at, and the twins that leak.

use std::hint::black_box;

use slyfi_aes::{Backend, CcmHead, CcmKey, Cmac, EncryptKey};
use slyfi_ciphers::danger::tkip::TkipKey;
use slyfi_ciphers::danger::tkip::michael::{MichaelKey, header, michael};

use super::Subject;

/// The fixed class of a comparison: only the last byte of the tag is wrong, so that a comparison that
/// stops at the first difference takes longest.
const LAST_BYTE_WRONG: u8 = 0x80;

/// Everything, twins beside what they are twins of.
pub fn subjects() -> Vec<Subject> {
    let mut all = vec![early_exit(), michael_compare()];
    for backend in Backend::ALL.into_iter().filter(|backend| backend.is_available()) {
        all.push(ccm_compare(backend));
        all.push(cmac_compare(backend));
    }
    all.push(branching_xtime());
    for backend in Backend::ALL.into_iter().filter(|backend| backend.is_available()) {
        all.push(block(backend));
        all.push(ccm(backend));
        all.push(cmac(backend));
    }
    all
}

/// A backend by name; the portable one is bitsliced software only in a build that says so.
fn name(what: &str, backend: Backend) -> String {
    match backend {
        Backend::Portable if aes::hardware_accelerated() => {
            format!("{what}, portable (the crate's AES instructions)")
        }
        Backend::Portable => format!("{what}, portable (bitsliced software)"),
        other => format!("{what}, {other}"),
    }
}

/// A forged tag of one message: what is right, the classes' bytes mixed in.
fn forged<const N: usize>(right: [u8; N], input: &[u8; 32]) -> [u8; N] {
    std::array::from_fn(|i| right[i] ^ input[i])
}

/// A comparison's input: nothing wrong but the last of `len` bytes.
fn last_byte_wrong(len: usize) -> [u8; 32] {
    let mut input = [0; 32];
    input[len - 1] = LAST_BYTE_WRONG;
    input
}

fn early_exit() -> Subject {
    let right = [7; 16];
    Subject {
        name: "compare 16 B, stopping at the first difference".to_owned(),
        leaks_on_purpose: true,
        operation: Box::new(move |input| {
            let forged = black_box(forged(right, input));
            let right = black_box(&right);
            let mut equal = true;
            for i in 0..16 {
                // Kept from the optimiser, which would compare all of it at once.
                if black_box(forged[i]) != right[i] {
                    equal = false;
                    break;
                }
            }
            black_box(equal);
        }),
        fixed: last_byte_wrong(16),
        varies: 0..15,
    }
}

fn ccm_compare(backend: Backend) -> Subject {
    let key = CcmKey::on(backend, &[7; 16]);
    let head = |first| CcmHead { counter: [1; 16], first, rest: &[] };
    const FIRST: [[u8; 16]; 1] = [[9; 16]];
    let mut sealed = [5; 16];
    let right = key.seal_in_place(&head(&FIRST), &mut sealed);
    Subject {
        name: name("CCM tag compare", backend),
        leaks_on_purpose: false,
        operation: Box::new(move |input| {
            let mut data = sealed;
            let tag = forged(right, input);
            assert!(black_box(key.open_in_place(&head(&FIRST), &mut data, &tag)).is_err());
        }),
        fixed: last_byte_wrong(16),
        varies: 0..15,
    }
}

fn cmac_compare(backend: Backend) -> Subject {
    let key = Cmac::on(backend, &[7; 16]);
    let right = key.mac(&[&[5; 32]]);
    Subject {
        name: name("CMAC tag compare", backend),
        leaks_on_purpose: false,
        operation: Box::new(move |input| {
            assert!(black_box(key.verify(&[&[5; 32]], &forged(right, input))).is_err());
        }),
        fixed: last_byte_wrong(16),
        varies: 0..15,
    }
}

fn michael_compare() -> Subject {
    // A frame to an access point: addresses 1, 2 and 3, no QoS.
    let mut frame = [0x02; 24];
    [frame[0], frame[1], frame[22], frame[23]] = [0x08, 0x41, 0, 0];
    let payload = [5; 24];
    // Stations send under the second Michael key of a temporal key (IEEE 802.11-2020 §12.7.1.3).
    let (key, michael_key) = (TkipKey::new(&[7; 32]), MichaelKey::new([7; 8]));
    let right = michael(&michael_key, &[&header([2; 6], [2; 6], 0), &payload]);
    let mut whole = [0; 32];
    whole[..24].copy_from_slice(&payload);
    whole[24..].copy_from_slice(&right);
    assert!(key.proves_whole(&frame, &whole), "the right MIC of this frame");
    Subject {
        name: "Michael MIC compare".to_owned(),
        leaks_on_purpose: false,
        operation: Box::new(move |input| {
            let mut whole = whole;
            whole[24..].copy_from_slice(&forged(right, input));
            assert!(!black_box(key.proves_whole(&frame, &whole)));
        }),
        fixed: last_byte_wrong(8),
        varies: 0..7,
    }
}

/// The doubling of AES's MixColumns (FIPS 197 §4.2.1) as textbooks have it, with a branch on the bit
/// that falls out: ten rounds on a block.
fn branching_xtime() -> Subject {
    Subject {
        name: "MixColumns with a branch in xtime".to_owned(),
        leaks_on_purpose: true,
        operation: Box::new(move |input| {
            let mut state = *input;
            for _ in 0..10 {
                for byte in &mut state {
                    let doubled = *byte << 1;
                    // Kept from the optimiser, which would make a mask of it.
                    *byte = if black_box(*byte) & 0x80 != 0 {
                        black_box(doubled ^ 0x1b)
                    } else {
                        doubled
                    };
                }
                state.rotate_left(1);
            }
            black_box(state);
        }),
        fixed: [0; 32],
        varies: 0..32,
    }
}

/// Key schedule and one block: sixteen bytes of key, sixteen of plaintext.
fn block(backend: Backend) -> Subject {
    Subject {
        name: name("AES-128, key and block", backend),
        leaks_on_purpose: false,
        operation: Box::new(move |input| {
            let (key, mut block) = halves(input);
            EncryptKey::on(backend, &key).encrypt_block(&mut block);
            black_box(block);
        }),
        fixed: [0; 32],
        varies: 0..32,
    }
}

/// Key schedule and a message of three blocks.
fn ccm(backend: Backend) -> Subject {
    Subject {
        name: name("CCM, key and 48 B", backend),
        leaks_on_purpose: false,
        operation: Box::new(move |input| {
            let (key, block) = halves(input);
            let mut data = [block; 3];
            let head = CcmHead { counter: [1; 16], first: &[[9; 16]], rest: &[] };
            let tag = CcmKey::on(backend, &key).seal_in_place(&head, data.as_flattened_mut());
            black_box((tag, data));
        }),
        fixed: [0; 32],
        varies: 0..32,
    }
}

/// Key schedule, subkeys and a message of two blocks and a half.
fn cmac(backend: Backend) -> Subject {
    Subject {
        name: name("CMAC, key and 40 B", backend),
        leaks_on_purpose: false,
        operation: Box::new(move |input| {
            let (key, block) = halves(input);
            black_box(Cmac::on(backend, &key).mac(&[&block, &block, &block[..8]]));
        }),
        fixed: [0; 32],
        varies: 0..32,
    }
}

fn halves(input: &[u8; 32]) -> ([u8; 16], [u8; 16]) {
    (std::array::from_fn(|i| input[i]), std::array::from_fn(|i| input[16 + i]))
}
