//! NTRU as tracedge-2015 has it: **not secure**.

use crate::absent::Absent;
use crate::error::{PrepareError, SetupError, Unsupported};
use crate::prepare::Preparation;
use crate::scheme::{Scheme, Sizes};
use crate::setup::{SchemeId, Setup};
use crate::shape::Shape;

/// The scheme `ntru-2015`.
pub enum Ntru2015 {}

impl Scheme for Ntru2015 {
    const ID: SchemeId = SchemeId::Ntru2015;
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
