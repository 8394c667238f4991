use super::keys::{DirectionKeys, TrystKeys};
use super::{Kind, NetworkName, Pairing, valid};
use crate::keys::{Key128, Key256};
use crate::suite::Suite;
use alloc::vec::Vec;
use core::fmt;
use slyfi_base::UnixTime;
use zeroize::Zeroizing;

const VERSION: u8 = 1;

/// The longest encoding, so that the buffer never grows and leaves a copy of keys behind.
const MAX_LEN: usize = 1 + 1 + 8 + 8 + 4 + 1 + 4 + 1 + 8 + 1 + NetworkName::MAX_LEN + 96;

/// Stored bytes that are no pairing of a version known here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Damaged;

impl fmt::Display for Damaged {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("not a pairing of a version known here")
    }
}

impl core::error::Error for Damaged {}

impl Pairing {
    /// Writes the pairing for the key store, keys included.
    pub fn encode(&self) -> Zeroizing<Vec<u8>> {
        let mut out = Zeroizing::new(Vec::with_capacity(MAX_LEN));
        out.extend_from_slice(&[VERSION, self.suite.to_byte()]);
        out.extend_from_slice(&self.id);
        out.extend_from_slice(&self.t0_s.to_be_bytes());
        out.extend_from_slice(&self.interval_s.to_be_bytes());
        out.push(self.skew);
        out.extend_from_slice(&self.day.to_be_bytes());
        let (kind, expires) = match self.kind {
            Kind::Member => (0, 0),
            Kind::Invite { expires } => (1, expires.as_secs()),
        };
        out.push(kind);
        out.extend_from_slice(&expires.to_be_bytes());
        let name = self.network.as_bytes();
        out.push(name.len() as u8);
        out.extend_from_slice(name);
        for keys in [&self.up, &self.down] {
            match keys {
                DirectionKeys::S2008(k) => {
                    for key in [&k.addr, &k.enc, &k.mac] {
                        out.extend_from_slice(key.as_bytes());
                    }
                }
                DirectionKeys::Aead(secret) => out.extend_from_slice(secret.as_bytes()),
            }
        }
        out
    }

    /// Reads what [`Pairing::encode`] wrote.
    ///
    /// # Errors
    /// [`Damaged`] if the bytes are anything else.
    pub fn decode(bytes: &[u8]) -> Result<Self, Damaged> {
        let mut rest = Fields(bytes);
        if rest.array()? != [VERSION] {
            return Err(Damaged);
        }
        let [suite] = rest.array()?;
        let suite = Suite::from_byte(suite).ok_or(Damaged)?;
        let id = rest.array()?;
        let t0_s = u64::from_be_bytes(rest.array()?);
        let interval_s = u32::from_be_bytes(rest.array()?);
        let [skew] = rest.array()?;
        let day = u32::from_be_bytes(rest.array()?);
        let [kind] = rest.array()?;
        let expires = u64::from_be_bytes(rest.array()?);
        let kind = match (kind, expires) {
            (0, 0) => Kind::Member,
            (1, s) if UnixTime::from_secs(s).as_secs() == s => {
                Kind::Invite { expires: UnixTime::from_secs(s) }
            }
            _ => return Err(Damaged),
        };
        let [name_len] = rest.array()?;
        let network = NetworkName::new(rest.take(name_len.into())?).ok_or(Damaged)?;
        let up = rest.keys(suite)?;
        let down = rest.keys(suite)?;
        // Beyond this the arithmetic on times would saturate; no clock is there.
        let sane = t0_s <= i64::MAX as u64 / 1_000_000 && valid(interval_s, skew);
        if !rest.0.is_empty() || !sane {
            return Err(Damaged);
        }
        Ok(Pairing { id, network, suite, t0_s, interval_s, skew, day, kind, up, down })
    }
}

/// What is left to read.
struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    fn take(&mut self, n: usize) -> Result<&'a [u8], Damaged> {
        let (head, rest) = self.0.split_at_checked(n).ok_or(Damaged)?;
        self.0 = rest;
        Ok(head)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Damaged> {
        let (head, rest) = self.0.split_first_chunk().ok_or(Damaged)?;
        self.0 = rest;
        Ok(*head)
    }

    fn keys(&mut self, suite: Suite) -> Result<DirectionKeys, Damaged> {
        Ok(match suite {
            Suite::S2008 => DirectionKeys::S2008(TrystKeys {
                addr: Key128::new(self.array()?),
                enc: Key128::new(self.array()?),
                mac: Key128::new(self.array()?),
            }),
            Suite::Aead { .. } => DirectionKeys::Aead(Key256::new(self.array()?)),
        })
    }
}
