//! TracEdge's encodings from anybody, beside those of an honest operator.

mod composed;
mod encodings;
mod proofs;

use crate::honest::Honest;
use crate::memory::alone;
use crate::{Choices, memory};
use std::sync::LazyLock;

static HONEST: LazyLock<Honest> = LazyLock::new(Honest::new);

/// What an input may make a decoder allocate: a few times its length, and what a few points take.
fn bound(input: &[u8]) -> usize {
    16_384 + 16 * input.len()
}

/// Draws one kind of encoding and gives it the rest of the input.
///
/// # Panics
/// When what was read is not written as it was, something that the operator did not sign is taken for
/// its own, an honest operator is convicted, or a few bytes take much memory.
pub fn run(input: &[u8]) {
    let _alone = alone();
    let operator = &*HONEST;
    let mut c = Choices::new(input);
    match c.below(12) {
        0 => {
            let bytes = c.rest();
            memory::within(8 * bound(bytes), || encodings::read_all(operator, bytes));
        }
        1..=3 => encodings::genuine(operator, &mut c),
        4 => encodings::head(operator, &mut c),
        5 => encodings::route(&mut c),
        6 => proofs::log(&mut c),
        7 => proofs::blocks(operator, &mut c),
        8 => proofs::rows(operator, &mut c),
        9 => proofs::login(operator, &mut c),
        _ => composed::evidence(operator, &mut c),
    }
}
