//! The subscriber's side of the service: over any transport, without sockets or a clock.

use core::fmt;

use slyfi_base::SecureRandom;
use slyfi_pir::registry;

use crate::answer::{Database, SignedAnswer};
use crate::audit::{Audit, Conclusion, Databases, Round, Subscription};
use crate::directory::Top;
use crate::enrol::{Receipt, Request};
use crate::epoch::EpochKey;
use crate::head::{HeadError, SignedHead};
use crate::keys::{OperatorId, SecretKey};
use crate::log::{LogError, TreeHead};
use crate::login::{ClientLogin, SessionKeys};
use crate::service::api::Route;

/// A way to the operator: one connection.
pub trait Transport {
    /// What can go wrong on the way.
    type Error;

    /// Sends a request, returns status and body.
    ///
    /// # Errors
    /// If no response came.
    fn call(&mut self, route: Route, body: &[u8]) -> Result<(u16, Vec<u8>), Self::Error>;

    /// What both ends of the channel know and nobody else (RFC 9266); empty without a channel.
    fn binding(&self) -> Vec<u8>;
}

/// Why something did not work.
#[derive(Debug)]
pub enum SubscriberError<E> {
    /// No response came.
    Transport(E),
    /// The operator answered with this status.
    Status(u16),
    /// What came is not what it should be.
    Malformed(&'static str),
    /// The head is not good now.
    Head(HeadError),
    /// The log is not good. Keep what was received: with the log's leaves it is evidence.
    Log(LogError),
    /// The operator has no epoch that can be used now.
    NoEpoch,
    /// The operator refused the login, or does not know K.
    Refused,
}

impl<E: fmt::Display> fmt::Display for SubscriberError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SubscriberError::Transport(e) => e.fmt(f),
            SubscriberError::Status(403) => f.write_str("the operator refused"),
            SubscriberError::Status(404) => f.write_str("the operator does not have that"),
            SubscriberError::Status(503) => f.write_str("the operator is busy: try again"),
            SubscriberError::Status(status) => write!(f, "the operator answered {status}"),
            SubscriberError::Malformed(what) => write!(f, "what came is not {what}"),
            SubscriberError::Head(e) => e.fmt(f),
            SubscriberError::Log(e) => e.fmt(f),
            SubscriberError::NoEpoch => f.write_str("the operator serves no epoch that is of now"),
            SubscriberError::Refused => f.write_str("the login was refused: is K of this epoch?"),
        }
    }
}

impl<E: fmt::Debug + fmt::Display> std::error::Error for SubscriberError<E> {}

/// What a subscriber remembers of an operator, so that it cannot go back.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    /// The newest epoch whose head was accepted.
    pub epoch: Option<u64>,
    /// The newest state of the log.
    pub tree_head: Option<TreeHead>,
}

/// Which epoch to fetch the key of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Which {
    /// The one that is now.
    Current,
    /// The one that comes: ahead of time, while there is a network.
    Next,
}

type Outcome<T, E> = Result<T, SubscriberError<E>>;

fn call<T: Transport>(way: &mut T, route: Route, body: &[u8]) -> Outcome<Vec<u8>, T::Error> {
    match way.call(route, body).map_err(SubscriberError::Transport)? {
        (200, body) => Ok(body),
        (status, _) => Err(SubscriberError::Status(status)),
    }
}

fn hashes<T: Transport>(way: &mut T, route: Route) -> Outcome<Vec<[u8; 32]>, T::Error> {
    let body = call(way, route, &[])?;
    match body.as_chunks() {
        (hashes, []) => Ok(hashes.to_vec()),
        _ => Err(SubscriberError::Malformed("a list of hashes")),
    }
}

/// Takes a row with an invitation.
///
/// # Errors
/// [`SubscriberError`].
pub fn subscribe<T: Transport>(
    way: &mut T,
    operator: &OperatorId,
    invitation: &[u8; 16],
    secret: SecretKey,
    rng: &mut dyn SecureRandom,
) -> Outcome<Subscription, T::Error> {
    let request = Request::new(&secret, operator, invitation, rng);
    let body = call(way, Route::Enrol, &request.encode())?;
    let receipt = Receipt::decode(&body).ok();
    let receipt = receipt.filter(|r| r.operator == *operator && r.key == *secret.public());
    let receipt = receipt.ok_or(SubscriberError::Malformed("a receipt for this key"))?;
    Ok(Subscription { receipt, secret })
}

/// Finds the head of an epoch, checks it and the log, and moves `seen` on.
///
/// # Errors
/// [`SubscriberError`]; `seen` then is as it was.
pub fn head<T: Transport>(
    way: &mut T,
    operator: &OperatorId,
    seen: &mut Seen,
    which: Which,
    now: u64,
) -> Outcome<SignedHead, T::Error> {
    const EACH: usize = 8 + SignedHead::LEN;
    let body = call(way, Route::Epochs, &[])?;
    let mut best: Option<(u64, SignedHead)> = None;
    let mut refused = None;
    for bytes in body.chunks(EACH) {
        let (entry, bytes) =
            bytes.split_first_chunk::<8>().ok_or(SubscriberError::Malformed("a head"))?;
        let head = SignedHead::decode(bytes).map_err(SubscriberError::Head)?;
        let ahead = which == Which::Next;
        match head.check(operator, now, seen.epoch, ahead) {
            Ok(()) => {
                let number = head.head().epoch.number;
                if best.as_ref().is_none_or(|(_, b)| b.head().epoch.number < number) {
                    best = Some((u64::from_le_bytes(*entry), head));
                }
            }
            Err(e) => refused = Some(e),
        }
    }
    let none = refused.map_or(SubscriberError::NoEpoch, SubscriberError::Head);
    let (entry, head) = best.ok_or(none)?;
    let tree_head = TreeHead::decode(&call(way, Route::LogHead, &[])?)
        .map_err(|_| SubscriberError::Malformed("a signed tree head"))?;
    if let Some(before) = &seen.tree_head {
        let (old, size) = (before.size, tree_head.size);
        let proof = if (1..size).contains(&old) {
            hashes(way, Route::LogConsistency { old, size })?
        } else {
            Vec::new()
        };
        tree_head.check_after(before, &proof).map_err(SubscriberError::Log)?;
    }
    let proof = hashes(way, Route::LogInclusion { index: entry, size: tree_head.size })?;
    tree_head.check_includes(head.head(), entry, &proof).map_err(SubscriberError::Log)?;
    // The next epoch's head is no reason to refuse the current one's.
    if which == Which::Current {
        seen.epoch = Some(head.head().epoch.number);
    }
    seen.tree_head = Some(tree_head);
    Ok(head)
}

/// Retrieves K of the epoch with this head and audits `audits` random rows.
///
/// All queries are sent whatever comes back.
///
/// # Errors
/// [`SubscriberError`]. What the operator did wrong with its signature on it is no error, but in the
/// [`Conclusion`].
pub fn fetch<T: Transport>(
    way: &mut T,
    head: &SignedHead,
    mine: &Subscription,
    audits: u32,
    rng: &mut dyn SecureRandom,
) -> Outcome<Conclusion, T::Error> {
    let epoch = head.head().epoch.number;
    let mut client = |database: Database| {
        let setup = database.setup(head.head());
        let hint = match setup.hint {
            Some(_) => Some(call(way, Route::Hint { epoch, database }, &[])?),
            None => None,
        };
        registry::client(setup, hint.as_deref())
            .map_err(|_| SubscriberError::Malformed("the retrieval hint that the head names"))
    };
    let databases =
        Databases { table: client(Database::Table)?, directory: client(Database::Directory)? };
    let audit = if audits > 0 {
        let layout = &head.head().directory_layout;
        let top = call(way, Route::Top { epoch }, &[])?;
        let top = Top::decode(layout, &top, &head.head().directory_root);
        let top = top.map_err(|_| SubscriberError::Malformed("the top of the directory"))?;
        Some(Audit { rows: audits, top })
    } else {
        None
    };
    let (mut round, retrievals) = Round::begin(head, audit, &databases, mine, rng)
        .map_err(|_| SubscriberError::Malformed("a table that has this subscriber's row"))?;
    let mut failed = None;
    for retrieval in retrievals {
        let database = retrieval.database();
        let reply =
            call(way, Route::Retrieve { epoch, database }, retrieval.query()).and_then(|body| {
                let signed = SignedAnswer::decode(&body);
                let reply = signed.ok().and_then(|signed| retrieval.finish(signed).ok());
                reply.ok_or(SubscriberError::Malformed("an answer that the operator signed"))
            });
        match reply {
            Ok(reply) => round.take(database, reply),
            Err(e) => failed = failed.or(Some(e)),
        }
    }
    match failed {
        Some(e) => Err(e),
        None => Ok(round.conclude(mine)),
    }
}

/// Logs on with K.
///
/// # Errors
/// [`SubscriberError::Refused`] if either side does not know K.
pub fn prove<T: Transport>(
    way: &mut T,
    epoch: u64,
    key: &EpochKey,
    rng: &mut dyn SecureRandom,
) -> Outcome<SessionKeys, T::Error> {
    let x1 = call(way, Route::LoginBegin, &[])?;
    let x1 = x1.try_into().map_err(|_| SubscriberError::Malformed("a share"))?;
    let login = ClientLogin::begin(&x1, epoch, key, rng).map_err(|_| SubscriberError::Refused)?;
    let proof = match call(way, Route::LoginFinish, &login.message().encode()) {
        Err(SubscriberError::Status(403)) => return Err(SubscriberError::Refused),
        other => other?,
    };
    login.finish(&proof, &way.binding()).map_err(|_| SubscriberError::Refused)
}
