//! The access point's data frames, in and out, and what its protection wants done.

use super::{AccessPoint, Member};
use crate::wifi::card::{Ds, Route, Sealer};
use crate::wifi::frames::{EAPOL, ethernet, reason};
use crate::wifi::intake::{Content, unseal};
use crate::wifi::outbox::Unsent;
use crate::wifi::protection::{Effect, GroupDelivery, Protection};
use crate::wifi::station::NO_PAIRING;
use alloc::vec::Vec;
use slyfi_base::{DropReason, Event, MacAddress, Now};
use slyfi_wire::ethernet::EthernetRepr;

impl<P: Protection> AccessPoint<P> {
    pub(super) fn receive_data(
        &mut self,
        now: Now,
        from: MacAddress,
        frame: &mut [u8],
        header_len: usize,
    ) -> Result<(), DropReason> {
        let Some(association) = self.members.get_mut(&from).and_then(|m| m.association.as_mut())
        else {
            // Tells a station that this access point has forgotten it, after a restart for one.
            self.reject(from, reason::NOT_ASSOCIATED);
            return Err(DropReason::Unexpected);
        };
        association.used = true;
        let ready = association.ready;
        let is_private = self.protection.is_private();
        let incoming = unseal(&mut self.protection, now, from, frame, header_len);
        // What it wants made durable comes before what it opened.
        self.follow(now);
        let incoming = incoming?;
        let packet = match incoming.content(is_private)? {
            Content::Nothing => return Ok(()),
            Content::Handshake(packet) => {
                let taken = self.protection.handshake(now, from, packet, incoming.sealed);
                self.follow(now);
                return taken;
            }
            Content::Packet(ethertype, payload) => (ethertype, payload),
        };
        if !ready {
            return Err(DropReason::Unexpected);
        }
        let destination = incoming.header.destination().ok_or(DropReason::Malformed)?;
        self.forward(now, from, destination, packet)
    }

    /// Hands a member's packet on: to another member, to the host, or to both.
    fn forward(
        &mut self,
        now: Now,
        from: MacAddress,
        destination: MacAddress,
        packet: (u16, &[u8]),
    ) -> Result<(), DropReason> {
        let (relays, delivers) = if destination.is_group() {
            (true, true)
        } else {
            let relays = destination != from && self.is_ready(destination);
            (relays, !relays && destination != from)
        };
        let mut kept = true;
        if relays {
            kept = self.send(now, destination, from, packet).is_ok();
        }
        if delivers {
            let repr = EthernetRepr { destination, source: from, ethertype: packet.0 };
            kept &= self.outbox.deliver(|out| ethernet(out, repr, packet.1));
        }
        if kept { Ok(()) } else { Err(DropReason::NoRoom) }
    }

    pub(super) fn is_ready(&self, mac: MacAddress) -> bool {
        self.members.get(&mac).and_then(|m| m.association).is_some_and(|a| a.ready)
    }

    // Frames to the air.

    /// Sends a packet to a member or to a group.
    pub(super) fn send(
        &mut self,
        now: Now,
        destination: MacAddress,
        source: MacAddress,
        packet: (u16, &[u8]),
    ) -> Result<(), Unsent> {
        let each = self.protection.group_delivery() == GroupDelivery::Each;
        if !destination.is_group() || !each {
            return self.send_to(now, destination, source, packet);
        }
        let is_meant = |(mac, m): &(&MacAddress, &Member)| {
            **mac != source && m.association.is_some_and(|a| a.ready)
        };
        let members: Vec<MacAddress> =
            self.members.iter().filter(is_meant).map(|(mac, _)| *mac).collect();
        let mut sent = Ok(());
        for member in members {
            sent = sent.and(self.send_to(now, member, source, packet));
        }
        sent
    }

    fn send_to(
        &mut self,
        now: Now,
        receiver: MacAddress,
        source: MacAddress,
        packet: (u16, &[u8]),
    ) -> Result<(), Unsent> {
        let is_private = self.protection.is_private();
        if is_private {
            self.protection.prepare(now, receiver);
            self.follow(now);
        }
        self.transmit(now, receiver, source, packet, is_private)
    }

    fn transmit(
        &mut self,
        now: Now,
        receiver: MacAddress,
        source: MacAddress,
        packet: (u16, &[u8]),
        sealed: bool,
    ) -> Result<(), Unsent> {
        let route = Route { ds: Ds::From, receiver, far: source };
        let protection = &mut self.protection;
        let seal = sealed.then_some(Sealer { protection, now, to: receiver });
        self.card.data(&mut self.outbox, route, packet, seal)
    }

    /// Does what the protection wants done.
    pub(super) fn follow(&mut self, now: Now) {
        while let Some(effect) = self.protection.poll() {
            let own = self.card.mac();
            match effect {
                // A lost message of a handshake is sent again, a lost question asked again.
                Effect::Handshake { to, packet, sealed } => {
                    let _ = self.transmit(now, to, own, (EAPOL, &packet), sealed);
                }
                Effect::Ask(to) => {
                    let _ = self.transmit(now, to, own, (0, &[]), true);
                }
                Effect::Ready(peer) => self.on_ready(peer),
                Effect::Part { peer, reason, why } => {
                    let association = self.disassociate(now, peer);
                    self.members.remove(&peer);
                    self.unlinked(association, why);
                    self.reject(peer, reason);
                }
                Effect::Persist(record) => self.outbox.persist(record),
                Effect::Event(event) => self.outbox.event(event),
            }
        }
    }

    fn on_ready(&mut self, peer: MacAddress) {
        let association = self.members.get_mut(&peer).and_then(|m| m.association.as_mut());
        if let Some(association) = association.filter(|a| !a.ready) {
            association.ready = true;
            self.outbox.event(Event::Linked { link: association.link, pairing: NO_PAIRING });
        }
    }
}
