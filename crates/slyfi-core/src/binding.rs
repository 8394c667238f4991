//! Which member's host has which IP address (slyfi-2008 §3.5, binding to higher layer identifiers).

use alloc::collections::BTreeMap;
use core::net::IpAddr;

/// Who has an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Owner {
    /// The access point's own host.
    Host,
    /// The member in this slot.
    Member(u32),
}

/// Why an address was not bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NotBound {
    /// Someone else has it, and is there: the first keeps it, so that no member can take over
    /// another's traffic by claiming its address.
    Taken,
    /// The owner has as many as one may have.
    TooMany,
    /// Not an address of one host (unspecified, loopback, multicast, broadcast).
    NotOneHost,
}

/// The most addresses of one owner: a host has a few, a member that claims a whole subnet is hostile.
pub(crate) const MAX_PER_OWNER: usize = 16;

/// The access point's table.
#[derive(Debug, Default)]
pub(crate) struct Bindings {
    owners: BTreeMap<IpAddr, Owner>,
}

impl Bindings {
    /// Notes that `owner` has `address`.
    pub(crate) fn bind(&mut self, address: IpAddr, owner: Owner) -> Result<(), NotBound> {
        if !is_one_host(address) {
            return Err(NotBound::NotOneHost);
        }
        match self.owners.get(&address) {
            Some(o) if *o == owner => return Ok(()),
            Some(_) => return Err(NotBound::Taken),
            None => {}
        }
        if self.of(owner).count() >= MAX_PER_OWNER {
            return Err(NotBound::TooMany);
        }
        self.owners.insert(address, owner);
        Ok(())
    }

    /// Notes that `owner` no longer has `address`.
    pub(crate) fn unbind(&mut self, address: IpAddr, owner: Owner) {
        if self.owners.get(&address) == Some(&owner) {
            self.owners.remove(&address);
        }
    }

    /// Forgets all of `owner`'s addresses.
    pub(crate) fn release(&mut self, owner: Owner) {
        self.owners.retain(|_, o| *o != owner);
    }

    /// Returns who has `address`.
    pub(crate) fn owner(&self, address: IpAddr) -> Option<Owner> {
        self.owners.get(&address).copied()
    }

    /// Iterates over the addresses of `owner`.
    pub(crate) fn of(&self, owner: Owner) -> impl Iterator<Item = IpAddr> + '_ {
        self.owners.iter().filter(move |(_, o)| **o == owner).map(|(a, _)| *a)
    }
}

/// Returns whether an address can belong to one host.
pub(crate) fn is_one_host(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(a) => {
            !(a.is_unspecified() || a.is_loopback() || a.is_multicast() || a.is_broadcast())
        }
        IpAddr::V6(a) => !(a.is_unspecified() || a.is_loopback() || a.is_multicast()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: Owner = Owner::Member(1);
    const B: Owner = Owner::Member(2);

    fn ip(last: u8) -> IpAddr {
        IpAddr::from([10, 0, 0, last])
    }

    #[test]
    fn the_first_owner_keeps_an_address_until_it_lets_go() {
        let mut b = Bindings::default();
        assert_eq!(b.bind(ip(1), A), Ok(()));
        assert_eq!(b.bind(ip(1), A), Ok(()));
        assert_eq!(b.bind(ip(1), B), Err(NotBound::Taken));
        b.unbind(ip(1), B);
        assert_eq!(b.owner(ip(1)), Some(A));
        b.unbind(ip(1), A);
        assert_eq!(b.bind(ip(1), B), Ok(()));
        b.release(B);
        assert_eq!(b.owner(ip(1)), None);
    }

    #[test]
    fn one_owner_cannot_take_them_all() {
        let mut b = Bindings::default();
        for n in 1..=16 {
            assert_eq!(b.bind(ip(n), A), Ok(()));
        }
        assert_eq!(b.bind(ip(17), A), Err(NotBound::TooMany));
        assert_eq!(b.bind(ip(17), B), Ok(()));
    }

    #[test]
    fn only_addresses_of_one_host_are_bound() {
        let mut b = Bindings::default();
        for a in ["0.0.0.0", "127.0.0.1", "224.0.0.251", "255.255.255.255", "::", "::1", "ff02::1"]
        {
            assert_eq!(b.bind(a.parse().unwrap(), A), Err(NotBound::NotOneHost), "{a}");
        }
    }
}
