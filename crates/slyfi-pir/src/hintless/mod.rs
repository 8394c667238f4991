//! Retrieval without a hint: the LWE answer packed into rings by the server.

use crate::absent::Absent;
use crate::error::{PrepareError, SetupError, Unsupported};
use crate::prepare::Preparation;
use crate::scheme::{Scheme, Sizes};
use crate::setup::{SchemeId, Setup};
use crate::shape::Shape;

/// The scheme `hintless`.
pub enum Hintless {}

impl Scheme for Hintless {
    const ID: SchemeId = SchemeId::Hintless;
    type Server = Absent;
    type Client = Absent;
    fn default_layout(_: Shape) -> Result<u32, Unsupported> {
        Err(Unsupported("not written yet"))
    }
    fn sizes(_: Shape, _: u32) -> Result<Sizes, Unsupported> {
        Err(Unsupported("not written yet"))
    }
    fn prepare(_: Shape, _: u32, _: &[u8], _: &Preparation<'_>) -> Result<Absent, PrepareError> {
        Err(Unsupported("not written yet").into())
    }
    fn client(_: &Setup, _: Option<&[u8]>) -> Result<Absent, SetupError> {
        Err(Unsupported("not written yet").into())
    }
}
