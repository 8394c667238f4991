//! Passphrase to pre-shared key (IEEE 802.11-2020 Annex J.4).

use super::KeyBytes;

/// Returns the 256-bit PSK: PBKDF2-HMAC-SHA-1, 4096 rounds, the SSID as salt.
pub fn psk(passphrase: &[u8], ssid: &[u8]) -> KeyBytes {
    let mut out = KeyBytes::zeros(32);
    pbkdf2::pbkdf2_hmac::<sha1::Sha1>(passphrase, ssid, 4096, out.as_mut_bytes());
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_vectors_of_the_annex_hold() {
        // Annex J.4.2.
        for (passphrase, ssid, first) in [
            (&b"password"[..], &b"IEEE"[..], [0xf4, 0x2c, 0x6f, 0xc5, 0x2d, 0xf0, 0xeb, 0xef]),
            (b"ThisIsAPassword", b"ThisIsASSID", [0x0d, 0xc0, 0xd6, 0xeb, 0x90, 0x55, 0x5e, 0xd6]),
        ] {
            let key = psk(passphrase, ssid);
            assert_eq!((key.as_bytes().len(), &key.as_bytes()[..8]), (32, &first[..]));
            assert_ne!(psk(passphrase, b"other"), key);
        }
    }
}
