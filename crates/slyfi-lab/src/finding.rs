//! A paper's claim, our figure, the verdict.

use serde::Serialize;
use std::fmt;

/// Something a paper says that can be measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Claim {
    /// A short name, unique in its experiment.
    pub id: &'static str,
    /// What it says, in our words or a short quotation.
    pub text: &'static str,
    /// Where.
    pub place: &'static str,
}

/// Whether a claim holds here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// It holds.
    Reproduced,
    /// What it says can be had for less: ours costs less than the paper's figure.
    Better,
    /// It points the right way, or holds under conditions that the reason names.
    Differs,
    /// It does not hold.
    NotReproduced,
    /// It was not measured; the reason says why.
    NotMeasured,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Verdict::Reproduced => "reproduced",
            Verdict::Better => "better",
            Verdict::Differs => "differs",
            Verdict::NotReproduced => "not reproduced",
            Verdict::NotMeasured => "not measured",
        })
    }
}

/// A claim held against measurements.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// What the paper says.
    pub claim: Claim,
    /// What we found.
    pub ours: String,
    /// Whether they agree.
    pub verdict: Verdict,
    /// Why, where they do not; empty if there is nothing to say.
    pub reason: String,
}

impl Finding {
    /// Makes one.
    pub fn new(
        claim: Claim,
        verdict: Verdict,
        ours: impl Into<String>,
        reason: impl Into<String>,
    ) -> Self {
        Finding { claim, ours: ours.into(), verdict, reason: reason.into() }
    }
}
