//! Lines for the key log: everything that opens a session's frames, for debugging one's own link.
//!
//! # Layout
//! ASCII, one line each, fields separated by a space:
//! `SLYFI_SESSION <pairing id> <suite byte> <up secret> <down secret>` and
//! `SLYFI_GROUP <epoch> <suite byte> <secret>`, all but the decimal epoch in hexadecimal.

use crate::agreement::SessionSecrets;
use alloc::vec::Vec;
use zeroize::Zeroizing;

/// The line of a session.
pub(crate) fn session_lines(pairing: &[u8; 8], secrets: &SessionSecrets) -> Zeroizing<Vec<u8>> {
    // Sized beforehand, so that no copy is left behind by growing.
    let mut out = Zeroizing::new(Vec::with_capacity(192));
    out.extend_from_slice(b"SLYFI_SESSION ");
    hex(&mut out, pairing);
    out.push(b' ');
    hex(&mut out, &[secrets.up.suite().to_byte()]);
    out.push(b' ');
    hex(&mut out, secrets.up.as_bytes());
    out.push(b' ');
    hex(&mut out, secrets.down.as_bytes());
    out
}

/// The line of a group key; `secret` as it is conveyed, suite byte first.
pub(crate) fn group_line(epoch: u32, secret: &[u8]) -> Zeroizing<Vec<u8>> {
    let mut out = Zeroizing::new(Vec::with_capacity(128));
    out.extend_from_slice(b"SLYFI_GROUP ");
    out.extend_from_slice(alloc::format!("{epoch} ").as_bytes());
    if let Some((suite, secret)) = secret.split_first() {
        hex(&mut out, &[*suite]);
        out.push(b' ');
        hex(&mut out, secret);
    }
    out
}

fn hex(out: &mut Vec<u8>, bytes: &[u8]) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    for b in bytes {
        out.push(DIGITS[usize::from(b >> 4)]);
        out.push(DIGITS[usize::from(b & 15)]);
    }
}
