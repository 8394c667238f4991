//! RC4, with its state in the open: SBKH is about carrying that state from packet to packet, keeping a
//! copy for retransmissions and skipping ahead, none of which a library's stream cipher offers.

use zeroize::{Zeroize, ZeroizeOnDrop};

/// An RC4 state: the permutation and the two indices. Zeroised on drop.
///
/// # Security
/// Biased from the first byte on; the early bytes betray the key. Not for new protocols.
#[derive(Clone, Zeroize, ZeroizeOnDrop)]
pub struct Rc4 {
    s: [u8; 256],
    i: u8,
    j: u8,
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
        let mut s: [u8; 256] = core::array::from_fn(|i| i as u8);
        let (mut j, mut at) = (0u8, 0);
        for i in 0..256 {
            let k = used.get(at).copied().unwrap_or(0);
            // A division in every round would cost more than the round.
            at = if at + 1 == used.len() { 0 } else { at + 1 };
            let a = s[i];
            j = j.wrapping_add(a).wrapping_add(k);
            s[i] = s[usize::from(j)];
            s[usize::from(j)] = a;
        }
        used.zeroize();
        Rc4 { s, i: 0, j: 0 }
    }

    /// Combines `data` with the next bytes of the keystream (PRGA).
    pub fn apply(&mut self, data: &mut [u8]) {
        let (mut i, mut j) = (self.i, self.j);
        let s = &mut self.s;
        for byte in data {
            *byte ^= step(s, &mut i, &mut j);
        }
        (self.i, self.j) = (i, j);
    }

    /// Discards the next `n` bytes of the keystream.
    pub fn skip(&mut self, n: u64) {
        let (mut i, mut j) = (self.i, self.j);
        let s = &mut self.s;
        for _ in 0..n {
            step(s, &mut i, &mut j);
        }
        (self.i, self.j) = (i, j);
    }
}

#[inline(always)]
fn step(s: &mut [u8; 256], i: &mut u8, j: &mut u8) -> u8 {
    *i = i.wrapping_add(1);
    let a = s[usize::from(*i)];
    *j = j.wrapping_add(a);
    let b = s[usize::from(*j)];
    s[usize::from(*i)] = b;
    s[usize::from(*j)] = a;
    s[usize::from(a.wrapping_add(b))]
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
