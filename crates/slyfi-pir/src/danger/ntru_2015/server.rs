//! The server half: additions of polynomials, half a million million of them for 10⁷ rows, a table of
//! sums at a time.

use crate::danger::ntru_2015::LOG2_Q;
use crate::danger::ntru_2015::layout::{CIPHERTEXT, Layout, PLANES};
use crate::danger::ntru_2015::polynomial::{Doubled, N, PART, Polynomial};
use crate::error::{PrepareError, WireError};
use crate::kernel::Pages;
use crate::prepare::{Preparation, Workload};
use crate::scheme::{Server, Sizes};
use crate::setup::{SchemeId, Setup};
use crate::shape::Shape;
use crate::wire::{self, HEADER};

/// A table that answers.
pub struct Ntru2015Server {
    setup: Setup,
    layout: Layout,
    sizes: Sizes,
    table: Pages,
}

/// How much of the table is copied between two words of progress.
const COPY: usize = 1 << 22;

impl Ntru2015Server {
    pub(super) fn prepare(
        shape: Shape,
        groups: u32,
        table: &[u8],
        how: &Preparation<'_>,
    ) -> Result<Self, PrepareError> {
        let expected = shape.table_bytes();
        if table.len() != expected {
            return Err(PrepareError::TableLength { expected, got: table.len() });
        }
        let layout = Layout::new(shape, groups)?;
        let mut pages = Pages::zeroed(expected)?;
        let pieces = expected.div_ceil(COPY);
        Workload::new(how, pieces as u64).run(
            || (),
            |(), piece| piece as usize * COPY,
            |_, from| {
                let to = (from + COPY).min(expected);
                pages.bytes_mut()[from..to].copy_from_slice(&table[from..to]);
            },
        )?;
        let setup =
            Setup { scheme: SchemeId::Ntru2015, layout: groups, shape, seed: how.seed, hint: None };
        Ok(Ntru2015Server { setup, sizes: layout.sizes(), layout, table: pages })
    }

    /// The first iteration: for each column the sum over the square's rows of entry times ciphertext.
    fn select_row(&self, vector: &[Polynomial]) -> Vec<Polynomial> {
        let columns = self.layout.columns();
        let row_bytes = self.layout.shape().row_bytes();
        let mut sums = vec![Polynomial::ZERO; columns];
        let table = &self.table.bytes()[..self.layout.shape().table_bytes()];
        for (row, ciphertext) in table.chunks(columns * row_bytes).zip(vector) {
            let multiples = Multiples::new(ciphertext);
            pulp::Arch::new().dispatch(|| {
                for (entry, sum) in row.chunks_exact(row_bytes).zip(&mut sums) {
                    multiples.add_times(entry, sum);
                }
            });
        }
        sums
    }

    /// The second: for each group and bit plane the sum over the steps of plane times ciphertext.
    fn select_step(&self, columns: &[Polynomial], vector: &[Polynomial]) -> Vec<Polynomial> {
        let mut sums = vec![Polynomial::ZERO; self.layout.answer_ciphertexts()];
        for (step, ciphertext) in columns.chunks_exact(self.layout.groups).zip(vector) {
            let multiples = Multiples::new(ciphertext);
            pulp::Arch::new().dispatch(|| {
                for (column, sums) in step.iter().zip(sums.chunks_exact_mut(PLANES)) {
                    for (bit, sum) in sums.iter_mut().enumerate() {
                        multiples.add_times(&plane(column, bit), sum);
                    }
                }
            });
        }
        sums
    }
}

/// Bit `bit` of every coefficient.
fn plane(p: &Polynomial, bit: usize) -> [u8; N.div_ceil(8)] {
    let mut out = [0; N.div_ceil(8)];
    for (byte, coefficients) in out.iter_mut().zip(p.0.chunks(8)) {
        for (i, c) in coefficients.iter().enumerate() {
            *byte |= ((c >> bit & 1) as u8) << i;
        }
    }
    out
}

/// A polynomial times each of the 16 binary polynomials of degree below 4.
struct Multiples([Doubled; 16]);

impl Multiples {
    fn new(p: &Polynomial) -> Self {
        let doubled = Doubled::new(p);
        Multiples(core::array::from_fn(|bits| {
            let mut sum = Polynomial::ZERO;
            for shift in (0..4).filter(|shift| bits >> shift & 1 == 1) {
                for (sum, c) in sum.0.iter_mut().zip(doubled.shifted(shift)) {
                    *sum = sum.wrapping_add(*c);
                }
            }
            Doubled::new(&sum)
        }))
    }

    /// Adds the product with the binary polynomial of `bits`, the lowest bit of the first byte first.
    #[inline(always)]
    fn add_times(&self, bits: &[u8], sum: &mut Polynomial) {
        for (part, sums) in sum.0.chunks_mut(PART).enumerate() {
            let mut held = [0u32; PART];
            for (at, byte) in bits.iter().enumerate() {
                let low = self.0[usize::from(byte & 15)].part(8 * at, part);
                // The last nibble of a plane begins beyond the last coefficient and is empty.
                let shift = (8 * at + 4).min(N - 1);
                let high = self.0[usize::from(byte >> 4)].part(shift, part);
                for ((held, a), b) in held.iter_mut().zip(low).zip(high) {
                    *held = held.wrapping_add(a.wrapping_add(*b));
                }
            }
            for (sum, held) in sums.iter_mut().zip(&held) {
                *sum = sum.wrapping_add(*held);
            }
        }
    }
}

impl Server for Ntru2015Server {
    fn setup(&self) -> &Setup {
        &self.setup
    }

    fn hint(&self) -> Option<&[u8]> {
        None
    }

    fn answer(&self, query: &[u8]) -> Result<Vec<u8>, WireError> {
        let body = wire::body(SchemeId::Ntru2015, query, self.sizes.query)?;
        let vectors = read(body)?;
        let (first, second) = vectors.split_at(self.layout.rows);
        let columns = self.select_row(first);
        let sums = self.select_step(&columns, second);
        let mut answer = wire::frame(SchemeId::Ntru2015, self.sizes.answer - HEADER);
        write(&sums, &mut answer[HEADER..]);
        Ok(answer)
    }

    fn memory_bytes(&self) -> usize {
        self.table.bytes().len()
    }
}

/// Reads ciphertexts, every coefficient below q.
pub(super) fn read(body: &[u8]) -> Result<Vec<Polynomial>, WireError> {
    let one = |bytes: &[u8]| {
        let mut p = Polynomial::ZERO;
        for (c, four) in p.0.iter_mut().zip(bytes.as_chunks::<4>().0) {
            *c = u32::from_le_bytes(*four);
        }
        if p.0.iter().all(|c| c >> LOG2_Q == 0) { Ok(p) } else { Err(WireError::Value) }
    };
    body.chunks_exact(CIPHERTEXT).map(one).collect()
}

/// Writes ciphertexts, reduced modulo q.
pub(super) fn write(ciphertexts: &[Polynomial], body: &mut [u8]) {
    let words = ciphertexts.iter().flat_map(|p| &p.0);
    for (four, c) in body.as_chunks_mut::<4>().0.iter_mut().zip(words) {
        *four = (c & ((1 << LOG2_Q) - 1)).to_le_bytes();
    }
}
