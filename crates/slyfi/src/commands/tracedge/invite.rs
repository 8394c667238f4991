use serde::{Deserialize, Serialize};
use slyfi_link::{Error, ErrorKind, Result};

/// What an operator hands to somebody who has paid: where it is, how it proves that it is the one,
/// and a number that gets a row, once.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Invite {
    /// `https://HOST:PORT`.
    pub url: String,
    /// The operator id.
    pub operator: String,
    /// Its authority, PEM.
    pub authority: String,
    /// The invitation.
    pub invitation: String,
    /// Until when it is good, Unix seconds.
    pub until: u64,
}

impl Invite {
    /// Reads one.
    pub fn parse(bytes: &[u8]) -> Result<Self> {
        serde_json::from_slice(bytes).map_err(|e| {
            let cause = format!("this is no invitation of an operator: {e}");
            Error::new(ErrorKind::Invite, cause, "take the file that `tracedge enrol` wrote")
        })
    }
}
