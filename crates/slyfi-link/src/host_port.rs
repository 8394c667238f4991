//! The host side of a link: an Ethernet interface that this machine's network stack uses.

use crate::error::{Error, ErrorKind, Result};
use slyfi_base::MacAddress;
use slyfi_linux::{Tap, TapError};
use std::net::IpAddr;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixDatagram;

/// Where packets of the host come from and go to. Non-blocking.
pub trait HostPort {
    /// Returns what to wait on for packets.
    fn fd(&self) -> BorrowedFd<'_>;

    /// Takes one Ethernet frame of the host; `None` when there is none now.
    ///
    /// # Errors
    /// When the interface is gone.
    fn read(&mut self, buf: &mut [u8]) -> Result<Option<usize>>;

    /// Gives one Ethernet frame to the host; `false` when it was not taken.
    ///
    /// # Errors
    /// When the interface is gone.
    fn write(&mut self, frame: &[u8]) -> Result<bool>;

    /// Returns the interface's name.
    fn name(&self) -> &str;

    /// Returns the interface's hardware address.
    ///
    /// # Errors
    /// When the interface is gone.
    fn mac(&self) -> Result<MacAddress>;

    /// Sets the interface's hardware address.
    ///
    /// # Errors
    /// When the system refuses.
    fn set_mac(&mut self, mac: MacAddress) -> Result<()>;

    /// Returns the host's addresses on this interface.
    ///
    /// # Errors
    /// When the interface is gone.
    fn addresses(&self) -> Result<Vec<IpAddr>>;
}

impl HostPort for Tap {
    fn fd(&self) -> BorrowedFd<'_> {
        self.as_fd()
    }

    fn read(&mut self, buf: &mut [u8]) -> Result<Option<usize>> {
        Tap::read(self, buf).map_err(tap_error)
    }

    fn write(&mut self, frame: &[u8]) -> Result<bool> {
        match Tap::write(self, frame) {
            // The user took the interface down; packets for it are lost until it is up again.
            Err(TapError::Down { .. }) => Ok(false),
            other => other.map_err(tap_error),
        }
    }

    fn name(&self) -> &str {
        Tap::name(self)
    }

    fn mac(&self) -> Result<MacAddress> {
        let interface = self.interface().map_err(tap_error)?;
        interface.mac.ok_or_else(|| {
            let cause = format!("interface {} has no hardware address", self.name());
            Error::new(ErrorKind::System, cause, "choose another name with --tap")
        })
    }

    fn set_mac(&mut self, mac: MacAddress) -> Result<()> {
        Tap::set_mac(self, mac).map_err(tap_error)
    }

    fn addresses(&self) -> Result<Vec<IpAddr>> {
        let addresses = Tap::addresses(self).map_err(tap_error)?;
        Ok(addresses.into_iter().map(|(ip, _)| ip).collect())
    }
}

/// Turns an error of the TAP into one with an exit code. Its text has cause and mend already.
pub(crate) fn tap_error(error: TapError) -> Error {
    let kind = match error {
        TapError::NoPermission => ErrorKind::Privileges,
        TapError::NoTunDevice | TapError::Os { .. } => ErrorKind::System,
        _ => ErrorKind::Usage,
    };
    split_mend(kind, &error.to_string())
}

/// Splits `cause: mend` at the last colon-separated part, the form of slyfi-linux's messages.
pub(crate) fn split_mend(kind: ErrorKind, text: &str) -> Error {
    match text.split_once(": ") {
        Some((cause, mend)) => Error::new(kind, cause, mend),
        None => Error::new(kind, text, ""),
    }
}

/// A host at the other end of a datagram socket: for tests, and for a network stack in the same
/// process.
#[derive(Debug)]
pub struct SocketPort {
    socket: UnixDatagram,
    mac: MacAddress,
    addresses: Vec<IpAddr>,
}

impl SocketPort {
    /// Makes a port and the socket at its other end, whose datagrams are Ethernet frames.
    ///
    /// # Errors
    /// The system's, when it has no descriptors left.
    pub fn pair(mac: MacAddress, addresses: Vec<IpAddr>) -> Result<(Self, UnixDatagram)> {
        let failed = |e| Error::system("socket pair", &e);
        let (socket, other) = UnixDatagram::pair().map_err(failed)?;
        socket.set_nonblocking(true).map_err(failed)?;
        Ok((SocketPort { socket, mac, addresses }, other))
    }
}

impl HostPort for SocketPort {
    fn fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    fn read(&mut self, buf: &mut [u8]) -> Result<Option<usize>> {
        match self.socket.recv(buf) {
            Ok(n) => Ok(Some(n)),
            Err(e) if e.kind() == std::io::ErrorKind::WouldBlock => Ok(None),
            Err(e) => Err(Error::system("read from the host's socket", &e)),
        }
    }

    fn write(&mut self, frame: &[u8]) -> Result<bool> {
        match self.socket.send(frame) {
            Ok(_) => Ok(true),
            // Full, or the host is gone: either way the packet is lost, as on an interface.
            Err(_) => Ok(false),
        }
    }

    fn name(&self) -> &str {
        "socket"
    }

    fn mac(&self) -> Result<MacAddress> {
        Ok(self.mac)
    }

    fn set_mac(&mut self, mac: MacAddress) -> Result<()> {
        self.mac = mac;
        Ok(())
    }

    fn addresses(&self) -> Result<Vec<IpAddr>> {
        Ok(self.addresses.clone())
    }
}
