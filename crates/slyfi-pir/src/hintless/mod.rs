//! Retrieval without a hint: one ciphertext for each byte, packed into rings by the server.
//!
//! In the family of YPIR's simple variant (Menon and Wu, USENIX Security 2024), HintlessPIR (Li,
//! Micciancio, Raykova and Schultz-Wu, CRYPTO 2024) and InsPIRe (Mahdavi, Patel, Seo and Yeo, 2025): like
//! [`lwe`](crate::lwe), a query is an encrypted unit vector that picks a column of the table; the hint
//! that would open the answer is not sent, but folded into it under keys that come with the query. The
//! server knows no client, and a client needs 90 bytes ([`Setup`]) to ask for the first time.
//!
//! | step | where | what |
//! |---|---|---|
//! | query | client | keys for two automorphisms; `b_κ = a_κ·s + e_κ + ⌊q/2⁸⌉·u`, rounded to `t` bits |
//! | first step | server | the table times the query's words ([`crate::kernel`]) |
//! | packing | server | a sum of products of digits, prepared with the table, and the keys ([`packing`]) |
//! | answer | server | the packed ciphertexts `(a, b)`, rounded to 20 and 12 bits |
//! | extraction | client | `b − a·s`, the upper 8 bits |
//!
//! **Parameters** ([`parameters`]): degree d = 2048, q ≈ 2⁵⁰ the product of two primes of 25 bits,
//! p = 2⁸, secrets and errors of the discrete Gaussian of standard deviation 6.4. The uSVP estimate of
//! [`crate::security`] gives block size 422, 2¹²³ by Core-SVP; by the costs that the homomorphic
//! encryption standard's tables count (0.292·β + 16.4 + log₂ 8d) about 2¹⁵⁵. Keys encrypt images of
//! their own secret, which takes circular security, as all of this family does. The public polynomials
//! are the same for everybody and every query of a setup; the secret is new for every query.
//!
//! **Sizes**: at 10⁷ rows of 32 bytes 168 KB for a login: 25,600 bytes of keys, 26 bits for each
//! column, 8 KiB for each block of 2,048 bytes of answer. The programs of YPIR and InsPIRe take 1.4 MB and
//! 0.3 MB for this table.
//!
//! **What is ours**
//! * A key switch has one digit: what lies below the base √q is dropped and is noise, which p = 2⁸ has
//!   room for. That makes keys and digits a third of what three digits take.
//! * The query's words are rounded to just what a table of its size needs.
//! * The `d` polynomials that packing starts from are one two-dimensional transform, so that a block is
//!   prepared in a fraction of a second ([`packing`]).
//!
//! **Layout**: the number of ring elements ("blocks") of an answer, which is the length of a column in
//! units of 2,048 bytes: more of them shorten the query and lengthen answer and packing.
//!
//! **What an answer tells**: noise of another size than the right one gives away an answer to another
//! query or a garbled one ([`WireError::Garbled`](crate::WireError::Garbled)). That is no integrity: a
//! server that answers from another table is not noticed here.

mod client;
mod hint;
pub mod packing;
pub mod parameters;
mod public;
mod rounding;
mod server;

use crate::error::{PrepareError, SetupError, Unsupported};
use crate::prepare::Preparation;
use crate::scheme::{Scheme, Sizes};
use crate::setup::{SchemeId, Setup};
use crate::shape::Shape;

pub use client::HintlessClient;
pub use parameters::Layout;
pub use server::HintlessServer;

/// The scheme `hintless`. Its layout number is the number of ring elements of an answer.
pub enum Hintless {}

impl Hintless {
    /// A bound on the probability that an answer of this layout comes out wrong, as log₂; at most −40.
    ///
    /// # Errors
    /// [`Unsupported`] if the layout cannot be.
    pub fn failure_log2(shape: Shape, layout: u32) -> Result<f64, Unsupported> {
        Ok(Layout::new(shape, layout)?.failure_log2())
    }
}

impl Scheme for Hintless {
    const ID: SchemeId = SchemeId::Hintless;
    type Server = HintlessServer;
    type Client = HintlessClient;

    fn default_layout(shape: Shape) -> Result<u32, Unsupported> {
        Layout::best_blocks(shape)
    }

    fn sizes(shape: Shape, layout: u32) -> Result<Sizes, Unsupported> {
        Ok(Layout::new(shape, layout)?.sizes())
    }

    fn prepare(
        shape: Shape,
        layout: u32,
        table: &[u8],
        how: &Preparation<'_>,
    ) -> Result<HintlessServer, PrepareError> {
        let setup = Setup { scheme: Self::ID, layout, shape, seed: how.seed, hint: None };
        HintlessServer::prepare(setup, Layout::new(shape, layout)?, table, how)
    }

    fn client(setup: &Setup, hint: Option<&[u8]>) -> Result<HintlessClient, SetupError> {
        if setup.scheme != Self::ID {
            return Err(SetupError::Scheme(setup.scheme.code()));
        }
        setup.check_hint(hint)?;
        let layout = Layout::new(setup.shape, setup.layout)?;
        Ok(HintlessClient::new(*setup, layout))
    }
}
