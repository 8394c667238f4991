//! What the machine wants done, in the order in which it wants it.

use super::{Daemon, radio_error};
use crate::config::Role;
use crate::error::{Error, ErrorKind, Result};
use crate::store::Change;
use slyfi_base::link::RecordKind;
use slyfi_base::{Instant, Now, Output, RxMeta, TxMeta, UnixTime};
use slyfi_core::pairing::Pairing;
use std::collections::VecDeque;
use zeroize::Zeroizing;

/// Frames that wait for the transmitter before the host's packets have to wait too.
const CONGESTED: usize = 128;

/// Frames that wait at most; more are lost, as on the air, and sent again by the machine.
const FULL: usize = 1024;

/// Where outputs go through on their way.
pub(crate) struct Outgoing {
    /// Frames that the radio had no room for yet.
    pub(crate) frames: VecDeque<(TxMeta, Vec<u8>)>,
    /// Records that have to be durable before the next frame leaves.
    records: Vec<Record>,
    /// When the machine wants to be called again.
    pub(crate) timeout: Option<Instant>,
    /// When the transmitter is tried again.
    pub(crate) retry_at: Option<Instant>,
    /// Whether the host's packets are left where they are.
    pub(crate) host_is_paused: bool,
    buf: Vec<u8>,
}

struct Record {
    kind: RecordKind,
    until: Option<UnixTime>,
    bytes: Zeroizing<Vec<u8>>,
}

impl Outgoing {
    pub(crate) fn new() -> Self {
        Outgoing {
            frames: VecDeque::new(),
            records: Vec::new(),
            timeout: None,
            retry_at: None,
            host_is_paused: false,
            buf: vec![0; super::SLOT],
        }
    }

    pub(crate) fn is_congested(&self) -> bool {
        self.frames.len() >= CONGESTED
    }
}

impl Daemon {
    /// Does everything that the machine wants done now.
    pub(crate) fn drain(&mut self, now: Now) -> Result<()> {
        // The buffer is lent to the machine's outputs while the daemon itself is changed.
        let mut buf = std::mem::take(&mut self.outgoing.buf);
        let done = self.drain_into(now, &mut buf);
        self.outgoing.buf = buf;
        done
    }

    fn drain_into(&mut self, now: Now, buf: &mut Vec<u8>) -> Result<()> {
        loop {
            match self.machine.link().poll_output(buf) {
                Output::Persist(record) => self.outgoing.records.push(Record {
                    kind: record.kind,
                    until: record.until,
                    bytes: Zeroizing::new(record.bytes.reveal().to_vec()),
                }),
                Output::Transmit(meta, frame) => {
                    self.commit(now)?;
                    self.transmit(now, meta, frame)?;
                }
                Output::Backhaul(message) => {
                    self.commit(now)?;
                    let sent = self.backhaul.as_ref().map_or(0, |b| b.send(message));
                    self.counters.backhaul_sent += sent as u64;
                }
                Output::Deliver(packet) => match self.host.write(packet)? {
                    true => self.counters.packets_to_host += 1,
                    false => self.counters.packets_lost += 1,
                },
                Output::KeyLog(line) => {
                    if let Some(key_log) = &mut self.key_log
                        && let Err(e) = key_log.line(line.reveal())
                    {
                        warn!(self.log, "the key log ends here: {e}");
                        self.key_log = None;
                    }
                }
                Output::Event(event) => {
                    self.commit(now)?;
                    self.on_event(now, event)?;
                }
                Output::BufferTooSmall { needed } => buf.resize(needed.max(buf.len() * 2), 0),
                Output::Failed(why) => {
                    error!(self.log, "the machine stopped: {why:?}");
                    let cause = "the link's state became inconsistent (a bug), so it was stopped";
                    let mend = "restart it, and report what the log says at level debug";
                    return Err(Error::new(ErrorKind::System, cause, mend));
                }
                Output::Timeout(at) => {
                    self.outgoing.timeout = at;
                    return self.commit(now);
                }
            }
        }
    }

    /// Makes the waiting records durable, all in one transaction.
    fn commit(&mut self, now: Now) -> Result<()> {
        if self.outgoing.records.is_empty() {
            return Ok(());
        }
        let records = std::mem::take(&mut self.outgoing.records);
        let spent = records.iter().find(|r| r.kind == RecordKind::InviteSpent);
        let spent = spent.and_then(|r| <[u8; 8]>::try_from(&r.bytes[..]).ok());
        let mut pairings = Vec::new();
        for record in records.iter().filter(|r| r.kind == RecordKind::Pairing) {
            let pairing = Pairing::decode(&record.bytes).map_err(|_| {
                Error::new(ErrorKind::System, "the machine made a pairing that is none", "")
            })?;
            let (label, invite) = self.label_for(&pairing, spent)?;
            pairings.push((label, invite, pairing));
        }
        let mut changes = Vec::new();
        for (label, invite, pairing) in &pairings {
            changes.push(Change::Pairing { label, made: now.wall, pairing });
            if let Some(id) = invite {
                changes.push(Change::Spend(*id));
            }
        }
        for record in &records {
            let (kind, until, bytes) = (record.kind, record.until, &record.bytes[..]);
            match kind {
                RecordKind::Pairing => continue,
                RecordKind::Replay | RecordKind::InviteSpent | RecordKind::Counter => {}
                RecordKind::PairingRevoked => {
                    if let Ok(id) = bytes.try_into() {
                        changes.push(Change::Forget(id));
                    }
                }
            }
            changes.push(Change::Record { kind, until, bytes });
        }
        self.store.commit(&changes)?;
        self.counters.commits += 1;
        for (label, _, pairing) in pairings {
            self.progress.labels.insert(*pairing.id(), label);
        }
        Ok(())
    }

    /// Returns what a new pairing is called, and the invite that it came from.
    fn label_for(
        &self,
        pairing: &Pairing,
        spent: Option<[u8; 8]>,
    ) -> Result<(String, Option<[u8; 8]>)> {
        let invites = self.store.invites()?;
        let invite = invites.into_iter().find(|invite| match (self.machine.role(), spent) {
            (_, Some(id)) => *invite.pairing.id() == id,
            // A client's invite is the one for the network that it now has a pairing with.
            (Role::Client, None) => invite.pairing.network() == pairing.network(),
            // A sibling made the pairing, with an invite that is not here.
            (Role::AccessPoint, None) => false,
        });
        Ok(match invite {
            Some(invite) => (invite.label, Some(*invite.pairing.id())),
            None => (String::new(), None),
        })
    }

    /// Gives a frame to the radio, behind those that wait already.
    fn transmit(&mut self, now: Now, meta: TxMeta, frame: &[u8]) -> Result<()> {
        if self.outgoing.frames.is_empty() && self.offer(now, meta, frame)? {
            return Ok(());
        }
        if self.outgoing.frames.len() < FULL {
            self.outgoing.frames.push_back((meta, frame.to_vec()));
        } else {
            self.counters.frames_overflowed += 1;
        }
        Ok(())
    }

    /// Gives waiting frames to the radio until it has no more room.
    pub(crate) fn transmit_queued(&mut self, now: Now) -> Result<()> {
        while let Some((meta, frame)) = self.outgoing.frames.pop_front() {
            if !self.offer(now, meta, &frame)? {
                self.outgoing.frames.push_front((meta, frame));
                break;
            }
        }
        Ok(())
    }

    /// Offers one frame to the radio; `false` when it has no room now.
    fn offer(&mut self, now: Now, meta: TxMeta, frame: &[u8]) -> Result<bool> {
        if !self.radio.write(now.mono, meta, frame).map_err(radio_error)? {
            return Ok(false);
        }
        self.counters.frames_sent += 1;
        self.counters.frame_bytes_sent += frame.len() as u64;
        if let Some(capture) = &mut self.capture
            && let Err(e) = capture.sent(now.wall, meta, frame)
        {
            warn!(self.log, "the capture ends here: {e}");
            self.capture = None;
        }
        Ok(true)
    }

    /// Records a frame before the machine opens it in place.
    pub(crate) fn record_received(&mut self, now: Now, meta: RxMeta, slot: usize, len: usize) {
        if let Some(capture) = &mut self.capture
            && let Err(e) = capture.received(now.wall, meta, &self.frames[slot][..len])
        {
            warn!(self.log, "the capture ends here: {e}");
            self.capture = None;
        }
    }

    /// Advances the stored keys and erases the old ones.
    pub(crate) fn turn_day(&mut self, now: Now) -> Result<()> {
        let turned = self.store.turn_day(now.wall)?;
        debug!(self.log, "a day has passed: the keys of {turned} pairings were advanced");
        Ok(())
    }

    /// Sets the host's hardware address to the pseudonym that the network knows it by.
    pub(crate) fn take_pseudonym(&mut self, pseudonym: slyfi_base::MacAddress) -> Result<()> {
        if self.host.mac()? != pseudonym
            && let Err(e) = self.host.set_mac(pseudonym)
        {
            warn!(self.log, "the interface's address stays as it is: {e}");
        }
        Ok(())
    }

    /// Hands everything that was stored to the machine.
    pub(crate) fn restore(&mut self, now: Now) -> Result<()> {
        for kind in self.machine.restores() {
            for record in self.store.records(*kind, now.wall)? {
                if !self.machine.restore(now, *kind, &record) {
                    warn!(self.log, "a stored record was not understood and is left out");
                }
            }
        }
        if self.machine.is_wifi() {
            return self.drain(now);
        }
        for stored in self.store.pairings()? {
            self.add_pairing(now, stored.label, stored.pairing);
        }
        for invite in self.store.invites()? {
            self.add_pairing(now, invite.label, invite.pairing);
        }
        self.drain(now)
    }

    /// Hands one pairing to the machine.
    pub(crate) fn add_pairing(&mut self, now: Now, label: String, pairing: Pairing) {
        let id = *pairing.id();
        match self.machine.add_pairing(now, pairing) {
            Some(index) => {
                self.progress.pairings.insert(index, id);
                self.progress.labels.insert(id, label);
            }
            None => debug!(self.log, "a pairing is known already"),
        }
    }

    /// Puts the log files anew and makes the machine's pairings those of the store (SIGHUP).
    pub(crate) fn reload(&mut self, now: Now) -> Result<()> {
        if let Some(capture) = &mut self.capture {
            capture.reopen()?;
        }
        if let Some(key_log) = &mut self.key_log {
            key_log.reopen()?;
        }
        if self.machine.is_wifi() {
            return Ok(());
        }
        let stored = self.store.pairings()?.into_iter().map(|s| (s.label, s.pairing));
        let invites = self.store.invites()?.into_iter().map(|i| (i.label, i.pairing));
        let all: Vec<_> = stored.chain(invites).collect();
        let gone = self
            .progress
            .pairings
            .iter()
            .filter(|(_, id)| !all.iter().any(|(_, pairing)| pairing.id() == *id));
        for index in gone.map(|(index, _)| *index).collect::<Vec<_>>() {
            self.machine.remove_pairing(now, index);
            self.progress.pairings.remove(&index);
        }
        for (label, pairing) in all {
            if !self.progress.pairings.values().any(|id| id == pairing.id()) {
                self.add_pairing(now, label, pairing);
            }
        }
        info!(self.log, "reloaded: {} pairings", self.progress.pairings.len());
        self.drain(now)
    }
}
