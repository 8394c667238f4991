//! Data: between members, the host, and everyone.

use super::ApLink;
use crate::binding::Owner;
use crate::group::Broadcast;
use crate::neighbour::{self, Answer, Question};
use crate::outbox::Delivery;
use crate::session::PacketKind;
use slyfi_base::{DropReason, MacAddress, Refused, SecureRandom};
use slyfi_wire::ethernet::EthernetFrame;
use slyfi_wire::message::DataHeader;

/// How full a member's queue may be before the host is told to wait.
const HOST_QUEUE: usize = 48;

/// Packets that are kept free of the host's traffic, for receiving and for control.
const RESERVE: usize = 64;

impl<R: SecureRandom> ApLink<R> {
    /// Takes an Ethernet payload from a member.
    pub(super) fn on_member_data(
        &mut self,
        slot: u32,
        header: &DataHeader,
        payload: &[u8],
    ) -> Result<(), DropReason> {
        // What does not fit every member's frames would stop the queue of the one it is for.
        if payload.len() > self.mtu() {
            return Err(DropReason::BadLength);
        }
        let member = self.members.get_mut(slot).ok_or(DropReason::Foreign)?;
        if !member.is_linked() || header.source.is_some() {
            return Err(DropReason::Unexpected);
        }
        let source = member.pseudonym;
        member.packets_in += 1;
        let ether_type = header.ether_type;
        if self.is_false_claim(slot, ether_type, payload) {
            return Err(DropReason::Unexpected);
        }
        match header.destination {
            None => self.deliver(self.host_mac, source, ether_type, payload),
            Some(d) if d.is_group() => self.relay_to_group(slot, d, source, ether_type, payload),
            Some(d) => match self.members.by_pseudonym(d) {
                Some(to) => {
                    let header = DataHeader { destination: None, source: Some(source), ether_type };
                    self.send_data(to, header, payload)
                }
                // Not a member: someone behind this access point's host.
                None => self.deliver(d, source, ether_type, payload),
            },
        }
    }

    /// Whether a member says of an address that it has it, and another does. To ask whether somebody
    /// has it (duplicate address detection) is no claim.
    fn is_false_claim(&self, slot: u32, ether_type: u16, payload: &[u8]) -> bool {
        neighbour::asserted(ether_type, payload)
            .and_then(|address| self.bindings.owner(address))
            .is_some_and(|owner| owner != Owner::Member(slot))
    }

    fn relay_to_group(
        &mut self,
        slot: u32,
        destination: MacAddress,
        source: MacAddress,
        ether_type: u16,
        payload: &[u8],
    ) -> Result<(), DropReason> {
        if let Some(question) = Question::parse(ether_type, payload) {
            // Whoever has the address, the others need not hear of it.
            return match self.answer_to(&question, slot, source) {
                Some(answer) => self.answer_member(slot, &answer),
                None => self.deliver(destination, source, ether_type, payload),
            };
        }
        self.deliver(destination, source, ether_type, payload)?;
        self.broadcast(destination, source, ether_type, payload);
        Ok(())
    }

    /// The answer to a member's question, if the address is bound to someone else.
    fn answer_to(&self, question: &Question, slot: u32, asker: MacAddress) -> Option<Answer> {
        let owner = match self.bindings.owner(question.target())? {
            Owner::Host => self.host_mac,
            // Its own address: nobody else has it, as duplicate address detection wants to hear.
            Owner::Member(owner) if owner == slot => return None,
            Owner::Member(owner) => self.members.get(owner)?.pseudonym,
        };
        question.answer(owner, asker)
    }

    fn answer_member(&mut self, slot: u32, answer: &Answer) -> Result<(), DropReason> {
        let header = DataHeader {
            destination: answer.destination.is_group().then_some(answer.destination),
            source: None,
            ether_type: answer.ether_type,
        };
        self.send_data(slot, header, answer.payload())
    }

    /// Queues data for a member.
    fn send_data(
        &mut self,
        slot: u32,
        header: DataHeader,
        payload: &[u8],
    ) -> Result<(), DropReason> {
        let member = self.members.get_mut(slot).ok_or(DropReason::Foreign)?;
        if !member.is_linked() {
            return Err(DropReason::Unexpected);
        }
        if self.pool.is_scarce() {
            self.drops.count(DropReason::NoRoom);
            return Ok(());
        }
        let packet = self.pool.take(&[payload]).ok_or(DropReason::NoRoom)?;
        if let Err(full) = member.session.queue(PacketKind::Data(header), packet) {
            // Like any bridge whose port is congested.
            self.pool.give(full.0);
            self.drops.count(DropReason::NoRoom);
            return Ok(());
        }
        member.packets_out += 1;
        self.members.reschedule(slot, self.now.mono);
        Ok(())
    }

    fn deliver(
        &mut self,
        destination: MacAddress,
        source: MacAddress,
        ether_type: u16,
        payload: &[u8],
    ) -> Result<(), DropReason> {
        let packet = self.pool.take(&[payload]).ok_or(DropReason::NoRoom)?;
        let delivery = Delivery::new(destination, source, ether_type, packet);
        self.out.deliver(delivery, &mut self.pool);
        Ok(())
    }

    /// Queues a broadcast to all members.
    fn broadcast(
        &mut self,
        destination: MacAddress,
        source: MacAddress,
        ether_type: u16,
        payload: &[u8],
    ) {
        if self.members.linked().next().is_none() {
            return;
        }
        let Some(packet) = self.pool.take(&[payload]) else {
            self.drops.count(DropReason::NoRoom);
            return;
        };
        let broadcast = Broadcast { destination, source, ether_type, payload: packet };
        if !self.group.push(broadcast, &mut self.pool) {
            self.drops.count(DropReason::NoRoom);
        }
    }

    /// Takes an Ethernet frame from the host.
    pub(super) fn on_host_packet(&mut self, packet: &[u8]) -> Result<(), Refused> {
        let frame = EthernetFrame::new_checked(packet).map_err(|_| Refused::TooShort)?;
        let limit = self.mtu() + slyfi_wire::ethernet::HEADER_LEN;
        if packet.len() > limit {
            return Err(Refused::TooLong { actual: packet.len(), limit });
        }
        if self.pool.free() <= RESERVE {
            return Err(Refused::QueueFull);
        }
        let (destination, ether_type) = (frame.destination(), frame.ethertype());
        if destination.is_group() {
            return self.host_to_group(&frame);
        }
        let slot = self.members.by_pseudonym(destination).ok_or(Refused::NoSuchMember)?;
        let member = self.members.get(slot).ok_or(Refused::NoSuchMember)?;
        if !member.is_linked() {
            return Err(Refused::NoSuchMember);
        }
        if member.session.queued() >= HOST_QUEUE {
            return Err(Refused::QueueFull);
        }
        let source = (frame.source() != self.host_mac).then_some(frame.source());
        let header = DataHeader { destination: None, source, ether_type };
        // Room was made sure of above.
        self.send_data(slot, header, frame.payload()).map_err(|_| Refused::QueueFull)
    }

    fn host_to_group(&mut self, frame: &EthernetFrame<'_>) -> Result<(), Refused> {
        let (destination, source) = (frame.destination(), frame.source());
        if let Some(question) = Question::parse(frame.ethertype(), frame.payload())
            && let Some(Owner::Member(slot)) = self.bindings.owner(question.target())
        {
            let owner = self.members.get(slot).map(|m| m.pseudonym);
            if let Some(owner) = owner
                && let Some(answer) = question.answer(owner, source)
            {
                // Room was made sure of by the caller.
                let _ =
                    self.deliver(answer.destination, owner, answer.ether_type, answer.payload());
            }
            return Ok(());
        }
        if self.members.linked().next().is_none() {
            return Err(Refused::NotLinked);
        }
        if self.group.is_full() {
            return Err(Refused::QueueFull);
        }
        self.broadcast(destination, source, frame.ethertype(), frame.payload());
        Ok(())
    }
}
