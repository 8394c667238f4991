use proptest::prelude::*;

use super::*;
use crate::lanes::tests::{Rfc, on_each_unit};

/// A number below p, four words. Slow and plain: what the lanes are held against.
type Number = [u64; 4];

const P: Number = [u64::MAX - 18, u64::MAX, u64::MAX, u64::MAX >> 1];

fn sum(a: Number, b: Number) -> Number {
    let (mut out, mut carry) = ([0; 4], 0);
    for k in 0..4 {
        let wide = u128::from(a[k]) + u128::from(b[k]) + carry;
        out[k] = wide as u64;
        carry = wide >> 64;
    }
    reduced(out)
}

/// Subtracts p as often as it fits.
fn reduced(mut a: Number) -> Number {
    while !a.iter().rev().lt(P.iter().rev()) {
        let mut borrow = false;
        for k in 0..4 {
            let (first, one) = a[k].overflowing_sub(P[k]);
            let (second, two) = first.overflowing_sub(u64::from(borrow));
            a[k] = second;
            borrow = one || two;
        }
    }
    a
}

/// Bit by bit.
fn product(a: Number, b: Number) -> Number {
    (0..256).rev().fold([0; 4], |out, bit| {
        let twice = sum(out, out);
        if b[bit / 64] >> (bit % 64) & 1 == 1 { sum(twice, a) } else { twice }
    })
}

fn minus(a: Number) -> Number {
    // (p − 1)·a.
    product(a, [P[0] - 1, P[1], P[2], P[3]])
}

/// The number that limbs stand for.
fn number(limbs: Constant) -> Number {
    let step = [1 << 51, 0, 0, 0];
    limbs.iter().rev().fold([0; 4], |out, limb| sum(product(out, step), [*limb, 0, 0, 0]))
}

fn lanes<U: Unit>(u: U, elements: [Constant; LANES]) -> Fe<U> {
    let mut limbs = [u.splat(0); LIMBS];
    for (k, limb) in limbs.iter_mut().enumerate() {
        *limb = u.load(elements.map(|element| element[k]));
    }
    Fe { limbs, unit: u }
}

/// What a lane holds; and that its limbs are fit for the multiplier.
fn numbers<U: Unit>(element: Fe<U>) -> [Number; LANES] {
    for limb in element.limbs {
        assert!(element.unit.store(limb).iter().all(|limb| *limb < 1 << 52));
    }
    let words = element.to_words();
    core::array::from_fn(|i| words.map(|word| word[i]))
}

/// Every operation on two vectors of elements against plain arithmetic.
fn operations<U: Unit>(u: U, a: [Constant; LANES], b: [Constant; LANES]) {
    let (x, y) = (lanes(u, a), lanes(u, b));
    let (a, b) = (a.map(number), b.map(number));
    assert_eq!(numbers(x), a);
    let each = |f: &dyn Fn(usize) -> Number| -> [Number; LANES] { core::array::from_fn(f) };
    assert_eq!(numbers(x * y), each(&|i| product(a[i], b[i])));
    assert_eq!(numbers(x.square()), each(&|i| product(a[i], a[i])));
    assert_eq!(numbers((x + y).carry()), each(&|i| sum(a[i], b[i])));
    assert_eq!(numbers((x - y).carry()), each(&|i| sum(a[i], minus(b[i]))));
    let four = each(&|i| sum(sum(a[i], a[i]), minus(sum(b[i], b[i]))));
    assert_eq!(numbers((x + x - y - y).carry()), four);
    let mixed = each(&|i| if i % 2 == 0 { minus(a[i]) } else { a[i] });
    assert_eq!(numbers(x.negated(0b0101_0101)), mixed);
    let odd = |numbers: [Number; LANES]| -> Mask {
        (0..LANES).fold(0, |mask, i| mask | ((numbers[i][0] & 1) as u8) << i)
    };
    assert_eq!(x.negative(), odd(a));
    assert_eq!(x.absolute().negative(), 0);
    let is_zero = (0..LANES).fold(0, |mask, i| mask | u8::from(a[i] == [0; 4]) << i);
    assert_eq!(x.zero(), is_zero);
    let words: [[u64; LANES]; 4] = core::array::from_fn(|k| a.map(|number| number[k]));
    assert_eq!(numbers(Fe::from_words(u, words)), a);
}

/// Limbs at the ends of their range, and of the range of elements.
fn edges() -> Vec<Constant> {
    let top = LIMB_MASK;
    let p = [top - 18, top, top, top, top];
    let mut edges = vec![
        [0; 5],
        [1, 0, 0, 0, 0],
        MINUS_ONE,
        p,
        [p[0] + 1, top, top, top, top],
        // 2²⁵⁵ − 1, and 2²⁵⁵ as a carry too many.
        [top; 5],
        [0, 0, 0, 0, 1 << 51],
        // 2p − 1, 2p, and the greatest limbs that there are.
        [2 * p[0] - 1, 2 * top, 2 * top, 2 * top, 2 * top],
        [2 * p[0], 2 * top, 2 * top, 2 * top, 2 * top],
        [(1 << 52) - 1; 5],
    ];
    for k in 0..5 {
        let mut limbs = [0; 5];
        limbs[k] = (1 << 52) - 1;
        edges.push(limbs);
        limbs = [(1 << 52) - 1; 5];
        limbs[k] = 0;
        edges.push(limbs);
    }
    edges
}

#[test]
fn every_pair_of_edge_values_comes_out_right() {
    fn run<U: Unit>(u: U) {
        let edges = edges();
        for a in edges.chunks(LANES) {
            let a = core::array::from_fn(|i| a[i % a.len()]);
            for turn in 0..edges.len() {
                operations(u, a, core::array::from_fn(|i| edges[(i + turn) % edges.len()]));
            }
        }
    }
    on_each_unit!(run);
}

#[test]
fn the_plain_arithmetic_knows_that_p_is_zero() {
    // The reference's own failing twin: it tells numbers apart, and reduces.
    assert_eq!(reduced(P), [0; 4]);
    assert_eq!(product([2, 0, 0, 0], [3, 0, 0, 0]), [6, 0, 0, 0]);
    assert_ne!(product([2, 0, 0, 0], [3, 0, 0, 0]), [7, 0, 0, 0]);
    assert_eq!(sum(minus([5, 0, 0, 0]), [5, 0, 0, 0]), [0; 4]);
    // 2²⁵⁵ = 19.
    let root = [0, 1 << 63, 0, 0];
    assert_eq!(product(product(root, root), [2, 0, 0, 0]), [19, 0, 0, 0]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn limbs_of_any_kind_come_out_right(
        a in prop::array::uniform8(prop::array::uniform5(0u64..1 << 52)),
        b in prop::array::uniform8(prop::array::uniform5(0u64..1 << 52)),
    ) {
        fn run<U: Unit>(u: U, (a, b): ([Constant; LANES], [Constant; LANES])) {
            operations(u, a, b);
        }
        on_each_unit!(run, (a, b));
    }

    #[test]
    fn a_root_is_found_exactly_where_there_is_one(
        a in prop::array::uniform8(prop::array::uniform5(0u64..1 << 51)),
        twice in any::<u8>(),
    ) {
        fn run<U: Unit>(u: U, (a, twice): ([Constant; LANES], u8)) {
            let x = lanes(u, a);
            let square = x.square();
            // 2 is no square modulo p, which is 5 modulo 8.
            let value = Fe::select(twice, square, (square + square).carry());
            let (roots, root) = value.invsqrt();
            assert_eq!(roots, !twice & !x.zero());
            // root² · value is 1, or √−1 where there is no root.
            let check = numbers(root.square() * value);
            let i = numbers(Fe::constant(u, SQRT_M1));
            for lane in 0..LANES {
                let expected = if roots >> lane & 1 == 1 { [1, 0, 0, 0] } else { i[lane] };
                assert_eq!(check[lane], expected, "lane {lane}");
            }
        }
        on_each_unit!(run, (a, twice));
    }
}

#[test]
fn zero_has_no_root_and_hurts_no_other_lane() {
    fn run<U: Unit>(u: U) {
        let mut elements = [[4, 0, 0, 0, 0]; LANES];
        elements[3] = [0; 5];
        elements[5] = [LIMB_MASK - 18, LIMB_MASK, LIMB_MASK, LIMB_MASK, LIMB_MASK];
        let (roots, root) = lanes(u, elements).invsqrt();
        assert_eq!(roots, !0b0010_1000);
        assert_eq!(root.zero(), 0b0010_1000);
    }
    on_each_unit!(run);
}

#[test]
fn constants_are_what_they_are_called() {
    fn run<U: Unit>(u: U) {
        let constant = |limbs| Fe::constant(u, limbs);
        let same = |a: Fe<U>, b: Fe<U>| (a - b).carry().zero() == Mask::MAX;
        let (i, d) = (constant(SQRT_M1), constant(D));
        let minus_one = constant(MINUS_ONE);
        assert!(same(i.square(), minus_one));
        assert!(!same(i, minus_one));
        assert_eq!((i + constant(MINUS_SQRT_M1)).carry().zero(), Mask::MAX);
        assert_eq!(i.negative(), 0);
        // d = −121665/121666.
        let d_times = d * Fe::small(u, 121_666);
        assert_eq!((d_times + Fe::small(u, 121_665)).carry().zero(), Mask::MAX);
        assert!(same((d + d).carry(), constant(D2)));
        let a_minus_d = (minus_one - d).carry();
        let inverse = constant(INVSQRT_A_MINUS_D);
        assert!(same(inverse.square() * a_minus_d, Fe::small(u, 1)));
        assert_eq!(inverse.negative(), 0);
    }
    on_each_unit!(run);
}

#[test]
fn roots_are_those_of_rfc_9496() {
    fn run<U: Unit>(u: U, rfc: &Rfc) {
        assert_eq!(rfc.roots.len(), 4);
        for root in &rfc.roots {
            let element = |bytes: &[u8; 32]| {
                let words = bytes.as_chunks::<8>().0;
                let word = |k: usize| [u64::from_le_bytes(words[k]); LANES];
                Fe::from_words(u, [word(0), word(1), word(2), word(3)])
            };
            // 1/√(v/u); the u of these are 2⁰, 2¹ and 2²: 1/2 is (p + 1)/2.
            let half = [(1 << 51) - 9, LIMB_MASK, LIMB_MASK, LIMB_MASK, LIMB_MASK >> 1];
            let halvings = root.u[0].trailing_zeros();
            let ratio = (0..halvings).fold(element(&root.v), |v, _| v * Fe::constant(u, half));
            let (was_square, found) = ratio.invsqrt();
            assert_eq!(was_square, if root.was_square { Mask::MAX } else { 0 });
            assert_eq!(numbers(found.absolute()), numbers(element(&root.root)));
        }
    }
    on_each_unit!(run, &Rfc::read());
}
