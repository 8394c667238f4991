//! WEP behind [`Protection`]: one key for everybody, and an IV counter that a crash does not set back.

use slyfi_base::{
    DropReason, Exhausted, LinkCipher, MacAddress, Now, OpenHalf, Opened, Overhead, SealHalf,
    SecureRandom,
};
use slyfi_ciphers::KeyId;
use slyfi_ciphers::danger::wep::{Wep, WepKey, WepOpen, WepSeal};
use slyfi_rivals::wifi::{Effect, Protection, Unfit};
use std::collections::VecDeque;

/// The name of the durable counter.
const NAME: &[u8; 8] = b"wep iv  ";

/// How many IVs are made durable as used at once; a crash skips what is left of them.
const BLOCK: u32 = 1 << 16;

/// WEP with a static key.
///
/// # Security
/// Broken, whatever is done here. This end does not use an IV twice within 2²⁴ frames, over crashes
/// too; but the ends of a network share the key and count each for itself, so they meet, and
/// after 2²⁴ frames the counter starts over, as the field's does.
#[derive(Debug)]
pub struct WepGuard {
    key: WepKey,
    seal: WepSeal,
    open: WepOpen,
    /// The first IV that is not made durable as used.
    reserved: u32,
    /// How many IVs are left before it.
    left: u32,
    effects: VecDeque<Effect>,
}

impl WepGuard {
    /// Takes a key of 5, 13 or 16 bytes; `None` for other lengths. The counter starts at random, so
    /// that ends of a network rarely begin at the same IV.
    pub fn new(key: &[u8], rng: &mut impl SecureRandom) -> Option<Self> {
        let key = WepKey::new(key)?;
        // Below 2^24.
        let first = rng.below(1 << 24) as u32;
        let (seal, open) = Wep::new(key.clone(), KeyId::PAIRWISE, first).split();
        Some(WepGuard { key, seal, open, reserved: first, left: 0, effects: VecDeque::new() })
    }
}

impl Protection for WepGuard {
    fn is_private(&self) -> bool {
        true
    }

    fn rsn(&self) -> Option<&[u8]> {
        None
    }

    fn overhead(&self) -> Overhead {
        Wep::OVERHEAD
    }

    fn consider(&mut self, _: Now, _: MacAddress, rsn: Option<&[u8]>) -> Result<(), Unfit> {
        if rsn.is_none() { Ok(()) } else { Err(Unfit::Suites) }
    }

    fn begin(&mut self, _: Now, peer: MacAddress) {
        self.effects.push_back(Effect::Ready(peer));
    }

    fn end(&mut self, _: Now, _: MacAddress) {}

    fn prepare(&mut self, _: Now, _: MacAddress) {
        if self.left == 0 {
            self.reserved = (self.reserved + BLOCK) & 0x00ff_ffff;
            self.left = BLOCK;
            let record = [&NAME[..], &self.reserved.to_be_bytes()].concat();
            self.effects.push_back(Effect::Persist(record));
        }
    }

    fn seal(
        &mut self,
        _: Now,
        _: MacAddress,
        header: &[u8],
        buf: &mut [u8],
        len: usize,
    ) -> Result<usize, Exhausted> {
        self.left = self.left.checked_sub(1).ok_or(Exhausted)?;
        self.seal.seal(header, buf, len)
    }

    fn open(
        &mut self,
        _: Now,
        _: MacAddress,
        header: &[u8],
        body: &mut [u8],
    ) -> Result<Opened, DropReason> {
        self.open.open(header, body).map_err(|_| DropReason::CipherRefused)
    }

    fn handshake(&mut self, _: Now, _: MacAddress, _: &[u8], _: bool) -> Result<(), DropReason> {
        Err(DropReason::HandshakeRefused)
    }

    fn poll(&mut self) -> Option<Effect> {
        self.effects.pop_front()
    }

    fn restore(&mut self, _: Now, record: &[u8]) -> bool {
        let Some(value) = record.strip_prefix(NAME).and_then(|v| v.try_into().ok()) else {
            return false;
        };
        let next = u32::from_be_bytes(value) & 0x00ff_ffff;
        self.seal = Wep::new(self.key.clone(), KeyId::PAIRWISE, next).split().0;
        (self.reserved, self.left) = (next, 0);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::super::test_support::{SomeRng, at, data_header, persisted};
    use super::*;

    fn guard(seed: u64) -> WepGuard {
        WepGuard::new(b"abcde", &mut SomeRng(seed)).unwrap()
    }

    fn ivs(guard: &mut WepGuard, count: usize) -> Vec<u32> {
        let peer = MacAddress([2; 6]);
        let mut frame = || {
            guard.prepare(at(0), peer);
            let mut buf = [0; 20];
            let n = guard.seal(at(0), peer, &data_header(peer), &mut buf, 12).unwrap();
            assert_eq!(n, 20);
            u32::from_le_bytes([buf[0], buf[1], buf[2], 0])
        };
        (0..count).map(|_| frame()).collect()
    }

    #[test]
    fn no_iv_comes_again_after_a_crash() {
        let mut first = guard(1);
        let before = ivs(&mut first, 100);
        let record = persisted(&mut first).pop().unwrap();
        // The process is killed; the next one takes the record back.
        let mut second = guard(2);
        assert!(second.restore(at(1), &record));
        let after = ivs(&mut second, 100);
        assert!(after.iter().all(|iv| !before.contains(iv)));
        // The twin: without the record, the same seed begins where the first one did.
        assert_eq!(ivs(&mut guard(1), 100), before);
    }

    #[test]
    fn nothing_is_sealed_before_its_iv_is_durable() {
        let mut g = guard(3);
        let mut buf = [0; 20];
        let peer = MacAddress([2; 6]);
        assert_eq!(g.seal(at(0), peer, &data_header(peer), &mut buf, 12), Err(Exhausted));
        ivs(&mut g, BLOCK as usize + 1);
        assert_eq!(persisted(&mut g).len(), 2, "one record for each block");
        assert!(!g.restore(at(0), b"other   \0\0\0\0") && !g.restore(at(0), b"wep iv  \0"));
    }

    #[test]
    fn only_keys_of_wep_s_lengths_are_taken() {
        for len in 0..40 {
            let made = WepGuard::new(&vec![7; len], &mut SomeRng(1));
            assert_eq!(made.is_some(), matches!(len, 5 | 13 | 16));
        }
    }
}
