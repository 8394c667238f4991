//! What a Privacy Pass token costs: issuance and redemption of the privately verifiable type
//! (RFC 9578 §5), timed with the `voprf` crate, as JSON on standard output.
//!
//! ```text
//! cargo run --release -- 400
//! ```
//!
//! The number is how many tokens are issued and redeemed one after another; medians count. Both ends
//! read what the other sent from its bytes, every token is checked, and one of another issuer is seen
//! to be refused.

use std::process::ExitCode;
use std::time::Instant;

use p384::NistP384;
use rand_core::{OsRng, RngCore};
use voprf::{BlindedElement, EvaluationElement, Proof, Ristretto255, VoprfClient, VoprfServer};

/// What a token's authenticator is computed over: type, nonce, digest of the challenge, identifier of
/// the key (RFC 9578 §5.3).
const INPUT: usize = 2 + 32 + 32 + 32;

/// Bytes, and medians in microseconds.
struct Costs {
    request: usize,
    response: usize,
    token: usize,
    blind: f64,
    issue: f64,
    finalize: f64,
    verify: f64,
}

impl Costs {
    fn json(&self, name: &str) -> String {
        let Costs { request, response, token, blind, issue, finalize, verify } = self;
        format!(
            "{{\"name\": \"{name}\", \"request_bytes\": {request}, \"response_bytes\": {response}, \
             \"token_bytes\": {token}, \"blind_us\": {blind:.2}, \"issue_us\": {issue:.2}, \
             \"finalize_us\": {finalize:.2}, \"verify_us\": {verify:.2}}}"
        )
    }
}

fn main() -> ExitCode {
    let tokens = match std::env::args().nth(1).map_or(Ok(400), |n| n.parse::<usize>()) {
        Ok(tokens @ 1..=1_000_000) => tokens,
        _ => {
            eprintln!("usage: slyfi-lab-privacypass [TOKENS], 1 to 1000000");
            return ExitCode::FAILURE;
        }
    };
    // The first is token type 0x0001. The second has no token type; it is on the curve that TracEdge's
    // rows are on.
    let suites = [("P384-SHA384", p384(tokens)), ("ristretto255-SHA512", ristretto255(tokens))];
    let mut lines = Vec::new();
    for (name, costs) in suites {
        match costs {
            Ok(costs) => lines.push(costs.json(name)),
            Err(e) => {
                eprintln!("{name}: {e}");
                return ExitCode::FAILURE;
            }
        }
    }
    println!("{{\"schema\": 1, \"tokens\": {tokens}, \"suites\": [{}]}}", lines.join(", "));
    ExitCode::SUCCESS
}

/// A function that issues and redeems so many tokens of a suite. A macro, because what `voprf` asks of
/// a suite in a generic function is longer than this.
macro_rules! suite {
    ($name:ident, $suite:ty) => {
        fn $name(tokens: usize) -> Result<Costs, voprf::Error> {
            let server = VoprfServer::<$suite>::new(&mut OsRng)?;
            let public = server.get_public_key();
            let (mut blind, mut issue, mut finalize, mut verify) = (vec![], vec![], vec![], vec![]);
            let mut bytes = (0, 0, 0);
            for _ in 0..tokens {
                let mut input = [0; INPUT];
                OsRng.fill_bytes(&mut input);
                let (state, request) = timed(&mut blind, || {
                    let blinded = VoprfClient::<$suite>::blind(&input, &mut OsRng)?;
                    Ok((blinded.state, blinded.message.serialize()))
                })?;
                let (message, proof) = timed(&mut issue, || {
                    let blinded = BlindedElement::<$suite>::deserialize(&request)?;
                    let issued = server.blind_evaluate(&mut OsRng, &blinded);
                    Ok((issued.message.serialize(), issued.proof.serialize()))
                })?;
                let authenticator = timed(&mut finalize, || {
                    let message = EvaluationElement::<$suite>::deserialize(&message)?;
                    let proof = Proof::<$suite>::deserialize(&proof)?;
                    state.finalize(&input, &message, &proof, public)
                })?;
                let expected = timed(&mut verify, || server.evaluate(&input))?;
                if expected != authenticator {
                    return Err(voprf::Error::ProofVerification);
                }
                // RFC 9578 §5.1 and §5.2: type and truncated key identifier before the element; element
                // and proof; §5.4: the authenticator behind its input.
                bytes = (
                    2 + 1 + request.len(),
                    message.len() + proof.len(),
                    INPUT + authenticator.len(),
                );
            }
            let other = VoprfServer::<$suite>::new(&mut OsRng)?;
            if other.evaluate(&[7; INPUT])? == server.evaluate(&[7; INPUT])? {
                return Err(voprf::Error::ProofVerification);
            }
            let (request, response, token) = bytes;
            let [blind, issue, finalize, verify] = [blind, issue, finalize, verify].map(median);
            Ok(Costs { request, response, token, blind, issue, finalize, verify })
        }
    };
}

suite!(p384, NistP384);
suite!(ristretto255, Ristretto255);

/// Runs `f`; its microseconds go to `times`.
fn timed<T>(
    times: &mut Vec<f64>,
    f: impl FnOnce() -> Result<T, voprf::Error>,
) -> Result<T, voprf::Error> {
    let begun = Instant::now();
    let out = f();
    times.push(begun.elapsed().as_secs_f64() * 1e6);
    out
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}
