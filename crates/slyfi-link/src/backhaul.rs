//! What access points of one network tell each other: sealed messages in UDP datagrams.

use crate::error::{Error, ErrorKind, Result};
use slyfi_core::backhaul::BackhaulKey;
use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use zeroize::Zeroizing;

/// The socket to the siblings. Messages are sealed and opened by the machine.
#[derive(Debug)]
pub struct BackhaulSocket {
    socket: UdpSocket,
    siblings: Vec<SocketAddr>,
}

impl BackhaulSocket {
    /// Opens the socket.
    ///
    /// # Errors
    /// The system's, for an address that is not this machine's.
    pub fn bind(address: SocketAddr, siblings: &[SocketAddr]) -> Result<Self> {
        let failed = |e| Error::system(format_args!("backhaul {address}"), &e);
        let socket = UdpSocket::bind(address).map_err(failed)?;
        socket.set_nonblocking(true).map_err(failed)?;
        Ok(BackhaulSocket { socket, siblings: siblings.to_vec() })
    }

    /// Sends a message to every sibling. What cannot be sent is lost, like any datagram; returns how
    /// many went out.
    pub fn send(&self, message: &[u8]) -> usize {
        self.siblings.iter().filter(|to| self.socket.send_to(message, to).is_ok()).count()
    }

    /// Takes one received message; `None` when there is none now. Anyone can send one: only the
    /// machine can tell whose it is.
    pub fn receive(&self, buf: &mut [u8]) -> Option<usize> {
        loop {
            match self.socket.recv_from(buf) {
                Ok((n, _)) => return Some(n),
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => return None,
                // An ICMP error about an earlier datagram, or a signal.
                Err(e)
                    if matches!(
                        e.kind(),
                        io::ErrorKind::ConnectionRefused | io::ErrorKind::Interrupted
                    ) => {}
                Err(_) => return None,
            }
        }
    }

    /// Returns what to poll.
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// Reads the key that the access points share: 64 hexadecimal digits in a file of mode 0600.
///
/// # Errors
/// [`ErrorKind::Usage`] when the file is readable by others or holds something else.
pub fn read_key(path: &Path) -> Result<BackhaulKey> {
    let wrong = |cause: String, mend: String| Error::new(ErrorKind::Usage, cause, mend);
    let failed = |e: io::Error| {
        let mend = format!("make one: (umask 077; openssl rand -hex 32 > {})", path.display());
        wrong(format!("backhaul key {}: {e}", path.display()), mend)
    };
    let mode = std::fs::metadata(path).map_err(failed)?.mode();
    if mode & 0o077 != 0 {
        return Err(wrong(
            format!("the backhaul key {} has mode {:o}", path.display(), mode & 0o777),
            format!("chmod 600 {}", path.display()),
        ));
    }
    let text = Zeroizing::new(std::fs::read_to_string(path).map_err(failed)?);
    let mut key = Zeroizing::new([0; 32]);
    let digits = text.trim().as_bytes();
    let nibble = |c: u8| char::from(c).to_digit(16).map(|d| d as u8);
    let parsed = digits.len() == 64
        && key.iter_mut().zip(digits.chunks_exact(2)).all(|(byte, pair)| {
            match (nibble(pair[0]), nibble(pair[1])) {
                (Some(high), Some(low)) => {
                    *byte = high << 4 | low;
                    true
                }
                _ => false,
            }
        });
    if !parsed {
        return Err(wrong(
            format!("the backhaul key {} is not 64 hexadecimal digits", path.display()),
            format!("make one: (umask 077; openssl rand -hex 32 > {})", path.display()),
        ));
    }
    Ok(BackhaulKey::new(*key))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::TempDir;
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_key_is_64_digits_in_a_file_of_its_owner() {
        let dir = TempDir::new("backhaul");
        let path = dir.path().join("key");
        let write = |text: &str, mode| {
            fs::write(&path, text).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            read_key(&path)
        };
        let digits = "0123456789abcdefABCDEF00".to_owned() + &"5a".repeat(20);
        assert!(write(&format!("{digits}\n"), 0o600).is_ok());
        assert!(write(&digits, 0o644).unwrap_err().mend.starts_with("chmod 600"));
        for wrong in [&digits[..62], &digits.replace('f', "g"), ""] {
            assert_eq!(write(wrong, 0o600).unwrap_err().kind, ErrorKind::Usage, "{wrong}");
        }
        assert_eq!(read_key(&dir.path().join("none")).unwrap_err().kind, ErrorKind::Usage);
    }

    #[test]
    fn a_message_reaches_every_sibling() {
        let any = "127.0.0.1:0".parse().unwrap();
        let others =
            [BackhaulSocket::bind(any, &[]).unwrap(), BackhaulSocket::bind(any, &[]).unwrap()];
        let to: Vec<_> = others.iter().map(|o| o.socket.local_addr().unwrap()).collect();
        let socket = BackhaulSocket::bind(any, &to).unwrap();
        assert_eq!(socket.send(b"sealed"), 2);
        for other in &others {
            let mut buf = [0; 16];
            let n = (0..1000).find_map(|_| {
                std::thread::sleep(std::time::Duration::from_millis(1));
                other.receive(&mut buf)
            });
            assert_eq!(&buf[..n.unwrap()], b"sealed");
            assert!(other.receive(&mut buf).is_none());
        }
    }
}
