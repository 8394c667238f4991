//! Keys as the user gives them.

use crate::KeyError;
use slyfi_ciphers::danger::wep::WepKey;
use slyfi_ciphers::handshake::KeyBytes;
use std::io::Read;
use std::str::FromStr;
use zeroize::{Zeroize, ZeroizeOnDrop, Zeroizing};

/// One given key.
///
/// | text | meaning |
/// |---|---|
/// | `wep:HEX` | WEP-40 or WEP-104, any key identifier; colons between octets are allowed |
/// | `wpa-pwd:PASSPHRASE:SSID` | passphrase of one network; `%3a` stands for a colon, `%25` for a per cent |
/// | `wpa-pwd:PASSPHRASE` | the same for every network whose SSID the capture shows |
/// | `wpa-psk:HEX` | a PMK of 32, 48 or 64 bytes: PSK, SAE, OWE, EAP; with FT the first-level secret |
/// | `msk:HEX` | an EAP master session key of 64 bytes |
/// | `tk:HEX` | a temporal or group key: 16 bytes (CCMP, GCMP, TKIP without Michael) or 32 |
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Key {
    /// WEP.
    Wep(WepKey),
    /// A passphrase, for one SSID or all.
    Passphrase {
        /// The passphrase.
        passphrase: Secret,
        /// The network.
        ssid: Option<Vec<u8>>,
    },
    /// A pairwise master key.
    Pmk(KeyBytes),
    /// A master session key.
    Msk(KeyBytes),
    /// A temporal key.
    Temporal(KeyBytes),
}

/// Text that does not print itself and is erased when it goes.
#[derive(Clone, PartialEq, Eq, Zeroize, ZeroizeOnDrop)]
pub struct Secret(pub Vec<u8>);

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("<hidden>")
    }
}

fn bad(what: &'static str) -> KeyError {
    KeyError { what, line: None }
}

impl FromStr for Key {
    type Err = KeyError;

    fn from_str(text: &str) -> Result<Self, KeyError> {
        let (kind, value) = text
            .split_once(':')
            .ok_or(bad("a key is written KIND:VALUE, for example wpa-pwd:PASSPHRASE:SSID"))?;
        match kind {
            "wep" => {
                let key = hex(value).ok_or(bad("wep: needs hexadecimal octets"))?;
                WepKey::new(&key).map(Key::Wep).ok_or(bad("wep: takes 5, 13 or 16 octets"))
            }
            "wpa-pwd" => passphrase(value),
            "wpa-psk" => Ok(Key::Pmk(sized(
                value,
                &[32, 48, 64],
                "wpa-psk: takes 32, 48 or 64 octets in hexadecimal",
            )?)),
            "msk" => Ok(Key::Msk(sized(value, &[64], "msk: takes 64 octets in hexadecimal")?)),
            "tk" => Ok(Key::Temporal(sized(
                value,
                &[16, 32],
                "tk: takes 16 or 32 octets in hexadecimal",
            )?)),
            _ => Err(bad("unknown kind of key; there are wep, wpa-pwd, wpa-psk, msk and tk")),
        }
    }
}

fn passphrase(value: &str) -> Result<Key, KeyError> {
    let (phrase, ssid) = match value.split_once(':') {
        Some((phrase, ssid)) => (phrase, Some(ssid)),
        None => (value, None),
    };
    if ssid.is_some_and(|s| s.contains(':')) {
        return Err(bad("wpa-pwd: write %3a for a colon in passphrase or SSID"));
    }
    let unescape = |s| {
        unescape(s).ok_or(bad("wpa-pwd: a per cent sign needs two hexadecimal digits; write %25"))
    };
    let passphrase = Secret(unescape(phrase)?);
    if !(8..=63).contains(&passphrase.0.len()) {
        return Err(bad("wpa-pwd: a passphrase has 8 to 63 characters"));
    }
    let ssid = ssid.map(unescape).transpose()?;
    if ssid.as_ref().is_some_and(|s| s.is_empty() || s.len() > 32) {
        return Err(bad("wpa-pwd: an SSID has 1 to 32 octets"));
    }
    Ok(Key::Passphrase { passphrase, ssid })
}

fn sized(value: &str, lengths: &[usize], what: &'static str) -> Result<KeyBytes, KeyError> {
    hex(value)
        .filter(|k| lengths.contains(&k.len()))
        .and_then(|k| KeyBytes::new(&k))
        .ok_or(bad(what))
}

fn hex(text: &str) -> Option<Zeroizing<Vec<u8>>> {
    // With room from the start nothing is moved, and so nothing left behind.
    let mut out = Zeroizing::new(Vec::with_capacity(text.len()));
    let mut digits = text.bytes().filter(|b| *b != b':' && *b != b'-');
    while let Some(high) = digits.next() {
        let digit = |b: u8| Some(char::from(b).to_digit(16)? as u8);
        out.push(digit(high)? << 4 | digit(digits.next()?)?);
    }
    Some(out)
}

fn unescape(text: &str) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(text.len());
    let mut bytes = text.bytes();
    while let Some(b) = bytes.next() {
        if b != b'%' {
            out.push(b);
            continue;
        }
        let mut digit = || Some(char::from(bytes.next()?).to_digit(16)? as u8);
        out.push(digit()? << 4 | digit()?);
    }
    Some(out)
}

/// Reads a key file: one key a line; empty lines and lines that begin with `#` are skipped, and so are a
/// byte order mark and blanks around a line. (A passphrase or SSID that ends with a blank is written with
/// `%20`.)
///
/// # Errors
/// [`KeyError`] with the first line that is no key.
pub fn parse_key_file(text: &str) -> Result<Vec<Key>, KeyError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    text.lines()
        .enumerate()
        .map(|(i, line)| (i + 1, line.trim()))
        .filter(|(_, line)| !line.is_empty() && !line.starts_with('#'))
        .map(|(i, line)| line.parse().map_err(|e| KeyError { line: Some(i), ..e }))
        .collect()
}

/// Reads all of a stream as [`parse_key_file`] reads text, and erases what it read.
///
/// # Errors
/// What reading says, and [`std::io::ErrorKind::InvalidData`] with a [`KeyError`].
pub fn read_key_file(mut stream: impl std::io::Read) -> std::io::Result<Vec<Key>> {
    let mut text = Zeroizing::new(String::with_capacity(MAX_KEY_FILE));
    stream.by_ref().take(MAX_KEY_FILE as u64).read_to_string(&mut text)?;
    if text.len() == MAX_KEY_FILE {
        let what = "it is longer than a file of keys can be";
        return Err(std::io::Error::new(std::io::ErrorKind::InvalidData, what));
    }
    parse_key_file(&text).map_err(|e| std::io::Error::new(std::io::ErrorKind::InvalidData, e))
}

/// A mebibyte holds more keys than anybody has, and a wrong file is noticed.
const MAX_KEY_FILE: usize = 1 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    fn phrase(text: &str, ssid: Option<&str>) -> Key {
        Key::Passphrase {
            passphrase: Secret(text.as_bytes().to_vec()),
            ssid: ssid.map(|s| s.as_bytes().to_vec()),
        }
    }

    #[test]
    fn each_kind_is_read() {
        let key = |s: &str| s.parse::<Key>().unwrap();
        assert_eq!(
            key("wep:12:34:56:78:90"),
            Key::Wep(WepKey::new(&[0x12, 0x34, 0x56, 0x78, 0x90]).unwrap())
        );
        assert_eq!(key("wpa-pwd:Induction:Coherer"), phrase("Induction", Some("Coherer")));
        assert_eq!(key("wpa-pwd:12345678"), phrase("12345678", None));
        assert_eq!(key("wpa-pwd:a%3ab%25cdefg:x%3ay"), phrase("a:b%cdefg", Some("x:y")));
        assert_eq!(
            key(&format!("tk:{}", "0f".repeat(16))),
            Key::Temporal(KeyBytes::new(&[15; 16]).unwrap())
        );
        assert_eq!(
            key(&format!("wpa-psk:{}", "AB".repeat(48))),
            Key::Pmk(KeyBytes::new(&[0xab; 48]).unwrap())
        );
        assert_eq!(
            key(&format!("msk:{}", "01".repeat(64))),
            Key::Msk(KeyBytes::new(&[1; 64]).unwrap())
        );
    }

    #[test]
    fn what_is_no_key_is_refused_without_printing_it() {
        for text in [
            "secret",
            "wep:1234",
            "wep:12345678zz",
            "wpa-pwd:short",
            "wpa-pwd:12345678:",
            "wpa-pwd:a:b:c",
            "wpa-pwd:12345678%zz",
            "wpa-psk:00",
            "tk:00",
            "msk:00",
            "other:00",
            "wep:123456789",
        ] {
            let error = text.parse::<Key>().unwrap_err().to_string();
            let value = text.split_once(':').map_or(text, |(_, v)| v);
            assert!(value.is_empty() || value == "00" || !error.contains(value), "{error}");
        }
        assert!(!format!("{:?}", phrase("Induction", None)).contains("nduction"));
    }

    #[test]
    fn a_stream_of_keys_is_read_and_one_without_end_is_not() {
        assert_eq!(read_key_file(&b"wpa-pwd:12345678\n"[..]).unwrap().len(), 1);
        assert!(read_key_file(std::io::repeat(b'#')).is_err());
        assert!(read_key_file(&b"\xff\xfe"[..]).is_err());
    }

    #[test]
    fn a_key_file_names_the_line_that_is_wrong() {
        let good = "# keys\n\nwpa-pwd:12345678\n  wep:1234567890\n";
        assert_eq!(parse_key_file(good).unwrap().len(), 2);
        let dos = "\u{feff}wpa-pwd:12345678%20\r\n\r\n# more\r\n";
        assert_eq!(parse_key_file(dos).unwrap(), [phrase("12345678 ", None)]);
        let error = parse_key_file("wpa-pwd:12345678\n\nnonsense").unwrap_err();
        assert_eq!(error.line, Some(3));
    }
}
