//! The table of sessions.

use crate::keys::Key256;
use crate::session::Session;
use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BTreeSet, VecDeque};
use alloc::vec::Vec;
use slyfi_base::{Instant, LinkId, MacAddress};
use slyfi_wire::message::{RequestId, SessionId};

/// How far a session has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// Session keys are made; the association has to come until then.
    Authenticated { until: Instant },
    /// An invite's session: it may only enrol.
    EnrolOnly,
    /// A member.
    Linked,
    /// Dismissed: what is queued still goes out, until then.
    Leaving { until: Instant },
}

/// One session.
pub(super) struct Member {
    pub(super) pairing: u32,
    pub(super) session: Session,
    pub(super) stage: Stage,
    pub(super) pseudonym: MacAddress,
    pub(super) since: Instant,
    pub(super) id: SessionId,
    /// The stable pairing's id, also when the session came from another access point.
    pub(super) pairing_id: [u8; 8],
    pub(super) roam: Key256,
    pub(super) export: Key256,
    /// Of a session that came from elsewhere: the probe that its keys come from.
    pub(super) request: Option<RequestId>,
    /// The epoch of the newest group key that the member has acknowledged.
    pub(super) group_epoch: u32,
    /// The epoch of the newest group key that was queued for it.
    pub(super) group_sent: u32,
    pub(super) packets_in: u64,
    pub(super) packets_out: u64,
    deadline: Option<Instant>,
    queued_for_air: bool,
}

impl Member {
    pub(super) fn new(pairing: u32, pairing_id: [u8; 8], session: Session, stage: Stage) -> Self {
        Member {
            pairing,
            pairing_id,
            session,
            stage,
            pseudonym: MacAddress::default(),
            since: Instant::ZERO,
            id: [0; 8],
            roam: Key256::new([0; 32]),
            export: Key256::new([0; 32]),
            request: None,
            group_epoch: 0,
            group_sent: 0,
            packets_in: 0,
            packets_out: 0,
            deadline: None,
            queued_for_air: false,
        }
    }

    pub(super) fn is_linked(&self) -> bool {
        self.stage == Stage::Linked
    }

    pub(super) fn info(&self, slot: u32) -> SessionInfo {
        SessionInfo {
            link: LinkId(slot),
            pairing: self.pairing,
            is_linked: self.is_linked(),
            pseudonym: self.pseudonym,
            since: self.since,
            last_heard: self.session.last_heard(),
            packets_in: self.packets_in,
            packets_out: self.packets_out,
            queued: self.session.queued(),
        }
    }

    /// The earliest instant at which this session needs attention.
    fn due(&self) -> Instant {
        let at = self.session.next_timeout();
        match self.stage {
            Stage::Authenticated { until } | Stage::Leaving { until } => at.min(until),
            Stage::EnrolOnly | Stage::Linked => at,
        }
    }
}

/// What the host can show of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SessionInfo {
    /// The link.
    pub link: LinkId,
    /// The pairing behind it.
    pub pairing: u32,
    /// Whether data can flow; else the set-up is under way, or the session enrols.
    pub is_linked: bool,
    /// The member's pseudonym.
    pub pseudonym: MacAddress,
    /// When the association was made.
    pub since: Instant,
    /// When the member was last heard.
    pub last_heard: Instant,
    /// Ethernet frames from the member.
    pub packets_in: u64,
    /// Ethernet frames to the member.
    pub packets_out: u64,
    /// Packets that wait for their first transmission.
    pub queued: usize,
}

/// All sessions, by slot; slots are used again.
#[derive(Default)]
pub(super) struct Members {
    /// Boxed: a vector of sessions would grow by doubling what is large.
    slots: Vec<Option<Box<Member>>>,
    free: Vec<u32>,
    by_pseudonym: BTreeMap<MacAddress, u32>,
    deadlines: BTreeSet<(Instant, u32)>,
    /// Slots that want the air, each once, first come first served.
    ready: VecDeque<u32>,
}

impl Members {
    pub(super) fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    pub(super) fn next_slot(&self) -> u32 {
        self.free.last().copied().unwrap_or(self.slots.len() as u32)
    }

    /// Puts a session into [`Members::next_slot`].
    pub(super) fn insert(&mut self, member: Member) -> u32 {
        let member = Box::new(member);
        match self.free.pop() {
            Some(slot) => {
                self.slots[slot as usize] = Some(member);
                slot
            }
            None => {
                self.slots.push(Some(member));
                self.slots.len() as u32 - 1
            }
        }
    }

    pub(super) fn remove(&mut self, slot: u32) -> Option<Box<Member>> {
        let member = self.slots.get_mut(slot as usize)?.take()?;
        self.free.push(slot);
        if let Some(at) = member.deadline {
            self.deadlines.remove(&(at, slot));
        }
        if self.by_pseudonym.get(&member.pseudonym) == Some(&slot) {
            self.by_pseudonym.remove(&member.pseudonym);
        }
        self.ready.retain(|s| *s != slot);
        Some(member)
    }

    pub(super) fn get(&self, slot: u32) -> Option<&Member> {
        self.slots.get(slot as usize)?.as_deref()
    }

    pub(super) fn get_mut(&mut self, slot: u32) -> Option<&mut Member> {
        self.slots.get_mut(slot as usize)?.as_deref_mut()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (u32, &Member)> {
        self.slots.iter().zip(0..).filter_map(|(m, slot)| Some((slot, m.as_deref()?)))
    }

    pub(super) fn linked(&self) -> impl Iterator<Item = (u32, &Member)> {
        self.iter().filter(|(_, m)| m.is_linked())
    }

    pub(super) fn by_pseudonym(&self, pseudonym: MacAddress) -> Option<u32> {
        self.by_pseudonym.get(&pseudonym).copied()
    }

    /// Notes a member's pseudonym, unless another has it.
    pub(super) fn name(&mut self, slot: u32, pseudonym: MacAddress) -> bool {
        if self.by_pseudonym.contains_key(&pseudonym) {
            return false;
        }
        self.by_pseudonym.insert(pseudonym, slot);
        if let Some(member) = self.get_mut(slot) {
            member.pseudonym = pseudonym;
        }
        true
    }

    /// Notes what a session wants now; to be called whenever it may have changed.
    pub(super) fn reschedule(&mut self, slot: u32, now: Instant) {
        let Some(member) = self.slots.get_mut(slot as usize).and_then(Option::as_deref_mut) else {
            return;
        };
        let due = member.due();
        if member.deadline != Some(due) {
            if let Some(old) = member.deadline.replace(due) {
                self.deadlines.remove(&(old, slot));
            }
            self.deadlines.insert((due, slot));
        }
        if !member.queued_for_air && member.session.wants_to_send(now) {
            member.queued_for_air = true;
            self.ready.push_back(slot);
        }
    }

    /// Takes the next session that wants the air.
    pub(super) fn next_ready(&mut self) -> Option<u32> {
        let slot = self.ready.pop_front()?;
        if let Some(member) = self.get_mut(slot) {
            member.queued_for_air = false;
        }
        Some(slot)
    }

    pub(super) fn next_deadline(&self) -> Option<Instant> {
        self.deadlines.first().map(|(at, _)| *at)
    }

    /// Returns the sessions that are due.
    pub(super) fn due(&self, now: Instant) -> Vec<u32> {
        self.deadlines.iter().take_while(|(at, _)| *at <= now).map(|(_, slot)| *slot).collect()
    }

    /// Borrows several sessions at once; `slots` ascending and each once.
    pub(super) fn several<'a>(&'a mut self, slots: &[u32]) -> Vec<(u32, &'a mut Member)> {
        let mut out = Vec::with_capacity(slots.len());
        let mut rest = self.slots.as_mut_slice();
        let mut base = 0;
        for slot in slots {
            let Some((_, tail)) = rest.split_at_mut_checked((slot - base) as usize) else { break };
            let Some((first, tail)) = tail.split_first_mut() else { break };
            if let Some(member) = first.as_deref_mut() {
                out.push((*slot, member));
            }
            rest = tail;
            base = slot + 1;
        }
        out
    }
}
