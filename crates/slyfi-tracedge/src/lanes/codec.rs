//! Decoding and encoding of ristretto255, eight at a time (RFC 9496 §4.3.1, §4.3.2; its names).

use super::field::{D, Fe, INVSQRT_A_MINUS_D, SQRT_M1};
use super::point::Extended;
use super::unit::{LANES, Mask, Unit};

/// An encoding as four little-endian words.
type Words = [u64; 4];

const P: Words = [u64::MAX - 18, u64::MAX, u64::MAX, u64::MAX >> 1];

fn words(encoding: &[u8; 32]) -> Words {
    let mut words = [0; 4];
    for (word, bytes) in words.iter_mut().zip(encoding.as_chunks::<8>().0) {
        *word = u64::from_le_bytes(*bytes);
    }
    words
}

/// Below p and not negative (step 1). Public: what is decoded was published.
fn is_canonical(words: &Words) -> bool {
    let below = words.iter().rev().lt(P.iter().rev());
    below && words[0] & 1 == 0
}

/// Decodes up to eight elements, with Z = 1, and says in which lanes there was one. In the others,
/// and in those for which there is no encoding, zero may stand.
#[inline(always)]
pub(super) fn decode<U: Unit>(u: U, encodings: &[[u8; 32]]) -> (Mask, Extended<U>) {
    let mut lanes = [[0; LANES]; 4];
    let mut canonical: Mask = 0;
    for (i, encoding) in encodings.iter().enumerate().take(LANES) {
        let words = words(encoding);
        if is_canonical(&words) {
            canonical |= 1 << i;
            for (lane, word) in lanes.iter_mut().zip(words) {
                lane[i] = word;
            }
        }
    }
    let s = Fe::from_words(u, lanes);
    let one = Fe::small(u, 1);
    let ss = s.square();
    let u1 = (one - ss).carry();
    let u2 = (one + ss).carry();
    let u2_sqr = u2.square();
    let zero = Fe::small(u, 0);
    let v = (zero - Fe::constant(u, D) * u1.square() - u2_sqr).carry();
    let (was_square, invsqrt) = (v * u2_sqr).invsqrt();
    let den_x = invsqrt * u2;
    let den_y = invsqrt * den_x * v;
    let x = ((s + s).carry() * den_x).absolute();
    let y = u1 * den_y;
    let t = x * y;
    let valid = canonical & was_square & !t.negative() & !y.zero();
    (valid, Extended { x, y, z: one, t })
}

/// Encodes eight elements.
#[inline(always)]
pub(super) fn encode<U: Unit>(u: U, point: &Extended<U>) -> [[u8; 32]; LANES] {
    let Extended { x: x0, y: y0, z: z0, t: t0 } = *point;
    let u1 = (z0 + y0).carry() * (z0 - y0).carry();
    let u2 = x0 * y0;
    // A square, or zero.
    let (_, invsqrt) = (u1 * u2.square()).invsqrt();
    let den1 = invsqrt * u1;
    let den2 = invsqrt * u2;
    let z_inv = den1 * den2 * t0;
    let i = Fe::constant(u, SQRT_M1);
    let enchanted = den1 * Fe::constant(u, INVSQRT_A_MINUS_D);
    let rotate = (t0 * z_inv).negative();
    let x = Fe::select(rotate, x0, y0 * i);
    let y = Fe::select(rotate, y0, x0 * i);
    let den_inv = Fe::select(rotate, den2, enchanted);
    let y = y.negated((x * z_inv).negative());
    let s = (den_inv * (z0 - y).carry()).absolute();
    let words = s.to_words();
    let mut out = [[0; 32]; LANES];
    for (i, out) in out.iter_mut().enumerate() {
        for (bytes, lane) in out.as_chunks_mut::<8>().0.iter_mut().zip(&words) {
            *bytes = lane[i].to_le_bytes();
        }
    }
    out
}

#[cfg(test)]
mod tests;
