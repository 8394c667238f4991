//! LWE with a public hint: the SimplePIR family (Henzinger et al., USENIX Security 2023).
//!
//! The table is a matrix D of bytes. A client that wants a column sends an LWE encryption of its unit
//! vector, `b = A·s + e + 2²⁴·u`; the server multiplies, `D·b`, one pass over the table; the client
//! takes away `H·s` with the hint `H = D·A`, which it fetched once for this table, and rounds.
//!
//! **Parameters**: n = 1024, q = 2³², p = 2⁸, a discrete Gaussian of standard deviation 6.4 for errors
//! and secrets alike (secrets of the errors' distribution are no easier than uniform ones: Applebaum,
//! Cash, Peikert, Sahai, CRYPTO 2009). SimplePIR publishes n, q, σ as 128-bit secure by the gate count
//! of the lattice estimator; by the Core-SVP method, which leaves out everything but one call of the
//! shortest-vector oracle, they are 2⁹⁵ classically ([`crate::security`] computes both figures'
//! block size). Each query has a fresh secret. A is expanded from a public seed with ChaCha8.
//!
//! **What is ours**: bytes are read as signed numbers, which halves the noise and fits the vector
//! units ([`crate::kernel`]); hint, query and answer travel without bits that the noise swallows
//! anyhow; the client multiplies the hint before the answer comes, not after.
//!
//! **Layout**: the number of consecutive rows in a column, from 1 to the whole table. It trades the hint
//! (2.5 KB for each byte of a column) against the query (3.25 bytes for each column):
//!
//! | 10⁷ rows of 32 bytes | hint | query | answer | comes for free |
//! |---|---|---|---|---|
//! | 559 (the default, a square) | 45.8 MB | 58 KB | 36 KB | 558 rows |
//! | 40 | 3.3 MB | 938 KB | 2.6 KB | 39 rows |
//! | 8 | 0.75 MB | 5.0 MB | 0.5 KB | 7 rows |
//!
//! **Correctness**: a byte of an answer comes out wrong with probability at most 2⁻⁴⁰, whatever the
//! table holds; the widths of all numbers are derived from that (`layout.rs` has the formula).

pub(crate) mod bits;
mod client;
mod expand;
pub(crate) mod gauss;
pub(crate) mod layout;
mod server;

use crate::error::{PrepareError, SetupError, Unsupported};
use crate::prepare::Preparation;
use crate::scheme::{Scheme, Sizes};
use crate::setup::{SchemeId, Setup};
use crate::shape::Shape;

pub use client::LweClient;
use layout::Layout;
pub use server::LweServer;

/// The scheme `lwe`.
pub enum Lwe {}

impl Lwe {
    /// A bound on the probability that an answer of this layout comes out wrong, as log₂; at most −40.
    ///
    /// # Errors
    /// [`Unsupported`] if the layout cannot be.
    pub fn failure_log2(shape: Shape, layout: u32) -> Result<f64, Unsupported> {
        Ok(Layout::new(shape, layout)?.failure_log2())
    }
}

impl Scheme for Lwe {
    const ID: SchemeId = SchemeId::Lwe;
    type Server = LweServer;
    type Client = LweClient;

    /// As many rows to a column as make the matrix square.
    fn default_layout(shape: Shape) -> Result<u32, Unsupported> {
        let square = Layout::square(shape);
        Layout::new(shape, square).map(|_| square)
    }

    fn sizes(shape: Shape, layout: u32) -> Result<Sizes, Unsupported> {
        Ok(Layout::new(shape, layout)?.sizes())
    }

    fn prepare(
        shape: Shape,
        layout: u32,
        table: &[u8],
        how: &Preparation<'_>,
    ) -> Result<LweServer, PrepareError> {
        LweServer::prepare(shape, layout, table, how)
    }

    fn client(setup: &Setup, hint: Option<&[u8]>) -> Result<LweClient, SetupError> {
        LweClient::new(setup, hint)
    }
}
