use std::io::Write;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use slyfi_link::{Error, ErrorKind, Result};
use slyfi_linux::OsRandom;
use slyfi_tracedge::audit::Subscription;
use slyfi_tracedge::enrol::Receipt;
use slyfi_tracedge::epoch::{Epoch, EpochKey};
use slyfi_tracedge::files::write_whole;
use slyfi_tracedge::head::{CLOCK_SKEW, SignedHead};
use slyfi_tracedge::keys::{OperatorId, SecretKey};
use slyfi_tracedge::log::TreeHead;
use slyfi_tracedge::subscriber::Seen;

use super::hex;

/// How many heads are kept to compare with others'.
const HEADS: usize = 8;

/// What a subscriber has: one file, which only its owner may read.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct State {
    /// Where the operator is.
    pub url: String,
    /// Its authority, PEM.
    pub authority: String,
    operator: String,
    secret: String,
    receipt: String,
    seen_epoch: Option<u64>,
    seen_log: Option<String>,
    /// The last signed heads that were accepted.
    #[serde(default)]
    heads: Vec<String>,
    /// The keys that were fetched, oldest first.
    pub keys: Vec<FetchedKey>,
}

/// What is asked for a row with.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Asking {
    invitation: String,
    secret: String,
}

/// K of an epoch.
#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FetchedKey {
    /// Which epoch.
    pub epoch: u64,
    /// When it begins, Unix seconds.
    pub not_before: u64,
    /// When it ends, Unix seconds.
    pub not_after: u64,
    key: String,
}

fn damaged(what: &str) -> Error {
    let mend = "put back a copy of the file, or subscribe anew with another invitation";
    Error::new(ErrorKind::Store, format!("the subscription is damaged: {what}"), mend)
}

impl FetchedKey {
    /// K.
    pub fn key(&self) -> Result<EpochKey> {
        hex::array(&self.key).map(EpochKey::from_bytes).ok_or_else(|| damaged("key"))
    }
}

impl State {
    /// Where it is in `dir`.
    pub fn path(dir: &Path) -> PathBuf {
        dir.join("subscription.json")
    }

    /// The key to ask for a row with. It is on the disk before it is asked with: whoever was stopped, and
    /// does not know whether he has the row, asks again with the same and gets the same row.
    pub fn asking_key(dir: &Path, invitation: &str) -> Result<SecretKey> {
        let path = Self::asking(dir);
        let kept = std::fs::read(&path).ok();
        let kept = kept.and_then(|bytes| serde_json::from_slice::<Asking>(&bytes).ok());
        let kept = kept.filter(|kept| kept.invitation == invitation);
        let kept = kept.and_then(|kept| hex::decode(&kept.secret));
        if let Some(secret) = kept.and_then(|bytes| SecretKey::decode(&bytes).ok()) {
            return Ok(secret);
        }
        let secret = SecretKey::generate(&mut OsRandom);
        let invitation = invitation.to_owned();
        let asking = Asking { invitation, secret: hex::encode(&*secret.encode()) };
        let json = serde_json::to_vec(&asking).map_err(|e| damaged(&e.to_string()))?;
        write_whole(&path, |file| file.write_all(&json))
            .map_err(|e| Error::system(path.display(), &e))?;
        Ok(secret)
    }

    /// Forgets it: the row is written down.
    pub fn asked(dir: &Path) {
        // It is of no use to anybody, and its key is in the subscription too.
        let _ = std::fs::remove_file(Self::asking(dir));
    }

    fn asking(dir: &Path) -> PathBuf {
        dir.join("asking.json")
    }

    /// A new subscription.
    pub fn new(url: &str, authority: &str, mine: &Subscription) -> Self {
        State {
            url: url.to_owned(),
            authority: authority.to_owned(),
            operator: mine.receipt.operator.to_string(),
            secret: hex::encode(&*mine.secret.encode()),
            receipt: hex::encode(&mine.receipt.encode()),
            seen_epoch: None,
            seen_log: None,
            heads: Vec::new(),
            keys: Vec::new(),
        }
    }

    /// Reads it.
    pub fn read(dir: &Path) -> Result<Self> {
        let path = State::path(dir);
        let bytes = std::fs::read(&path).map_err(|e| {
            let cause = format!("not subscribed: {}: {e}", path.display());
            Error::new(ErrorKind::Store, cause, "slyfi tracedge subscribe INVITATION")
        })?;
        serde_json::from_slice(&bytes).map_err(|e| damaged(&e.to_string()))
    }

    /// Writes it, whole or not at all.
    pub fn write(&self, dir: &Path) -> Result<()> {
        let path = State::path(dir);
        let json = serde_json::to_vec_pretty(self).map_err(|e| damaged(&e.to_string()))?;
        write_whole(&path, |file| file.write_all(&json))
            .map_err(|e| Error::system(path.display(), &e))
    }

    /// The operator.
    pub fn operator(&self) -> Result<OperatorId> {
        self.operator.parse().map_err(|_| damaged("operator"))
    }

    /// Row and key.
    pub fn subscription(&self) -> Result<Subscription> {
        let receipt = hex::decode(&self.receipt).and_then(|bytes| Receipt::decode(&bytes).ok());
        let secret = hex::decode(&self.secret).and_then(|bytes| SecretKey::decode(&bytes).ok());
        let (receipt, secret) = receipt.zip(secret).ok_or_else(|| damaged("key or receipt"))?;
        Ok(Subscription { receipt, secret })
    }

    /// How far the operator's log was seen.
    pub fn seen(&self) -> Result<Seen> {
        let decode = |text: &String| {
            let bytes = hex::decode(text)?;
            TreeHead::decode(&bytes).ok()
        };
        let log = self.seen_log.as_ref();
        let tree_head =
            log.map(|text| decode(text).ok_or_else(|| damaged("the log's state"))).transpose()?;
        Ok(Seen { epoch: self.seen_epoch, tree_head })
    }

    /// The heads that were accepted, oldest first.
    pub fn heads(&self) -> Result<Vec<SignedHead>> {
        let decode = |text: &String| SignedHead::decode(&hex::decode(text)?).ok();
        self.heads.iter().map(|text| decode(text).ok_or_else(|| damaged("a head"))).collect()
    }

    /// Remembers how far it was seen, and the head that was accepted.
    pub fn saw(&mut self, seen: &Seen, head: &SignedHead) {
        let text = hex::encode(&head.encode());
        self.heads.retain(|had| *had != text);
        self.heads.push(text);
        let before = self.heads.len().saturating_sub(HEADS);
        self.heads.drain(..before);
        self.seen_epoch = seen.epoch;
        self.seen_log = seen.tree_head.as_ref().map(|head| hex::encode(&head.encode()));
    }

    /// Keeps a key, and drops those of epochs that are over.
    pub fn keep(&mut self, epoch: &Epoch, key: &EpochKey, now: u64) {
        self.keys
            .retain(|k| k.epoch != epoch.number && now < k.not_after.saturating_add(CLOCK_SKEW));
        self.keys.push(FetchedKey {
            epoch: epoch.number,
            not_before: epoch.not_before,
            not_after: epoch.not_after,
            key: hex::encode(key.as_bytes()),
        });
        self.keys.sort_by_key(|k| k.epoch);
    }

    /// The newest key of an epoch that is now.
    pub fn current(&self, now: u64) -> Option<&FetchedKey> {
        let good =
            |k: &&FetchedKey| k.not_before <= now && now < k.not_after.saturating_add(CLOCK_SKEW);
        self.keys.iter().rev().find(good)
    }
}
