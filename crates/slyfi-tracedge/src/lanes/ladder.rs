//! Rows: one secret scalar times many elements, eight at a time, and M added.

use curve25519_dalek::Scalar;
use subtle::ConstantTimeEq;
use zeroize::Zeroizing;

use super::codec::{decode, encode};
use super::point::{Cached, Completed, Extended};
use super::unit::{LANES, Mask, Unit};

/// A scalar Σ dₖ·16ᵏ with −8 ≤ dₖ ≤ 8, the lowest digit first. Erased when dropped.
pub(super) struct Digits(Zeroizing<[i8; 64]>);

/// How many multiples a digit chooses from, zero aside.
const MULTIPLES: usize = 8;

impl Digits {
    /// Constant time.
    pub(super) fn of(scalar: &Scalar) -> Self {
        let bytes = Zeroizing::new(scalar.to_bytes());
        let mut digits = Zeroizing::new([0; 64]);
        for (pair, byte) in digits.as_chunks_mut::<2>().0.iter_mut().zip(&*bytes) {
            *pair = [(byte & 15).cast_signed(), (byte >> 4).cast_signed()];
        }
        // From 0..16 to −8..8. A scalar is below 2²⁵³, so the highest digit is at most 1 + 1.
        let mut carry = 0;
        for digit in digits.iter_mut().take(63) {
            *digit += carry;
            carry = (*digit + 8) >> 4;
            *digit -= carry << 4;
        }
        digits[63] += carry;
        Digits(digits)
    }
}

/// Writes M + r·P to `out` for each P of `keys`; the place of what is no element, if there is such.
///
/// # Security
/// Constant time in r and M: which digit comes when does not show in what is loaded.
pub(super) fn rows<U: Unit>(
    u: U,
    r: &Digits,
    message: &[u8; 32],
    keys: &[[u8; 32]],
    out: &mut [[u8; 32]],
) -> Result<(), usize> {
    let message = Zeroizing::new(message_lanes(u, message));
    for (group, (keys, out)) in keys.chunks(LANES).zip(out.chunks_mut(LANES)).enumerate() {
        let (valid, rows) = eight(u, r, &message, keys);
        let place = valid.trailing_ones() as usize;
        if place < keys.len() {
            return Err(group * LANES + place);
        }
        out.copy_from_slice(&rows[..keys.len()]);
    }
    Ok(())
}

/// M in all lanes.
fn message_lanes<U: Unit>(u: U, message: &[u8; 32]) -> Cached<U> {
    u.run(
        #[inline(always)]
        || decode(u, &[*message; LANES]).1.cached(u),
    )
}

/// The rows of up to eight keys, and which of them are elements.
fn eight<U: Unit>(
    u: U,
    r: &Digits,
    message: &Cached<U>,
    keys: &[[u8; 32]],
) -> (Mask, [[u8; 32]; LANES]) {
    u.run(
        #[inline(always)]
        || {
            let (valid, key) = decode(u, keys);
            let product = multiply(u, r, &key);
            (valid, encode(u, &product.add(message, 0).extended()))
        },
    )
}

/// r·P, of a P with Z = 1.
#[inline(always)]
fn multiply<U: Unit>(u: U, r: &Digits, p: &Extended<U>) -> Extended<U> {
    let step = p.cached_affine(u);
    let mut multiples = [p.cached(u); MULTIPLES];
    let mut multiple = p.projective().double().extended();
    for entry in &mut multiples[1..] {
        *entry = multiple.cached(u);
        multiple = multiple.add_affine(&step, 0).extended();
    }
    let [lower @ .., highest] = &*r.0;
    let mut sum = add_multiple(u, &Extended::identity(u), &multiples, *highest);
    for digit in lower.iter().rev() {
        let mut product = sum.projective();
        for _ in 0..3 {
            product = product.double().projective();
        }
        sum = add_multiple(u, &product.double().extended(), &multiples, *digit);
    }
    sum.extended()
}

/// point + digit·P.
#[inline(always)]
fn add_multiple<U: Unit>(
    u: U,
    point: &Extended<U>,
    multiples: &[Cached<U>; MULTIPLES],
    digit: i8,
) -> Completed<U> {
    // All ones for a digit below zero, else none.
    let negative = (digit >> 7).cast_unsigned();
    point.add(&chosen(u, multiples, digit.unsigned_abs()), negative)
}

/// multiples[magnitude − 1], or zero; all of them are read.
#[inline(always)]
fn chosen<U: Unit>(u: U, multiples: &[Cached<U>; MULTIPLES], magnitude: u8) -> Cached<U> {
    let mut chosen = Cached::identity(u);
    for (i, multiple) in multiples.iter().enumerate() {
        let mask = (i as u8 + 1).ct_eq(&magnitude).unwrap_u8().wrapping_neg();
        chosen = Cached::select(mask, &chosen, multiple);
    }
    chosen
}

#[cfg(test)]
mod tests;
