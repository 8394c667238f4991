//! Where a network's secret comes from: a file, standard input or the environment, never the command
//! line, which every user of the machine can read.

use super::Cipher;
use crate::error::{Error, ErrorKind, Result};
use slyfi_ciphers::handshake::KeyBytes;
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use zeroize::Zeroizing;

/// A network's secret.
pub enum Secret {
    /// Of an open network.
    None,
    /// 8 to 63 printable characters.
    Passphrase(Zeroizing<Vec<u8>>),
    /// The key that a passphrase would become.
    Pmk(KeyBytes),
    /// A static key.
    Key(Zeroizing<Vec<u8>>),
}

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secret(..)")
    }
}

/// Where to look for it.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct SecretSource {
    /// A file with a passphrase; `-` is standard input.
    pub passphrase_file: Option<PathBuf>,
    /// A file with a key in hexadecimal digits; `-` is standard input.
    pub key_file: Option<PathBuf>,
}

/// The longest file that is read.
const MAX_FILE: u64 = 4096;

impl Secret {
    /// Finds and reads the secret that `cipher` needs.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`] when it is missing, of the wrong form, or readable by others.
    pub fn find(cipher: Cipher, source: &SecretSource) -> Result<Secret> {
        let SecretSource { passphrase_file, key_file } = source;
        match cipher {
            Cipher::Open if passphrase_file.is_none() && key_file.is_none() => Ok(Secret::None),
            Cipher::Open => Err(cipher.wrong_secret()),
            Cipher::Wep | Cipher::Sbkh => {
                if passphrase_file.is_some() {
                    return Err(cipher.wrong_secret());
                }
                let text = read(cipher, key_file.as_deref(), "SLYFI_KEY")?;
                Ok(Secret::Key(hex(&text).ok_or_else(|| cipher.wrong_secret())?))
            }
            _ => {
                if key_file.is_some() {
                    return Err(cipher.wrong_secret());
                }
                let text = read(cipher, passphrase_file.as_deref(), "SLYFI_PASSPHRASE")?;
                Secret::of_passphrase(&text).ok_or_else(|| cipher.wrong_secret())
            }
        }
    }

    /// Reads a passphrase: 8 to 63 characters from space to `~`, or a PMK in 64 hexadecimal digits
    /// (IEEE 802.11-2020 Annex J.4.1).
    fn of_passphrase(text: &[u8]) -> Option<Secret> {
        if text.len() == 64 {
            return KeyBytes::new(&hex(text)?).map(Secret::Pmk);
        }
        let printable = text.iter().all(|b| (0x20..=0x7e).contains(b));
        ((8..=63).contains(&text.len()) && printable)
            .then(|| Secret::Passphrase(Zeroizing::new(text.to_vec())))
    }
}

fn read(cipher: Cipher, file: Option<&Path>, variable: &str) -> Result<Zeroizing<Vec<u8>>> {
    let mut text = Zeroizing::new(Vec::new());
    match file {
        Some(path) if path == Path::new("-") => {
            let input = std::io::stdin().lock().take(MAX_FILE).read_to_end(&mut text);
            input.map_err(|e| Error::system("standard input", &e))?;
        }
        Some(path) => {
            let file = std::fs::File::open(path).map_err(|e| unreadable(path, &e))?;
            let meta = file.metadata().map_err(|e| unreadable(path, &e))?;
            if meta.is_file() && meta.mode() & 0o077 != 0 {
                let (shown, mode) = (path.display(), meta.mode() & 0o777);
                let cause = format!("{shown} has mode {mode:o}: others can read the secret");
                return Err(Error::new(ErrorKind::Usage, cause, format!("chmod 600 {shown}")));
            }
            file.take(MAX_FILE).read_to_end(&mut text).map_err(|e| unreadable(path, &e))?;
        }
        None => {
            use std::os::unix::ffi::OsStringExt;
            let value = std::env::var_os(variable).ok_or_else(|| cipher.wrong_secret())?;
            *text = value.into_vec();
        }
    }
    // A line end is the editor's, not the secret's.
    while matches!(text.last(), Some(b'\n' | b'\r')) {
        text.pop();
    }
    Ok(text)
}

fn unreadable(path: &Path, e: &std::io::Error) -> Error {
    let mend = "give a file of mode 0600 with the secret in its only line";
    Error::new(ErrorKind::Usage, format!("{}: {e}", path.display()), mend)
}

/// Reads hexadecimal digits in pairs.
fn hex(text: &[u8]) -> Option<Zeroizing<Vec<u8>>> {
    let digit = |b: u8| char::from(b).to_digit(16).map(|d| d as u8);
    let (pairs, rest) = text.as_chunks::<2>();
    let bytes: Option<Vec<u8>> =
        pairs.iter().map(|[a, b]| Some(digit(*a)? << 4 | digit(*b)?)).collect();
    bytes.filter(|b| rest.is_empty() && !b.is_empty()).map(Zeroizing::new)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::TempDir;
    use std::os::unix::fs::PermissionsExt;

    fn find(cipher: Cipher, text: &str, mode: u32, as_key: bool) -> Result<Secret> {
        let dir = TempDir::new("secret");
        let path = dir.path().join("secret");
        std::fs::write(&path, text).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
        let source = match as_key {
            true => SecretSource { key_file: Some(path), passphrase_file: None },
            false => SecretSource { key_file: None, passphrase_file: Some(path) },
        };
        Secret::find(cipher, &source)
    }

    #[test]
    fn passphrases_and_keys_are_read_from_private_files() {
        let found = find(Cipher::Ccmp, "correct horse\n", 0o600, false);
        assert!(matches!(found, Ok(Secret::Passphrase(p)) if **p == *b"correct horse"));
        let found = find(Cipher::Gcmp, &"5a".repeat(32), 0o400, false);
        assert!(matches!(found, Ok(Secret::Pmk(k)) if k.as_bytes() == [0x5a; 32]));
        let found = find(Cipher::Wep, "0123456789\r\n", 0o600, true);
        assert!(matches!(found, Ok(Secret::Key(k)) if **k == [1, 0x23, 0x45, 0x67, 0x89]));
        let none = Secret::find(Cipher::Open, &SecretSource::default());
        assert!(matches!(none, Ok(Secret::None)));
    }

    #[test]
    fn secrets_of_a_wrong_form_place_or_mode_are_refused_with_the_mend() {
        for (cipher, text, mode, as_key, mend) in [
            (Cipher::Ccmp, "correct horse", 0o644, false, "chmod 600"),
            (Cipher::Ccmp, "short", 0o600, false, "--passphrase-file"),
            (Cipher::Ccmp, "tab\tis no character", 0o600, false, "--passphrase-file"),
            (Cipher::Ccmp, "0123456789", 0o600, true, "--passphrase-file"),
            (Cipher::Wep, "0123456789", 0o600, false, "--key-file"),
            (Cipher::Sbkh, "xyz", 0o600, true, "--key-file"),
            (Cipher::Sbkh, "012", 0o600, true, "--key-file"),
            (Cipher::Open, "0123456789", 0o600, true, "leave"),
        ] {
            let e = find(cipher, text, mode, as_key).unwrap_err();
            assert_eq!(e.kind, ErrorKind::Usage);
            assert!(e.mend.contains(mend), "{cipher}: {e}");
            assert!(!e.to_string().contains(text), "no secret in an error: {e}");
        }
    }
}
