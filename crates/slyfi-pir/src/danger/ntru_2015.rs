//! Retrieval with NTRU, as tracedge-2015 has it: **not secure**.
//!
//! | what | why it does not protect |
//! |---|---|
//! | E(0) against E(1) | a blinding polynomial of this family has as many 1s as −1s, r(1) = 0, and so the coefficients of E(m) = r·h + m add up to m(1): whoever *adds up a ciphertext* reads the selection, and the index with it |
//! | N = 439, q = 2²¹ | the larger modulus, which the additions need (Table 3), takes the lattice from block size ≈ 318 (q = 2¹¹) to ≈ 129, which a workstation reduces; it is also 140 times beyond the point from which NTRU is overstretched ([`crate::security`]) |
//!
//! Both are tests (`tests/attacks_ntru_2015.rs`, [`crate::security`]). It is here to fill the paper's
//! tables and to be compared with.
//!
//! **What is the paper's**: NTRUEncrypt's APR2011_439_FAST (N = 439, p = 3, f = 1 + pF, F and the
//! blinding in product form of 9, 8 and 5 ones and as many minus ones), q = 2²¹, selection by vectors
//! of E(0) and one E(1), a square table processed in two iterations, coefficients as 32-bit integers.
//!
//! **What is ours**, because the excerpt does not say it: the first iteration selects one of the √n
//! rows of the square, which leaves a ciphertext for each of its √n columns. The second takes their 21
//! bit planes as binary polynomials and selects one of every group of columns; there are as many groups
//! as make the response √(160·√n) ciphertexts (711 for 10⁷ rows), which is the formula that remains of
//! §6.2 and the number that Table 7's times divide into. The query is then √n + √n/groups ciphertexts
//! (3,223, or 5.7 MB for 10⁷ rows).
//!
//! The client's time does not depend on the index, nor do lengths; it does depend on its keys and
//! blinding, which are fresh for every query. The server's additions are half a million million for 10⁷
//! rows of 32 bytes, some 20 s of a core: a thousand times the work of [`crate::lwe`].

mod additions;
mod client;
mod key;
mod layout;
mod polynomial;
mod server;

use crate::error::{PrepareError, SetupError, Unsupported};
use crate::prepare::Preparation;
use crate::scheme::{Scheme, Sizes};
use crate::setup::{SchemeId, Setup};
use crate::shape::Shape;

pub use additions::{Additions, least_additions};
pub use client::Ntru2015Client;
pub use key::KeyPair;
use layout::Layout;
pub use polynomial::{N, Polynomial};
pub use server::Ntru2015Server;

/// log₂ of the modulus (Table 2).
pub const LOG2_Q: u32 = 21;

/// The scheme `ntru-2015`: **not secure**. Its layout number is how many groups of columns an answer
/// has.
pub enum Ntru2015 {}

impl Scheme for Ntru2015 {
    const ID: SchemeId = SchemeId::Ntru2015;
    type Server = Ntru2015Server;
    type Client = Ntru2015Client;

    /// As many groups as make the response √(160·√n) ciphertexts.
    fn default_layout(shape: Shape) -> Result<u32, Unsupported> {
        Ok(Layout::of_the_paper(shape))
    }

    fn sizes(shape: Shape, layout: u32) -> Result<Sizes, Unsupported> {
        Ok(Layout::new(shape, layout)?.sizes())
    }

    fn prepare(
        shape: Shape,
        layout: u32,
        table: &[u8],
        how: &Preparation<'_>,
    ) -> Result<Ntru2015Server, PrepareError> {
        Ntru2015Server::prepare(shape, layout, table, how)
    }

    fn client(setup: &Setup, hint: Option<&[u8]>) -> Result<Ntru2015Client, SetupError> {
        Ntru2015Client::new(setup, hint)
    }
}
