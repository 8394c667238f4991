//! Driving a node: one mutation, then everything that the machine and its host want.

use super::{Air, CrashPoint, Happening, Outgoing, PATIENCE, Role, RunError};
use crate::adversary::Attack;
use crate::host::HostOutput;
use crate::node::{Happened, NodeId};
use crate::schedule::Turn;
use slyfi_base::{Instant, Output, Refused, RxMeta};
use std::rc::Rc;

impl Air {
    /// A frame reaches a node's machine, sniffer or attacker.
    pub(super) fn arrive(&mut self, node: NodeId, meta: RxMeta, frame: &[u8]) {
        let at = self.now;
        let wall = self.wall();
        let n = &mut self.nodes[node.index()];
        n.stats.heard += 1;
        let now = n.clock.now(at);
        match &mut n.role {
            Role::Party { link, .. } => {
                let Some(link) = link else { return };
                let room = self.scratch.get_mut(..frame.len());
                match room {
                    Some(copy) => {
                        copy.copy_from_slice(frame);
                        link.handle_frame(now, meta, copy);
                    }
                    None => link.handle_frame(now, meta, &mut frame.to_vec()),
                }
                self.settle(node);
            }
            Role::Sniffer(s) => {
                if let Err(error) = s.hear(wall, meta, frame) {
                    let node = n.config.name.clone();
                    self.fail(RunError::Capture { node, error: error.to_string() });
                }
            }
            Role::Adversary(a) => {
                a.hear(now, meta, frame);
                self.settle(node);
            }
        }
    }

    /// A timer of a node is due, or was when it was set.
    pub(super) fn on_wake(&mut self, node: NodeId, number: u64) {
        let at = self.now;
        let n = &mut self.nodes[node.index()];
        if n.wake != number {
            return;
        }
        n.wake_at = None;
        n.woken = if n.woken.0 == at { (at, n.woken.1 + 1) } else { (at, 0) };
        if n.woken.1 > PATIENCE {
            let (seed, node) = (self.seed, n.config.name.clone());
            self.fail(RunError::BusyLoop { seed, node, at });
            return;
        }
        let now = n.clock.now(at);
        let due = |t: Option<Instant>| t.is_some_and(|t| t <= now.mono);
        let (link_due, host_due) = (due(n.link_at), due(n.host_at));
        match &mut n.role {
            Role::Party { link, host, .. } => {
                if link_due && let Some(link) = link {
                    link.handle_timeout(now);
                }
                if host_due {
                    host.handle_timeout(now);
                }
            }
            Role::Adversary(a) => a.handle_timeout(now),
            Role::Sniffer(_) => {}
        }
        self.settle(node);
    }

    pub(super) fn on_message(&mut self, node: NodeId, bytes: &[u8]) {
        let now = self.now_of(node);
        if let Role::Party { link: Some(link), .. } = &mut self.nodes[node.index()].role {
            link.handle_backhaul(now, bytes);
            self.settle(node);
        }
    }

    /// Lets a node do all it wants now and sets its next timer.
    pub(super) fn settle(&mut self, node: NodeId) {
        match self.nodes[node.index()].role {
            Role::Party { .. } => {
                self.drain_link(node);
                self.drain_host(node);
            }
            Role::Adversary(_) => self.drain_adversary(node),
            Role::Sniffer(_) => return,
        }
        let n = &mut self.nodes[node.index()];
        let next = match (n.link_at, n.host_at) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        };
        let next = next.map(|t| n.clock.true_time(t).max(self.now));
        if next != n.wake_at {
            n.wake += 1;
            n.wake_at = next;
            if let Some(at) = next {
                self.schedule.add(at, Turn::Second, Happening::Wake(node, n.wake));
            }
        }
    }

    fn drain_link(&mut self, node: NodeId) {
        let at = self.now;
        let mut buf = std::mem::take(&mut self.scratch);
        for _ in 0..PATIENCE {
            let n = &mut self.nodes[node.index()];
            let now = n.clock.now(at);
            let Role::Party { link: Some(link), host, .. } = &mut n.role else {
                n.link_at = None;
                self.scratch = buf;
                return;
            };
            let point = n.crash;
            match link.poll_output(&mut buf) {
                Output::Timeout(t) => {
                    n.link_at = t;
                    self.scratch = buf;
                    return;
                }
                Output::Transmit(meta, frame) => {
                    let out = Outgoing { frame: Rc::from(frame), meta, composed: now.wall };
                    if !super::transmit::is_rate(meta.rate) {
                        let (seed, node) = (self.seed, n.config.name.clone());
                        self.fail(RunError::NoSuchRate { seed, node, rate: meta.rate });
                        continue;
                    }
                    let crash =
                        count_down(&mut n.crash, |p| matches!(p, CrashPoint::AfterTransmit(_)));
                    self.enqueue(node, out);
                    if crash {
                        self.crash_keeping_queue(node);
                    }
                }
                Output::Deliver(packet) => {
                    n.stats.delivered += 1;
                    host.handle_packet(now, packet);
                }
                Output::Persist(p) => {
                    let crash =
                        count_down(&mut n.crash, |p| !matches!(p, CrashPoint::AfterTransmit(_)));
                    if crash && matches!(point, Some(CrashPoint::BeforePersist(_))) {
                        self.crash_keeping_queue(node);
                        continue;
                    }
                    n.disk.write(&p);
                    n.stats.persisted += 1;
                    if crash {
                        self.crash_keeping_queue(node);
                    }
                }
                Output::Backhaul(message) => {
                    let message = Rc::from(message);
                    self.send_message(node, &message);
                }
                Output::KeyLog(line) => n.key_log.push(line.reveal().to_vec()),
                Output::Event(event) => {
                    host.handle_event(now, event);
                    self.note(node, Happened::Event(event));
                }
                Output::BufferTooSmall { needed } => buf.resize(needed.max(buf.len() + 1), 0),
                Output::Failed(error) => {
                    let (seed, name) = (self.seed, n.config.name.clone());
                    self.note(node, Happened::Failed(error));
                    self.fail(RunError::Failed { seed, node: name, at, error });
                    self.crash(node);
                }
            }
        }
        self.scratch = buf;
        let (seed, node) = (self.seed, self.nodes[node.index()].config.name.clone());
        self.fail(RunError::BusyLoop { seed, node, at });
    }

    /// What was handed to the radio before the crash is sent all the same.
    fn crash_keeping_queue(&mut self, node: NodeId) {
        let n = &mut self.nodes[node.index()];
        let radio = (std::mem::take(&mut n.queue), n.begin_at, n.begin, n.awaiting);
        self.crash(node);
        let n = &mut self.nodes[node.index()];
        (n.queue, n.begin_at, n.begin, n.awaiting) = radio;
    }

    fn drain_host(&mut self, node: NodeId) {
        let at = self.now;
        for _ in 0..PATIENCE {
            let n = &mut self.nodes[node.index()];
            let now = n.clock.now(at);
            let Role::Party { link, host, held } = &mut n.role else { return };
            let packet = match held.take() {
                Some(packet) => packet,
                None => match host.poll_output(now) {
                    HostOutput::Timeout(t) => {
                        n.host_at = t;
                        return;
                    }
                    HostOutput::Command(c) => {
                        if let Some(link) = link {
                            // A host that asks at the wrong time gets no answer; that is its affair.
                            let _ = link.handle_command(now, c);
                            self.drain_link(node);
                        }
                        continue;
                    }
                    HostOutput::Send(packet) => packet,
                },
            };
            let result = match link {
                Some(link) => link.handle_packet(now, &packet),
                None => Err(Refused::NotLinked),
            };
            match result {
                Ok(()) => {
                    n.stats.accepted += 1;
                    self.drain_link(node);
                }
                Err(Refused::QueueFull) => {
                    *held = Some(packet);
                    n.host_at = None;
                    return;
                }
                Err(why) => {
                    n.stats.refused += 1;
                    host.handle_refused(now, &packet, why);
                }
            }
        }
        let (seed, node) = (self.seed, self.nodes[node.index()].config.name.clone());
        self.fail(RunError::BusyLoop { seed, node, at });
    }

    fn drain_adversary(&mut self, node: NodeId) {
        let at = self.now;
        for _ in 0..PATIENCE {
            let n = &mut self.nodes[node.index()];
            let now = n.clock.now(at);
            let room = n.config.queue_limit.saturating_sub(n.queue.len());
            let Role::Adversary(a) = &mut n.role else { return };
            match a.poll_attack(now, room) {
                Attack::Send { frame, meta } => {
                    let out = Outgoing { frame: Rc::from(frame), meta, composed: now.wall };
                    self.enqueue(node, out);
                }
                Attack::Force { frame, meta, after } => {
                    let out = Outgoing { frame: Rc::from(frame), meta, composed: now.wall };
                    self.schedule.add(at + after, Turn::Second, Happening::Force(node, out));
                }
                Attack::Noise { span } => {
                    self.schedule.add(at, Turn::Second, Happening::Noise(node, span));
                }
                Attack::Wait(t) => {
                    n.host_at = t;
                    return;
                }
            }
        }
        let (seed, node) = (self.seed, self.nodes[node.index()].config.name.clone());
        self.fail(RunError::BusyLoop { seed, node, at });
    }

    fn send_message(&mut self, from: NodeId, message: &Rc<[u8]>) {
        let Some(group) = self.nodes[from.index()].config.backhaul else { return };
        for i in 0..self.nodes.len() {
            let to = NodeId(i as u16);
            let n = &self.nodes[i];
            if to == from || n.config.backhaul != Some(group) {
                continue;
            }
            if self.backhaul_rng.chance(self.backhaul.loss) {
                self.note(to, Happened::BackhaulLost);
                continue;
            }
            let at = self.now + self.backhaul.delay;
            self.schedule.add(at, Turn::Second, Happening::Message(to, message.clone()));
        }
    }
}

/// Counts a crash point down if it is of the kind; returns whether this was it.
fn count_down(point: &mut Option<CrashPoint>, kind: impl Fn(&CrashPoint) -> bool) -> bool {
    let Some(p) = point.as_mut().filter(|p| kind(p)) else { return false };
    let (CrashPoint::BeforePersist(n) | CrashPoint::AfterPersist(n) | CrashPoint::AfterTransmit(n)) =
        p;
    *n = n.saturating_sub(1);
    *n == 0
}
