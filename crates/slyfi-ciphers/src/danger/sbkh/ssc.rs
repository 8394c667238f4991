//! The SBKH sequence counter: 24 bits in the IV field (§II).

/// A packet's place: the epoch (how many times the S-Offset was applied under this base key) and the
/// packet's number in it.
///
/// # Layout
/// `epoch (12 bits) | number (12 bits)`, most significant octet first. Read as one integer it only
/// grows under a base key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Ssc {
    /// The epoch, 0 to 4095.
    pub epoch: u16,
    /// The packet's number in it, 0 to 4095.
    pub number: u16,
}

impl Ssc {
    /// The last epoch, and the last number in each.
    pub const LAST: u16 = 0x0fff;

    /// Reads the three octets of the IV field.
    pub const fn from_bytes(b: [u8; 3]) -> Self {
        let [b0, b1, b2] = b;
        let all = u32::from_be_bytes([0, b0, b1, b2]);
        Ssc { epoch: (all >> 12) as u16, number: (all & 0x0fff) as u16 }
    }

    /// Returns the three octets.
    pub const fn to_bytes(self) -> [u8; 3] {
        let all = (self.epoch as u32 & 0x0fff) << 12 | self.number as u32 & 0x0fff;
        let [_, b0, b1, b2] = all.to_be_bytes();
        [b0, b1, b2]
    }
}

/// An epoch of a base key: what a node keeps over a restart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Position {
    /// How many times the base key changed since the start of the schedule.
    pub hop: u32,
    /// The epoch under it.
    pub epoch: u16,
}

impl Position {
    /// Later than every position.
    pub const MAX: Position = Position { hop: u32::MAX, epoch: Ssc::LAST };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn epoch_and_number_share_the_field_and_order_like_one_integer() {
        let ssc = Ssc { epoch: 0xabc, number: 0x123 };
        assert_eq!(ssc.to_bytes(), [0xab, 0xc1, 0x23]);
        assert_eq!(Ssc::from_bytes([0xab, 0xc1, 0x23]), ssc);
        let last = Ssc { epoch: 5, number: Ssc::LAST };
        assert!(last < Ssc { epoch: 6, number: 0 });
    }
}
