//! The peer key of a TDLS direct link (IEEE 802.11-2020 §12.7.8.2).

use super::{Kdf, KeyBytes};
use sha2::{Digest, Sha256};

/// The two ends of a direct link, their access point and their nonces.
#[derive(Clone, Copy, Debug)]
pub struct DirectLink<'a> {
    /// The initiator.
    pub initiator: [u8; 6],
    /// The responder.
    pub responder: [u8; 6],
    /// The BSSID of the network that carried the set-up.
    pub bssid: [u8; 6],
    /// The initiator's nonce.
    pub snonce: &'a [u8; 32],
    /// The responder's nonce.
    pub anonce: &'a [u8; 32],
}

/// Derives TPK-KCK and TPK-TK. The input has no secret: who saw the set-up in clear has the key.
pub fn tpk(link: &DirectLink<'_>) -> (KeyBytes, KeyBytes) {
    let DirectLink { initiator, responder, bssid, snonce, anonce } = link;
    let input =
        Sha256::new().chain_update(snonce.min(anonce)).chain_update(snonce.max(anonce)).finalize();
    let mut out = KeyBytes::zeros(32);
    let context: [&[u8]; 3] = [initiator.min(responder), initiator.max(responder), bssid];
    Kdf::Sha256.derive(&input, "TDLS PMK", &context, out.as_mut_bytes());
    let (kck, tk) = out.as_bytes().split_at(16);
    let own = |b| KeyBytes::new(b).unwrap_or_else(|| KeyBytes::zeros(0));
    (own(kck), own(tk))
}
