//! Replay counters: the highest packet number accepted, per traffic identifier.

use crate::packet::PacketNumber;
use slyfi_wire::ieee80211::{MacHeader, Type};

/// One counter for each of the sixteen TIDs and one for management frames (IEEE 802.11-2020
/// §12.5.3.4.4, §12.5.5.4.4: a frame whose number is not above the counter is a replay).
///
/// Frames without QoS control count as TID 0. QoS makes frames overtake one another between TIDs,
/// never inside one, so a counter for each needs no window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct ReplayCounters([u64; 17]);

/// Which counter a frame belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lane(u8);

impl Lane {
    /// Returns the lane of a frame by its header.
    pub fn of(header: &MacHeader<'_>) -> Self {
        match header.frame_control().kind() {
            Type::Management => Lane(16),
            _ => Lane(crate::aad::priority(header)),
        }
    }
}

impl ReplayCounters {
    /// Starts every counter at `number`: frames up to it are replays. The receive sequence counter
    /// of a group key comes with the key (§12.7.2, Key RSC); pairwise keys start at zero.
    pub const fn starting_at(number: PacketNumber) -> Self {
        ReplayCounters([number.get(); 17])
    }

    /// Returns whether a frame with this number would be new.
    pub fn is_new(&self, lane: Lane, number: PacketNumber) -> bool {
        self.0.get(usize::from(lane.0)).is_some_and(|last| number.get() > *last)
    }

    /// Counts a frame that verified.
    pub fn accept(&mut self, lane: Lane, number: PacketNumber) {
        if let Some(last) = self.0.get_mut(usize::from(lane.0)) {
            *last = number.get().max(*last);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn n(v: u64) -> PacketNumber {
        PacketNumber::new(v).unwrap()
    }

    #[test]
    fn each_lane_counts_alone_and_equal_numbers_are_replays() {
        let mut c = ReplayCounters::default();
        assert!(!c.is_new(Lane(3), n(0)) && c.is_new(Lane(3), n(1)));
        c.accept(Lane(3), n(9));
        assert!(!c.is_new(Lane(3), n(9)) && !c.is_new(Lane(3), n(8)) && c.is_new(Lane(3), n(10)));
        assert!(c.is_new(Lane(4), n(1)) && c.is_new(Lane(16), n(1)));
        c.accept(Lane(3), n(2));
        assert!(!c.is_new(Lane(3), n(9)), "a counter never goes back");
    }

    #[test]
    fn a_group_key_starts_at_the_sequence_counter_it_came_with() {
        let c = ReplayCounters::starting_at(n(77));
        assert!(!c.is_new(Lane(0), n(77)) && c.is_new(Lane(0), n(78)));
    }
}
