//! Fast initial link set-up (IEEE 802.11-2020 §12.11.2): keys from two association frames, and an
//! EAPOL-Key handshake without integrity codes. AES-SIV under the KEK proves both.

use super::ptk::Ptk;
use super::{EapolKey, Kdf, KeyBytes, MicAlgorithm, Suite, siv};
use slyfi_base::Undecryptable;
use slyfi_wire::element::Elements;
use zeroize::Zeroize;

/// Authentication algorithm: FILS with a shared key, without perfect forward secrecy (§9.4.1.1).
pub const SHARED_KEY: [u8; 2] = [4, 0];

/// Element identifier of what has another identifier behind it (§9.4.2.1), and those of FILS.
const EXTENDED: u8 = 255;
const SESSION: u8 = 4;
const KEY_DELIVERY: u8 = 7;
const NONCE: u8 = 13;

/// The two suites: AKM 14 with SHA-256, 15 with SHA-384. Neither has a key confirmation key for EAPOL,
/// so no integrity code ever verifies under them.
pub const SUITES: [Suite; 2] = [
    Suite { kdf: Kdf::Sha256, mic: MicAlgorithm::AesCmac, kck_len: 0, kek_len: 32, is_ft: false },
    Suite { kdf: Kdf::Sha384, mic: MicAlgorithm::AesCmac, kck_len: 0, kek_len: 64, is_ft: false },
];

/// Both ends of an association, and what they sent in their authentication frames.
#[derive(Clone, Copy, Debug)]
pub struct Association<'a> {
    /// The station.
    pub station: [u8; 6],
    /// The access point.
    pub access_point: [u8; 6],
    /// The station's nonce.
    pub snonce: &'a [u8; 16],
    /// The access point's.
    pub anonce: &'a [u8; 16],
}

impl Association<'_> {
    /// Derives the keys from the PMK, with a temporal key of `tk_len` bytes, at most 32 (§12.11.2.5.3).
    pub fn ptk(&self, suite: Suite, pmk: &[u8], tk_len: usize) -> Ptk {
        // The key that confirms the association comes first; AES-SIV proves the same.
        let (ick, kek) = (suite.kdf.hash_len(), suite.kek_len);
        let mut bytes = [0; 48 + 64 + 32];
        let (out, _) = bytes.split_at_mut((ick + kek + tk_len.min(32)).min(48 + 64 + 32));
        let context: [&[u8]; 4] = [&self.station, &self.access_point, self.snonce, self.anonce];
        suite.kdf.derive(pmk, "FILS PTK Derivation", &context, out);
        let part = |from: usize, to: usize| {
            out.get(from..to).and_then(KeyBytes::new).unwrap_or_else(|| KeyBytes::zeros(0))
        };
        let ptk = Ptk {
            kck: KeyBytes::zeros(0),
            kek: part(ick, ick + kek),
            tk: part(ick + kek, out.len()),
        };
        bytes.zeroize();
        ptk
    }

    /// Opens what follows the session element of a request or response (`body` from its first fixed
    /// field on, `fixed` bytes of them) into `out`; returns the length (§12.11.2.6.2, §12.11.2.6.3).
    ///
    /// # Errors
    /// [`Undecryptable`] when there is no such element, or it does not verify under `kek`.
    pub fn open(
        &self,
        from_station: bool,
        body: &[u8],
        fixed: usize,
        kek: &KeyBytes,
        out: &mut [u8],
    ) -> Result<usize, Undecryptable> {
        let elements = body.get(fixed..).ok_or(Undecryptable)?;
        let (mut at, mut end) = (fixed, None);
        for e in Elements::new(elements).map_while(Result::ok) {
            at += e.buffer_len();
            if e.id == EXTENDED && e.data.first() == Some(&SESSION) {
                end = Some(at);
                break;
            }
        }
        let (clear, sealed) =
            body.split_at_checked(end.ok_or(Undecryptable)?).ok_or(Undecryptable)?;
        let (s, a): ([&[u8]; 2], [&[u8]; 2]) =
            ([&self.station, self.snonce], [&self.access_point, self.anonce]);
        let ([first, first_nonce], [second, second_nonce]) =
            if from_station { (s, a) } else { (a, s) };
        siv::open(kek, &[first, second, first_nonce, second_nonce, clear], sealed, out)
    }
}

/// Returns the nonce among the elements of an authentication frame.
pub fn nonce(elements: &[u8]) -> Option<[u8; 16]> {
    extended(elements, NONCE)?.try_into().ok()
}

/// Returns the key data among the opened elements of a response.
pub fn delivered(elements: &[u8]) -> Option<&[u8]> {
    // The receive sequence counter stands before it.
    extended(elements, KEY_DELIVERY)?.get(8..)
}

fn extended(elements: &[u8], id: u8) -> Option<&[u8]> {
    Elements::new(elements)
        .map_while(Result::ok)
        .filter(|e| e.id == EXTENDED)
        .find_map(|e| e.data.strip_prefix(&[id]))
}

/// Opens the key data of an EAPOL-Key packet that has no integrity code (seen with a length of zero)
/// into `out`; returns its length. The packet up to the data is covered (§12.7.2 i).
///
/// # Errors
/// [`Undecryptable`] when it does not verify under `kek`.
pub fn open_key_data(
    key: &EapolKey<'_>,
    kek: &KeyBytes,
    out: &mut [u8],
) -> Result<usize, Undecryptable> {
    let [before, _, rest] = key.parts_without_mic();
    let mut covered = [0; 83];
    let (front, len) = covered.split_at_mut(81);
    front.copy_from_slice(before.get(..81).ok_or(Undecryptable)?);
    len.copy_from_slice(rest.get(..2).ok_or(Undecryptable)?);
    siv::open(kek, &[&covered], key.data, out)
}
