//! HKDF-SHA256 (RFC 5869) with this protocol's labels.

use hkdf::Hkdf;
use sha2::Sha256;

/// Fills `out` with `HKDF-Expand(secret, label ‖ context)`; the secret is uniform, so there is no
/// extract step (RFC 5869 §3.3).
pub(crate) fn expand(secret: &[u8; 32], label: &[u8], context: &[u8], out: &mut [u8]) {
    // Never refused: a PRK of the hash's length, and far less output than 255 hashes.
    let hk = Hkdf::<Sha256>::from_prk(secret).expect("32 bytes are a whole SHA-256 output");
    hk.expand_multi_info(&[label, context], out).expect("outputs are a few blocks");
}

/// Fills `out` with `HKDF(salt, ikm, label)`: extract and expand.
pub(crate) fn derive(salt: &[u8], ikm: &[u8], label: &[u8], out: &mut [u8]) {
    let hk = Hkdf::<Sha256>::new(Some(salt), ikm);
    hk.expand(label, out).expect("outputs are a few blocks");
}
