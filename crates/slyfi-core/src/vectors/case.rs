use super::Failed;
use crate::keys::{Key128, Key256};
use crate::sizes::{SizePolicy, Sizes};
use crate::suite::Suite;
use serde_json::Value;
use slyfi_base::{Duration, SecureRandom, UnixTime};
use std::string::{String, ToString};
use std::vec::Vec;

/// One vector of a file.
pub(super) struct Case<'a> {
    place: String,
    value: &'a Value,
}

impl<'a> Case<'a> {
    pub(super) fn new(group: &str, index: usize, value: &'a Value) -> Self {
        Case { place: std::format!("{group}[{index}]"), value }
    }

    pub(super) fn failed(&self, what: &str) -> Failed {
        Failed { place: self.place.clone(), what: what.to_string() }
    }

    /// Fails unless what was made is what the file has.
    pub(super) fn equal<T: PartialEq + ?Sized>(
        &self,
        field: &str,
        made: &T,
        expected: &T,
    ) -> Result<(), Failed> {
        let differs = || self.failed(&std::format!("{field} differs"));
        (made == expected).then_some(()).ok_or_else(differs)
    }

    /// Fails if a twin was accepted.
    pub(super) fn refused(&self, twin: &str, accepted: bool) -> Result<usize, Failed> {
        let wrong = || self.failed(&std::format!("accepted with {twin}"));
        (!accepted).then_some(1).ok_or_else(wrong)
    }

    /// Flips one bit in each byte and truncates at each length; none may be accepted.
    pub(super) fn refuses_damage(
        &self,
        packet: &[u8],
        mut accepts: impl FnMut(&mut [u8]) -> bool,
    ) -> Result<usize, Failed> {
        let mut twins = 0;
        for at in 0..packet.len() {
            let mut flipped = packet.to_vec();
            flipped[at] ^= 1 << (at % 8);
            twins += self.refused(&std::format!("byte {at} damaged"), accepts(&mut flipped))?;
            let mut short = packet[..at].to_vec();
            twins += self.refused(&std::format!("only {at} bytes"), accepts(&mut short))?;
        }
        Ok(twins)
    }

    fn field(&self, name: &str) -> Result<&'a Value, Failed> {
        self.value.get(name).ok_or_else(|| self.failed(&std::format!("has no {name}")))
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.value.get(name).is_some()
    }

    pub(super) fn str(&self, name: &str) -> Result<&'a str, Failed> {
        let wrong = || self.failed(&std::format!("{name} is no string"));
        self.field(name)?.as_str().ok_or_else(wrong)
    }

    pub(super) fn number(&self, name: &str) -> Result<u64, Failed> {
        let wrong = || self.failed(&std::format!("{name} is no number"));
        self.field(name)?.as_u64().ok_or_else(wrong)
    }

    pub(super) fn array(&self, name: &str) -> Result<&'a [Value], Failed> {
        let wrong = || self.failed(&std::format!("{name} is no array"));
        self.field(name)?.as_array().map(Vec::as_slice).ok_or_else(wrong)
    }

    /// The objects of an array, as cases of their own.
    pub(super) fn children(&self, name: &str) -> Result<Vec<Case<'a>>, Failed> {
        let place = std::format!("{}.{name}", self.place);
        let children = self.array(name)?.iter().enumerate();
        Ok(children.map(|(i, value)| Case::new(&place, i, value)).collect())
    }

    pub(super) fn bytes(&self, name: &str) -> Result<Vec<u8>, Failed> {
        let wrong = || self.failed(&std::format!("{name} is not in hexadecimal"));
        unhex(self.str(name)?).ok_or_else(wrong)
    }

    pub(super) fn fixed<const N: usize>(&self, name: &str) -> Result<[u8; N], Failed> {
        let wrong = |_| self.failed(&std::format!("{name} has not {N} bytes"));
        self.bytes(name)?.try_into().map_err(wrong)
    }

    pub(super) fn key128(&self, name: &str) -> Result<Key128, Failed> {
        Ok(Key128::new(self.fixed(name)?))
    }

    pub(super) fn key256(&self, name: &str) -> Result<Key256, Failed> {
        Ok(Key256::new(self.fixed(name)?))
    }

    pub(super) fn time(&self, name: &str) -> Result<UnixTime, Failed> {
        Ok(UnixTime::from_secs(self.number(name)?))
    }

    pub(super) fn seconds(&self, name: &str) -> Result<Duration, Failed> {
        Ok(Duration::from_secs(self.number(name)?))
    }

    pub(super) fn suite(&self) -> Result<Suite, Failed> {
        Suite::from_name(self.str("suite")?).ok_or_else(|| self.failed("the suite is not known"))
    }

    pub(super) fn sizes(&self) -> Result<Sizes, Failed> {
        let policy = match self.str("policy")? {
            "none" => SizePolicy::None,
            "buckets" => SizePolicy::Buckets,
            "constant" => SizePolicy::Constant,
            _ => return Err(self.failed("the size policy is not known")),
        };
        Ok(Sizes::new(policy, self.number("max_body")? as usize))
    }
}

fn unhex(text: &str) -> Option<Vec<u8>> {
    let digit = |c: u8| char::from(c).to_digit(16).map(|d| d as u8);
    let (pairs, []) = text.as_bytes().as_chunks::<2>() else { return None };
    pairs.iter().map(|[a, b]| Some(digit(*a)? << 4 | digit(*b)?)).collect()
}

pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| std::format!("{b:02x}")).collect()
}

/// A generator that gives out what a vector says, and after that a fixed sequence.
pub(super) struct Script {
    bytes: Vec<u8>,
    at: usize,
}

impl Script {
    pub(super) fn new(parts: &[&[u8]]) -> Self {
        Script { bytes: parts.concat(), at: 0 }
    }
}

impl SecureRandom for Script {
    fn fill(&mut self, out: &mut [u8]) {
        for b in out {
            // Past the script, a Weyl sequence: for table secrets and the like, which no vector fixes.
            let filler = (self.at as u32).wrapping_mul(0x9e37_79b9) >> 24;
            *b = self.bytes.get(self.at).copied().unwrap_or(filler as u8);
            self.at += 1;
        }
    }
}
