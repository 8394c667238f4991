//! Checks files of test vectors against this implementation: `vectors/*.json`, and any other seed of
//! the reference programs beside them.
//!
//! Every vector is made again bit for bit, taken through table, directory and opening, and every one
//! has its failing twins: one bit flipped in each byte, truncated at each length, wrong key, wrong
//! interval or number, swapped direction, other class. A twin that is accepted fails the check.

mod aead;
mod case;
mod shroud;
mod suite_2008;
mod tryst;

use case::Case;
use core::fmt;
use serde_json::Value;
use std::string::{String, ToString};

/// What a file that passed holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checked {
    /// The suite that the file says it is for.
    pub suite: String,
    /// How many vectors were equal.
    pub vectors: usize,
    /// How many twins were refused.
    pub twins: usize,
}

/// A file did not pass.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failed {
    /// Where in the file.
    pub place: String,
    /// What is wrong there.
    pub what: String,
}

impl fmt::Display for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.what)
    }
}

impl core::error::Error for Failed {}

/// Checks a file, given as text.
///
/// # Errors
/// [`Failed`], for the first vector that differs or twin that is accepted, or if the file is none.
pub fn check(text: &str) -> Result<Checked, Failed> {
    let failed = |what: &str| Failed { place: "the file".to_string(), what: what.to_string() };
    let file: Value =
        serde_json::from_str(text).map_err(|e| failed(&std::format!("not JSON: {e}")))?;
    let suite = file.get("suite").and_then(Value::as_str).ok_or(failed("it has no suite"))?;
    let groups: &[(&str, Check)] = match suite {
        "2008" => &suite_2008::GROUPS,
        "aead" => &aead::GROUPS,
        other => return Err(failed(&std::format!("suite {other} is not known"))),
    };
    let mut checked = Checked { suite: suite.to_string(), vectors: 0, twins: 0 };
    for (group, check) in groups {
        let cases = file.get(group).and_then(Value::as_array);
        let cases = cases.ok_or_else(|| failed(&std::format!("it has no array {group}")))?;
        for (index, value) in cases.iter().enumerate() {
            checked.twins += check(&Case::new(group, index, value))?;
            checked.vectors += 1;
        }
    }
    if checked.vectors == 0 {
        return Err(failed("it has no vectors"));
    }
    Ok(checked)
}

/// Checks one vector and returns how many twins of it were refused.
type Check = fn(&Case<'_>) -> Result<usize, Failed>;
