//! Why a frame from the air was dropped: the whole taxonomy, counted, never an error.

/// The reason for which a received frame had no effect.
///
/// A frame from the air never causes an `Err`, a panic or a reply that its keys did not earn; it
/// causes one of these, which the machines count and the host can show. Everything that a
/// cryptographic check refused is one opaque variant per mechanism: the sender learns nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum DropReason {
    /// The bytes are not a frame of the carrier (other 802.11 traffic, damaged header).
    NotCarrier,
    /// Shorter than the shortest frame, or longer than the longest.
    BadLength,
    /// The frame check sequence was reported bad by the radio.
    BadFcs,
    /// The address is in no table: not for this node (or outside every window).
    Foreign,
    /// A Tryst header or body did not verify.
    TrystUnverified,
    /// A Tryst address known only to the clock diagnosis: the sender's clock is off.
    TrystOutsideWindow,
    /// A probe or authentication that was accepted before.
    Replayed,
    /// The replay cache of this pairing is full; fails closed.
    ReplayCacheFull,
    /// A Shroud frame's tag did not verify.
    ShroudUnverified,
    /// Verified, but its contents make no sense to this version.
    Malformed,
    /// Verified, but not expected in the machine's present state.
    Unexpected,
    /// A resource bound was reached (sessions, queue, bindings).
    NoRoom,
    /// Already delivered: a retransmission whose acknowledgement was lost.
    Duplicate,
    /// An own broadcast heard back from the access point.
    Echo,
    /// A link cipher refused the frame (rivals and the ciphers of the papers).
    CipherRefused,
    /// In the clear, where only protected frames count.
    Unprotected,
    /// A message of a key handshake that did not verify, was not expected, or came again.
    HandshakeRefused,
}

impl DropReason {
    /// Every variant, in declaration order; the index is the counter's place.
    pub const ALL: [DropReason; 17] = [
        DropReason::NotCarrier,
        DropReason::BadLength,
        DropReason::BadFcs,
        DropReason::Foreign,
        DropReason::TrystUnverified,
        DropReason::TrystOutsideWindow,
        DropReason::Replayed,
        DropReason::ReplayCacheFull,
        DropReason::ShroudUnverified,
        DropReason::Malformed,
        DropReason::Unexpected,
        DropReason::NoRoom,
        DropReason::Duplicate,
        DropReason::Echo,
        DropReason::CipherRefused,
        DropReason::Unprotected,
        DropReason::HandshakeRefused,
    ];

    /// Returns a stable name for machines (metrics, JSON).
    pub const fn name(self) -> &'static str {
        match self {
            DropReason::NotCarrier => "not_carrier",
            DropReason::BadLength => "bad_length",
            DropReason::BadFcs => "bad_fcs",
            DropReason::Foreign => "foreign",
            DropReason::TrystUnverified => "tryst_unverified",
            DropReason::TrystOutsideWindow => "tryst_outside_window",
            DropReason::Replayed => "replayed",
            DropReason::ReplayCacheFull => "replay_cache_full",
            DropReason::ShroudUnverified => "shroud_unverified",
            DropReason::Malformed => "malformed",
            DropReason::Unexpected => "unexpected",
            DropReason::NoRoom => "no_room",
            DropReason::Duplicate => "duplicate",
            DropReason::Echo => "echo",
            DropReason::CipherRefused => "cipher_refused",
            DropReason::Unprotected => "unprotected",
            DropReason::HandshakeRefused => "handshake_refused",
        }
    }
}

/// A counter for each [`DropReason`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DropCounters([u64; DropReason::ALL.len()]);

impl DropCounters {
    /// Counts one frame dropped for `reason`.
    pub fn count(&mut self, reason: DropReason) {
        // The discriminants are 0.. in the order of `ALL`, which a test holds.
        if let Some(c) = self.0.get_mut(reason as usize) {
            *c += 1;
        }
    }

    /// Returns how many frames were dropped for `reason`.
    pub fn of(&self, reason: DropReason) -> u64 {
        self.0.get(reason as usize).copied().unwrap_or(0)
    }

    /// Iterates over all reasons and their counts.
    pub fn iter(&self) -> impl Iterator<Item = (DropReason, u64)> + '_ {
        DropReason::ALL.into_iter().map(|r| (r, self.of(r)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reason_has_its_own_counter() {
        for (i, r) in DropReason::ALL.into_iter().enumerate() {
            assert_eq!(r as usize, i);
            let mut c = DropCounters::default();
            c.count(r);
            assert_eq!(c.iter().filter(|(_, n)| *n == 1).count(), 1);
            assert_eq!(c.of(r), 1);
        }
    }
}
