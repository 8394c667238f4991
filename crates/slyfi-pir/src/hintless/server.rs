//! The server half.

use super::hint::{self, ROWS};
use super::packing::{self, Block, Chain, Columns, Keys, Packing};
use super::parameters::{
    ANSWER_A_BITS, ANSWER_B_BITS, BLOCK_BYTES, DEGREE, KEY_BYTES, Layout, ORDER, RESIDUE_BITS, RING,
};
use super::public;
use super::rounding::{Rounding, lift};
use crate::accelerator::{Accelerator, AcceleratorError, AcceleratorStatus, Placement};
use crate::error::{PrepareError, WireError};
use crate::kernel::{Matrix, Operand};
use crate::lwe::bits::{check_padding, pack, unpack};
use crate::prepare::{Preparation, Workload};
use crate::ring::Evaluations;
use crate::ring::rns::PRIMES;
use crate::scheme::Server;
use crate::setup::{SchemeId, Setup};
use crate::wire;

/// A prepared table: the table itself as a matrix, and the packing's digits for each block.
pub struct HintlessServer {
    setup: Setup,
    layout: Layout,
    matrix: Matrix,
    placement: Placement,
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
        let matrix =
            Matrix::transposed_by(table, layout.column_bytes, layout.columns, how.workers)?;
        let stages = [DEGREE / ROWS, PRIMES * DEGREE / Columns::CHUNK, 2];
        let pieces = layout.blocks * stages.iter().sum::<usize>();
        let work = Workload::new(how, pieces as u64);

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
                    let first = block * DEGREE + group as usize * ROWS;
                    hint::values(table, &layout, &multipliers, first, scratch)
                },
                |group, rows| {
                    let at = group as usize * ROWS;
                    for (values, rows) in
                        values.chunks_exact_mut(DEGREE).zip(rows.chunks_exact(ROWS))
                    {
                        values[at..at + ROWS].copy_from_slice(rows);
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
            let mut chains: [Option<Result<Chain, PrepareError>>; 2] = [None, None];
            work.run_stage(
                stages[2] as u64,
                || (),
                |(), negative| packing.chain(&columns, negative == 1),
                |negative, chain| chains[negative as usize] = Some(chain),
            )?;
            let [Some(positive), Some(negative)] = chains else {
                unreachable!("a stage that was not stopped has done all its pieces");
            };
            let (block, first_part) = packing.finish(positive?, negative?);
            let rounding = Rounding::new(RING.modulus(), ANSWER_A_BITS);
            let mut bytes = vec![0; DEGREE * ANSWER_A_BITS as usize / 8];
            pack(first_part.iter().map(|x| rounding.round(*x)), ANSWER_A_BITS, &mut bytes);
            blocks.push(block);
            first_parts.push(bytes);
        }
        let placement = Placement::default();
        Ok(HintlessServer { setup, layout, matrix, placement, blocks, first_parts })
    }

    /// The query, read and checked.
    fn read(&self, query: &[u8]) -> Result<Request, WireError> {
        let body = wire::body(SchemeId::Hintless, query, self.layout.sizes().query)?;
        let (rotation, rest) = body.split_at(KEY_BYTES);
        let (conjugation, words) = rest.split_at(KEY_BYTES);
        let keys = Keys::new(&ORDER, &read_key(rotation)?, &read_key(conjugation)?);
        let bits = self.layout.query_bits;
        check_padding(words, self.layout.columns, bits)?;
        let mut operand = vec![0; self.layout.columns];
        unpack(words, bits, &mut operand);
        for word in &mut operand {
            *word <<= 32 - bits;
        }
        Ok(Request { keys, operand: Operand::new(&operand) })
    }

    fn respond(&self, requests: Vec<Request>) -> Vec<Vec<u8>> {
        let (keys, operands): (Vec<Keys>, Vec<Operand>) =
            requests.into_iter().map(|request| (request.keys, request.operand)).unzip();
        let products = self.placement.products(&self.matrix, &operands);

        let body = self.layout.blocks * BLOCK_BYTES;
        let mut answers = vec![wire::frame(SchemeId::Hintless, body); operands.len()];
        for (number, (block, first)) in self.blocks.iter().zip(&self.first_parts).enumerate() {
            let corrections = packing::accumulate(&RING, &ORDER, block, &keys);
            for ((answer, correction), product) in
                answers.iter_mut().zip(&corrections).zip(&products)
            {
                // The last blocks may have fewer bytes, or none.
                let bytes = product.get(number * DEGREE..).unwrap_or(&[]);
                let out = &mut answer[wire::HEADER + number * BLOCK_BYTES..][..BLOCK_BYTES];
                let (first_out, second_out) = out.split_at_mut(first.len());
                first_out.copy_from_slice(first);
                second_part(bytes, correction, second_out);
            }
        }
        answers
    }
}

/// The second part of a block's ciphertext: the table's products with the query, less what switches
/// their keys.
fn second_part(products: &[u32], correction: &[u64], out: &mut [u8]) {
    let q = RING.modulus();
    let rounding = Rounding::new(q, ANSWER_B_BITS);
    let products = products.iter().copied().chain(core::iter::repeat(0));
    let rounded = products.zip(correction).map(|(product, correction)| {
        let x = lift(product, q) + q - correction;
        rounding.round(x.min(x.wrapping_sub(q)))
    });
    pack(rounded, ANSWER_B_BITS, out);
}

/// A query, read.
struct Request {
    keys: Keys,
    operand: Operand,
}

/// A key from the wire.
fn read_key(bytes: &[u8]) -> Result<Evaluations, WireError> {
    let mut values = vec![0; PRIMES * DEGREE];
    unpack(bytes, RESIDUE_BITS, &mut values);
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
        let mut answers = self.respond(vec![self.read(query)?]);
        // One request, one answer.
        Ok(answers.remove(0))
    }

    fn answer_batch(&self, queries: &[&[u8]]) -> Vec<Result<Vec<u8>, WireError>> {
        let mut requests = Vec::with_capacity(queries.len());
        let verdicts: Vec<Result<(), WireError>> =
            queries.iter().map(|query| self.read(query).map(|r| requests.push(r))).collect();
        let mut answers = self.respond(requests).into_iter();
        let take =
            |verdict: Result<(), WireError>| verdict.map(|()| answers.next().unwrap_or_default());
        verdicts.into_iter().map(take).collect()
    }

    fn memory_bytes(&self) -> usize {
        let blocks: usize = self.blocks.iter().map(Block::memory_bytes).sum();
        let first_parts: usize = self.first_parts.iter().map(Vec::len).sum();
        self.matrix.memory_bytes() + blocks + first_parts
    }

    fn accelerate(&mut self, accelerator: &dyn Accelerator) -> Result<(), AcceleratorError> {
        self.placement.load(accelerator, &self.matrix)
    }

    fn accelerator(&self) -> Option<AcceleratorStatus> {
        self.placement.status()
    }
}
