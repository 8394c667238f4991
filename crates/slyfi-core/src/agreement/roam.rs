//! Sessions at further access points of a network, without a new authentication.
//!
//! # Layout
//! `HKDF-Expand(roam secret, "slyfi roam" ‖ suite byte ‖ generation (4 bytes) ‖ salt, 64)`, the first
//! 32 bytes for client to access point, the others back. HKDF over SHA-256.

use crate::kdf;
use crate::keys::Key256;
use crate::shroud::DirectionSecret;
use crate::suite::Suite;
use alloc::vec::Vec;
use zeroize::Zeroizing;

/// Derives both directions' secrets of a session that moves to another access point.
///
/// `ap_salt` is a random value of that access point and `generation` counts the moves of the
/// session; no pair of the two may occur twice under one roaming secret, or addresses would.
pub fn derive(
    suite: Suite,
    roam: &Key256,
    ap_salt: &[u8],
    generation: u32,
) -> (DirectionSecret, DirectionSecret) {
    let mut context = Vec::with_capacity(5 + ap_salt.len());
    context.push(suite.to_byte());
    context.extend_from_slice(&generation.to_be_bytes());
    context.extend_from_slice(ap_salt);
    let mut okm = Zeroizing::new([[0; 32]; 2]);
    kdf::expand(roam.as_bytes(), b"slyfi roam", &context, okm.as_flattened_mut());
    let [up, down] = *okm;
    let direction = |secret| DirectionSecret::new(suite, Key256::new(secret));
    (direction(up), direction(down))
}
