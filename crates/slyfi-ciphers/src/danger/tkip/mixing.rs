//! The per-packet key mixing function (IEEE 802.11-2020 §12.5.2.5).

use crate::packet::PacketNumber;
use zeroize::{Zeroize, ZeroizeOnDrop};

/// The result of phase 1: constant for 2¹⁶ packets of one transmitter. Zeroised on drop.
#[derive(Clone, PartialEq, Eq, Zeroize, ZeroizeOnDrop)]
pub struct Ttak([u16; 5]);

impl core::fmt::Debug for Ttak {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("Ttak(..)")
    }
}

/// The 16-bit S-box. Its high half is twice, its low half three times the AES S-box in GF(2⁸), as in
/// the first column of MixColumns; the standard prints it as a table of 256 words.
static SBOX: [u16; 256] = sbox();

const fn double(x: u8) -> u8 {
    x << 1 ^ if x & 0x80 != 0 { 0x1b } else { 0 }
}

const fn sbox() -> [u16; 256] {
    let mut table = [0; 256];
    // 3 generates the field: p runs over all non-zero elements, q over their inverses (FIPS 197 §5.1.1).
    let (mut p, mut q) = (1u8, 1u8);
    loop {
        p ^= double(p);
        q ^= q << 1;
        q ^= q << 2;
        q ^= q << 4;
        if q & 0x80 != 0 {
            q ^= 0x09;
        }
        table[p as usize] = word(affine(q));
        if p == 1 {
            break;
        }
    }
    table[0] = word(affine(0));
    table
}

const fn affine(q: u8) -> u8 {
    q ^ q.rotate_left(1) ^ q.rotate_left(2) ^ q.rotate_left(3) ^ q.rotate_left(4) ^ 0x63
}

const fn word(s: u8) -> u16 {
    (double(s) as u16) << 8 | (double(s) ^ s) as u16
}

fn s(v: u16) -> u16 {
    let [high, low] = v.to_be_bytes();
    SBOX[usize::from(low)] ^ SBOX[usize::from(high)].swap_bytes()
}

/// The key as little-endian words: word k is `Mk16(TK[2k+1], TK[2k])`.
fn words(tk: &[u8; 16]) -> [u16; 8] {
    core::array::from_fn(|k| u16::from_le_bytes([tk[2 * k], tk[2 * k + 1]]))
}

/// Phase 1 (§12.5.2.5.3): temporal key, transmitter address and the upper 32 bits of the counter.
pub fn phase1(tk: &[u8; 16], transmitter: &[u8; 6], number: PacketNumber) -> Ttak {
    let iv32 = (number.get() >> 16) as u32;
    let [a0, a1, a2, a3, a4, a5] = *transmitter;
    let mut t = [
        (iv32 & 0xffff) as u16,
        (iv32 >> 16) as u16,
        u16::from_le_bytes([a0, a1]),
        u16::from_le_bytes([a2, a3]),
        u16::from_le_bytes([a4, a5]),
    ];
    let k = words(tk);
    for i in 0..8u16 {
        let j = usize::from(i & 1);
        t[0] = t[0].wrapping_add(s(t[4] ^ k[j]));
        t[1] = t[1].wrapping_add(s(t[0] ^ k[2 + j]));
        t[2] = t[2].wrapping_add(s(t[1] ^ k[4 + j]));
        t[3] = t[3].wrapping_add(s(t[2] ^ k[6 + j]));
        t[4] = t[4].wrapping_add(s(t[3] ^ k[j])).wrapping_add(i);
    }
    Ttak(t)
}

/// Phase 2 (§12.5.2.5.4): the RC4 key of one packet. Its first three bytes go in front of the frame.
pub fn phase2(tk: &[u8; 16], ttak: &Ttak, number: PacketNumber) -> [u8; 16] {
    let iv16 = (number.get() & 0xffff) as u16;
    let [t0, t1, t2, t3, t4] = ttak.0;
    let k = words(tk);
    let mut p = [t0, t1, t2, t3, t4, t4.wrapping_add(iv16)];
    for i in 0..6 {
        p[i] = p[i].wrapping_add(s(p[(i + 5) % 6] ^ k[i]));
    }
    p[0] = p[0].wrapping_add((p[5] ^ k[6]).rotate_right(1));
    p[1] = p[1].wrapping_add((p[0] ^ k[7]).rotate_right(1));
    for i in 2..6 {
        p[i] = p[i].wrapping_add(p[i - 1].rotate_right(1));
    }
    let [high, low] = iv16.to_be_bytes();
    let mut seed = [0; 16];
    // The second byte keeps RC4 off its weak keys.
    (seed[0], seed[1], seed[2]) = (high, (high | 0x20) & 0x7f, low);
    seed[3] = ((p[5] ^ k[0]) >> 1 & 0xff) as u8;
    for (place, word) in seed[4..].chunks_mut(2).zip(p) {
        place.copy_from_slice(&word.to_le_bytes());
    }
    p.zeroize();
    seed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_s_box_begins_and_ends_as_the_standard_prints_it() {
        assert_eq!(SBOX[..4], [0xc6a5, 0xf884, 0xee99, 0xf68d]);
        assert_eq!(SBOX[252..], [0x7bcb, 0xa8fc, 0x6dd6, 0x2c3a]);
    }
}
