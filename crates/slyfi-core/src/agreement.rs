//! How the secrets of a session come about, inside a Tryst authentication and its answer.
//!
//! # Layout
//! Suite `2008`: the request is the four session keys, made by the client and protected by Tryst
//! (slyfi-2008 §3.4): `up ksEnc ‖ up ksMAC ‖ down ksEnc ‖ down ksMAC`, 64 bytes. The response is
//! empty. The roaming and the export secret (ours) are
//! `HKDF-SHA256(salt "slyfi 2008 agreement", ikm request, info "roam" and "export", 32)`.
//!
//! Suite `aead`: the request is `random (32) ‖ X25519 public key (32)`, with ML-KEM-768 then
//! `‖ encapsulation key (1184)`; the response `random (32) ‖ X25519 public key (32)`, then
//! `‖ ciphertext (1088)`. With `Z` the X25519 result and `K` the encapsulated key (absent without
//! ML-KEM):
//!
//! ```text
//! salt   = SHA-256("slyfi aead agreement" ‖ suite byte ‖ request ‖ response)
//! prk    = HKDF-Extract(salt, request random ‖ response random ‖ Z ‖ K)
//! up, down, roam, export = HKDF-Expand(prk, "up" | "down" | "roam" | "export", 32)
//! ```
//!
//! # Security
//! The randoms travel inside Tryst and are part of the key material, so the secrets hold if either
//! the pairing's keys or the agreement holds; and a pairing stolen later opens no old session.

pub mod roam;

mod aead;

use crate::kdf;
use crate::keys::Key256;
use crate::shroud::DirectionSecret;
use crate::suite::Suite;
use aead::AeadOffer;
use alloc::vec::Vec;
use core::fmt;
use slyfi_base::SecureRandom;
use zeroize::{Zeroize, ZeroizeOnDrop};

/// The secrets of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionSecrets {
    /// Client to access point.
    pub up: DirectionSecret,
    /// Access point to client.
    pub down: DirectionSecret,
    /// What sessions at other access points of the network are derived from ([`roam::derive`]).
    pub roam: Key256,
    /// For use above this layer; tells nothing about the others.
    pub export: Key256,
}

/// The client's half of an agreement under way.
pub struct Offer {
    request: Bytes,
    state: State,
}

enum State {
    S2008(SessionSecrets),
    Aead(AeadOffer),
}

/// The peer's half makes no sense. It was authenticated, so the peer's program is at fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unusable;

impl fmt::Display for Unusable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("unusable half of a key agreement")
    }
}

impl core::error::Error for Unusable {}

/// Bytes that may contain keys.
#[derive(Clone, PartialEq, Eq, ZeroizeOnDrop)]
pub struct Bytes(Vec<u8>);

impl Bytes {
    fn with_capacity(n: usize) -> Self {
        Bytes(Vec::with_capacity(n))
    }

    /// Appends without ever growing, which would leave a copy behind.
    fn push(&mut self, more: &[u8]) {
        debug_assert!(self.0.len() + more.len() <= self.0.capacity());
        self.0.extend_from_slice(more);
    }
}

impl core::ops::Deref for Bytes {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Debug for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Bytes(<{} hidden>)", self.0.len())
    }
}

impl Offer {
    /// Makes the client's half.
    pub fn new<R: SecureRandom + ?Sized>(suite: Suite, rng: &mut R) -> Self {
        match suite {
            Suite::S2008 => {
                let mut request = Bytes(alloc::vec![0; 64]);
                rng.fill(&mut request.0);
                let state = secrets_2008(&request).expect("64 bytes were made");
                Offer { request, state: State::S2008(state) }
            }
            Suite::Aead { .. } => {
                let (offer, request) = AeadOffer::new(suite, rng);
                Offer { request, state: State::Aead(offer) }
            }
        }
    }

    /// Returns what the authentication carries.
    pub fn request_bytes(&self) -> &[u8] {
        &self.request
    }

    /// Ends the agreement with what the answer carries.
    ///
    /// # Errors
    /// [`Unusable`].
    pub fn finish(self, response: &[u8]) -> Result<SessionSecrets, Unusable> {
        match self.state {
            State::S2008(secrets) => response.is_empty().then_some(secrets).ok_or(Unusable),
            State::Aead(offer) => offer.finish(&self.request, response),
        }
    }
}

impl fmt::Debug for Offer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Offer(<hidden>)")
    }
}

/// Makes the access point's half: the session's secrets, and what the answer carries.
///
/// # Errors
/// [`Unusable`].
pub fn answer<R: SecureRandom + ?Sized>(
    suite: Suite,
    request: &[u8],
    rng: &mut R,
) -> Result<(SessionSecrets, Bytes), Unusable> {
    match suite {
        Suite::S2008 => Ok((secrets_2008(request)?, Bytes(Vec::new()))),
        Suite::Aead { .. } => aead::answer(suite, request, rng),
    }
}

fn secrets_2008(request: &[u8]) -> Result<SessionSecrets, Unusable> {
    let keys: &[u8; 64] = request.try_into().map_err(|_| Unusable)?;
    let (up, down) = keys.split_at(32);
    let direction = |half: &[u8]| {
        let secret = Key256::from_slice(half).ok_or(Unusable)?;
        Ok(DirectionSecret::new(Suite::S2008, secret))
    };
    let derived = |label: &[u8]| {
        let mut key = Key256::new([0; 32]);
        kdf::derive(b"slyfi 2008 agreement", keys, label, key.as_mut());
        key
    };
    Ok(SessionSecrets {
        up: direction(up)?,
        down: direction(down)?,
        roam: derived(b"roam"),
        export: derived(b"export"),
    })
}

impl Zeroize for Bytes {
    fn zeroize(&mut self) {
        self.0.zeroize();
    }
}

#[cfg(test)]
mod tests;
