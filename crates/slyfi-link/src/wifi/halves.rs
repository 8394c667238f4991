//! Keys in use: the sealing and the opening half of any cipher that a handshake can agree on.

use slyfi_base::{
    DropReason, Exhausted, Instant, LinkCipher, OpenHalf, Opened, Overhead, SealHalf,
};
use slyfi_ciphers::ccmp::{Ccmp128, Ccmp128Key, Ccmp256, Ccmp256Key};
use slyfi_ciphers::danger::tkip::{Tkip, TkipKey, TkipOpen, TkipSeal};
use slyfi_ciphers::gcmp::{Gcmp, GcmpKey};
use slyfi_ciphers::handshake::{CipherSuite, KeyBytes};
use slyfi_ciphers::replay::ReplayCounters;
use slyfi_ciphers::{KeyId, PacketNumber, PacketOpen, PacketSeal};

/// A sealing half.
#[derive(Clone, Debug)]
pub(super) enum SealKey {
    Tkip(TkipSeal),
    Ccmp128(PacketSeal<Ccmp128Key>),
    Ccmp256(PacketSeal<Ccmp256Key>),
    Gcmp(Box<PacketSeal<GcmpKey>>),
}

/// An opening half.
#[derive(Clone, Debug)]
pub(super) enum OpenKey {
    Tkip(TkipOpen),
    Ccmp128(PacketOpen<Ccmp128Key>),
    Ccmp256(PacketOpen<Ccmp256Key>),
    Gcmp(Box<PacketOpen<GcmpKey>>),
}

/// Returns what a cipher adds around a payload.
pub(super) const fn overhead(cipher: CipherSuite) -> Overhead {
    match cipher {
        CipherSuite::Tkip => TkipKey::OVERHEAD,
        CipherSuite::Ccmp128 => Ccmp128::OVERHEAD,
        CipherSuite::Ccmp256 => Ccmp256::OVERHEAD,
        CipherSuite::Gcmp128 | CipherSuite::Gcmp256 => Gcmp::OVERHEAD,
        CipherSuite::Wep40 | CipherSuite::Wep104 => Overhead { headroom: 4, tailroom: 4 },
    }
}

/// Puts a key in use: its own numbers begin at 1, those of its peer behind `heard`. `None` when the
/// key is none of this cipher.
pub(super) fn halves(
    cipher: CipherSuite,
    key: &KeyBytes,
    id: KeyId,
    heard: PacketNumber,
) -> Option<(SealKey, OpenKey)> {
    let key = key.as_bytes();
    let (none, received) = (PacketNumber::default(), ReplayCounters::starting_at(heard));
    Some(match cipher {
        CipherSuite::Tkip => {
            let (seal, open) = Tkip::new(TkipKey::new(key.try_into().ok()?), id).split();
            (SealKey::Tkip(seal), OpenKey::Tkip(open.starting_at(heard)))
        }
        CipherSuite::Ccmp128 => {
            let key = Ccmp128Key::new(key.try_into().ok()?);
            let (seal, open) = Ccmp128::resumed(key, id, none, received).split();
            (SealKey::Ccmp128(seal), OpenKey::Ccmp128(open))
        }
        CipherSuite::Ccmp256 => {
            let key = Ccmp256Key::new(key.try_into().ok()?);
            let (seal, open) = Ccmp256::resumed(key, id, none, received).split();
            (SealKey::Ccmp256(seal), OpenKey::Ccmp256(open))
        }
        CipherSuite::Gcmp128 | CipherSuite::Gcmp256 => {
            let key = match cipher {
                CipherSuite::Gcmp128 => GcmpKey::new_128(key.try_into().ok()?),
                _ => GcmpKey::new_256(key.try_into().ok()?),
            };
            let (seal, open) = Gcmp::resumed(key, id, none, received).split();
            (SealKey::Gcmp(Box::new(seal)), OpenKey::Gcmp(Box::new(open)))
        }
        CipherSuite::Wep40 | CipherSuite::Wep104 => return None,
    })
}

impl SealKey {
    /// Returns the number of the last frame sealed.
    pub(super) const fn last_number(&self) -> PacketNumber {
        match self {
            SealKey::Tkip(seal) => seal.last_number(),
            SealKey::Ccmp128(seal) => seal.last_number(),
            SealKey::Ccmp256(seal) => seal.last_number(),
            SealKey::Gcmp(seal) => seal.last_number(),
        }
    }

    pub(super) fn seal(
        &mut self,
        header: &[u8],
        buf: &mut [u8],
        len: usize,
    ) -> Result<usize, Exhausted> {
        match self {
            SealKey::Tkip(half) => half.seal(header, buf, len),
            SealKey::Ccmp128(half) => half.seal(header, buf, len),
            SealKey::Ccmp256(half) => half.seal(header, buf, len),
            SealKey::Gcmp(half) => half.seal(header, buf, len),
        }
    }
}

impl OpenKey {
    pub(super) fn open(
        &mut self,
        now: Instant,
        header: &[u8],
        buf: &mut [u8],
    ) -> Result<Opened, DropReason> {
        let opened = match self {
            OpenKey::Tkip(half) => {
                half.advance_to(now);
                half.open(header, buf)
            }
            OpenKey::Ccmp128(half) => half.open(header, buf),
            OpenKey::Ccmp256(half) => half.open(header, buf),
            OpenKey::Gcmp(half) => half.open(header, buf),
        };
        opened.map_err(|_| DropReason::CipherRefused)
    }

    /// Returns whether the frame refused last was a Michael failure, once. What follows is counted for
    /// the whole device, not for one key.
    pub(super) fn take_michael_failure(&mut self) -> bool {
        match self {
            OpenKey::Tkip(half) => half.take_consequence().is_some(),
            _ => false,
        }
    }
}
