//! The server half.

use crate::accelerator::{Accelerator, AcceleratorError, AcceleratorStatus, Placement};
use crate::error::{PrepareError, WireError};
use crate::kernel::{self, Matrix, Operand};
use crate::lwe::bits::{check_padding, pack, unpack};
use crate::lwe::expand::{LANE, PublicMatrix};
use crate::lwe::layout::{ANSWER_BITS, Layout, N};
use crate::prepare::{Preparation, Workload};
use crate::scheme::{Server, Sizes};
use crate::setup::{HintDigest, SchemeId, Setup};
use crate::shape::Shape;
use crate::wire::{self, HEADER};

/// A table that answers: the matrix of bytes, and the hint.
pub struct LweServer {
    setup: Setup,
    layout: Layout,
    sizes: Sizes,
    matrix: Matrix,
    placement: Placement,
    hint: Vec<u8>,
}

/// Entries of the secret that a piece of the hint's work covers: their columns of A stay in the
/// second-level cache.
const PIECE: usize = 16;

impl LweServer {
    pub(super) fn prepare(
        shape: Shape,
        layout: u32,
        table: &[u8],
        how: &Preparation<'_>,
    ) -> Result<Self, PrepareError> {
        let expected = shape.table_bytes();
        if table.len() != expected {
            return Err(PrepareError::TableLength { expected, got: table.len() });
        }
        let number = layout;
        let layout = Layout::new(shape, number)?;
        let matrix = Matrix::transposed_by(table, layout.width, layout.columns, how.workers)?;
        let hint = hint(&layout, &matrix, how)?;
        let digest = HintDigest::of(&hint);
        let setup = Setup {
            scheme: SchemeId::Lwe,
            layout: number,
            shape,
            seed: how.seed,
            hint: Some(digest),
        };
        let (sizes, placement) = (layout.sizes(), Placement::default());
        Ok(LweServer { setup, sizes, layout, matrix, placement, hint })
    }

    /// The query's vector, or why it is none.
    fn parse(&self, query: &[u8]) -> Result<Operand, WireError> {
        let body = wire::body(SchemeId::Lwe, query, self.sizes.query)?;
        let width = self.layout.query_bits();
        check_padding(body, self.layout.columns, width)?;
        let mut words = vec![0; self.layout.columns];
        unpack(body, width, &mut words);
        for word in &mut words {
            *word <<= self.layout.query_drop;
        }
        Ok(Operand::new(&words))
    }

    fn respond(&self, operands: &[Operand]) -> Vec<Vec<u8>> {
        let products = self.placement.products(&self.matrix, operands);
        let answer = |product: &Vec<u32>| {
            let mut answer = wire::frame(SchemeId::Lwe, self.sizes.answer - HEADER);
            let drop = 32 - ANSWER_BITS;
            let rounded = product.iter().map(|word| word.wrapping_add(1 << (drop - 1)) >> drop);
            pack(rounded, ANSWER_BITS, &mut answer[HEADER..]);
            answer
        };
        products.iter().map(answer).collect()
    }
}

impl Server for LweServer {
    fn setup(&self) -> &Setup {
        &self.setup
    }

    fn hint(&self) -> Option<&[u8]> {
        Some(&self.hint)
    }

    fn answer(&self, query: &[u8]) -> Result<Vec<u8>, WireError> {
        let operand = self.parse(query)?;
        let mut answers = self.respond(&[operand]);
        // One operand, one answer.
        Ok(answers.remove(0))
    }

    fn answer_batch(&self, queries: &[&[u8]]) -> Vec<Result<Vec<u8>, WireError>> {
        let parsed: Vec<Result<Operand, WireError>> =
            queries.iter().map(|query| self.parse(query)).collect();
        let mut operands = Vec::with_capacity(parsed.len());
        let mut verdicts = Vec::with_capacity(parsed.len());
        for query in parsed {
            verdicts.push(query.map(|operand| operands.push(operand)));
        }
        let mut answers = self.respond(&operands).into_iter();
        let take =
            |verdict: Result<(), WireError>| verdict.map(|()| answers.next().unwrap_or_default());
        verdicts.into_iter().map(take).collect()
    }

    fn memory_bytes(&self) -> usize {
        self.matrix.memory_bytes() + self.hint.len()
    }

    fn accelerate(&mut self, accelerator: &dyn Accelerator) -> Result<(), AcceleratorError> {
        self.placement.load(accelerator, &self.matrix)
    }

    fn accelerator(&self) -> Option<AcceleratorStatus> {
        self.placement.status()
    }
}

/// H = D·A, rounded and packed row by row.
fn hint(layout: &Layout, matrix: &Matrix, how: &Preparation<'_>) -> Result<Vec<u8>, PrepareError> {
    let public = PublicMatrix::new(how.seed);
    let lanes = layout.columns.div_ceil(LANE);
    let row_bytes = layout.hint_row_bytes();
    let part_bytes = PIECE * layout.hint_bits() as usize / 8;
    let mut hint = vec![0u8; layout.width * row_bytes];

    let scratch = || vec![Operand::zero(layout.columns); PIECE];
    let work = |operands: &mut Vec<Operand>, piece: u64| {
        let first = piece as usize * PIECE;
        let mut entries = [[0u32; LANE]; PIECE];
        for lane in 0..lanes {
            public.fill(lane, first, &mut entries);
            let left = (layout.columns - lane * LANE).min(LANE);
            for (operand, words) in operands.iter_mut().zip(&entries) {
                operand.set_lane(lane, &words[..left]);
            }
        }
        let mut products = vec![0u32; PIECE * layout.width];
        let mut into: Vec<&mut [u32]> = products.chunks_exact_mut(layout.width).collect();
        kernel::multiply_add(matrix, 0..layout.width, operands, &mut into);
        products
    };
    let drop = layout.hint_drop;
    let half = (1u32 << drop) >> 1;
    let collect = |piece: u64, products: Vec<u32>| {
        for (at, row) in hint.chunks_exact_mut(row_bytes).enumerate() {
            let words = products.iter().skip(at).step_by(layout.width);
            let rounded = words.map(|word| word.wrapping_add(half) >> drop);
            let part = &mut row[piece as usize * part_bytes..][..part_bytes];
            pack(rounded, layout.hint_bits(), part);
        }
    };
    Workload::new(how, (N / PIECE) as u64).run(scratch, work, collect)?;
    Ok(hint)
}
