use serde_json::Value;
use slyfi_base::SecureRandom;

use super::*;
use crate::random::SeededRandom;

/// Runs a function for each unit that this machine has: the portable one on every machine.
macro_rules! on_each_unit {
    ($run:ident $(, $arg:expr)?) => {{
        $run($crate::lanes::portable::Portable $(, $arg)?);
        if let Some(unit) = $crate::lanes::ifma::Ifma::try_new() {
            $run(unit $(, $arg)?);
        }
    }};
}
pub(super) use on_each_unit;

/// The vectors of RFC 9496, appendix A.
pub(super) struct Rfc {
    pub(super) multiples: Vec<[u8; 32]>,
    pub(super) invalid: Vec<[u8; 32]>,
    pub(super) derived: Vec<[u8; 32]>,
    pub(super) roots: Vec<Root>,
}

/// SQRT_RATIO_M1(u, v).
pub(super) struct Root {
    pub(super) u: [u8; 32],
    pub(super) v: [u8; 32],
    pub(super) was_square: bool,
    pub(super) root: [u8; 32],
}

impl Rfc {
    pub(super) fn read() -> Self {
        let text = include_str!("../../tests/vectors/rfc9496.json");
        let vectors: Value = serde_json::from_str(text).unwrap();
        let list = |name: &str| vectors[name].as_array().unwrap().iter();
        Rfc {
            multiples: list("multiples").map(bytes).collect(),
            invalid: list("invalid").map(bytes).collect(),
            derived: list("derived").map(bytes).collect(),
            roots: list("roots")
                .map(|root| Root {
                    u: bytes(&root["u"]),
                    v: bytes(&root["v"]),
                    was_square: root["was_square"].as_bool().unwrap(),
                    root: bytes(&root["root"]),
                })
                .collect(),
        }
    }
}

fn bytes(value: &Value) -> [u8; 32] {
    let text = value.as_str().unwrap();
    assert_eq!(text.len(), 64);
    core::array::from_fn(|i| u8::from_str_radix(&text[2 * i..2 * i + 2], 16).unwrap())
}

/// Encodings of elements drawn from a seed.
pub(super) fn elements(seed: u8, count: usize) -> Vec<[u8; 32]> {
    let mut rng = SeededRandom::new([seed; 32]);
    let mut draw = || {
        let mut wide = [0; 64];
        rng.fill(&mut wide);
        RistrettoPoint::from_uniform_bytes(&wide).compress().to_bytes()
    };
    (0..count).map(|_| draw()).collect()
}

#[test]
fn the_best_back_end_is_one_that_is_there() {
    assert!(Backend::detect().is_available());
    assert!(Backend::Dalek.is_available());
    let best = Backend::ALL.iter().rev().find(|backend| backend.is_available());
    assert_eq!(best, Some(&Backend::detect()));
}

#[test]
fn each_instruction_does_what_its_portable_twin_does() {
    use super::portable::Portable;
    use super::unit::Unit;

    let Some(unit) = ifma::Ifma::try_new() else { return };
    let mut rng = SeededRandom::new([9; 32]);
    let mut vector = || -> [u64; LANES] {
        core::array::from_fn(|i| {
            let mut bytes = [0; 8];
            rng.fill(&mut bytes);
            // Now and then ends of the range.
            match bytes[0] % 8 {
                0 => u64::MAX >> i,
                1 => 1 << (51 + i % 3),
                2 => (1 << (51 + i % 3)) - 1,
                _ => u64::from_le_bytes(bytes),
            }
        })
    };
    for _ in 0..1_000 {
        let (sum, a, mut b) = (vector(), vector(), vector());
        b[3] = a[3];
        let mask = a[0] as u8;
        let [s, x, y] = [sum, a, b].map(|words| unit.load(words));
        let results = [
            (unit.splat(a[0]), Portable.splat(a[0])),
            (unit.add(x, y), Portable.add(a, b)),
            (unit.sub(x, y), Portable.sub(a, b)),
            (unit.and(x, y), Portable.and(a, b)),
            (unit.or(x, y), Portable.or(a, b)),
            (unit.shl::<13>(x), Portable.shl::<13>(a)),
            (unit.shr::<51>(x), Portable.shr::<51>(a)),
            (unit.madd_low(s, x, y), Portable.madd_low(sum, a, b)),
            (unit.madd_high(s, x, y), Portable.madd_high(sum, a, b)),
            (unit.select(mask, x, y), Portable.select(mask, a, b)),
        ];
        for (i, (is, should)) in results.into_iter().enumerate() {
            assert_eq!(unit.store(is), should, "operation {i}");
        }
        assert_eq!(unit.equal(x, y), Portable.equal(a, b));
        assert_ne!(unit.equal(x, y) & 8, 0);
    }
}
