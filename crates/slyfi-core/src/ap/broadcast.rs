//! The group key and its life, time beacons, and the clear announcement.

use super::ApLink;
use crate::keylog;
use alloc::vec;
use slyfi_base::{Duration, Instant, MacAddress, SecureRandom};
use slyfi_wire::announcement::Announcement;
use slyfi_wire::carrier;
use slyfi_wire::message::{Control, GroupKey};

impl<R: SecureRandom> ApLink<R> {
    /// Makes a new broadcast key, because a member has left (slyfi-2008 §3.5) or the old one is worn.
    pub(super) fn rekey_group(&mut self) {
        self.group.rekey(self.now.mono, &mut self.rng);
        let epoch = self.group.epoch();
        if self.config.key_log {
            let secret = self.group.secret_bytes();
            self.out.key_log(keylog::group_line(epoch, &secret[..]));
        }
        let slots: alloc::vec::Vec<u32> = self.members.linked().map(|(slot, _)| slot).collect();
        for slot in slots {
            self.queue_group_key(slot);
        }
        self.out.event(slyfi_base::Event::GroupRekeyed { epoch });
        self.check_group_key();
    }

    /// Tells a member the present broadcast key; without room now, its next time-out tries again.
    pub(super) fn queue_group_key(&mut self, slot: u32) {
        let secret = self.group.secret_bytes();
        let epoch = self.group.epoch();
        let key = GroupKey { epoch, next: self.group.sender.next_number(), secret: &secret[..] };
        if self.send_control(slot, &Control::Rekey(key), epoch)
            && let Some(member) = self.members.get_mut(slot)
        {
            member.group_sent = epoch;
        }
    }

    /// Lets broadcasts go once every member has acknowledged the key.
    pub(super) fn check_group_key(&mut self) {
        // Every frame ends here: members are only counted while something waits for them.
        if self.group.held_until().is_none() {
            return;
        }
        let epoch = self.group.epoch();
        if self.members.linked().all(|(_, m)| m.group_epoch == epoch) {
            self.group.release_hold();
        }
    }

    /// Sends what is due of time beacons and announcements.
    pub(super) fn beacons(&mut self) {
        let now = self.now.mono;
        if self.group.sender.is_worn() {
            self.rekey_group();
        }
        if let Some(period) = self.config.time_beacon
            && is_due(self.beacon_at, now)
        {
            self.beacon_at = Some(now + self.jittered(period));
            let is_someone_there = self.members.linked().next().is_some();
            if is_someone_there && !self.group.is_held(now) && self.egress.is_empty() {
                self.seal_beacon();
            }
        }
        if let Some((_, period)) = &self.config.announce
            && is_due(self.announce_at, now)
        {
            self.announce_at = Some(now + *period);
            self.announce();
        }
    }

    /// A period give or take an eighth, so that two access points' beacons are not told apart by
    /// their phase for ever.
    fn jittered(&mut self, period: Duration) -> Duration {
        let us = period.as_micros();
        Duration::from_micros(us - us / 8 + self.rng.below(us / 4 + 1))
    }

    /// Announces the network in the clear, for those who choose to (slyfi-2008 §2.4).
    fn announce(&mut self) {
        let Some((name, period)) = &self.config.announce else { return };
        let announcement = Announcement {
            bssid: MacAddress(carrier::ADDRESS_OF_ALL),
            sequence: 0,
            timestamp: self.now.mono.as_micros(),
            // In time units of 1024 µs.
            interval: u16::try_from(period.as_micros() / 1024).unwrap_or(u16::MAX),
            ssid: name.as_bytes(),
            ap_id: self.id,
        };
        let mut frame = vec![0; announcement.buffer_len()];
        if announcement.emit(&mut frame).is_ok() {
            self.out.frame(frame);
        }
    }
}

fn is_due(at: Option<Instant>, now: Instant) -> bool {
    at.is_some_and(|t| t <= now)
}
