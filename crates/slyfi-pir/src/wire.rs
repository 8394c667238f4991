//! The frame around every query and answer: version (1) ‖ scheme (1) ‖ body.

use crate::error::WireError;
use crate::setup::SchemeId;

/// The version of queries and answers.
pub(crate) const VERSION: u8 = 1;
/// The bytes before the body.
pub(crate) const HEADER: usize = 2;

/// A message of `body` bytes, all zero after the header, to be filled in.
pub(crate) fn frame(scheme: SchemeId, body: usize) -> Vec<u8> {
    let mut out = vec![0; HEADER + body];
    out[0] = VERSION;
    out[1] = scheme.code();
    out
}

/// The body of a message that has to be `expected` bytes long, header included.
pub(crate) fn body(scheme: SchemeId, message: &[u8], expected: usize) -> Result<&[u8], WireError> {
    if message.len() != expected {
        return Err(WireError::Length { expected, got: message.len() });
    }
    match message {
        [VERSION, code, body @ ..] if *code == scheme.code() => Ok(body),
        [VERSION, code, ..] => Err(WireError::Scheme(*code)),
        [version, ..] => Err(WireError::Version(*version)),
        [] => Err(WireError::Length { expected: HEADER, got: 0 }),
    }
}
