//! AES as programs had it in 2004: four tables of a kilobyte (Daemen and Rijmen's, FIPS 197), and CCM
//! in two passes over it, one for the MIC and one for the counter blocks.
//!
//! The paper used OpenSSL 0.9.7, whose AES was this. Its crossings between WPA 2.0 and the RC4 ciphers
//! cannot be seen with constant-time software AES, which costs several times as much, nor with AES
//! instructions.
//!
//! # Security
//! Table look-ups leak the key through the cache. This code measures; it protects nothing.

/// The key schedule of AES-128.
#[derive(Clone)]
pub struct TableAes([[u32; 4]; 11]);

static SBOX: [u8; 256] = sbox();
static TABLES: [[u32; 256]; 4] = tables();

const fn double(a: u8) -> u8 {
    (a << 1) ^ (if a & 0x80 != 0 { 0x1b } else { 0 })
}

/// FIPS 197 §5.1.1, with 3 as generator to find inverses.
const fn sbox() -> [u8; 256] {
    let mut s = [0; 256];
    let (mut p, mut q) = (1u8, 1u8);
    loop {
        p ^= double(p);
        q ^= q << 1;
        q ^= q << 2;
        q ^= q << 4;
        if q & 0x80 != 0 {
            q ^= 0x09;
        }
        s[p as usize] =
            q ^ q.rotate_left(1) ^ q.rotate_left(2) ^ q.rotate_left(3) ^ q.rotate_left(4) ^ 0x63;
        if p == 1 {
            break;
        }
    }
    s[0] = 0x63;
    s
}

/// SubBytes and MixColumns of one byte in each of the four rows.
const fn tables() -> [[u32; 256]; 4] {
    let s = sbox();
    let mut t = [[0; 256]; 4];
    let mut i = 0;
    while i < 256 {
        let a = s[i];
        let b = double(a);
        let word = u32::from_be_bytes([b, a, a, b ^ a]);
        let mut row = 0;
        while row < 4 {
            t[row][i] = word.rotate_right(8 * row as u32);
            row += 1;
        }
        i += 1;
    }
    t
}

fn row(word: u32, n: usize) -> usize {
    usize::from(word.to_be_bytes()[n])
}

impl TableAes {
    /// Expands a key (FIPS 197 §5.2).
    pub fn new(key: &[u8; 16]) -> Self {
        let sub = |w: u32| u32::from_be_bytes(w.to_be_bytes().map(|b| SBOX[usize::from(b)]));
        let words = |b: &[u8; 16]| -> [u32; 4] {
            std::array::from_fn(|i| {
                u32::from_be_bytes([b[4 * i], b[4 * i + 1], b[4 * i + 2], b[4 * i + 3]])
            })
        };
        let mut rounds = [words(key); 11];
        let mut constant = 1u8;
        for r in 1..11 {
            let [a, b, c, d] = rounds[r - 1];
            let a = a ^ sub(d.rotate_left(8)) ^ u32::from(constant) << 24;
            rounds[r] = [a, a ^ b, a ^ b ^ c, a ^ b ^ c ^ d];
            constant = double(constant);
        }
        TableAes(rounds)
    }

    /// Encrypts a block.
    pub fn encrypt(&self, block: [u8; 16]) -> [u8; 16] {
        let mut s: [u32; 4] = std::array::from_fn(|i| {
            let word = [block[4 * i], block[4 * i + 1], block[4 * i + 2], block[4 * i + 3]];
            u32::from_be_bytes(word) ^ self.0[0][i]
        });
        for key in &self.0[1..10] {
            s = std::array::from_fn(|i| {
                TABLES[0][row(s[i], 0)]
                    ^ TABLES[1][row(s[(i + 1) % 4], 1)]
                    ^ TABLES[2][row(s[(i + 2) % 4], 2)]
                    ^ TABLES[3][row(s[(i + 3) % 4], 3)]
                    ^ key[i]
            });
        }
        let mut out = [0; 16];
        for i in 0..4 {
            let last: [u8; 4] = std::array::from_fn(|n| SBOX[row(s[(i + n) % 4], n)]);
            let word = u32::from_be_bytes(last) ^ self.0[10][i];
            out[4 * i..4 * i + 4].copy_from_slice(&word.to_be_bytes());
        }
        out
    }
}

/// CCM with a tag of 8 bytes and a nonce of 13 (RFC 3610, as CCMP-128 has it), in two passes.
#[derive(Clone)]
pub struct TableCcm(pub TableAes);

impl TableCcm {
    /// Encrypts `data` in place and returns its tag.
    pub fn seal(&self, nonce: &[u8; 13], aad: &[u8], data: &mut [u8]) -> [u8; 8] {
        let tag = self.tag(nonce, aad, data);
        self.counter(nonce, data);
        tag
    }

    /// Decrypts `data` in place and returns whether the tag is right.
    pub fn open(&self, nonce: &[u8; 13], aad: &[u8], data: &mut [u8], tag: &[u8]) -> bool {
        self.counter(nonce, data);
        self.tag(nonce, aad, data) == tag
    }

    fn tag(&self, nonce: &[u8; 13], aad: &[u8], data: &[u8]) -> [u8; 8] {
        let mut x = self.0.encrypt(block(0x59, nonce, data.len() as u16));
        let mut absorb = |bytes: &mut dyn Iterator<Item = u8>| {
            let mut place = 0;
            for byte in bytes {
                x[place] ^= byte;
                place += 1;
                if place == 16 {
                    x = self.0.encrypt(x);
                    place = 0;
                }
            }
            if place > 0 {
                x = self.0.encrypt(x);
            }
        };
        let length = (aad.len() as u16).to_be_bytes();
        absorb(&mut length.into_iter().chain(aad.iter().copied()));
        let (blocks, rest) = data.as_chunks::<16>();
        for b in blocks {
            x = self.0.encrypt(xor(x, b));
        }
        if !rest.is_empty() {
            for (a, b) in x.iter_mut().zip(rest) {
                *a ^= b;
            }
            x = self.0.encrypt(x);
        }
        let first = self.0.encrypt(block(1, nonce, 0));
        std::array::from_fn(|i| x[i] ^ first[i])
    }

    fn counter(&self, nonce: &[u8; 13], data: &mut [u8]) {
        for (i, chunk) in data.chunks_mut(16).enumerate() {
            let stream = self.0.encrypt(block(1, nonce, i as u16 + 1));
            match chunk.as_chunks_mut::<16>() {
                ([whole], _) => *whole = xor(*whole, &stream),
                (_, part) => part.iter_mut().zip(stream).for_each(|(a, b)| *a ^= b),
            }
        }
    }
}

fn xor(a: [u8; 16], b: &[u8; 16]) -> [u8; 16] {
    (u128::from_ne_bytes(a) ^ u128::from_ne_bytes(*b)).to_ne_bytes()
}

fn block(flags: u8, nonce: &[u8; 13], last: u16) -> [u8; 16] {
    let [high, low] = last.to_be_bytes();
    std::array::from_fn(|i| match i {
        0 => flags,
        14 => high,
        15 => low,
        _ => nonce[i - 1],
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use slyfi_ciphers::ccm::{Ccm, Parameters};

    #[test]
    fn the_vector_of_fips_197_holds() {
        let key: [u8; 16] = std::array::from_fn(|i| i as u8);
        let clear: [u8; 16] = std::array::from_fn(|i| 0x11 * i as u8);
        let sealed = TableAes::new(&key).encrypt(clear);
        assert_eq!(
            sealed,
            [
                0x69, 0xc4, 0xe0, 0xd8, 0x6a, 0x7b, 0x04, 0x30, 0xd8, 0xcd, 0xb7, 0x80, 0x70, 0xb4,
                0xc5, 0x5a
            ]
        );
    }

    #[test]
    fn it_seals_as_the_projects_ccm_does_and_refuses_what_was_changed() {
        let key: [u8; 16] = std::array::from_fn(|i| (i * 29 + 3) as u8);
        let (old, new) =
            (TableCcm(TableAes::new(&key)), Ccm::new(&key, Parameters::CCMP_128).unwrap());
        let nonce: [u8; 13] = std::array::from_fn(|i| (i * 7 + 1) as u8);
        for len in [0, 1, 15, 16, 17, 200, 2048] {
            let data: Vec<u8> = (0..len).map(|i| (i * 31) as u8).collect();
            for aad in [&data[..len.min(22)], b"header"] {
                let (mut a, mut b, mut tag) = (data.clone(), data.clone(), [0; 8]);
                new.seal_in_place(&nonce, aad, &mut b, &mut tag).unwrap();
                if !aad.is_empty() {
                    assert_eq!((old.seal(&nonce, aad, &mut a), &a), (tag, &b), "{len}");
                    tag[7] ^= 1;
                    assert!(!old.open(&nonce, aad, &mut a.clone(), &tag));
                    tag[7] ^= 1;
                    assert!(old.open(&nonce, aad, &mut a, &tag));
                    assert_eq!(a, data);
                }
            }
        }
    }
}
