//! Physical units that must not be confused with bare numbers.

/// Signal or transmit power in dBm.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Dbm(pub i8);

/// A channel's centre frequency in MHz.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Mhz(pub u16);

/// A legacy 802.11 bit rate in units of 500 kb/s, as radiotap's `Rate` field has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Rate(pub u8);

impl Rate {
    /// The base rate of 802.11a, 6 Mb/s.
    pub const BASE: Rate = Rate(12);
    /// The peak rate of 802.11a, 54 Mb/s.
    pub const PEAK: Rate = Rate(108);

    /// Returns the rate in kb/s.
    pub const fn as_kbps(self) -> u32 {
        self.0 as u32 * 500
    }
}
