//! Packing against its definition, in a small ring.

use std::collections::BTreeMap;

use super::*;
use chacha20::ChaCha20Rng;
use chacha20::rand_core::{Rng, SeedableRng};

const DEGREE: usize = 64;

/// A ring, all that is public and secret, and random first parts.
struct Scene {
    ring: Ring,
    order: GaloisOrder,
    first_parts: Vec<Evaluations>,
    publics: [Evaluations; 2],
    secret: Vec<i32>,
    random: ChaCha20Rng,
}

impl Scene {
    fn new(seed: u8) -> Self {
        let ring = Ring::new(DEGREE, [33_550_337, 33_538_049]);
        let order = GaloisOrder::new(&ring.transforms()[0]);
        let mut random = ChaCha20Rng::from_seed([seed; 32]);
        let mut uniform = || {
            let integers: Vec<u64> =
                (0..DEGREE).map(|_| random.next_u64() % ring.modulus()).collect();
            ring.from_integers(&integers)
        };
        let first_parts = (0..DEGREE).map(|_| uniform()).collect();
        let publics = [uniform(), uniform()];
        let secret = (0..DEGREE).map(|_| (random.next_u32() % 3) as i32 - 1).collect();
        Scene { ring, order, first_parts, publics, secret, random }
    }

    /// Prepares, packs, and decrypts what comes out, with the keys' errors at most `error`.
    fn noise(&mut self, error: i32, secret_of_keys: &[i32]) -> Vec<i64> {
        let Scene { ring, order, .. } = self;
        let inverses: Vec<u32> =
            ring.transforms().iter().map(|t| t.modulus().invert(DEGREE as u32)).collect();
        // The transform over the first parts of their values at each point.
        let columns: Vec<Vec<u32>> = (0..PRIMES * DEGREE)
            .map(|at| {
                let (prime, point) = (at / DEGREE, at % DEGREE);
                let transform = &ring.transforms()[prime];
                let value = |a: &Evaluations| {
                    transform.modulus().mul(a.by_prime()[prime][point], inverses[prime])
                };
                let mut column: Vec<u32> = self.first_parts.iter().map(value).collect();
                transform.forward(&mut column, 1);
                column
            })
            .collect();
        let chunks: Vec<Vec<u32>> =
            columns.chunks(Columns::CHUNK).map(<[Vec<u32>]>::concat).collect();
        let columns = Columns { ring, chunks: &chunks };
        let packing = Packing::new(ring, order, &self.publics[0], &self.publics[1]);
        let [positive, negative] =
            [false, true].map(|side| packing.chain(&columns, side).expect("memory"));
        let (block, first) = packing.finish(positive, negative);

        let mut key = |public: &Evaluations, g| {
            let range = 2 * error as u32 + 1;
            let error: Vec<i32> =
                (0..DEGREE).map(|_| (self.random.next_u32() % range) as i32 - error).collect();
            make_key(ring, public, secret_of_keys, &error, g)
        };
        let rotation = key(&self.publics[0], 5);
        let conjugation = key(&self.publics[1], 2 * DEGREE - 1);
        let keys = [Keys::new(order, &rotation, &conjugation)];
        let correction = accumulate(ring, order, &block, &keys);

        // B holds the constant coefficients of A_r·s; packed, B − correction − first·s is left.
        let secret = ring.from_small(&self.secret);
        let first = ring.into_integers(ring.multiply(&ring.from_integers(&first), &secret));
        let q = ring.modulus();
        let centred = |x: u64| if x > q / 2 { x as i64 - q as i64 } else { x as i64 };
        self.first_parts
            .iter()
            .zip(correction[0].iter().zip(&first))
            .map(|(a, (correction, first))| {
                let b = ring.into_integers(ring.multiply(a, &secret))[0];
                centred((b + 2 * q - correction - first) % q)
            })
            .collect()
    }
}

#[test]
fn packs_what_is_under_the_secret() {
    for seed in 0..4 {
        let mut scene = Scene::new(seed);
        let secret = scene.secret.clone();
        let noise = scene.noise(3, &secret);
        // d − 1 switches of d products: digits below 2^24 by errors of at most 3, and remainders
        // below 2^24 by secrets of at most 1.
        let bound = ((DEGREE * DEGREE) as i64 * 4) << 24;
        assert!(noise.iter().all(|x| x.abs() < bound), "{noise:?}");
        // And it is what the analysis says: within a factor of two of its standard deviation.
        let mean = noise.iter().map(|x| (*x as f64).powi(2)).sum::<f64>() / DEGREE as f64;
        let steps = ((DEGREE - 1) * DEGREE) as f64;
        let expected = steps * 4f64.powi(25) / 12.0 * (4.0 + 2.0 / 3.0);
        assert!((0.25..4.0).contains(&(mean / expected)), "{mean} for {expected}");
    }
}

#[test]
fn keys_of_another_secret_leave_garbage() {
    let mut scene = Scene::new(1);
    let other: Vec<i32> = scene.secret.iter().map(|s| -s).collect();
    let noise = scene.noise(3, &other);
    let bound = ((DEGREE * DEGREE) as i64 * 4) << 24;
    assert!(noise.iter().filter(|x| x.abs() > bound).count() > DEGREE / 2, "{noise:?}");
}

#[test]
fn diagonals_are_the_traces_parts() {
    // Â_g by its definition: the sum over r of X^r times τ_g of A_r, here with small A_r.
    let scene = Scene::new(2);
    let ring = &scene.ring;
    let small: Vec<Vec<i32>> = (0..DEGREE as i32)
        .map(|r| (0..DEGREE as i32).map(|c| (r * 31 + c * c * 17) % 1001 - 500).collect())
        .collect();
    let chunks: Vec<Vec<u32>> = (0..PRIMES * DEGREE)
        .map(|at| {
            let (prime, point) = (at / DEGREE, at % DEGREE);
            let value = |a: &Vec<i32>| ring.from_small(a).by_prime()[prime][point];
            let mut column: Vec<u32> = small.iter().map(value).collect();
            ring.transforms()[prime].forward(&mut column, 1);
            column
        })
        .collect::<Vec<_>>()
        .chunks(Columns::CHUNK)
        .map(<[Vec<u32>]>::concat)
        .collect();
    let columns = Columns { ring, chunks: &chunks };
    let mut powers = BTreeMap::new();
    let mut g = 1;
    for turn in 0..DEGREE / 2 {
        powers.insert(g, (turn, false));
        powers.insert(2 * DEGREE - g, (turn, true));
        g = 5 * g % (2 * DEGREE);
    }
    assert_eq!(powers.len(), DEGREE);
    for (g, (turn, negative)) in powers {
        let mut expected = vec![0i32; DEGREE];
        for (r, a) in small.iter().enumerate() {
            for (i, c) in automorphism(a, g).into_iter().enumerate() {
                let sign = if i + r < DEGREE { 1 } else { -1 };
                expected[(i + r) % DEGREE] += sign * c;
            }
        }
        let got = columns.diagonal(&scene.order, turn, negative);
        assert_eq!(got, sorted(&scene.order, &ring.from_small(&expected)), "g = {g}");
    }
}
