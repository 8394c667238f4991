//! Invites: one URL, or its QR code, with which one device enrols.
//!
//! # Layout
//! `SLYFI://JOIN/` and base32 (RFC 4648 §6, no padding) of these bytes, integers big-endian; all
//! characters are in QR code's alphanumeric set, lower case is read too:
//!
//! | bytes | field |
//! |---|---|
//! | 1 | version, 1 |
//! | 1 | suite, one of `aead` ([`Suite::to_byte`]) |
//! | 8 | when it expires, seconds since 1970 |
//! | 16 | secret |
//! | 1 + n | length and bytes of the network's name |
//! | 4 | the first bytes of SHA-256("slyfi invite" ‖ all before): finds typing mistakes |
//!
//! The pairing it stands for (kind invite, suite `aead`): T0 = expiry − 8 days, so that
//! even the longest invite works for a clock that is behind, I = 300 s, k = 1, and
//! `id ‖ up D_0 ‖ down D_0 = HKDF-SHA256(salt "slyfi invite", secret, info all bytes before the
//! checksum)`, 8 + 32 + 32 bytes.

mod base32;

use crate::kdf;
use crate::keys::{Key128, Key256};
use crate::pairing::{Kind, NetworkName, Pairing, Terms};
use crate::suite::Suite;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;
use sha2::{Digest, Sha256};
use slyfi_base::{Duration, SecureRandom, UnixTime};
use zeroize::Zeroizing;

/// How a URL of an invite begins.
pub const URL_PREFIX: &str = "SLYFI://JOIN/";

/// The longest an invite lives, from when it is made.
pub const MAX_LIFETIME: Duration = Duration::from_secs(7 * 86_400);

/// A day more than the longest lifetime.
const T0_BEFORE_EXPIRY: Duration = Duration::from_secs(8 * 86_400);

const VERSION: u8 = 1;
const CHECKSUM_LEN: usize = 4;
/// Bytes before the name.
const HEAD_LEN: usize = 1 + 1 + 8 + 16 + 1;
const MAX_LEN: usize = HEAD_LEN + NetworkName::MAX_LEN + CHECKSUM_LEN;

/// An invite to a network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Invite {
    suite: Suite,
    secret: Key128,
    expires: UnixTime,
    network: NetworkName,
}

/// Why a URL is no invite.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InviteError {
    /// It does not begin like one.
    NotAnInvite,
    /// Characters are wrong, missing or too many.
    Damaged,
    /// It was made by a newer program.
    UnknownVersion,
    /// It was good once.
    Expired,
}

impl fmt::Display for InviteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            InviteError::NotAnInvite => "not an invite: it should begin with SLYFI://JOIN/",
            InviteError::Damaged => "the invite is damaged: copy or scan it again",
            InviteError::UnknownVersion => {
                "the invite was made by a newer program: update this one"
            }
            InviteError::Expired => "the invite has expired: ask for a new one",
        })
    }
}

impl core::error::Error for InviteError {}

/// An invite cannot be made like this: the suite is not `aead`, or the lifetime is zero or above
/// [`MAX_LIFETIME`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BadTerms;

impl Invite {
    /// Makes an invite that lives from `wall` for `lifetime`.
    ///
    /// # Errors
    /// [`BadTerms`].
    pub fn new<R: SecureRandom + ?Sized>(
        suite: Suite,
        network: NetworkName,
        wall: UnixTime,
        lifetime: Duration,
        rng: &mut R,
    ) -> Result<Self, BadTerms> {
        if !suite.is_aead() || lifetime.as_secs() == 0 || lifetime > MAX_LIFETIME {
            return Err(BadTerms);
        }
        let expires = UnixTime::from_secs((wall + lifetime).as_secs());
        Ok(Invite { suite, secret: Key128::random(rng), expires, network })
    }

    /// Returns the network's name.
    pub const fn network(&self) -> &NetworkName {
        &self.network
    }

    /// Returns the suite of the enrolment.
    pub const fn suite(&self) -> Suite {
        self.suite
    }

    /// Returns when it expires.
    pub const fn expires(&self) -> UnixTime {
        self.expires
    }

    /// Returns the URL.
    pub fn to_url(&self) -> Zeroizing<String> {
        let mut bytes = self.encode();
        let checksum = checksum(&bytes);
        bytes.extend_from_slice(&checksum);
        let mut url =
            Zeroizing::new(String::with_capacity(URL_PREFIX.len() + MAX_LEN.div_ceil(5) * 8));
        url.push_str(URL_PREFIX);
        base32::encode(&bytes, &mut url);
        url
    }

    /// Reads a URL, in either case, spaces around it allowed.
    ///
    /// # Errors
    /// [`InviteError`].
    pub fn from_url(url: &str, wall: UnixTime) -> Result<Self, InviteError> {
        let url = url.trim();
        let (prefix, rest) =
            url.split_at_checked(URL_PREFIX.len()).ok_or(InviteError::NotAnInvite)?;
        if !prefix.eq_ignore_ascii_case(URL_PREFIX) {
            return Err(InviteError::NotAnInvite);
        }
        let bytes = base32::decode(rest, MAX_LEN).ok_or(InviteError::Damaged)?;
        let (fields, sum) = bytes.split_last_chunk::<CHECKSUM_LEN>().ok_or(InviteError::Damaged)?;
        if checksum(fields) != *sum {
            return Err(InviteError::Damaged);
        }
        let (&version, _) = fields.split_first().ok_or(InviteError::Damaged)?;
        if version != VERSION {
            return Err(InviteError::UnknownVersion);
        }
        let invite = Invite::decode(fields).ok_or(InviteError::Damaged)?;
        if wall >= invite.expires {
            return Err(InviteError::Expired);
        }
        Ok(invite)
    }

    /// Returns the pairing that the invite stands for, on both sides: good for one enrolment.
    pub fn pairing(&self) -> Pairing {
        let mut okm = Zeroizing::new([0; 72]);
        kdf::derive(b"slyfi invite", self.secret.as_bytes(), &self.encode(), &mut *okm);
        let (mut id, mut up, mut down) = ([0; 8], Key256::new([0; 32]), Key256::new([0; 32]));
        id.copy_from_slice(&okm[..8]);
        up.as_mut().copy_from_slice(&okm[8..40]);
        down.as_mut().copy_from_slice(&okm[40..]);
        let t0 = self.expires.shifted(-(T0_BEFORE_EXPIRY.as_micros() as i64));
        let kind = Kind::Invite { expires: self.expires };
        let terms = Terms::new(self.network.clone(), self.suite, t0, kind);
        Pairing::from_day_secrets(&terms, id, &up, &down).expect("an invite's suite is aead")
    }

    /// Writes all fields but the checksum; also how an access point stores an invite.
    pub fn encode(&self) -> Zeroizing<Vec<u8>> {
        let mut out = Zeroizing::new(Vec::with_capacity(MAX_LEN));
        out.extend_from_slice(&[VERSION, self.suite.to_byte()]);
        out.extend_from_slice(&self.expires.as_secs().to_be_bytes());
        out.extend_from_slice(self.secret.as_bytes());
        let name = self.network.as_bytes();
        out.push(name.len() as u8);
        out.extend_from_slice(name);
        out
    }

    /// Reads what [`Invite::encode`] wrote; `None` for anything else.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let (head, name) = bytes.split_first_chunk::<HEAD_LEN>()?;
        let suite = Suite::from_byte(head[1]).filter(|s| s.is_aead())?;
        let expires = u64::from_be_bytes(head[2..10].try_into().ok()?);
        let sound = head[0] == VERSION
            && usize::from(head[26]) == name.len()
            && expires <= i64::MAX as u64 / 1_000_000;
        sound.then_some(())?;
        Some(Invite {
            suite,
            secret: Key128::from_slice(&head[10..26])?,
            expires: UnixTime::from_secs(expires),
            network: NetworkName::new(name)?,
        })
    }
}

fn checksum(fields: &[u8]) -> [u8; CHECKSUM_LEN] {
    let hash = Sha256::new_with_prefix(b"slyfi invite").chain_update(fields).finalize();
    let mut sum = [0; CHECKSUM_LEN];
    sum.copy_from_slice(&hash[..CHECKSUM_LEN]);
    sum
}

#[cfg(test)]
mod tests;
