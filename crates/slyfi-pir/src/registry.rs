//! Schemes picked at run time.

use crate::error::{PrepareError, SetupError, Unsupported};
use crate::prepare::Preparation;
use crate::scheme::{Client, Scheme, Server, Sizes};
use crate::setup::{SchemeId, Setup};
use crate::shape::Shape;

/// Does the same for whichever scheme it is.
macro_rules! with_scheme {
    ($id:expr, $scheme:ident => $do:expr) => {
        match $id {
            SchemeId::Hintless => {
                type $scheme = crate::hintless::Hintless;
                $do
            }
            SchemeId::Lwe => {
                type $scheme = crate::lwe::Lwe;
                $do
            }
            SchemeId::Ntru2015 => {
                type $scheme = crate::danger::ntru_2015::Ntru2015;
                $do
            }
        }
    };
}

/// [`Scheme::default_layout`] of scheme `id`.
///
/// # Errors
/// As there.
pub fn default_layout(id: SchemeId, shape: Shape) -> Result<u32, Unsupported> {
    with_scheme!(id, S => S::default_layout(shape))
}

/// [`Scheme::sizes`] of scheme `id`.
///
/// # Errors
/// As there.
pub fn sizes(id: SchemeId, shape: Shape, layout: u32) -> Result<Sizes, Unsupported> {
    with_scheme!(id, S => S::sizes(shape, layout))
}

/// [`Scheme::prepare`] of scheme `id`.
///
/// # Errors
/// As there.
pub fn prepare(
    id: SchemeId,
    shape: Shape,
    layout: u32,
    table: &[u8],
    how: &Preparation<'_>,
) -> Result<Box<dyn Server>, PrepareError> {
    with_scheme!(id, S => Ok(Box::new(S::prepare(shape, layout, table, how)?)))
}

/// [`Scheme::client`] of the scheme that the setup names.
///
/// # Errors
/// As there.
pub fn client(setup: &Setup, hint: Option<&[u8]>) -> Result<Box<dyn Client>, SetupError> {
    with_scheme!(setup.scheme, S => Ok(Box::new(S::client(setup, hint)?)))
}
