//! Ethernet addresses, as the host side of a link has them (they are never sent on the air).

/// A 48-bit Ethernet address.
///
/// # Security
/// `Debug` hides the address; the air never carries it and a log must not either.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct MacAddress(pub [u8; 6]);

impl MacAddress {
    /// The broadcast address.
    pub const BROADCAST: MacAddress = MacAddress([0xff; 6]);

    /// Returns whether the group bit is set: broadcast and multicast.
    pub const fn is_group(self) -> bool {
        self.0[0] & 1 == 1
    }

    /// Returns whether this can name one station: not a group address and not all zero.
    pub const fn is_unicast(self) -> bool {
        !self.is_group() && !matches!(self.0, [0, 0, 0, 0, 0, 0])
    }

    /// Makes a random locally administered unicast address from `bytes`.
    pub const fn local(bytes: [u8; 6]) -> Self {
        let [a, b, c, d, e, f] = bytes;
        MacAddress([(a & !1) | 2, b, c, d, e, f])
    }
}

impl core::fmt::Debug for MacAddress {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("MacAddress(<hidden>)")
    }
}
