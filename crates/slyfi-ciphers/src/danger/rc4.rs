//! RC4, with its state in the open: SBKH is about carrying that state from packet to packet, keeping a
//! copy for retransmissions and skipping ahead, none of which a library's stream cipher offers.

use zeroize::{Zeroize, ZeroizeOnDrop};

/// An RC4 state: the permutation and the two indices. Zeroised on drop.
///
/// A word for each entry of the permutation: with bytes it takes half as long again, because a
/// processor is slow to load a byte beside one that it is still storing.
///
/// # Security
/// Biased from the first byte on; the early bytes betray the key. Not for new protocols.
#[derive(Clone, Zeroize, ZeroizeOnDrop)]
pub struct Rc4 {
    s: [u32; 256],
    i: u32,
    j: u32,
}

impl core::fmt::Debug for Rc4 {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("Rc4(..)")
    }
}

impl Rc4 {
    /// The key scheduling algorithm (KSA) over `parts`, as if they were one key.
    ///
    /// An empty key counts as one zero byte; of more than 256 bytes the first 256 count.
    pub fn new(parts: &[&[u8]]) -> Self {
        let mut key = [0; 256];
        let mut len = 0;
        for byte in parts.iter().copied().flatten() {
            if let Some(place) = key.get_mut(len) {
                *place = *byte;
                len += 1;
            }
        }
        let used = key.get_mut(..len.max(1)).unwrap_or_default();
        let mut rc4 = Rc4 { s: core::array::from_fn(|i| i as u32), i: 0, j: 0 };
        let mut walk = Walk::new(&mut rc4.s, 255, 0);
        let mut at = 0;
        for _ in 0..256 {
            let k = used.get(at).copied().unwrap_or(0);
            // A division in every round would cost more than the round.
            at = if at + 1 == used.len() { 0 } else { at + 1 };
            walk.swap(k);
        }
        used.zeroize();
        rc4
    }

    /// Combines `data` with the next bytes of the keystream (PRGA).
    pub fn apply(&mut self, data: &mut [u8]) {
        let mut walk = self.walk();
        let (chunks, rest) = data.as_chunks_mut::<8>();
        for chunk in chunks {
            let mut stream = 0;
            for byte in 0..8 {
                stream |= u64::from(walk.next()) << (8 * byte);
            }
            *chunk = (u64::from_le_bytes(*chunk) ^ stream).to_le_bytes();
        }
        for byte in rest {
            *byte ^= walk.next() as u8;
        }
        (self.i, self.j) = (walk.i, walk.j);
    }

    /// Discards the next `n` bytes of the keystream.
    pub fn skip(&mut self, n: u64) {
        let mut walk = self.walk();
        for _ in 0..n {
            walk.swap(0);
        }
        (self.i, self.j) = (walk.i, walk.j);
    }

    fn walk(&mut self) -> Walk<'_> {
        Walk::new(&mut self.s, self.i, self.j)
    }
}

/// A walk through the permutation, swap by swap, as both algorithms do it; the indices in registers.
struct Walk<'s> {
    s: &'s mut [u32; 256],
    i: u32,
    j: u32,
    /// The entry behind `i`. Loaded before the stores of the swap that comes before it, since a load
    /// after them would have to wait until it is known where they go.
    ahead: u32,
}

impl<'s> Walk<'s> {
    /// Goes on behind entry `i`.
    #[inline(always)]
    fn new(s: &'s mut [u32; 256], i: u32, j: u32) -> Self {
        let ahead = s[place(i + 1)];
        Walk { s, i, j, ahead }
    }

    /// Moves `i` on by one and `j` by its entry and `k`, and swaps the two entries; returns their sum.
    #[inline(always)]
    fn swap(&mut self, k: u8) -> u32 {
        let a = self.ahead;
        let i = place(self.i + 1);
        let j = place(self.j + a + u32::from(k));
        let next = place(i as u32 + 1);
        let b = self.s[j];
        let ahead = self.s[next];
        self.s[i] = b;
        self.s[j] = a;
        self.ahead = if next == j { a } else { ahead };
        (self.i, self.j) = (i as u32, j as u32);
        a + b
    }

    /// The next byte of the keystream.
    #[inline(always)]
    fn next(&mut self) -> u32 {
        let sum = self.swap(0);
        self.s[place(sum)]
    }
}

/// An index into the permutation, modulo its size.
#[inline(always)]
const fn place(index: u32) -> usize {
    (index & 255) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_vectors_of_rfc_6229_hold() {
        // RFC 6229 §2, keys 0x0102030405 and 0x0102…10: offsets 0 and 4096.
        for (key, at_0, at_4096) in [
            (&[1u8, 2, 3, 4, 5][..], [0xb2, 0x39, 0x63, 0x05], [0xff, 0x25, 0xb5, 0x89]),
            (
                &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16],
                [0x9a, 0xc7, 0xcc, 0x9a],
                [0xa3, 0x6a, 0x4c, 0x30],
            ),
        ] {
            let mut rc4 = Rc4::new(&[key]);
            let mut out = [0; 4];
            rc4.apply(&mut out);
            assert_eq!(out, at_0);
            rc4.skip(4092);
            let mut out = [0; 4];
            rc4.apply(&mut out);
            assert_eq!(out, at_4096);
        }
    }

    #[test]
    fn a_copied_state_goes_on_where_the_original_stood() {
        let mut rc4 = Rc4::new(&[b"Wi", b"ki"]);
        let (mut a, mut b) = ([0; 64], [0; 64]);
        rc4.skip(1000);
        let mut copy = rc4.clone();
        rc4.apply(&mut a);
        copy.apply(&mut b);
        assert_eq!(a, b);
        rc4.apply(&mut b);
        assert_ne!(a, b);
    }

    #[test]
    fn keys_of_any_length_are_accepted() {
        let mut zero = Rc4::new(&[]);
        let mut one = Rc4::new(&[&[0]]);
        let (mut a, mut b) = ([0; 16], [0; 16]);
        zero.apply(&mut a);
        one.apply(&mut b);
        assert_eq!(a, b);
        Rc4::new(&[&[1; 300]]).apply(&mut a);
    }
}
