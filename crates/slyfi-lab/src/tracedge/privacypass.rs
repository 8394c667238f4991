//! What somebody would pick instead: Privacy Pass tokens, issued and redeemed, beside a login here.

use super::measured::{self, Measured};
use super::study::Study;
use crate::{Cell, Claim, Context, Finding, LabError, Outcome, Table, Verdict};
use serde::Deserialize;
use slyfi_pir::SchemeId;
use std::path::Path;
use std::process::Command;

const NICHE: Claim = Claim {
    id: "niche",
    text: "private login by retrieval costs so much that it is \"more of a niche market solution for clients who \
           are more focused on privacy\"",
    place: "§7",
};
const UNCOVERED: Claim = Claim {
    id: "uncovered",
    text: "anonymous credentials do not cover this: no anonymous way to get new ones, members who come and go, a \
           server that tries to identify them",
    place: "opening paragraphs",
};
const EAP: Claim = Claim {
    id: "in-eap",
    text: "the exchange runs within EAP, between association and the 4-way handshake",
    place: "Figure 2",
};

/// The experiment.
pub static PRIVACYPASS: Study = Study {
    id: "tracedge/privacypass",
    title: "Privacy Pass tokens beside private retrieval: bytes, processor time, guarantees",
    source: "RFC 9578, RFC 9497, draft-ietf-emu-eap-ppt; not in tracedge-2015",
    method: "\
A program of its own in crates/slyfi-lab/privacypass issues and redeems tokens with the `voprf` crate; it is built and run \
by this experiment, in a checkout and with a registry at hand, because that crate needs an older generation of libraries than \
this program may be linked with. Both ends read what the other sent from its bytes. Lengths are those of RFC 9578: \
TokenRequest, TokenResponse and Token of type 0x0001, VOPRF(P-384), measured, and of type 0x0002, blind RSA-2048, \
computed. EAP-PPT carries the token in base64 within a tunnelled EAP method; its own framing and the tunnel's TLS are not \
counted, as TLS is not for the login here. The suite on ristretto255 has no token type; it is on the curve of TracEdge's \
rows. P-384 in `p384` is portable code; OpenSSL's is several times as fast. TracEdge's server time is that of an answer in \
a batch of eight on the largest table measured, and its client time that of query and extraction.",
    claims: &[NICHE, UNCOVERED, EAP],
    run,
};

/// What the program in `privacypass/` measured.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Tokens {
    /// The version of the layout.
    pub schema: u32,
    /// Tokens of each suite.
    pub tokens: u64,
    /// By suite.
    pub suites: Vec<Suite>,
}

/// One suite: bytes, and medians in microseconds.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Suite {
    /// Its name in RFC 9497.
    pub name: String,
    /// TokenRequest.
    pub request_bytes: u64,
    /// TokenResponse.
    pub response_bytes: u64,
    /// Token.
    pub token_bytes: u64,
    /// Client: blinding.
    pub blind_us: f64,
    /// Server: evaluating, and proving it.
    pub issue_us: f64,
    /// Client: checking the proof, unblinding.
    pub finalize_us: f64,
    /// Server: redeeming.
    pub verify_us: f64,
}

/// Lengths of type 0x0002, blind RSA-2048 (RFC 9578 §6): type, truncated key identifier and blinded
/// message; blind signature; type, nonce, challenge digest, key identifier and signature.
const BLIND_RSA: (u64, u64, u64) = (2 + 1 + 256, 256, 2 + 32 + 32 + 32 + 256);
/// What EAP-TE will carry for a login with a K at hand: x1; epoch, x2 and proof; proof.
const PROOF_BYTES: (u64, u64) = (8 + 32 + 32, 32 + 32);

/// The longest that a method's data can be in one EAP packet of 1,020 bytes (RFC 3748 §3.1).
const EAP_PACKET: u64 = 1_020;

const PROGRAM: &str = "crates/slyfi-lab/privacypass/Cargo.toml";

fn tokens(quick: bool) -> Result<Tokens, String> {
    if !Path::new(PROGRAM).is_file() {
        return Err(format!("no {PROGRAM} here: run it in a checkout"));
    }
    let mut command = Command::new("cargo");
    command.args(["run", "--quiet", "--release", "--locked", "--manifest-path", PROGRAM, "--"]);
    let out = command.arg(if quick { "20" } else { "400" }).output().map_err(|e| e.to_string())?;
    if !out.status.success() {
        let said = String::from_utf8_lossy(&out.stderr);
        let last = said.lines().rfind(|line| !line.trim().is_empty()).unwrap_or_default();
        return Err(format!("its program was not built or failed, {}: {last}", out.status));
    }
    parse(&out.stdout)
}

fn parse(json: &[u8]) -> Result<Tokens, String> {
    let tokens: Tokens = serde_json::from_slice(json).map_err(|e| e.to_string())?;
    if tokens.schema != 1 || tokens.suites.is_empty() {
        return Err("its program says something else than what is read here".to_owned());
    }
    Ok(tokens)
}

fn run(context: &mut Context<'_>) -> Result<Outcome, LabError> {
    let measured = measured::all(context)?;
    (context.progress)("tracedge/privacypass: issuing and redeeming tokens");
    let tokens = tokens(context.quick);
    let mut notes = Vec::new();
    if let Err(why) = &tokens {
        notes.push(format!("TOKENS WERE NOT MEASURED: {why}"));
    }
    let tokens = tokens.ok();
    Ok(Outcome {
        tables: vec![costs(&measured, tokens.as_ref()), guarantees()],
        figures: Vec::new(),
        findings: judge(&measured, tokens.as_ref()),
        notes,
    })
}

fn costs(measured: &Measured, tokens: Option<&Tokens>) -> Table {
    let mut table = Table::new(
        "data",
        &[
            ("what", ""),
            ("beforehand_up_bytes", "bytes"),
            ("beforehand_down_bytes", "bytes"),
            ("login_up_bytes", "bytes"),
            ("login_down_bytes", "bytes"),
            ("eap_token_bytes", "bytes, base64"),
            ("server_us", "us for a login"),
            ("client_us", "us for a login"),
        ],
    );
    let count = |n: u64| Cell::Count(n);
    let base64 = |n: u64| n.div_ceil(3) * 4;
    for suite in tokens.iter().flat_map(|t| &t.suites) {
        table.push(vec![
            Cell::Text(format!("Privacy Pass, {}", suite.name)),
            count(suite.request_bytes),
            count(suite.response_bytes),
            count(suite.token_bytes),
            count(0),
            count(base64(suite.token_bytes)),
            Cell::Number(suite.issue_us + suite.verify_us),
            Cell::Number(suite.blind_us + suite.finalize_us),
        ]);
    }
    let (request, response, token) = BLIND_RSA;
    table.push(vec![
        "Privacy Pass, blind RSA-2048 (computed)".into(),
        count(request),
        count(response),
        count(token),
        count(0),
        count(base64(token)),
        Cell::Missing,
        Cell::Missing,
    ]);
    for scheme in [SchemeId::Hintless, SchemeId::Lwe] {
        let Some(costs) = measured.largest(scheme) else { continue };
        let server = costs.batched.unwrap_or(costs.answer);
        table.push(vec![
            Cell::Text(format!("TracEdge, {}, {} rows", scheme.name(), costs.rows)),
            count(costs.sizes.query as u64),
            count((costs.sizes.answer + costs.sizes.hint) as u64),
            count(PROOF_BYTES.0),
            count(PROOF_BYTES.1),
            Cell::Missing,
            Cell::Number(server.wall * 1e3),
            Cell::Number((costs.query.wall + costs.extract.wall) * 1e3),
        ]);
    }
    table
}

/// What each gives and does not give.
fn guarantees() -> Table {
    let mut table =
        Table::new("guarantees", &[("what", ""), ("tracedge", ""), ("privacy_pass", "")]);
    for (what, tracedge, tokens) in GUARANTEES {
        table.push(vec![what.into(), tracedge.into(), tokens.into()]);
    }
    table
}

/// Guarantee, here, with Privacy Pass tokens as RFC 9576 to 9578 and EAP-PPT have them.
const GUARANTEES: [(&str, &str, &str); 13] = [
    (
        "the operator cannot tell who logs on",
        "yes, among all subscribers of the epoch, as long as the lattice assumption holds",
        "yes, among all who hold tokens of the same issuer key; with VOPRF unconditionally",
    ),
    (
        "nor when somebody gets ready to",
        "yes: after enrolment nobody ever identifies himself",
        "no: tokens are issued to somebody who is known; the issuer sees who, when and how many",
    ),
    (
        "a revoked subscriber is out",
        "for everybody at the next epoch, without a word to any client",
        "when the issuer's key is changed, which voids everybody's tokens; those already issued are good until then",
    ),
    (
        "an operator that partitions by keys is caught",
        "yes, with signed proof, by the subscribers' own audits; the more rows audited the likelier",
        "not by the protocol: everybody must make sure otherwise that all see the same issuer key (key \
         transparency, consistency checks); the proof of evaluation ties a token to a key, not the key to all",
    ),
    (
        "an operator that refuses one client is caught",
        "a wrong row or answer is signed evidence; silence is not",
        "no",
    ),
    (
        "a client can be limited to so many logins",
        "no: K is one secret for all, and says nothing about who or how often",
        "yes: by how many tokens it is issued",
    ),
    (
        "a leaked secret admits",
        "anyone, as often as he likes, until the epoch ends; nobody can tell who leaked it",
        "whoever has the token, once",
    ),
    (
        "the server must remember",
        "nothing of a login",
        "every token redeemed, until the key changes, or tokens serve twice",
    ),
    (
        "a login costs the server",
        "in proportion to the number of subscribers",
        "the same however many there are",
    ),
    (
        "a login fits into EAP",
        "the proof of K, if K was fetched before; the retrieval does not",
        "yes, a token is one message",
    ),
    (
        "everybody sees how many subscribers there are, and how many come and go",
        "yes: the table and its list of keys are public",
        "no",
    ),
    (
        "against a quantum computer",
        "retrieval is on lattices; rows, signatures and recorded tables are not",
        "VOPRF tokens stay unlinkable and become forgeable; blind RSA likewise",
    ),
    (
        "it is a standard that others speak",
        "no: a paper of 2015 and this program",
        "yes: RFC 9576 to 9578, deployed; EAP-PPT is a draft",
    ),
];

/// Holds the claims against what was measured.
pub fn judge(measured: &Measured, tokens: Option<&Tokens>) -> Vec<Finding> {
    vec![niche(measured, tokens), uncovered(), in_eap(measured)]
}

fn niche(measured: &Measured, tokens: Option<&Tokens>) -> Finding {
    let suite = tokens.and_then(|t| t.suites.first());
    let (Some(costs), Some(suite)) = (measured.largest(SchemeId::Hintless), suite) else {
        return Finding::new(
            NICHE,
            Verdict::NotMeasured,
            "",
            "tokens or retrieval were not measured",
        );
    };
    let ours_bytes = (costs.sizes.query + costs.sizes.answer) as u64;
    let token_bytes = suite.request_bytes + suite.response_bytes + suite.token_bytes;
    let ours_us = costs.batched.unwrap_or(costs.answer).wall * 1e3;
    let token_us = suite.issue_us + suite.verify_us;
    let (bytes, time) = (ours_bytes as f64 / token_bytes as f64, ours_us / token_us);
    let others = tokens.iter().flat_map(|t| t.suites.iter().skip(1));
    let others = others.map(|s| format!(" ({}: {:.0} us)", s.name, s.issue_us + s.verify_us));
    let others = others.collect::<String>();
    let ours = format!(
        "hintless, {} rows: {ours_bytes} bytes and {ours_us:.0} us of the server for a login; a token of {}: \
         {token_bytes} bytes and {token_us:.0} us{others}: {bytes:.0} times the bytes, {time:.1} times the time",
        costs.rows, suite.name
    );
    let reason = "a token stays the cheaper way, and does not grow with the number of subscribers; what it does not \
                  give is in guarantees.csv";
    let verdict = match bytes {
        b if b >= 10.0 => Verdict::Reproduced,
        b if b > 1.0 => Verdict::Differs,
        _ => Verdict::NotReproduced,
    };
    Finding::new(NICHE, verdict, ours, reason)
}

fn uncovered() -> Finding {
    let ours = format!(
        "of {} guarantees (guarantees.csv) tokens lack hidden issuance, revocation without changing the key, and \
         evidence against partitioning; TracEdge lacks a limit on use, and its K admits anyone who is given it",
        GUARANTEES.len()
    );
    let reason = "tokens of 2024 are unlinkable and get new ones without a side channel; a server that gives people \
                  different keys is still not caught by them. Compared by reading the specifications, not by measuring";
    Finding::new(UNCOVERED, Verdict::Differs, ours, reason)
}

fn in_eap(measured: &Measured) -> Finding {
    let Some(costs) = measured.largest(SchemeId::Hintless) else {
        return Finding::new(EAP, Verdict::NotMeasured, "", "retrieval was not measured");
    };
    let rounds = [costs.sizes.query, costs.sizes.answer]
        .map(|b| (b as u64).div_ceil(EAP_PACKET))
        .iter()
        .sum::<u64>();
    let ours = format!(
        "{} bytes for retrieval are {rounds} rounds of EAP, where stock servers stop at 50; the proof of K is {} \
         bytes, a token in base64 {} to {}",
        costs.sizes.query + costs.sizes.answer,
        PROOF_BYTES.0 + PROOF_BYTES.1,
        146u64.div_ceil(3) * 4,
        BLIND_RSA.2.div_ceil(3) * 4,
    );
    let verdict = if rounds <= 50 { Verdict::Reproduced } else { Verdict::Differs };
    let reason = "so K is fetched ahead of time over HTTPS, and EAP carries the proof alone";
    Finding::new(EAP, verdict, ours, reason)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAID: &[u8] = br#"{"schema": 1, "tokens": 20, "suites": [{"name": "P384-SHA384",
        "request_bytes": 52, "response_bytes": 145, "token_bytes": 146, "blind_us": 555.0,
        "issue_us": 2130.0, "finalize_us": 2880.0, "verify_us": 662.0}]}"#;

    #[test]
    fn what_the_program_says_is_read_and_other_things_are_not() {
        let tokens = parse(SAID).unwrap();
        assert_eq!(tokens.suites[0].token_bytes, 146, "RFC 9578 §5.4: 2 + 32 + 32 + 32 + 48");
        assert_eq!(BLIND_RSA.2, 354);
        let other = String::from_utf8_lossy(SAID).replace("\"schema\": 1", "\"schema\": 2");
        assert!(parse(other.as_bytes()).is_err());
        assert!(parse(b"{}").is_err());
    }

    #[test]
    fn without_measurements_only_what_was_read_is_judged() {
        let findings = judge(&Measured::default(), None);
        let verdicts: Vec<_> = findings.iter().map(|f| f.verdict).collect();
        let none = Verdict::NotMeasured;
        assert_eq!(verdicts, [none, Verdict::Differs, none]);
    }
}
