//! Base32 (RFC 4648 §6) without padding: all of it is in QR code's alphanumeric set.

use alloc::string::String;
use alloc::vec::Vec;
use zeroize::Zeroizing;

const ALPHABET: &[u8; 32] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

/// Appends the encoding of `bytes` to `out`.
pub(super) fn encode(bytes: &[u8], out: &mut String) {
    for group in bytes.chunks(5) {
        let mut word = [0; 8];
        word[3..3 + group.len()].copy_from_slice(group);
        let word = u64::from_be_bytes(word);
        let characters = (group.len() * 8).div_ceil(5);
        for i in 0..characters {
            out.push(char::from(ALPHABET[(word >> (35 - 5 * i) & 31) as usize]));
        }
    }
}

/// Decodes text of either case to at most `max` bytes; `None` if it is not the encoding of anything.
pub(super) fn decode(text: &str, max: usize) -> Option<Zeroizing<Vec<u8>>> {
    let len = text.len() * 5 / 8;
    if len > max {
        return None;
    }
    let mut out = Zeroizing::new(Vec::with_capacity(max));
    for group in text.as_bytes().chunks(8) {
        let mut word = 0_u64;
        for (i, c) in group.iter().enumerate() {
            let value = ALPHABET.iter().position(|a| a == &c.to_ascii_uppercase())?;
            word |= (value as u64) << (35 - 5 * i);
        }
        let whole = group.len() * 5 / 8;
        let bytes = word.to_be_bytes();
        // Left-over bits must be zero and fewer than a character, so that there is one encoding.
        let one_form = (whole * 8).div_ceil(5) == group.len();
        if !one_form || bytes[3 + whole..].iter().any(|b| *b != 0) {
            return None;
        }
        out.extend_from_slice(&bytes[3..3 + whole]);
    }
    Some(out)
}
