//! The server half.

use super::hint::{self, LANES};
use super::packing::{self, Block, Chain, Columns, Keys, Packing};
use super::parameters::{
    ANSWER_A_BITS, ANSWER_B_BITS, BLOCK_BYTES, DEGREE, KEY_BYTES, Layout, ORDER, RESIDUE_BITS, RING,
};
use super::product::{self, Halves, STRIP, TOGETHER};
use super::rounding::{Rounding, lift};
use super::{bits, public};
use crate::error::{PrepareError, WireError};
use crate::prepare::{Preparation, Workload};
use crate::ring::Evaluations;
use crate::ring::rns::PRIMES;
use crate::scheme::Server;
use crate::setup::{SchemeId, Setup};
use crate::wire;

/// A prepared table: the table itself in strips, and the packing's digits for each block.
pub struct HintlessServer {
    setup: Setup,
    layout: Layout,
    strips: Vec<u8>,
    blocks: Vec<Block>,
    /// The first parts of the answer's ciphertexts, as they go on the wire: the same in each answer.
    first_parts: Vec<Vec<u8>>,
}

impl HintlessServer {
    pub(super) fn prepare(
        setup: Setup,
        layout: Layout,
        table: &[u8],
        how: &Preparation<'_>,
    ) -> Result<Self, PrepareError> {
        let expected = setup.shape.table_bytes();
        if table.len() != expected {
            return Err(PrepareError::TableLength { expected, got: table.len() });
        }
        let strip_count = layout.column_bytes.div_ceil(STRIP);
        let stages = [DEGREE / LANES, PRIMES * DEGREE / Columns::CHUNK, 2];
        let pieces = strip_count + layout.blocks * stages.iter().sum::<usize>();
        let work = Workload::new(how, pieces as u64);

        let strip_bytes = product::strip_bytes(layout.columns);
        let mut strips = vec![0; strip_count * strip_bytes];
        work.run_stage(
            strip_count as u64,
            || (),
            |(), number| {
                let mut strip = vec![0; strip_bytes];
                product::lay_out(layout.columns, &mut strip, |column, into| {
                    let column = layout.column(table, column);
                    let rest = column.get(number as usize * STRIP..).unwrap_or(&[]);
                    for (into, byte) in into.iter_mut().zip(rest) {
                        *into = *byte;
                    }
                });
                strip
            },
            |number, strip| {
                strips[number as usize * strip_bytes..][..strip_bytes].copy_from_slice(&strip);
            },
        )?;

        let polynomials = public::query_polynomials(&setup.seed, layout.polynomials());
        let multipliers = hint::Multipliers::new(&polynomials);
        let (rotation, conjugation) =
            (public::rotation(&setup.seed), public::conjugation(&setup.seed));
        let packing = Packing::new(&RING, &ORDER, &rotation, &conjugation);
        let mut blocks = Vec::with_capacity(layout.blocks);
        let mut first_parts = Vec::with_capacity(layout.blocks);
        for block in 0..layout.blocks {
            // At each prime and point, the values of all rows of the block.
            let mut values = vec![0; PRIMES * DEGREE * DEGREE];
            work.run_stage(
                stages[0] as u64,
                hint::Scratch::new,
                |scratch, group| {
                    let first = block * DEGREE + group as usize * LANES;
                    hint::values(table, &layout, &multipliers, first, scratch)
                },
                |group, lanes| {
                    let at = group as usize * LANES;
                    for (values, lanes) in
                        values.chunks_exact_mut(DEGREE).zip(lanes.chunks_exact(LANES))
                    {
                        values[at..at + LANES].copy_from_slice(lanes);
                    }
                },
            )?;
            let mut chunks = vec![Vec::new(); stages[1]];
            work.run_stage(
                stages[1] as u64,
                || (),
                |(), number| {
                    let first = number as usize * Columns::CHUNK;
                    let mut chunk = values[first * DEGREE..][..Columns::CHUNK * DEGREE].to_vec();
                    for column in chunk.chunks_exact_mut(DEGREE) {
                        RING.transforms()[first / DEGREE].forward(column, 1);
                    }
                    chunk
                },
                |number, chunk| chunks[number as usize] = chunk,
            )?;
            drop(values);
            let columns = Columns { ring: &RING, chunks: &chunks };
            let mut chains: [Option<Chain>; 2] = [None, None];
            work.run_stage(
                stages[2] as u64,
                || (),
                |(), negative| packing.chain(&columns, negative == 1),
                |negative, chain| chains[negative as usize] = Some(chain),
            )?;
            let [Some(positive), Some(negative)] = chains else {
                unreachable!("a stage that was not stopped has done all its pieces");
            };
            let (block, first_part) = packing.finish(positive, negative);
            let rounding = Rounding::new(RING.modulus(), ANSWER_A_BITS);
            let mut bytes = vec![0; DEGREE * ANSWER_A_BITS as usize / 8];
            bits::write(first_part.iter().map(|x| rounding.round(*x)), ANSWER_A_BITS, &mut bytes);
            blocks.push(block);
            first_parts.push(bytes);
        }
        Ok(HintlessServer { setup, layout, strips, blocks, first_parts })
    }

    /// The query, read and checked.
    fn read(&self, query: &[u8]) -> Result<Request, WireError> {
        let body = wire::body(SchemeId::Hintless, query, self.layout.sizes().query)?;
        let (rotation, rest) = body.split_at(KEY_BYTES);
        let (conjugation, words) = rest.split_at(KEY_BYTES);
        let keys = Keys::new(&ORDER, &read_key(rotation)?, &read_key(conjugation)?);
        let words = bits::read(words, self.layout.query_bits, self.layout.columns)?;
        let centre = words.iter().fold(0u32, |sum, word| sum.wrapping_add(*word));
        let centre = centre.wrapping_mul(hint::CENTRE);
        Ok(Request { keys, halves: Halves::new(&words), centre })
    }

    /// Answers up to [`TOGETHER`] queries in one pass.
    fn respond(&self, requests: &[&Request]) -> Vec<Vec<u8>> {
        match requests {
            [a] => self.respond_together([a]).into(),
            [a, b] => self.respond_together([a, b]).into(),
            [a, b, c] => self.respond_together([a, b, c]).into(),
            [a, b, c, d] => self.respond_together([a, b, c, d]).into(),
            _ => panic!("1 to {TOGETHER} requests"),
        }
    }

    fn respond_together<const Q: usize>(&self, requests: [&Request; Q]) -> [Vec<u8>; Q] {
        let rows = self.layout.column_bytes.next_multiple_of(STRIP);
        let mut sums = vec![vec![0; rows]; Q];
        let halves = requests.map(|request| &request.halves);
        product::multiply(&self.strips, self.layout.columns, &halves, &mut sums);

        let (bits, q) = (self.layout.query_bits, RING.modulus());
        let rounding = Rounding::new(q, ANSWER_B_BITS);
        let mask = ((1u64 << bits) - 1) as u32;
        let mut answers =
            [(); Q].map(|()| wire::frame(SchemeId::Hintless, self.layout.blocks * BLOCK_BYTES));
        for (number, block) in self.blocks.iter().enumerate() {
            let keys = requests.map(|request| &request.keys);
            let corrections = packing::accumulate(&RING, &ORDER, block, keys);
            let range = number * DEGREE..self.layout.column_bytes.min((number + 1) * DEGREE);
            let first = &self.first_parts[number];
            for ((answer, correction), (sums, request)) in
                answers.iter_mut().zip(&corrections).zip(sums.iter().zip(&requests))
            {
                // A block may begin beyond the column's end when rows leave it a gap.
                let sums = sums.get(range.clone()).unwrap_or(&[]);
                let lifted = sums
                    .iter()
                    .map(|sum| lift(sum.wrapping_sub(request.centre) & mask, bits, q))
                    .chain(core::iter::repeat(0));
                let second: Vec<u32> = lifted
                    .zip(correction)
                    .map(|(b, correction)| {
                        let x = b + q - correction;
                        rounding.round(if x >= q { x - q } else { x })
                    })
                    .collect();
                let body = &mut answer[wire::HEADER + number * BLOCK_BYTES..][..BLOCK_BYTES];
                body[..first.len()].copy_from_slice(first);
                bits::write(second.into_iter(), ANSWER_B_BITS, &mut body[first.len()..]);
            }
        }
        answers
    }
}

/// A query, read.
struct Request {
    keys: Keys,
    halves: Halves,
    /// What centring the table's bytes takes from each sum.
    centre: u32,
}

/// A key from the wire.
fn read_key(bytes: &[u8]) -> Result<Evaluations, WireError> {
    let values = bits::read(bytes, RESIDUE_BITS, PRIMES * DEGREE)?;
    let parts = values.chunks_exact(DEGREE).zip(RING.transforms());
    for (values, transform) in parts {
        if values.iter().any(|v| *v >= transform.modulus().prime()) {
            return Err(WireError::Value);
        }
    }
    Ok(RING.evaluations(values))
}

impl Server for HintlessServer {
    fn setup(&self) -> &Setup {
        &self.setup
    }

    fn hint(&self) -> Option<&[u8]> {
        None
    }

    fn answer(&self, query: &[u8]) -> Result<Vec<u8>, WireError> {
        let request = self.read(query)?;
        let [answer] = self.respond_together([&request]);
        Ok(answer)
    }

    fn answer_batch(&self, queries: &[&[u8]]) -> Vec<Result<Vec<u8>, WireError>> {
        let mut answers = Vec::with_capacity(queries.len());
        for queries in queries.chunks(TOGETHER) {
            let requests: Vec<Result<Request, WireError>> =
                queries.iter().map(|query| self.read(query)).collect();
            let good: Vec<&Request> = requests.iter().flatten().collect();
            let mut good =
                if good.is_empty() { Vec::new() } else { self.respond(&good) }.into_iter();
            answers.extend(requests.iter().map(|request| match request {
                Ok(_) => Ok(good.next().unwrap_or_default()),
                Err(why) => Err(*why),
            }));
        }
        answers
    }

    fn memory_bytes(&self) -> usize {
        let blocks: usize = self.blocks.iter().map(Block::memory_bytes).sum();
        let first_parts: usize = self.first_parts.iter().map(Vec::len).sum();
        self.strips.len() + blocks + first_parts
    }
}
