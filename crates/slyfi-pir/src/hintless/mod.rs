//! Retrieval without a hint: the LWE answer packed into rings by the server.

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
