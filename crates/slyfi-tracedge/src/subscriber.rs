//! The subscriber's side of the service: over any transport, without sockets or a clock.

use core::fmt;

use slyfi_base::SecureRandom;
use slyfi_pir::registry;

use crate::answer::{Database, SignedAnswer};
use crate::audit::{Audit, Conclusion, Databases, Round, Subscription};
use crate::directory::Top;
use crate::enrol::{Receipt, Request};
use crate::epoch::EpochKey;
use crate::evidence::Evidence;
use crate::head::{CLOCK_SKEW, HeadError, SignedHead};
use crate::keys::{OperatorId, SecretKey};
use crate::log::{LogError, TreeHead};
use crate::login::{ClientLogin, SessionKeys};
use crate::merkle::{Hash, log};
use crate::recent::Recent;
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

    /// Nothing more is asked for before what came has been looked at. Closes what would tell, by the
    /// time it is open, how long that takes: which rows can be compared depends on which were asked for.
    fn rest(&mut self) {}
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
    /// The log is not good.
    Log(LogError),
    /// The operator contradicts itself: keep this, and trust it no more.
    Cheated(Box<Evidence>),
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
            SubscriberError::Cheated(evidence) => {
                write!(f, "the operator contradicts itself: {}", evidence.kind())
            }
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

fn hashes<T: Transport>(way: &mut T, route: Route) -> Outcome<Vec<Hash>, T::Error> {
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

/// Gets a state of the log that was signed now and continues what was seen, with all its leaves.
///
/// Nothing that is asked for depends on what was seen. A proof that the log continues that of a certain
/// size would take asking with this size, and tell when the subscriber was here last.
fn log_now<T: Transport>(
    way: &mut T,
    operator: &OperatorId,
    seen: &Seen,
) -> Outcome<(TreeHead, Vec<Hash>), T::Error> {
    let tree_head = TreeHead::decode(&call(way, Route::LogHead, &[])?)
        .map_err(|_| SubscriberError::Malformed("a signed tree head"))?;
    if tree_head.operator != *operator {
        return Err(SubscriberError::Log(LogError::AnotherOperator));
    }
    let mut leaves = hashes(way, Route::LogLeaves)?;
    // Something may have been logged in between.
    leaves.truncate(usize::try_from(tree_head.size).unwrap_or(usize::MAX));
    if leaves.len() as u64 != tree_head.size || log::root(&leaves) != tree_head.root {
        return Err(SubscriberError::Malformed("the leaves of the log"));
    }
    if let Some(before) = &seen.tree_head {
        let old = usize::try_from(before.size).unwrap_or(usize::MAX);
        let proof = if (1..leaves.len()).contains(&old) {
            log::consistency(&leaves, old)
        } else {
            Vec::new()
        };
        match tree_head.check_after(before, &proof) {
            Ok(()) => (),
            Err(LogError::NotExtended) => {
                let (small, large) = (*before, tree_head);
                let forked = Evidence::ForkedLog { small, large, leaves };
                return Err(SubscriberError::Cheated(Box::new(forked)));
            }
            Err(e) => return Err(SubscriberError::Log(e)),
        }
    }
    Ok((tree_head, leaves))
}

/// Finds the head of an epoch in the log, checks it and the log, and moves `seen` on.
///
/// The head is the one that the log has for now; there is no other, or the operator is caught. So all
/// who ask at one time use the same, and whoever hands out another hands it out in vain.
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
    let (tree_head, leaves) = log_now(way, operator, seen)?;
    let recent = call(way, Route::LogRecent { size: tree_head.size }, &[])?;
    let recent = Recent::decode(&recent, &leaves)
        .map_err(|_| SubscriberError::Malformed("the end of the log"))?;
    let served = call(way, Route::Epochs, &[])?;
    if let Some((one, other)) = recent.contradiction() {
        let (one, other) = (Box::new(one.clone()), Box::new(other.clone()));
        let two = Evidence::TwoLogged { one, other, tree_head, leaves };
        return Err(SubscriberError::Cheated(Box::new(two)));
    }
    let ahead = which == Which::Next;
    let picked = recent.pick(operator, now, seen.epoch, ahead);
    let picked =
        picked.map_err(|why| why.map_or(SubscriberError::NoEpoch, SubscriberError::Head))?;
    recent.check(operator, tree_head.time).map_err(SubscriberError::Log)?;
    if tree_head.time.abs_diff(now) > CLOCK_SKEW {
        return Err(SubscriberError::Log(LogError::NotNow));
    }
    let mut head = None;
    for bytes in served.chunks(8 + SignedHead::LEN) {
        let (_, bytes) =
            bytes.split_first_chunk::<8>().ok_or(SubscriberError::Malformed("a head"))?;
        let signed = SignedHead::decode(bytes).map_err(SubscriberError::Head)?;
        if signed.head() == picked {
            head = Some(signed);
        } else if signed.head().contradicts(picked) {
            return Err(SubscriberError::Log(LogError::NotIncluded));
        }
    }
    let head = head.ok_or(SubscriberError::NoEpoch)?;
    // The next epoch's head is no reason to refuse the current one's.
    if !ahead {
        seen.epoch = Some(head.head().epoch.number);
    }
    seen.tree_head = Some(tree_head);
    Ok(head)
}

/// Retrieves K of the epoch with this head and audits `audits` random rows.
///
/// All queries are sent whatever comes back, and then the way is at [`Transport::rest`].
///
/// # Errors
/// [`SubscriberError`], also if some answer is missing: then K is not used, or an operator would leave
/// out what convicts it. What the operator did wrong with its signature on it is no error, but in the
/// [`Conclusion`], whatever else is missing.
pub fn fetch<T: Transport>(
    way: &mut T,
    head: &SignedHead,
    mine: &Subscription,
    audits: u32,
    rng: &mut dyn SecureRandom,
) -> Outcome<Conclusion, T::Error> {
    let epoch = head.head().epoch.number;
    if mine.receipt.index >= head.head().rows() && mine.receipt.covers(&head.head().epoch) {
        // Who asks and who does not would tell which half he is in, and so on.
        let (head, receipt) = (head.clone(), mine.receipt);
        return Err(SubscriberError::Cheated(Box::new(Evidence::NoRow { head, receipt })));
    }
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
    way.rest();
    let conclusion = round.conclude(mine);
    // An operator that cheats in one answer must not get rid of it by leaving out another.
    match failed.filter(|_| !conclusion.convicts()) {
        Some(e) => Err(e),
        None => Ok(conclusion),
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
