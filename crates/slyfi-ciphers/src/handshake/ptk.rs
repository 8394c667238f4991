//! The pairwise transient key (IEEE 802.11-2020 §12.7.1.3): KCK, KEK and TK of one association.

use super::{KeyBytes, Suite};
use zeroize::Zeroize;

/// Both ends and both nonces of a handshake.
#[derive(Clone, Copy, Debug)]
pub struct Exchange<'a> {
    /// The authenticator's address (AA).
    pub authenticator: [u8; 6],
    /// The supplicant's address (SPA).
    pub supplicant: [u8; 6],
    /// The authenticator's nonce.
    pub anonce: &'a [u8; 32],
    /// The supplicant's nonce.
    pub snonce: &'a [u8; 32],
}

/// A pairwise transient key, cut up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ptk {
    /// Proves EAPOL-Key frames.
    pub kck: KeyBytes,
    /// Wraps key data.
    pub kek: KeyBytes,
    /// Protects frames.
    pub tk: KeyBytes,
}

/// The longest PTK: KCK 32, KEK 32, TK 32.
const MAX: usize = 96;

impl Ptk {
    /// Derives the key with a temporal key of `tk_len` bytes, at most 32 (§12.7.1.3).
    ///
    /// For FT suites `pmk` is the PMK-R1 (§12.7.1.6.5).
    pub fn derive(suite: Suite, pmk: &[u8], exchange: &Exchange<'_>, tk_len: usize) -> Self {
        let Exchange { authenticator: aa, supplicant: spa, anonce, snonce } = exchange;
        let mut bytes = [0; MAX];
        let len = (suite.kck_len + suite.kek_len + tk_len.min(32)).min(MAX);
        let (out, _) = bytes.split_at_mut(len);
        if suite.is_ft {
            suite.kdf.derive(pmk, "FT-PTK", &[*snonce, *anonce, aa, spa], out);
        } else {
            let context: [&[u8]; 4] =
                [aa.min(spa), aa.max(spa), *anonce.min(snonce), *anonce.max(snonce)];
            suite.kdf.derive(pmk, "Pairwise key expansion", &context, out);
        }
        let ptk = Self::cut(suite, out);
        bytes.zeroize();
        ptk
    }

    fn cut(suite: Suite, bytes: &[u8]) -> Self {
        let (kck, rest) = bytes.split_at(suite.kck_len.min(bytes.len()));
        let (kek, tk) = rest.split_at(suite.kek_len.min(rest.len()));
        let own = |b: &[u8]| KeyBytes::new(b).unwrap_or_else(|| KeyBytes::zeros(0));
        Ptk { kck: own(kck), kek: own(kek), tk: own(tk) }
    }
}
