//! Changes to a network interface. All of them need CAP_NET_ADMIN.

use crate::netinfo::{Interface, InterfaceRequest, hardware};
use crate::socket::{self, RawAddress, check};
use slyfi_base::MacAddress;
use std::io;
use std::net::IpAddr;
use std::os::fd::{AsFd, AsRawFd};

/// Whether an interface is administratively up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AdminState {
    /// It takes and gives packets.
    Up,
    /// It does not.
    Down,
}

/// Brings an interface up or down.
///
/// # Errors
/// The system's (`EPERM` without CAP_NET_ADMIN, `ENODEV` when there is no such interface).
pub fn set_state(name: &str, state: AdminState) -> io::Result<()> {
    let request = InterfaceRequest::new(name)?;
    // SAFETY: the kernel has just filled this member.
    let flags = unsafe { request.ask(libc::SIOCGIFFLAGS)?.ifr_ifru.ifru_flags };
    let up = libc::IFF_UP as libc::c_short;
    let flags = match state {
        AdminState::Up => flags | up,
        AdminState::Down => flags & !up,
    };
    request.tell(libc::SIOCSIFFLAGS, |r| r.ifru_flags = flags)
}

/// Sets an interface's MTU, in bytes above the link layer.
///
/// # Errors
/// The system's; `EINVAL` when the interface cannot have this MTU.
pub fn set_mtu(name: &str, mtu: usize) -> io::Result<()> {
    let mtu = i32::try_from(mtu).map_err(|_| io::Error::from(io::ErrorKind::InvalidInput))?;
    InterfaceRequest::new(name)?.tell(libc::SIOCSIFMTU, |r| r.ifru_mtu = mtu)
}

/// Sets an Ethernet-like interface's hardware address.
///
/// # Errors
/// The system's; `EADDRNOTAVAIL` for a group address, `EBUSY` where it must be down for that.
pub fn set_mac(name: &str, mac: MacAddress) -> io::Result<()> {
    let address = ethernet_address(mac);
    InterfaceRequest::new(name)?.tell(libc::SIOCSIFHWADDR, |r| r.ifru_hwaddr = address)
}

/// Returns a hardware address in the form that interface requests have.
pub(crate) fn ethernet_address(mac: MacAddress) -> libc::sockaddr {
    // SAFETY: all zeros is a value of this structure of integers.
    let mut address = unsafe { std::mem::zeroed::<libc::sockaddr>() };
    address.sa_family = hardware::ETHERNET;
    for (to, from) in address.sa_data.iter_mut().zip(mac.0) {
        *to = from.cast_signed();
    }
    address
}

/// Gives an interface one more IP address. One that it has already is no error.
///
/// # Errors
/// `ErrorKind::InvalidInput` for a prefix longer than the address, or the system's.
pub fn add_address(name: &str, address: IpAddr, prefix: u8) -> io::Result<()> {
    let longest = if address.is_ipv4() { 32 } else { 128 };
    if prefix > longest {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            format!("an address of this family has a prefix of at most {longest} bits"),
        ));
    }
    let index = Interface::by_name(name)?.index;
    let request = new_address_request(index, address, prefix);
    let socket = socket::open(libc::AF_NETLINK, libc::SOCK_RAW, libc::NETLINK_ROUTE)?;
    let kernel = RawAddress::of_kernel();
    socket::connect(socket.as_fd(), &kernel)?;
    // SAFETY: the pointer is to the request's whole length.
    let sent = unsafe {
        libc::send(socket.as_fd().as_raw_fd(), request.as_ptr().cast(), request.len(), 0)
    };
    if sent < 0 {
        return Err(io::Error::last_os_error());
    }
    // The kernel works the request off inside `send`, so its answer is there already.
    let mut answer = [0u8; 1024];
    // SAFETY: the pointer is to the buffer's whole length.
    let n = check(unsafe {
        libc::recv(socket.as_fd().as_raw_fd(), answer.as_mut_ptr().cast(), answer.len(), 0) as i32
    })?;
    match acknowledged(&answer[..n as usize])? {
        0 | libc::EEXIST => Ok(()),
        code => Err(io::Error::from_raw_os_error(code)),
    }
}

/// Builds an `RTM_NEWADDR` request (`linux/rtnetlink.h`, RFC 3549 §3.1): the header, `struct
/// ifaddrmsg`, and the address as IFA_LOCAL and IFA_ADDRESS.
fn new_address_request(index: u32, address: IpAddr, prefix: u8) -> Vec<u8> {
    let (family, octets) = match address {
        IpAddr::V4(a) => (libc::AF_INET, a.octets().to_vec()),
        IpAddr::V6(a) => (libc::AF_INET6, a.octets().to_vec()),
    };
    let flags = libc::NLM_F_REQUEST | libc::NLM_F_ACK | libc::NLM_F_CREATE | libc::NLM_F_EXCL;
    // Duplicate address detection would keep an IPv6 address unusable for a second, and on a link
    // of which the access point answers every neighbour solicitation it has nothing to find.
    let address_flags = if address.is_ipv6() { libc::IFA_F_NODAD as u8 } else { 0 };
    let mut m = vec![0u8; 4];
    m.extend(libc::RTM_NEWADDR.to_ne_bytes());
    m.extend((flags as u16).to_ne_bytes());
    m.extend(1u32.to_ne_bytes()); // sequence number of the only request
    m.extend(0u32.to_ne_bytes()); // port: the kernel's to fill in
    m.extend([family as u8, prefix, address_flags, libc::RT_SCOPE_UNIVERSE]);
    m.extend(index.to_ne_bytes());
    for kind in [libc::IFA_LOCAL, libc::IFA_ADDRESS] {
        // Both address lengths are multiples of the four bytes that attributes align to.
        m.extend((4 + octets.len() as u16).to_ne_bytes());
        m.extend(kind.to_ne_bytes());
        m.extend(&octets);
    }
    let len = m.len() as u32;
    m[..4].copy_from_slice(&len.to_ne_bytes());
    m
}

/// Reads the error code (0: done) out of the kernel's acknowledgement.
fn acknowledged(answer: &[u8]) -> io::Result<i32> {
    // struct nlmsghdr (16 bytes), then struct nlmsgerr, which begins with the negated code.
    let kind = answer.get(4..6).map(|k| u16::from_ne_bytes([k[0], k[1]]));
    let code = answer.get(16..20).map(|c| i32::from_ne_bytes([c[0], c[1], c[2], c[3]]));
    match (kind.map(i32::from), code) {
        (Some(libc::NLMSG_ERROR), Some(code)) => Ok(code.saturating_neg()),
        _ => Err(io::Error::new(io::ErrorKind::InvalidData, "netlink gave no acknowledgement")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn acknowledgements_are_read_and_anything_else_is_an_error() {
        let mut answer = vec![0u8; 36];
        answer[4..6].copy_from_slice(&(libc::NLMSG_ERROR as u16).to_ne_bytes());
        assert_eq!(acknowledged(&answer).unwrap(), 0);
        answer[16..20].copy_from_slice(&(-libc::EEXIST).to_ne_bytes());
        assert_eq!(acknowledged(&answer).unwrap(), libc::EEXIST);
        answer[4] ^= 1;
        assert!(acknowledged(&answer).is_err());
        assert!(acknowledged(&[]).is_err());
    }

    #[test]
    fn a_prefix_longer_than_the_address_is_refused() {
        for (address, prefix) in [("192.0.2.1", 33), ("2001:db8::1", 129)] {
            let e = add_address("lo", address.parse().unwrap(), prefix).unwrap_err();
            assert_eq!(e.kind(), io::ErrorKind::InvalidInput);
        }
    }
}
