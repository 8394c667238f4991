//! The control socket: one JSON object a line each way, over a Unix socket of mode 0600.
//!
//! ```text
//!   > {"request":"pair","label":"laptop","valid_s":600}
//!   < {"ok":{"invite":{"url":"SLYFI://JOIN/…",…}}}
//!   > {"request":"roam"}
//!   < {"error":{"kind":"usage","cause":"…","mend":"…"}}
//! ```
//!
//! Whoever can open the socket may do everything here, so it lies in the store's directory and has
//! its mode. Names are stable; new fields may come, so clients must ignore what they do not know.

mod client;
mod server;

pub use client::Client;
pub use server::{Incoming, Server};

use crate::error::{Error, ErrorKind};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The longest line, in bytes: the answer with the pairings of a large access point.
pub const MAX_LINE: usize = 64 << 20;

/// The longest request, in bytes.
pub const MAX_REQUEST: usize = 4096;

/// What can be asked of a daemon.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "request", rename_all = "snake_case", deny_unknown_fields)]
pub enum Request {
    /// What it is doing.
    Status,
    /// Its pairings and open invites.
    Peers,
    /// Make an invite (access point).
    Pair {
        /// What the user calls the device that will join.
        label: String,
        /// How long it can be used, in seconds.
        valid_s: u64,
    },
    /// End a member's link; it may come back (access point).
    Dismiss {
        /// Which.
        link: u32,
    },
    /// Forget a pairing or an invite for good.
    Revoke {
        /// Its id, or enough of its first digits.
        id: String,
    },
    /// Look for a better access point (client).
    Roam,
    /// Take leave and end.
    Leave,
    /// Counters as Prometheus text.
    Metrics,
}

/// What a daemon answers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Response {
    /// It was done.
    Ok(Answer),
    /// It was not.
    Error(Refusal),
}

/// Answers, by request.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// Nothing to tell.
    Done,
    /// To [`Request::Status`].
    Status(Box<Status>),
    /// To [`Request::Peers`].
    Peers(Peers),
    /// To [`Request::Pair`].
    Invite(NewInvite),
    /// To [`Request::Metrics`].
    Metrics(String),
}

/// An [`Error`] on its way through the socket.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refusal {
    /// [`ErrorKind::name`].
    pub kind: String,
    /// What is wrong.
    pub cause: String,
    /// What mends it.
    pub mend: String,
}

impl From<Error> for Refusal {
    fn from(e: Error) -> Self {
        Refusal { kind: e.kind.name().to_owned(), cause: e.cause, mend: e.mend }
    }
}

impl From<Refusal> for Error {
    fn from(r: Refusal) -> Self {
        Error::new(ErrorKind::from_name(&r.kind), r.cause, r.mend)
    }
}

/// What a daemon is doing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Status {
    /// The program's version.
    pub version: String,
    /// `ap` or `client`.
    pub role: String,
    /// The network's name, where there is one network.
    pub network: Option<String>,
    /// A client's phase: `idle`, `probing`, `authenticating`, `associating` or `linked`.
    pub phase: Option<String>,
    /// Why the last try failed, if it did.
    pub trouble: Option<String>,
    /// Seconds since the start.
    pub uptime_s: u64,
    /// The air, in words.
    pub air: String,
    /// The host's interface.
    pub interface: String,
    /// Its MTU in bytes.
    pub mtu: u16,
    /// What protects the frames of ordinary 802.11; absent for SlyFi.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub protection: Option<ProtectionStatus>,
    /// Links that are up.
    pub links: Vec<LinkStatus>,
    /// The clock.
    pub clock: ClockStatus,
    /// Frames without effect, by reason; only reasons that occurred.
    pub drops: BTreeMap<String, u64>,
    /// Counters, by name.
    pub counters: BTreeMap<String, u64>,
}

/// The protection of ordinary 802.11.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProtectionStatus {
    /// Its name.
    pub cipher: String,
    /// Whether it is broken, or none.
    pub broken: bool,
    /// What it counts: handshakes, group rekeys, Michael failures.
    pub counters: BTreeMap<String, u64>,
}

/// One link.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LinkStatus {
    /// Its number.
    pub link: u32,
    /// The pairing's id.
    pub pairing: Option<String>,
    /// What the user calls the other end.
    pub label: Option<String>,
    /// Seconds since it came up.
    pub up_s: u64,
}

/// How far this machine's clock can be trusted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, Default)]
pub struct ClockStatus {
    /// The peer's clock minus this one's, in milliseconds.
    pub offset_ms: Option<i64>,
    /// Whether the kernel says that the clock is synchronised; `None` if it does not say.
    pub synchronized: Option<bool>,
    /// Paired clients whose clock is off: pairing id and seconds.
    pub clients_off: BTreeMap<String, i64>,
}

/// Pairings and open invites.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, Default)]
pub struct Peers {
    /// Pairings.
    pub pairings: Vec<PairingStatus>,
    /// Invites that can still be used.
    pub invites: Vec<InviteStatus>,
}

/// One pairing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PairingStatus {
    /// Its id.
    pub id: String,
    /// What the user calls the other end.
    pub label: String,
    /// The network's name.
    pub network: String,
    /// The suite's name.
    pub suite: String,
    /// When it was made, in seconds since 1970.
    pub made_s: u64,
    /// Whether a link of it is up; `None` when no daemon runs.
    pub linked: Option<bool>,
}

/// One open invite.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InviteStatus {
    /// Its id.
    pub id: String,
    /// What the user will call the other end.
    pub label: String,
    /// When it expires, in seconds since 1970.
    pub expires_s: u64,
}

/// An invite that was just made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewInvite {
    /// Its id.
    pub id: String,
    /// The URL: whoever has it can join, once.
    pub url: String,
    /// The network's name.
    pub network: String,
    /// What the user calls the device that will join.
    pub label: String,
    /// When it expires, in seconds since 1970.
    pub expires_s: u64,
    /// Whether a daemon is there to answer it.
    pub daemon_runs: bool,
}

#[cfg(test)]
mod tests;
