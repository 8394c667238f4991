//! The turn of an interval: what is new comes, what is past goes.

use super::bucket::{Bucket, BucketKey, Member};
use super::{Directory, Side};
use crate::pairing::{MAX_DAYS, Pairing, day_of as pairing_day};
use crate::table::{Address, AddressTable, Entry, LOW_BITS};
use crate::tryst::{self, Class};
use core::ops::RangeInclusive;
use slyfi_aes::{Block, encrypt_blocks_with_many};
use slyfi_base::UnixTime;

/// Members whose address keys go through the AES unit together.
const BATCH: usize = 64;

/// What a member costs that cannot go with the batch, in members.
const SLOW: usize = 16;

/// What a [`Directory::turn`] did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[must_use]
pub struct Turn {
    /// The budget was used up; call again.
    pub more: bool,
    /// Pairings that passed a day boundary: their older keys are erased here and should be erased
    /// where they are stored.
    pub days_turned: usize,
    /// Pairings of which a part of the window lies on days whose keys are erased: the clock went
    /// back, and their peers cannot be heard until it is mended.
    pub refused: usize,
}

/// Which intervals of a pairing are in the table, and as what.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Installed {
    interval: i64,
    skew: i64,
    diagnosis: i64,
}

/// What an interval's addresses are in the table as.
#[derive(Clone, Copy, PartialEq, Eq)]
enum As {
    Tryst,
    Diagnose,
}

impl Installed {
    fn reach(&self) -> RangeInclusive<i64> {
        let reach = self.skew + self.diagnosis;
        (self.interval - reach).max(0)..=self.interval + reach
    }

    fn as_what(&self, interval: i64) -> Option<As> {
        let away = (interval - self.interval).abs();
        if interval < 0 || away > self.skew + self.diagnosis {
            None
        } else if away > self.skew {
            Some(As::Diagnose)
        } else {
            Some(As::Tryst)
        }
    }
}

impl Directory {
    /// Turns the pairings that are due at `wall`, at most `budget` of them (those that pass a day
    /// boundary count more).
    ///
    /// A clock that went forward is followed, and the days passed are erased. A clock that went back
    /// is followed as far as there are keys.
    pub fn turn(&mut self, wall: UnixTime, table: &mut AddressTable, budget: usize) -> Turn {
        if wall < self.turned {
            self.turn_back(wall);
        }
        self.turned = wall;
        let mut turn = Turn::default();
        let mut left = budget.max(1);
        while let Some(&(due, number)) = self.due.first() {
            if due > wall.as_secs() {
                break;
            }
            if left == 0 {
                turn.more = true;
                break;
            }
            let bucket = &mut self.buckets[number as usize];
            if !bucket.is_turning() {
                bucket.to = bucket.key.tick_at(wall.as_secs());
                bucket.cursor = 0;
                // Scheduled for a clock that went back, and has come again since.
                if !bucket.is_turning() {
                    let next = bucket.key.begins(bucket.at + 1);
                    self.schedule(number, Some(next));
                    continue;
                }
            }
            self.turn_bucket(number, table, &mut left, &mut turn);
        }
        turn
    }

    /// Returns when the next pairings are due (the time may have passed), or `None` if there are no
    /// pairings.
    pub fn next_turn(&self) -> Option<UnixTime> {
        // A turn later than a clock can say never comes; called a time, it would be due for ever.
        let (due, at) = self.due.first().map(|(s, _)| (*s, UnixTime::from_secs(*s)))?;
        (at.as_secs() == due).then_some(at)
    }

    /// Schedules the buckets that are ahead of a clock that went back.
    fn turn_back(&mut self, wall: UnixTime) {
        for number in 0..self.buckets.len() as u32 {
            let bucket = &self.buckets[number as usize];
            if bucket.due.is_some() && bucket.is_ahead(wall) {
                self.schedule(number, Some(0));
            }
        }
    }

    /// Moves members of a bucket on until it is done or nothing is left of the budget.
    fn turn_bucket(
        &mut self,
        number: u32,
        table: &mut AddressTable,
        left: &mut usize,
        turn: &mut Turn,
    ) {
        let mut blocks = [[Block::default(); 4]; BATCH];
        loop {
            let bucket = &mut self.buckets[number as usize];
            let start = bucket.cursor;
            let count = (bucket.members.len() - start).min(BATCH).min(*left);
            if count == 0 {
                break;
            }
            let fast = bucket.to == bucket.at + 1 && self.diagnosis == 0;
            let skew = i64::from(bucket.key.skew);
            if fast {
                let members = &bucket.members[start..start + count];
                for (member, blocks) in members.iter().zip(&mut blocks) {
                    let (gone, new) = edges(bucket, member, skew);
                    *blocks = [
                        Class::Probe.block(gone as u64),
                        Class::Authentication.block(gone as u64),
                        Class::Probe.block(new as u64),
                        Class::Authentication.block(new as u64),
                    ];
                }
                let keys = &bucket.keys.as_slice()[start..start + count];
                encrypt_blocks_with_many(keys, &mut blocks[..count]);
                table.touch(blocks[..count].as_flattened().iter());
            }
            let mut cost = 0;
            for (i, blocks) in blocks.iter().enumerate().take(count) {
                let bucket = &self.buckets[number as usize];
                let member = bucket.members[start + i];
                let (gone, new) = edges(bucket, &member, skew);
                if fast && member.valid.0 <= gone && new < member.valid.1 {
                    exchange(table, member.index, blocks, gone, new);
                    cost += 1;
                    self.buckets[number as usize].cursor += 1;
                } else {
                    let (at, to) = (bucket.at, bucket.to);
                    cost +=
                        SLOW + self.move_member(number, start + i, Some(at), Some(to), table, turn);
                    self.buckets[number as usize].cursor += 1;
                    if cost >= *left {
                        break;
                    }
                }
            }
            *left = left.saturating_sub(cost);
        }
        let bucket = &mut self.buckets[number as usize];
        if bucket.cursor == bucket.members.len() {
            bucket.at = bucket.to;
            bucket.cursor = 0;
            // The clock may have gone back while the turn was under way.
            let ahead = bucket.is_ahead(self.turned);
            let next = if ahead { 0 } else { bucket.key.begins(bucket.at + 1) };
            self.schedule(number, Some(next));
        }
    }

    /// Moves one member from one tick to another (`None`: not in the table); returns how many days
    /// its keys were moved.
    fn move_member(
        &mut self,
        number: u32,
        position: usize,
        from: Option<i64>,
        to: Option<i64>,
        table: &mut AddressTable,
        turn: &mut Turn,
    ) -> usize {
        let diagnosis = self.diagnosis;
        self.move_between(number, position, from, to, (diagnosis, diagnosis), table, turn)
    }

    #[expect(clippy::too_many_arguments, reason = "the one general move; three callers")]
    fn move_between(
        &mut self,
        number: u32,
        position: usize,
        from: Option<i64>,
        to: Option<i64>,
        diagnosis: (u16, u16),
        table: &mut AddressTable,
        turn: &mut Turn,
    ) -> usize {
        let bucket = &mut self.buckets[number as usize];
        let member = bucket.members[position];
        let Some(slot) = self.pairings.get_mut(member.index) else { return 0 };
        let pairing = &mut slot.pairing;
        let interval_s = pairing.interval_s();
        let skew = i64::from(bucket.key.skew);
        let installed = |tick: i64, diagnosis: u16| Installed {
            interval: tick - member.offset,
            skew,
            diagnosis: diagnosis.into(),
        };
        let old = from.map(|tick| installed(tick, diagnosis.0));
        let new = to.map(|tick| installed(tick, diagnosis.1));
        // The day that the keys will be of; what lies before it has to go while they are still here.
        let oldest = new.map_or(0, |w| u64::try_from(w.interval - skew).unwrap_or(0));
        let due = u32::try_from(pairing.day_of(oldest)).unwrap_or(u32::MAX);
        let steps = due.saturating_sub(pairing.day());
        let steps = if steps > MAX_DAYS { 0 } else { steps };
        let day = u64::from(pairing.day() + steps);

        let day_of = |interval| u64::try_from(interval).map(|i| pairing_day(i, interval_s));
        let before = |interval| old.and_then(|w| w.as_what(interval));
        let after = |interval| {
            let there = day_of(interval).is_ok_and(|d| d >= day);
            new.filter(|_| there).and_then(|w| w.as_what(interval))
        };
        let changes = |interval: &i64| before(*interval) != after(*interval);

        if let Some(window) = old {
            let going = window.reach().filter(changes);
            each_address(pairing, self.side, going, |class, interval, address| {
                if let Some(kind) = before(interval) {
                    table.remove(address, entry(kind, member.index, class, interval));
                }
            });
        }
        if steps > 0 && pairing.advance(due) == Ok(true) {
            turn.days_turned += 1;
        }
        if let Some(window) = new {
            let coming = window.reach().filter(changes);
            each_address(pairing, self.side, coming, |class, interval, address| {
                if let Some(kind) = after(interval) {
                    table.insert(address, entry(kind, member.index, class, interval));
                }
            });
            turn.refused += usize::from(u64::from(due) != day);
        }
        bucket.members[position] = Member::new(member.index, pairing);
        let day = pairing.day().into();
        if let Some(key) = pairing.address_keys(self.side.receives()).on(day) {
            bucket.keys.set(position, key.as_bytes());
        }
        steps as usize
    }

    pub(super) fn join_bucket(&mut self, index: u32, wall: UnixTime, table: &mut AddressTable) {
        let Some(slot) = self.pairings.get_mut(index) else { return };
        // A clock that goes back from here on has to be seen.
        self.turned = self.turned.max(wall);
        let key = BucketKey::of(&slot.pairing);
        let buckets = &mut self.buckets;
        let number = *self.bucket_of.entry(key).or_insert_with(|| {
            buckets.push(Bucket::new(key, wall));
            (buckets.len() - 1) as u32
        });
        let bucket = &mut self.buckets[number as usize];
        if bucket.members.is_empty() {
            // An empty bucket does not turn, so its tick may be an old one.
            *bucket = Bucket::new(key, wall);
        }
        let position = bucket.members.len();
        slot.bucket = number;
        slot.position = position as u32;
        bucket.members.push(Member::new(index, &slot.pairing));
        bucket.keys.push(&[0; 16]);
        let at = bucket.at;
        if bucket.due.is_none() {
            let next = bucket.key.begins(at + 1);
            self.schedule(number, Some(next));
        }
        self.move_member(number, position, None, Some(at), table, &mut Turn::default());
    }

    pub(super) fn leave_bucket(&mut self, index: u32, table: &mut AddressTable) {
        let Some(slot) = self.pairings.get(index) else { return };
        let (number, position) = (slot.bucket, slot.position as usize);
        let tick = self.buckets[number as usize].tick_of(position);
        self.move_member(number, position, Some(tick), None, table, &mut Turn::default());
        let (bucket, pairings) = (&mut self.buckets[number as usize], &mut self.pairings);
        bucket.take(position, |index, position| {
            if let Some(slot) = pairings.get_mut(index) {
                slot.position = position;
            }
        });
        if bucket.members.is_empty() {
            self.schedule(number, None);
        }
    }

    pub(super) fn change_diagnosis(&mut self, intervals: u16, table: &mut AddressTable) {
        let change = (self.diagnosis, intervals);
        for number in 0..self.buckets.len() {
            for position in 0..self.buckets[number].members.len() {
                let tick = Some(self.buckets[number].tick_of(position));
                let turn = &mut Turn::default();
                self.move_between(number as u32, position, tick, tick, change, table, turn);
            }
        }
        self.diagnosis = intervals;
    }

    /// Puts a bucket in the schedule at a second, or takes it out.
    fn schedule(&mut self, number: u32, due: Option<u64>) {
        let bucket = &mut self.buckets[number as usize];
        if let Some(old) = bucket.due.take() {
            self.due.remove(&(old, number));
        }
        bucket.due = due;
        if let Some(due) = due {
            self.due.insert((due, number));
        }
    }
}

/// The interval that goes and the one that comes when a bucket moves on by one tick.
fn edges(bucket: &Bucket, member: &Member, skew: i64) -> (i64, i64) {
    (bucket.at - member.offset - skew, bucket.to - member.offset + skew)
}

/// The fast path: addresses `gone` go, those of `new` come; all four lie in `blocks`.
fn exchange(table: &mut AddressTable, index: u32, blocks: &[Block; 4], gone: i64, new: i64) {
    let [gone_probe, gone_auth, new_probe, new_auth] = blocks;
    let tryst = |class, interval| entry(As::Tryst, index, class, interval);
    table.remove(gone_probe, tryst(Class::Probe, gone));
    table.remove(gone_auth, tryst(Class::Authentication, gone));
    table.insert(new_probe, tryst(Class::Probe, new));
    table.insert(new_auth, tryst(Class::Authentication, new));
}

fn entry(kind: As, pairing: u32, class: Class, interval: i64) -> Entry {
    let interval = interval as u32 & ((1 << LOW_BITS) - 1);
    match kind {
        As::Tryst => Entry::Tryst { pairing, class, interval },
        As::Diagnose => Entry::Diagnose { pairing, class, interval },
    }
}

/// Computes both classes' addresses of intervals in ascending order, leaving out those without keys.
fn each_address(
    pairing: &Pairing,
    side: Side,
    intervals: impl Iterator<Item = i64>,
    mut f: impl FnMut(Class, i64, &Address),
) {
    let mut keys = pairing.address_keys(side.receives());
    for interval in intervals {
        let Ok(number) = u64::try_from(interval) else { continue };
        let Some(key) = keys.on(pairing.day_of(number)) else { continue };
        for class in Class::ALL {
            f(class, interval, &tryst::address(&key, class, number));
        }
    }
}
