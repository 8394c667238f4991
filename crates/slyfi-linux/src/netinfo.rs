//! Facts about a network interface, read by ioctl and `getifaddrs`; nothing here needs rights.

use crate::socket::{self, check};
use slyfi_base::MacAddress;
use std::fs;
use std::io;
use std::mem::zeroed;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

/// Hardware types of `linux/if_arp.h` that the airs know.
pub mod hardware {
    /// Ethernet, and what looks like it (veth, TAP, bridge).
    pub const ETHERNET: u16 = libc::ARPHRD_ETHER;
    /// The loopback interface.
    pub const LOOPBACK: u16 = libc::ARPHRD_LOOPBACK;
    /// 802.11 with a radiotap header: an interface in monitor mode.
    pub const RADIOTAP: u16 = libc::ARPHRD_IEEE80211_RADIOTAP;
}

/// What the system knows about one interface at the time of asking.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interface {
    /// Its name.
    pub name: String,
    /// Its index in this network namespace.
    pub index: u32,
    /// Its hardware type, one of [`hardware`] or another `ARPHRD_…`.
    pub hardware_type: u16,
    /// Its hardware address, where it has one of six bytes.
    pub mac: Option<MacAddress>,
    /// The longest packet above the link layer, in bytes.
    pub mtu: usize,
    /// Whether it is administratively up.
    pub is_up: bool,
    /// Whether it has a carrier (a veth's peer is up, a cable is in).
    pub is_running: bool,
}

impl Interface {
    /// Asks the system about the interface called `name`.
    ///
    /// # Errors
    /// `ErrorKind::NotFound` or `ENODEV` when there is none; the system's otherwise.
    pub fn by_name(name: &str) -> io::Result<Self> {
        let query = InterfaceRequest::new(name)?;
        // SAFETY (all reads of the union below): the kernel has just filled the member that the
        // request is for, and every bit pattern is a value of it.
        let index = query.ask(libc::SIOCGIFINDEX)?;
        // SAFETY: as above.
        let index = unsafe { index.ifr_ifru.ifru_ifindex };
        let mtu = query.ask(libc::SIOCGIFMTU)?;
        // SAFETY: as above.
        let mtu = unsafe { mtu.ifr_ifru.ifru_mtu };
        let flags = query.ask(libc::SIOCGIFFLAGS)?;
        // SAFETY: as above.
        let flags = libc::c_int::from(unsafe { flags.ifr_ifru.ifru_flags });
        let address = query.ask(libc::SIOCGIFHWADDR)?;
        // SAFETY: as above.
        let address = unsafe { address.ifr_ifru.ifru_hwaddr };
        Ok(Interface {
            name: name.to_owned(),
            index: index.cast_unsigned(),
            hardware_type: address.sa_family,
            mac: mac_of(address.sa_family, &address.sa_data.map(|c| c as u8)),
            mtu: mtu.max(0) as usize,
            is_up: flags & libc::IFF_UP != 0,
            is_running: flags & libc::IFF_RUNNING != 0,
        })
    }

    /// Returns every interface of this network namespace.
    ///
    /// # Errors
    /// The system's. An interface that goes away meanwhile is left out.
    pub fn all() -> io::Result<Vec<Self>> {
        let mut names = Vec::new();
        InterfaceAddresses::load()?.for_each(|name, _| {
            if !names.iter().any(|n| n == name) {
                names.push(name.to_owned());
            }
        });
        Ok(names.iter().filter_map(|name| Interface::by_name(name).ok()).collect())
    }

    /// Returns the IP addresses of the interface called `name`, with their prefix lengths.
    ///
    /// # Errors
    /// The system's.
    pub fn addresses(name: &str) -> io::Result<Vec<(IpAddr, u8)>> {
        let mut found = Vec::new();
        InterfaceAddresses::load()?.for_each(|of, address| {
            if let Some(address) = address.filter(|_| of == name) {
                found.push(address);
            }
        });
        Ok(found)
    }

    /// Returns the name of the radio (`phy0`) behind a Wi-Fi interface, `None` if it is no Wi-Fi.
    ///
    /// Interfaces with the same radio are siblings: what one does to the channel, all suffer.
    pub fn wireless_phy(&self) -> Option<String> {
        let name =
            fs::read_to_string(format!("/sys/class/net/{}/phy80211/name", self.name)).ok()?;
        Some(name.trim_end().to_owned())
    }
}

/// Returns the address if the hardware type has six-byte ones.
fn mac_of(hardware_type: u16, data: &[u8]) -> Option<MacAddress> {
    let six = data.first_chunk::<6>()?;
    matches!(hardware_type, hardware::ETHERNET | hardware::RADIOTAP | libc::ARPHRD_IEEE80211)
        .then_some(MacAddress(*six))
}

/// A request about one interface, for the ioctls that take `struct ifreq`.
pub(crate) struct InterfaceRequest {
    socket: OwnedFd,
    request: libc::ifreq,
}

impl InterfaceRequest {
    /// Prepares requests about the interface called `name`.
    pub(crate) fn new(name: &str) -> io::Result<Self> {
        let request = request_for(name)?;
        // Interface ioctls work on a socket of any family; this one exists in every kernel.
        let socket = socket::open(libc::AF_UNIX, libc::SOCK_DGRAM, 0)?;
        Ok(InterfaceRequest { socket, request })
    }

    /// Makes one `SIOCGIF…` request and returns what the kernel filled in.
    pub(crate) fn ask(&self, what: libc::Ioctl) -> io::Result<libc::ifreq> {
        let mut request = self.request;
        // SAFETY: `request` is a whole `struct ifreq`, which is what these ioctls read and write.
        check(unsafe { libc::ioctl(self.socket.as_fd().as_raw_fd(), what, &raw mut request) })?;
        Ok(request)
    }

    /// Makes one `SIOCSIF…` request with the union filled in by `fill`.
    pub(crate) fn tell(
        &self,
        what: libc::Ioctl,
        fill: impl FnOnce(&mut libc::__c_anonymous_ifr_ifru),
    ) -> io::Result<()> {
        let mut request = self.request;
        fill(&mut request.ifr_ifru);
        // SAFETY: as in `ask`.
        check(unsafe { libc::ioctl(self.socket.as_fd().as_raw_fd(), what, &raw mut request) })?;
        Ok(())
    }
}

/// Makes an empty request with an interface's name in it.
///
/// # Errors
/// `ErrorKind::InvalidInput` for a name that no interface can have.
pub(crate) fn request_for(name: &str) -> io::Result<libc::ifreq> {
    // SAFETY: all zeros is a value of this structure (integers, and a union of them and a pointer
    // that only SIOCGIFMAP-like requests follow, which are not made here).
    let mut request = unsafe { zeroed::<libc::ifreq>() };
    // The last byte stays zero: the kernel wants the name terminated (net/core/dev_ioctl.c).
    if name.is_empty() || name.len() >= request.ifr_name.len() || name.contains(['\0', '/', ' ']) {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "an interface name has 1 to 15 bytes, without spaces and slashes",
        ));
    }
    for (to, from) in request.ifr_name.iter_mut().zip(name.bytes()) {
        *to = from as libc::c_char;
    }
    Ok(request)
}

/// Reads the name out of a request.
pub(crate) fn name_in(request: &libc::ifreq) -> String {
    let bytes = request.ifr_name.map(|c| c as u8);
    let len = bytes.iter().position(|b| *b == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..len]).into_owned()
}

/// The list that `getifaddrs` allocates.
struct InterfaceAddresses(*mut libc::ifaddrs);

impl InterfaceAddresses {
    fn load() -> io::Result<Self> {
        let mut head = std::ptr::null_mut();
        // SAFETY: `head` is writable; on success it holds a list that `drop` frees.
        check(unsafe { libc::getifaddrs(&mut head) })?;
        Ok(InterfaceAddresses(head))
    }

    /// Calls `f` with every entry: the interface's name, and the address if it is an IP one.
    fn for_each(&self, mut f: impl FnMut(&str, Option<(IpAddr, u8)>)) {
        let mut at = self.0;
        // SAFETY: each `ifa_next` is null or the next node of the list, which lives until `drop`.
        while let Some(entry) = unsafe { at.as_ref() } {
            at = entry.ifa_next;
            // SAFETY: `ifa_name` is a terminated string that lives as long as the list.
            let name = unsafe { std::ffi::CStr::from_ptr(entry.ifa_name) };
            let address = ip_of(entry.ifa_addr).map(|ip| {
                let prefix = match ip_of(entry.ifa_netmask) {
                    Some(IpAddr::V4(mask)) => u32::from(mask).leading_ones(),
                    Some(IpAddr::V6(mask)) => u128::from(mask).leading_ones(),
                    None => 0,
                };
                (ip, prefix as u8)
            });
            f(&name.to_string_lossy(), address);
        }
    }
}

impl Drop for InterfaceAddresses {
    fn drop(&mut self) {
        // SAFETY: the list came from `getifaddrs` and is freed once.
        unsafe { libc::freeifaddrs(self.0) };
    }
}

/// Reads an IP address out of a list entry's pointer.
fn ip_of(address: *const libc::sockaddr) -> Option<IpAddr> {
    // SAFETY: the pointer is null or to a structure of at least `struct sockaddr`'s size.
    let family = unsafe { address.as_ref() }?.sa_family;
    match libc::c_int::from(family) {
        libc::AF_INET => {
            // SAFETY: the family says which structure it is.
            let a = unsafe { address.cast::<libc::sockaddr_in>().read_unaligned() };
            Some(Ipv4Addr::from(u32::from_be(a.sin_addr.s_addr)).into())
        }
        libc::AF_INET6 => {
            // SAFETY: as above.
            let a = unsafe { address.cast::<libc::sockaddr_in6>().read_unaligned() };
            Some(Ipv6Addr::from(a.sin6_addr.s6_addr).into())
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loopback_interface_is_known() {
        let lo = Interface::by_name("lo").unwrap();
        assert_eq!(lo.hardware_type, hardware::LOOPBACK);
        assert_eq!(lo.mac, None, "loopback has no address that could be on the air");
        assert!(lo.index > 0 && lo.mtu >= 1280);
        assert!(Interface::all().unwrap().contains(&lo));
        assert_eq!(lo.wireless_phy(), None);
    }

    #[test]
    fn addresses_come_with_their_prefix() {
        let addresses = Interface::addresses("lo").unwrap();
        assert!(addresses.contains(&(Ipv4Addr::LOCALHOST.into(), 8)), "{addresses:?}");
        assert!(Interface::addresses("no-such-if").unwrap().is_empty());
    }

    #[test]
    fn names_that_no_interface_can_have_are_refused() {
        for name in ["", "sixteen-bytes-xx", "a/b", "a b", "a\0b"] {
            let e = Interface::by_name(name).unwrap_err();
            assert_eq!(e.kind(), io::ErrorKind::InvalidInput, "{name:?}");
        }
        let e = Interface::by_name("fifteen-bytes-x").unwrap_err();
        assert_eq!(e.raw_os_error(), Some(libc::ENODEV));
    }
}
