//! The host's side of a link: a TAP interface, read and written as Ethernet frames.

use crate::netconfig::{self, AdminState};
use crate::netinfo::{Interface, name_in, request_for};
use crate::socket::check;
use slyfi_base::MacAddress;
use std::fmt;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::net::IpAddr;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::os::unix::fs::OpenOptionsExt;

/// The device that makes TAP interfaces (Linux `Documentation/networking/tuntap.rst`).
const CLONE_DEVICE: &str = "/dev/net/tun";

/// Of `linux/if_tun.h`: fail instead of attaching to an interface that exists.
const IFF_TUN_EXCL: libc::c_int = 0x8000;

/// Whether the interface may, must or must not exist already.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum TapMode {
    /// Attach to it if it exists, make it otherwise.
    #[default]
    CreateOrAttach,
    /// Make it; one that exists is an error.
    Create,
    /// Attach to a persistent one that the operator made.
    Attach,
}

/// Whether the interface outlives the process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Persistence {
    /// As it is: a new one goes away with the process, an attached one stays what it was.
    #[default]
    Unchanged,
    /// It stays.
    Persistent,
    /// It goes away with the process.
    Transient,
}

/// What TAP interface to open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TapConfig {
    /// Its name; `%d` in it becomes the lowest free number.
    pub name: String,
    /// Whether it may, must or must not exist.
    pub mode: TapMode,
    /// Whether it outlives the process.
    pub persistence: Persistence,
}

impl Default for TapConfig {
    fn default() -> Self {
        TapConfig {
            name: "slyfi%d".to_owned(),
            mode: TapMode::default(),
            persistence: Persistence::default(),
        }
    }
}

/// An open TAP interface. Non-blocking.
#[derive(Debug)]
pub struct Tap {
    file: File,
    name: String,
}

impl Tap {
    /// Opens the interface.
    ///
    /// # Errors
    /// [`TapError`], whose text says what to do.
    pub fn open(config: &TapConfig) -> Result<Self, TapError> {
        let name = config.name.as_str();
        let exists = Interface::by_name(name).is_ok();
        if config.mode == TapMode::Attach && !exists {
            return Err(TapError::NoSuchInterface { interface: name.to_owned() });
        }
        let mut request = request_for(name).map_err(TapError::os("name of the TAP interface"))?;
        let mut flags = libc::IFF_TAP | libc::IFF_NO_PI;
        if config.mode == TapMode::Create {
            flags |= IFF_TUN_EXCL;
        }
        request.ifr_ifru.ifru_flags = flags as libc::c_short;

        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .custom_flags(libc::O_NONBLOCK)
            .open(CLONE_DEVICE)
            .map_err(|e| match e.raw_os_error() {
                Some(libc::ENOENT | libc::ENODEV | libc::ENXIO) => TapError::NoTunDevice,
                Some(libc::EACCES | libc::EPERM) => TapError::NoPermission,
                _ => TapError::Os { call: "open /dev/net/tun", source: e },
            })?;
        // SAFETY: `request` is a whole `struct ifreq`, which is what TUNSETIFF reads and writes.
        check(unsafe { libc::ioctl(file.as_raw_fd(), libc::TUNSETIFF, &raw mut request) })
            .map_err(|e| {
                let interface = name.to_owned();
                match e.raw_os_error() {
                    Some(libc::EPERM | libc::EACCES) => TapError::NoPermission,
                    Some(libc::EBUSY) if config.mode == TapMode::Create => {
                        TapError::Exists { interface }
                    }
                    Some(libc::EBUSY) => TapError::Busy { interface },
                    Some(libc::EINVAL) if exists => TapError::NotTap { interface },
                    _ => TapError::Os { call: "TUNSETIFF", source: e },
                }
            })?;
        let tap = Tap { file, name: name_in(&request) };
        match config.persistence {
            Persistence::Unchanged => {}
            Persistence::Persistent => tap.set_persistent(1)?,
            Persistence::Transient => tap.set_persistent(0)?,
        }
        Ok(tap)
    }

    fn set_persistent(&self, on: libc::c_ulong) -> Result<(), TapError> {
        // SAFETY: TUNSETPERSIST takes an integer, no pointer.
        check(unsafe { libc::ioctl(self.file.as_raw_fd(), libc::TUNSETPERSIST, on) })
            .map_err(TapError::os("TUNSETPERSIST"))?;
        Ok(())
    }

    /// Returns the interface's name, with the number that `%d` became.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Reads one Ethernet frame; `None` when the host has sent none. A frame longer than `buf` is
    /// cut, so `buf` has to have room for the MTU and 18 bytes (header and VLAN tag).
    ///
    /// # Errors
    /// [`TapError::Os`] when the interface is gone.
    pub fn read(&mut self, buf: &mut [u8]) -> Result<Option<usize>, TapError> {
        loop {
            match self.file.read(buf) {
                Ok(n) => return Ok(Some(n)),
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => return Ok(None),
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(source) => return Err(TapError::Os { call: "read from TAP", source }),
            }
        }
    }

    /// Hands one Ethernet frame to the host; `false` when it has no room for it now.
    ///
    /// # Errors
    /// [`TapError::Down`], [`TapError::Os`] (`EINVAL` for less than an Ethernet header).
    pub fn write(&mut self, frame: &[u8]) -> Result<bool, TapError> {
        loop {
            match self.file.write(frame) {
                // The driver takes a frame whole or not at all.
                Ok(n) if n == frame.len() => return Ok(true),
                Ok(_) => {
                    let source = io::ErrorKind::WriteZero.into();
                    return Err(TapError::Os { call: "write to TAP", source });
                }
                Err(e) => match e.raw_os_error() {
                    Some(libc::EAGAIN | libc::ENOBUFS | libc::ENOMEM) => return Ok(false),
                    Some(libc::EINTR) => {}
                    // tun_get_user: the interface is not up.
                    Some(libc::EIO) => {
                        return Err(TapError::Down { interface: self.name.clone() });
                    }
                    _ => return Err(TapError::Os { call: "write to TAP", source: e }),
                },
            }
        }
    }

    /// Returns the facts about the interface.
    ///
    /// # Errors
    /// The system's, when it is gone.
    pub fn interface(&self) -> Result<Interface, TapError> {
        Interface::by_name(&self.name).map_err(TapError::os("facts about the TAP interface"))
    }

    /// Returns the IP addresses that the interface has now, with their prefix lengths.
    ///
    /// # Errors
    /// The system's.
    pub fn addresses(&self) -> Result<Vec<(IpAddr, u8)>, TapError> {
        Interface::addresses(&self.name).map_err(TapError::os("addresses of the TAP interface"))
    }

    /// Sets the hardware address. Through the TAP's own descriptor, which asks for no rights
    /// (`tun_chr_ioctl`), so that it works after privileges are dropped.
    ///
    /// # Errors
    /// The system's, for a group address.
    pub fn set_mac(&self, mac: MacAddress) -> Result<(), TapError> {
        let mut request =
            request_for(&self.name).map_err(TapError::os("name of the TAP interface"))?;
        request.ifr_ifru.ifru_hwaddr = netconfig::ethernet_address(mac);
        let fd = self.file.as_raw_fd();
        // SAFETY: `request` is a whole `struct ifreq`, which is what SIOCSIFHWADDR reads.
        check(unsafe { libc::ioctl(fd, libc::SIOCSIFHWADDR, &raw mut request) })
            .map_err(TapError::os("SIOCSIFHWADDR"))?;
        Ok(())
    }

    /// Sets the MTU, in bytes after the Ethernet header.
    ///
    /// # Errors
    /// [`TapError::NoPermission`] or the system's.
    pub fn set_mtu(&self, mtu: usize) -> Result<(), TapError> {
        netconfig::set_mtu(&self.name, mtu).map_err(TapError::admin("SIOCSIFMTU"))
    }

    /// Brings the interface up or down.
    ///
    /// # Errors
    /// [`TapError::NoPermission`] or the system's.
    pub fn set_state(&self, state: AdminState) -> Result<(), TapError> {
        netconfig::set_state(&self.name, state).map_err(TapError::admin("SIOCSIFFLAGS"))
    }

    /// Gives the interface one more IP address.
    ///
    /// # Errors
    /// [`TapError::NoPermission`] or the system's.
    pub fn add_address(&self, address: IpAddr, prefix: u8) -> Result<(), TapError> {
        netconfig::add_address(&self.name, address, prefix).map_err(TapError::admin("RTM_NEWADDR"))
    }
}

impl AsFd for Tap {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

/// Why a TAP interface cannot be opened, changed or used.
#[derive(Debug)]
#[non_exhaustive]
pub enum TapError {
    /// `/dev/net/tun` is missing.
    NoTunDevice,
    /// The process may not make or change interfaces.
    NoPermission,
    /// Another process is attached to the interface.
    Busy {
        /// Its name.
        interface: String,
    },
    /// [`TapMode::Create`] for an interface that exists.
    Exists {
        /// Its name.
        interface: String,
    },
    /// [`TapMode::Attach`] to an interface that does not exist.
    NoSuchInterface {
        /// The name asked for.
        interface: String,
    },
    /// The interface exists and is no TAP.
    NotTap {
        /// Its name.
        interface: String,
    },
    /// A frame was written to an interface that is down.
    Down {
        /// Its name.
        interface: String,
    },
    /// The system refused for a reason that is not foreseen above.
    Os {
        /// What was tried.
        call: &'static str,
        /// The system's error.
        source: io::Error,
    },
}

impl TapError {
    fn os(call: &'static str) -> impl FnOnce(io::Error) -> TapError {
        move |source| TapError::Os { call, source }
    }

    /// As `os`, but a refusal for want of rights is [`TapError::NoPermission`].
    fn admin(call: &'static str) -> impl FnOnce(io::Error) -> TapError {
        move |source| match source.raw_os_error() {
            Some(libc::EPERM | libc::EACCES) => TapError::NoPermission,
            _ => TapError::Os { call, source },
        }
    }
}

impl fmt::Display for TapError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TapError::NoTunDevice => f.write_str(
                "/dev/net/tun is missing: `modprobe tun`, or give the container the device",
            ),
            TapError::NoPermission => f.write_str(
                "no permission to create or change a TAP interface: run as root, give the program \
                 CAP_NET_ADMIN (`setcap cap_net_admin+ep FILE`), or create it before with \
                 `ip tuntap add mode tap user USER name NAME`",
            ),
            TapError::Busy { interface } => write!(
                f,
                "interface `{interface}` is busy: another process is attached to it; stop that \
                 one or choose another name"
            ),
            TapError::Exists { interface } => write!(
                f,
                "interface `{interface}` exists already: `ip link delete {interface}`, or allow \
                 to attach to it"
            ),
            TapError::NoSuchInterface { interface } => write!(
                f,
                "there is no TAP interface `{interface}` to attach to: `ip tuntap add mode tap \
                 name {interface}`"
            ),
            TapError::NotTap { interface } => {
                write!(f, "interface `{interface}` is no TAP interface: choose another name")
            }
            TapError::Down { interface } => {
                write!(f, "interface `{interface}` is down: `ip link set {interface} up`")
            }
            TapError::Os { call, source } => write!(f, "{call}: {source}"),
        }
    }
}

impl std::error::Error for TapError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            TapError::Os { source, .. } => Some(source),
            _ => None,
        }
    }
}
