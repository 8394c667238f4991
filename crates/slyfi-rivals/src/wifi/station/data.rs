//! The station's data frames, in and out, and what its protection wants done.

use super::{Session, State, Station};
use crate::wifi::card::{Ds, Route, Sealer};
use crate::wifi::frames::{EAPOL, Management, ethernet};
use crate::wifi::intake::{Content, unseal};
use crate::wifi::outbox::Unsent;
use crate::wifi::protection::{Effect, Protection};
use slyfi_base::event::{NoLink, Unlinked};
use slyfi_base::{DropReason, MacAddress, Now, SecureRandom};
use slyfi_wire::ethernet::EthernetRepr;
use slyfi_wire::ieee80211::MacHeader;

impl<R: SecureRandom, P: Protection> Station<R, P> {
    pub(super) fn receive_data(
        &mut self,
        now: Now,
        from: MacAddress,
        frame: &mut [u8],
        header_len: usize,
    ) -> Result<(), DropReason> {
        let header = MacHeader::new_checked(frame).map_err(|_| DropReason::Malformed)?;
        let is_member = matches!(self.state, State::Securing(..) | State::Linked(_));
        if !is_member || !header.frame_control().is_from_ds() {
            return Err(DropReason::Unexpected);
        }
        if header.source() == Some(self.card.mac()) {
            return Err(DropReason::Echo);
        }
        let is_private = self.protection.is_private();
        let incoming = unseal(&mut self.protection, now, from, frame, header_len);
        // What it wants made durable comes before what it opened.
        self.follow(now);
        let incoming = incoming?;
        let (ethertype, payload) = match incoming.content(is_private)? {
            Content::Nothing => return Ok(()),
            Content::Handshake(packet) => {
                let taken = self.protection.handshake(now, from, packet, incoming.sealed);
                self.follow(now);
                return taken;
            }
            Content::Packet(ethertype, payload) => (ethertype, payload),
        };
        if !self.is_linked() {
            return Err(DropReason::Unexpected);
        }
        let header = incoming.header;
        let (Some(source), Some(destination)) = (header.source(), header.destination()) else {
            return Err(DropReason::Foreign);
        };
        let repr = EthernetRepr { destination, source, ethertype };
        let kept = self.outbox.deliver(|packet| ethernet(packet, repr, payload));
        if kept { Ok(()) } else { Err(DropReason::NoRoom) }
    }

    // Frames to the air.

    pub(super) fn transmit(
        &mut self,
        now: Now,
        to: (MacAddress, MacAddress),
        packet: (u16, &[u8]),
        sealed: bool,
    ) -> Result<(), Unsent> {
        let (bssid, destination) = to;
        let route = Route { ds: Ds::To, receiver: bssid, far: destination };
        let protection = &mut self.protection;
        let seal = sealed.then_some(Sealer { protection, now, to: bssid });
        self.card.data(&mut self.outbox, route, packet, seal)
    }

    /// Does what the protection wants done.
    pub(super) fn follow(&mut self, now: Now) {
        while let Some(effect) = self.protection.poll() {
            match effect {
                // A lost message of a handshake is sent again, a lost question asked again.
                Effect::Handshake { to, packet, sealed } => {
                    let _ = self.transmit(now, (to, to), (EAPOL, &packet), sealed);
                }
                Effect::Ask(to) => {
                    let _ = self.transmit(now, (to, to), (0, &[]), true);
                }
                Effect::Ready(_) => {
                    if let State::Securing(ap, _) = self.state {
                        self.linked(now, ap);
                    }
                }
                Effect::Part { peer, reason, why } => self.part(now, peer, reason, why),
                Effect::Persist(record) => self.outbox.persist(record),
                Effect::Event(event) => self.outbox.event(event),
            }
        }
    }

    fn part(&mut self, now: Now, peer: MacAddress, reason: u16, why: Unlinked) {
        let body = Management::Deauthentication { reason };
        match self.state {
            State::Securing(ap, _) if ap.bssid == peer => {
                self.card.manage(&mut self.outbox, peer, peer, body);
                self.fail(now, NoLink::KeyNotProven);
            }
            State::Linked(Session { ap, .. }) if ap.bssid == peer => {
                self.card.manage(&mut self.outbox, peer, peer, body);
                self.lose(now, why);
            }
            _ => {}
        }
    }
}
