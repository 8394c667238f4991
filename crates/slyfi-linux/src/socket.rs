//! Thin safe wrappers around the socket calls that std does not have.

use std::io;
use std::mem::{size_of, zeroed};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6};
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

/// Turns the -1 of a system call into the thread's last error.
pub(crate) fn check(ret: libc::c_int) -> io::Result<libc::c_int> {
    if ret < 0 { Err(io::Error::last_os_error()) } else { Ok(ret) }
}

/// Opens a non-blocking, close-on-exec socket.
pub(crate) fn open(
    domain: libc::c_int,
    kind: libc::c_int,
    protocol: libc::c_int,
) -> io::Result<OwnedFd> {
    let kind = kind | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
    // SAFETY: no pointers are passed.
    let fd = check(unsafe { libc::socket(domain, kind, protocol) })?;
    // SAFETY: the kernel just returned this descriptor, and nobody else knows it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// A C type for which every bit pattern, zeros included, is a value.
///
/// # Safety
/// Implement it for integers and structures of integers only.
pub(crate) unsafe trait Plain: Copy {}

// SAFETY: an integer.
unsafe impl Plain for libc::c_int {}
// SAFETY: two integers.
unsafe impl Plain for libc::tpacket_stats {}
// SAFETY: integers.
unsafe impl Plain for [u32; 9] {}

/// Sets a socket option.
pub(crate) fn set_option<T: Copy>(
    fd: BorrowedFd<'_>,
    level: libc::c_int,
    name: libc::c_int,
    value: &T,
) -> io::Result<()> {
    let (pointer, len) = (std::ptr::from_ref(value).cast(), size_of::<T>() as libc::socklen_t);
    // SAFETY: `pointer` is to `len` readable bytes that live through the call.
    check(unsafe { libc::setsockopt(fd.as_raw_fd(), level, name, pointer, len) })?;
    Ok(())
}

/// Reads a socket option.
pub(crate) fn option<T: Plain>(
    fd: BorrowedFd<'_>,
    level: libc::c_int,
    name: libc::c_int,
) -> io::Result<T> {
    // SAFETY: all zeros is a value of every `Plain` type.
    let mut value: T = unsafe { zeroed() };
    let mut len = size_of::<T>() as libc::socklen_t;
    let pointer = std::ptr::from_mut(&mut value).cast();
    // SAFETY: `pointer` is to `len` writable bytes; whatever the kernel writes is a `Plain` value.
    check(unsafe { libc::getsockopt(fd.as_raw_fd(), level, name, pointer, &mut len) })?;
    Ok(value)
}

/// Takes the error that the kernel has kept for this socket.
pub(crate) fn take_error(fd: BorrowedFd<'_>) -> io::Result<()> {
    match option::<libc::c_int>(fd, libc::SOL_SOCKET, libc::SO_ERROR)? {
        0 => Ok(()),
        code => Err(io::Error::from_raw_os_error(code)),
    }
}

/// An address of any family, in the kernel's layout.
#[derive(Clone, Copy)]
pub(crate) struct RawAddress {
    pub(crate) storage: libc::sockaddr_storage,
    pub(crate) len: libc::socklen_t,
}

impl RawAddress {
    /// The address that is none; room for one to be received.
    pub(crate) fn unspecified() -> Self {
        // SAFETY: all zeros is a value of this structure of integers.
        let storage = unsafe { zeroed::<libc::sockaddr_storage>() };
        RawAddress { storage, len: 0 }
    }

    /// Wraps one family's structure.
    fn from_structure<T: Copy>(address: T) -> Self {
        const { assert!(size_of::<T>() <= size_of::<libc::sockaddr_storage>()) };
        let mut raw = RawAddress::unspecified();
        // SAFETY: the storage is at least as large (asserted above) and aligned for every family.
        unsafe { std::ptr::from_mut(&mut raw.storage).cast::<T>().write(address) };
        raw.len = size_of::<T>() as libc::socklen_t;
        raw
    }

    /// A packet socket's address: a protocol on an interface.
    pub(crate) fn of_interface(index: u32, protocol: u16) -> Self {
        // SAFETY: all zeros is a value of this structure of integers.
        let mut ll = unsafe { zeroed::<libc::sockaddr_ll>() };
        ll.sll_family = libc::AF_PACKET as u16;
        ll.sll_protocol = protocol.to_be();
        ll.sll_ifindex = index as i32;
        RawAddress::from_structure(ll)
    }

    /// The kernel's end of a netlink socket.
    pub(crate) fn of_kernel() -> Self {
        // SAFETY: all zeros is a value of this structure of integers.
        let mut nl = unsafe { zeroed::<libc::sockaddr_nl>() };
        nl.nl_family = libc::AF_NETLINK as u16;
        RawAddress::from_structure(nl)
    }

    /// Returns the packet type (`PACKET_OUTGOING`, …) if this came from a packet socket.
    pub(crate) fn packet_type(&self) -> Option<u8> {
        if libc::c_int::from(self.storage.ss_family) != libc::AF_PACKET {
            return None;
        }
        // SAFETY: the family says which structure it is; the storage is larger and aligned.
        let ll = unsafe { std::ptr::from_ref(&self.storage).cast::<libc::sockaddr_ll>().read() };
        Some(ll.sll_pkttype)
    }

    /// Returns the IP address and port, if it is one.
    pub(crate) fn to_ip(self) -> Option<SocketAddr> {
        match libc::c_int::from(self.storage.ss_family) {
            libc::AF_INET => {
                // SAFETY: the family says which structure it is; the storage is larger and aligned.
                let a =
                    unsafe { std::ptr::from_ref(&self.storage).cast::<libc::sockaddr_in>().read() };
                let ip = Ipv4Addr::from(u32::from_be(a.sin_addr.s_addr));
                Some(SocketAddrV4::new(ip, u16::from_be(a.sin_port)).into())
            }
            libc::AF_INET6 => {
                // SAFETY: as above.
                let a = unsafe {
                    std::ptr::from_ref(&self.storage).cast::<libc::sockaddr_in6>().read()
                };
                let ip = Ipv6Addr::from(a.sin6_addr.s6_addr);
                let port = u16::from_be(a.sin6_port);
                Some(SocketAddrV6::new(ip, port, 0, a.sin6_scope_id).into())
            }
            _ => None,
        }
    }

    /// Returns the pointer and the length that system calls take.
    pub(crate) fn as_ptr(&self) -> *const libc::sockaddr {
        std::ptr::from_ref(&self.storage).cast()
    }
}

impl From<SocketAddr> for RawAddress {
    fn from(address: SocketAddr) -> Self {
        match address {
            SocketAddr::V4(v4) => {
                // SAFETY: all zeros is a value of this structure of integers.
                let mut a = unsafe { zeroed::<libc::sockaddr_in>() };
                a.sin_family = libc::AF_INET as u16;
                a.sin_port = v4.port().to_be();
                a.sin_addr.s_addr = u32::from(*v4.ip()).to_be();
                RawAddress::from_structure(a)
            }
            SocketAddr::V6(v6) => {
                // SAFETY: all zeros is a value of this structure of integers.
                let mut a = unsafe { zeroed::<libc::sockaddr_in6>() };
                a.sin6_family = libc::AF_INET6 as u16;
                a.sin6_port = v6.port().to_be();
                a.sin6_addr.s6_addr = v6.ip().octets();
                a.sin6_scope_id = v6.scope_id();
                RawAddress::from_structure(a)
            }
        }
    }
}

/// Gives a socket its local address.
pub(crate) fn bind(fd: BorrowedFd<'_>, address: &RawAddress) -> io::Result<()> {
    // SAFETY: the pointer is to `len` readable bytes that live through the call.
    check(unsafe { libc::bind(fd.as_raw_fd(), address.as_ptr(), address.len) })?;
    Ok(())
}

/// Fixes a socket's remote address.
pub(crate) fn connect(fd: BorrowedFd<'_>, address: &RawAddress) -> io::Result<()> {
    // SAFETY: the pointer is to `len` readable bytes that live through the call.
    check(unsafe { libc::connect(fd.as_raw_fd(), address.as_ptr(), address.len) })?;
    Ok(())
}

/// Returns a socket's own address.
pub(crate) fn local_address(fd: BorrowedFd<'_>) -> io::Result<RawAddress> {
    let mut address = RawAddress::unspecified();
    address.len = size_of::<libc::sockaddr_storage>() as libc::socklen_t;
    let pointer = std::ptr::from_mut(&mut address.storage).cast();
    // SAFETY: `pointer` is to `len` writable bytes, and the kernel writes no more than that.
    check(unsafe { libc::getsockname(fd.as_raw_fd(), pointer, &mut address.len) })?;
    Ok(address)
}

/// Asks for a receive buffer of `bytes`; the kernel gives what it may. More than the system's
/// limit needs CAP_NET_ADMIN.
pub(crate) fn enlarge_receive_buffer(fd: BorrowedFd<'_>, bytes: libc::c_int) -> io::Result<()> {
    match set_option(fd, libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, &bytes) {
        Err(e) if e.raw_os_error() == Some(libc::EPERM) => {
            set_option(fd, libc::SOL_SOCKET, libc::SO_RCVBUF, &bytes)
        }
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_survive_the_kernels_layout() {
        for text in ["192.0.2.7:5789", "[2001:db8::9%3]:77"] {
            let address: SocketAddr = text.parse().unwrap();
            let raw = RawAddress::from(address);
            assert_eq!(raw.to_ip(), Some(address));
            assert_eq!(raw.packet_type(), None);
        }
        let raw = RawAddress::of_interface(3, 0x88b5);
        assert_eq!(raw.to_ip(), None);
        assert_eq!(raw.packet_type(), Some(libc::PACKET_HOST));
        assert_eq!(RawAddress::unspecified().to_ip(), None);
    }
}
