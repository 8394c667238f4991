//! The access points of one network among themselves: sealed messages, any transport.
//!
//! # Layout
//! `salt 16 ‖ counter 8 ‖ AES-256-GCM(time 8 ‖ message) ‖ tag 16`, integers big-endian. The key is
//! HKDF-SHA256 of the shared key with the salt; the nonce is the counter; `salt ‖ counter` is the
//! associated data. Every start of an access point draws a new salt, so a crash repeats no nonce.
//!
//! # Security
//! Of each salt, counters only go up; a salt that is not known (yet, or any more) must come with a
//! time close to now. Within that time an old message can be brought again to an access point that
//! has restarted in between; it then learns of sessions that no longer exist, whose keys are bound
//! to the identity of its last run, and that lead nowhere.

use crate::keys::Key256;
use alloc::vec;
use alloc::vec::Vec;
use slyfi_aes::GcmKey;
use slyfi_base::{SecureRandom, UnixTime};
use slyfi_wire::message::BackhaulMessage;

/// The key that the access points of one network share.
#[derive(Clone, PartialEq, Eq)]
pub struct BackhaulKey(Key256);

impl BackhaulKey {
    /// Takes 32 uniformly random bytes.
    pub const fn new(bytes: [u8; 32]) -> Self {
        BackhaulKey(Key256::new(bytes))
    }
}

impl core::fmt::Debug for BackhaulKey {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("BackhaulKey(<hidden>)")
    }
}

const SALT_LEN: usize = 16;
const HEAD_LEN: usize = SALT_LEN + 8;
const TAG_LEN: usize = 16;

/// How many siblings' salts are remembered.
const MAX_SENDERS: usize = 32;

/// How far a new sender's clock may be off, in seconds.
const FRESH_S: u64 = 600;

/// One end of the backhaul.
pub(crate) struct Backhaul {
    key: BackhaulKey,
    salt: [u8; SALT_LEN],
    own: GcmKey,
    counter: u64,
    /// Salt, its key, and the highest counter seen; the most recent last.
    senders: Vec<([u8; SALT_LEN], GcmKey, u64)>,
}

impl Backhaul {
    pub(crate) fn new<R: SecureRandom>(key: &BackhaulKey, rng: &mut R) -> Self {
        let mut salt = [0; SALT_LEN];
        rng.fill(&mut salt);
        Backhaul {
            own: derive(key, &salt),
            key: key.clone(),
            salt,
            counter: 0,
            senders: Vec::new(),
        }
    }

    pub(crate) fn seal(&mut self, wall: UnixTime, message: &BackhaulMessage<'_>) -> Vec<u8> {
        self.counter += 1;
        let len = message.buffer_len();
        let mut out = vec![0; HEAD_LEN + 8 + len + TAG_LEN];
        let (head, rest) = out.split_at_mut(HEAD_LEN);
        let (text, tag) = rest.split_at_mut(8 + len);
        head[..SALT_LEN].copy_from_slice(&self.salt);
        head[SALT_LEN..].copy_from_slice(&self.counter.to_be_bytes());
        text[..8].copy_from_slice(&wall.as_micros().to_be_bytes());
        // The room is exactly `buffer_len`.
        let written = message.emit(&mut text[8..]);
        debug_assert_eq!(written, Ok(len));
        tag.copy_from_slice(&self.own.seal_in_place(&nonce(self.counter), head, text));
        out
    }

    /// Opens a message and returns its bytes, or `None` whatever is wrong with it.
    pub(crate) fn open(&mut self, wall: UnixTime, message: &[u8]) -> Option<Vec<u8>> {
        let (head, rest) = message.split_at_checked(HEAD_LEN)?;
        let (text, tag) = rest.split_last_chunk::<TAG_LEN>()?;
        let salt: [u8; SALT_LEN] = *head.first_chunk()?;
        let counter = u64::from_be_bytes(*head.last_chunk()?);
        if salt == self.salt {
            return None;
        }
        let known = self.senders.iter().position(|(s, _, _)| *s == salt);
        let mut text = text.to_vec();
        match known {
            Some(at) => {
                let (_, key, highest) = self.senders.get(at)?;
                if counter <= *highest {
                    return None;
                }
                key.open_in_place(&nonce(counter), head, &mut text, tag).ok()?;
                let (salt, key, _) = self.senders.remove(at);
                self.senders.push((salt, key, counter));
            }
            None => {
                let key = derive(&self.key, &salt);
                key.open_in_place(&nonce(counter), head, &mut text, tag).ok()?;
                let time = u64::from_be_bytes(*text.first_chunk()?) / 1_000_000;
                if time.abs_diff(wall.as_secs()) > FRESH_S {
                    return None;
                }
                if self.senders.len() >= MAX_SENDERS {
                    self.senders.remove(0);
                }
                self.senders.push((salt, key, counter));
            }
        }
        text.drain(..8);
        Some(text)
    }
}

fn derive(key: &BackhaulKey, salt: &[u8; SALT_LEN]) -> GcmKey {
    let mut out = zeroize::Zeroizing::new([0; 32]);
    crate::kdf::derive(salt, key.0.as_bytes(), b"slyfi backhaul", out.as_mut());
    GcmKey::new_256(&out)
}

fn nonce(counter: u64) -> [u8; 12] {
    let mut n = [0; 12];
    n[4..].copy_from_slice(&counter.to_be_bytes());
    n
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::TestRandom;

    const M: BackhaulMessage<'_> = BackhaulMessage::Ended { session: [7; 8] };
    const T: UnixTime = UnixTime::from_secs(1_800_000_000);

    fn pair() -> (Backhaul, Backhaul) {
        let key = BackhaulKey::new([0x5a; 32]);
        let mut rng = TestRandom::new(4);
        (Backhaul::new(&key, &mut rng), Backhaul::new(&key, &mut rng))
    }

    #[test]
    fn messages_arrive_once() {
        let (mut a, mut b) = pair();
        let first = a.seal(T, &M);
        let second = a.seal(T, &M);
        let opened = b.open(T, &second).unwrap();
        assert_eq!(BackhaulMessage::parse(&opened), Ok(M));
        assert_eq!(b.open(T, &second), None, "a second time");
        assert_eq!(b.open(T, &first), None, "an older one");
        assert_eq!(a.open(T, &second), None, "its own");
    }

    #[test]
    fn nothing_damaged_foreign_or_stale_opens() {
        let (mut a, mut b) = pair();
        let good = a.seal(T, &M);
        for byte in 0..good.len() {
            let mut bad = good.clone();
            bad[byte] ^= 0x10;
            assert_eq!(b.open(T, &bad), None, "byte {byte}");
            assert_eq!(b.open(T, &good[..byte]), None, "cut to {byte}");
        }
        let mut stranger = Backhaul::new(&BackhaulKey::new([1; 32]), &mut TestRandom::new(5));
        assert_eq!(stranger.open(T, &good), None);
        assert_eq!(b.open(T.shifted(601_000_000), &good), None, "too old for a new sender");
        assert!(b.open(T.shifted(599_000_000), &good).is_some());
    }
}
