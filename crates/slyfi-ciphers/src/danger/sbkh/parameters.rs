//! The offsets that both nodes share (§II).

/// I-Offset, S-Offset, and how far a receiver follows a jump.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parameters {
    i_offset: u32,
    s_offset: u32,
    max_jump: u16,
}

impl Parameters {
    /// The I-Offset of the paper's measurements: 5000 octets (§IV).
    pub const PAPER_I_OFFSET: u32 = 5_000;
    /// The smallest S-Offset: the longest 802.11 payload (2304 bytes, IEEE 802.11 §9.2.4.8) and its
    /// ICV must fit in one epoch.
    pub const MIN_S_OFFSET: u32 = 2_308;

    /// Returns the parameters; `None` when the S-Offset is below [`Parameters::MIN_S_OFFSET`] or above
    /// 2²⁴, or the jump is zero.
    ///
    /// `max_jump` bounds what a forged frame costs a receiver: that many S-Offsets of keystream.
    pub const fn new(i_offset: u32, s_offset: u32, max_jump: u16) -> Option<Self> {
        if s_offset < Self::MIN_S_OFFSET || s_offset > 1 << 24 || max_jump == 0 {
            return None;
        }
        Some(Parameters { i_offset, s_offset, max_jump })
    }

    /// Returns how many bytes of keystream are discarded after KSA.
    pub const fn i_offset(self) -> u32 {
        self.i_offset
    }

    /// Returns how many bytes of keystream an epoch has.
    pub const fn s_offset(self) -> u32 {
        self.s_offset
    }

    /// Returns how many epochs ahead of its own a receiver looks.
    pub const fn max_jump(self) -> u16 {
        self.max_jump
    }
}

/// The paper's I-Offset, an S-Offset of 64 KiB, jumps of 64 epochs (4 MiB of keystream).
impl Default for Parameters {
    fn default() -> Self {
        Parameters { i_offset: Self::PAPER_I_OFFSET, s_offset: 1 << 16, max_jump: 64 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_epoch_must_hold_the_longest_packet() {
        assert!(Parameters::new(0, 2_307, 1).is_none());
        assert!(Parameters::new(0, 2_308, 1).is_some());
        assert!(Parameters::new(0, (1 << 24) + 1, 1).is_none());
        assert!(Parameters::new(0, 2_308, 0).is_none());
    }
}
