//! The client half.

use chacha20::ChaCha20Rng;
use chacha20::rand_core::SeedableRng;
use slyfi_base::SecureRandom;
use zeroize::{Zeroize, Zeroizing};

use crate::danger::ntru_2015::LOG2_Q;
use crate::danger::ntru_2015::key::KeyPair;
use crate::danger::ntru_2015::layout::{Layout, PLANES};
use crate::danger::ntru_2015::polynomial::{N, Polynomial};
use crate::danger::ntru_2015::server::{read, write};
use crate::error::{IndexOutOfRange, SetupError, WireError};
use crate::retrieved::Retrieved;
use crate::scheme::{Client, Query, QueryState, Sizes};
use crate::select::{copy_row, is_within};
use crate::setup::{SchemeId, Setup};
use crate::wire::{self, HEADER};

/// A client of one table: **not secure**.
pub struct Ntru2015Client {
    setup: Setup,
    layout: Layout,
    sizes: Sizes,
}

impl Ntru2015Client {
    pub(super) fn new(setup: &Setup, hint: Option<&[u8]>) -> Result<Self, SetupError> {
        if setup.scheme != SchemeId::Ntru2015 {
            return Err(SetupError::Scheme(setup.scheme.code()));
        }
        setup.check_hint(hint)?;
        let layout = Layout::new(setup.shape, setup.layout)?;
        Ok(Ntru2015Client { setup: *setup, sizes: layout.sizes(), layout })
    }
}

impl Client for Ntru2015Client {
    fn setup(&self) -> &Setup {
        &self.setup
    }

    fn query(&self, index: u64, rng: &mut dyn SecureRandom) -> Result<Query, IndexOutOfRange> {
        let rows = self.layout.shape().rows();
        if index >= rows {
            return Err(IndexOutOfRange { rows });
        }
        let mut seed = Zeroizing::new([0u8; 32]);
        rng.fill(&mut seed[..]);
        let mut rng = ChaCha20Rng::from_seed(*seed);
        let key = KeyPair::generate(&mut rng, LOG2_Q);
        let (columns, groups) = (self.layout.columns() as u64, self.layout.groups as u64);
        let mut ciphertexts = Vec::with_capacity(self.layout.query_ciphertexts());
        let mut encrypt = |bit: u64| {
            let message = Polynomial::constant(bit as u32);
            ciphertexts.push(key.encrypt(&mut rng, &message));
        };
        let mut start = 0;
        for row in 0..self.layout.rows as u64 {
            let wanted = is_within(index, row * columns, columns);
            start |= (row * columns) & wanted.wrapping_neg();
            encrypt(wanted);
        }
        let column = index - start;
        let mut first = start;
        for step in 0..self.layout.steps as u64 {
            let wanted = is_within(column, step * groups, groups);
            first += (step * groups) & wanted.wrapping_neg();
            encrypt(wanted);
        }
        let mut bytes = wire::frame(SchemeId::Ntru2015, self.sizes.query - HEADER);
        write(&ciphertexts, &mut bytes[HEADER..]);
        let state = NtruState { layout: self.layout, key, index, first };
        Ok(Query { bytes, state: Box::new(state) })
    }
}

/// What opens one answer.
struct NtruState {
    layout: Layout,
    key: KeyPair,
    index: u64,
    /// The first row of the step that was selected.
    first: u64,
}

impl NtruState {
    /// The row that a group's planes hold: a ciphertext bit by bit, and its plaintext.
    fn open(&self, planes: &[Polynomial]) -> Vec<u8> {
        let mut inner = Polynomial::ZERO;
        for (bit, plane) in planes.iter().enumerate() {
            for (c, plain) in inner.0.iter_mut().zip(self.key.decrypt(plane)) {
                *c |= u32::from(plain & 1) << bit;
            }
        }
        let mut plain: [u8; N] = self.key.decrypt(&inner);
        inner.zeroize();
        let row = plain.chunks(8).take(self.layout.shape().row_bytes());
        let byte =
            |bits: &[u8]| bits.iter().enumerate().fold(0, |byte, (i, bit)| byte | (bit & 1) << i);
        let row = row.map(byte).collect();
        plain.zeroize();
        row
    }
}

impl QueryState for NtruState {
    fn extract(self: Box<Self>, answer: &[u8]) -> Result<Retrieved, WireError> {
        let layout = &self.layout;
        let body = wire::body(SchemeId::Ntru2015, answer, layout.sizes().answer)?;
        let ciphertexts = read(body)?;
        let row_bytes = layout.shape().row_bytes();
        let mut row = vec![0u8; row_bytes];
        let mut block = Vec::with_capacity(layout.groups * row_bytes);
        for planes in ciphertexts.chunks_exact(PLANES) {
            block.extend(self.open(planes));
        }
        copy_row(self.index, self.first, &block, &mut row);
        // Beyond the table's end the square is empty. Only the length that is handed on depends on it.
        let rows = (layout.shape().rows() - self.first).min(layout.groups as u64);
        block.truncate(rows as usize * row_bytes);
        Ok(Retrieved::new(self.index, self.first, row, block))
    }
}

impl Drop for NtruState {
    fn drop(&mut self) {
        self.index.zeroize();
        self.first.zeroize();
    }
}
