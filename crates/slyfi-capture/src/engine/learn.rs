//! What clear and opened frames tell: names, nonces, keys.

use super::pair::GroupKey;
use super::{Address, Engine, Outcome, Refusal};
use slyfi_ciphers::bip::{self, BipSuite};
use slyfi_ciphers::handshake::ft::FAST_TRANSITION;
use slyfi_ciphers::handshake::tdls::{LINK_IDENTIFIER, SetUp};
use slyfi_ciphers::handshake::{KeyBytes, fils};
use slyfi_wire::Reader;
use slyfi_wire::element::{self, Element, Elements};
use slyfi_wire::ieee80211::{MacHeader, management};
use slyfi_wire::llc;

/// Categories of action frames (§9.4.1.11): Fast BSS Transition and Wireless Network Management.
const FT: u8 = 6;
const WNM: u8 = 10;
/// WNM Sleep Mode Response (§9.6.13.20), and the subelements of its key data.
const SLEEP_RESPONSE: u8 = 17;
const SLEEP_GTK: u8 = 0;
const SLEEP_IGTK: u8 = 1;
/// EtherType of TDLS (IEEE 802.11-2020 §11.20.2).
const TDLS: u16 = 0x890d;
/// Element identifier of Timeout Interval (§9.4.2.48).
const TIMEOUT_INTERVAL: u8 = 56;

impl Engine {
    /// Looks at the clear body of a data frame.
    pub(super) fn body(&mut self, header: &MacHeader<'_>, body: &[u8]) {
        let leads_to_keys =
            |b: &[u8]| llc::parse(b).is_ok_and(|(kind, _)| kind == llc::EAPOL || kind == TDLS);
        let Some(payload) = self.fragments.add(header, body, leads_to_keys) else { return };
        // Bit 7 of QoS control: several payloads, each with ends and length of its own (§9.3.2.2).
        if header.qos_control().is_some_and(|q| q.is_amsdu()) {
            let mut r = Reader::new(&payload);
            while let Some((destination, source, inner)) = subframe(&mut r) {
                self.payload(destination, source, inner);
            }
        } else if let (Some(destination), Some(source)) = (header.destination(), header.source()) {
            self.payload(destination.0, source.0, &payload);
        }
    }

    fn payload(&mut self, destination: Address, source: Address, payload: &[u8]) {
        let Ok((ethertype, packet)) = llc::parse(payload) else { return };
        match ethertype {
            llc::EAPOL => {
                // Which side is the authenticator shows in the message, not in the header: both
                // directions of a WDS or IBSS link look alike.
                let from_authenticator = packet.get(6).is_some_and(|low| low & 0x80 != 0);
                let (a, s) =
                    if from_authenticator { (source, destination) } else { (destination, source) };
                self.with_pair(a, s, |pair, ends, masters| pair.eapol(packet, ends, masters));
            }
            TDLS => {
                self.direct_link(packet);
            }
            _ => {}
        }
    }

    /// TDLS set-up response and confirm carry both nonces and a code that proves their key.
    fn direct_link(&mut self, packet: &[u8]) -> Option<()> {
        // Payload type 2, category 12, action; status and dialog token, and capabilities in a response.
        let (sequence, elements) = match packet {
            [2, 12, 1, _, _, _, _, _, rest @ ..] => (2, rest),
            [2, 12, 2, _, _, _, rest @ ..] => (3, rest),
            _ => return None,
        };
        let find = |id| Elements::new(elements).map_while(Result::ok).find(|e| e.id == id);
        let set_up = SetUp {
            sequence,
            link_identifier: find(LINK_IDENTIFIER)?,
            rsn: find(element::RSN)?,
            timeout: find(TIMEOUT_INTERVAL)?,
            fast_transition: find(FAST_TRANSITION)?,
        };
        let (kck, tk) = set_up.proven_key()?;
        let (initiator, responder) = set_up.ends()?;
        self.with_pair(initiator, responder, |pair, _, _| {
            pair.direct_link(kck, tk);
            Vec::new()
        });
        Some(())
    }

    pub(super) fn management(&mut self, header: &MacHeader<'_>, frame: &[u8]) -> Outcome<'_> {
        let (Some(transmitter), Some(bssid)) = (header.addr2(), header.addr3()) else {
            return Outcome::Malformed;
        };
        let (receiver, body) = (header.addr1(), header.body());
        let after = |n: usize| body.get(n..).unwrap_or(&[]);
        match header.frame_control().subtype() {
            management::BEACON | management::PROBE_RESPONSE => {
                if let Some(ssid) = Elements::new(after(12)).ssid()
                    && let Some(network) = self.network(bssid.0)
                {
                    network.named(ssid);
                }
            }
            management::ASSOCIATION_REQUEST => {
                self.association(receiver.0, transmitter.0, after(4));
                self.fils_association(receiver.0, transmitter.0, true, body, 4);
            }
            // With FT the response names the holders of the keys, should message 2 be missing.
            management::ASSOCIATION_RESPONSE => {
                self.with_pair(transmitter.0, receiver.0, |pair, _, _| {
                    pair.transition_elements(after(6));
                    Vec::new()
                });
                self.fils_association(transmitter.0, receiver.0, false, body, 6);
            }
            management::REASSOCIATION_REQUEST => {
                self.association(receiver.0, transmitter.0, after(10));
                self.with_pair(receiver.0, transmitter.0, |pair, ends, masters| {
                    pair.ft_reassociation(5, after(10), ends, masters)
                });
                self.fils_association(receiver.0, transmitter.0, true, body, 10);
            }
            management::REASSOCIATION_RESPONSE => {
                self.with_pair(transmitter.0, receiver.0, |pair, ends, masters| {
                    pair.ft_reassociation(6, after(6), ends, masters)
                });
                self.fils_association(transmitter.0, receiver.0, false, body, 6);
            }
            // Algorithm 2 is FT (§9.4.1.1); the station speaks in odd transactions.
            management::AUTHENTICATION if body.first_chunk() == Some(&[2, 0]) => {
                let from_station = body.get(2).is_some_and(|n| n & 1 == 1);
                let (ap, station) =
                    if from_station { (receiver, transmitter) } else { (transmitter, receiver) };
                self.ft_authentication(ap.0, station.0, after(6));
            }
            management::AUTHENTICATION if body.first_chunk() == Some(&fils::SHARED_KEY) => {
                let from_station = receiver == bssid;
                let (ap, station) =
                    if from_station { (receiver, transmitter) } else { (transmitter, receiver) };
                self.with_pair(ap.0, station.0, |pair, _, _| {
                    pair.fils_authentication(from_station, after(6));
                    Vec::new()
                });
            }
            management::ACTION => self.transition_over_ds(body),
            _ => {}
        }
        self.integrity(header, frame)
    }

    /// Looks at what was inside a protected management frame.
    pub(super) fn opened_management(&mut self, header: &MacHeader<'_>, body: &[u8]) {
        if header.frame_control().subtype() != management::ACTION {
            return;
        }
        self.transition_over_ds(body);
        if let ([WNM, SLEEP_RESPONSE, _dialog, low, high, rest @ ..], Some(ap)) =
            (body, header.addr2())
        {
            let len = usize::from(u16::from_le_bytes([*low, *high]));
            let keys = sleep_keys(rest.get(..len).unwrap_or(rest));
            self.with_pair(ap.0, header.addr1().0, |_, _, _| keys);
        }
    }

    /// FT over the distribution system: the station asks its present access point to speak with the
    /// next one (§13.5.3, §9.6.8); the frames are those of the authentication, in another wrapping.
    fn transition_over_ds(&mut self, body: &[u8]) {
        let Some((&[FT, action], rest)) = body.split_first_chunk::<2>() else { return };
        let Some((station, rest)) = rest.split_first_chunk::<6>() else { return };
        let Some((target, rest)) = rest.split_first_chunk::<6>() else { return };
        // Response and acknowledgement have a status code before the elements.
        let elements = if action.is_multiple_of(2) { rest.get(2..).unwrap_or(&[]) } else { rest };
        self.ft_authentication(*target, *station, elements);
    }

    fn ft_authentication(&mut self, access_point: Address, station: Address, elements: &[u8]) {
        self.with_pair(access_point, station, |pair, _, _| {
            pair.ft_authentication(elements);
            Vec::new()
        });
    }

    fn association(&mut self, bssid: Address, station: Address, elements: &[u8]) {
        if let Some(ssid) = Elements::new(elements).ssid()
            && let Some(network) = self.network(bssid)
        {
            network.named(ssid);
        }
        self.with_pair(bssid, station, |pair, _, _| {
            pair.elements(elements);
            Vec::new()
        });
    }

    fn fils_association(
        &mut self,
        access_point: Address,
        station: Address,
        from_station: bool,
        body: &[u8],
        fixed: usize,
    ) {
        self.with_pair(access_point, station, |pair, ends, masters| {
            pair.fils_association(from_station, body, fixed, ends, masters)
        });
    }

    /// Checks the integrity element of group-addressed management frames.
    fn integrity(&mut self, header: &MacHeader<'_>, frame: &[u8]) -> Outcome<'_> {
        let robust = matches!(
            header.frame_control().subtype(),
            management::DISASSOCIATION | management::DEAUTHENTICATION | management::ACTION
        );
        let Some(transmitter) = header.addr2() else { return Outcome::Malformed };
        if !robust || !header.addr1().is_group() || !bip::has_management_mic(header.body()) {
            return Outcome::Clear;
        }
        let learned = self.integrity_groups.get(&transmitter.0).into_iter().flatten();
        let keys: Vec<&KeyBytes> = learned.chain(&self.given_bytes).collect();
        let suites = [BipSuite::Cmac128, BipSuite::Gmac128, BipSuite::Gmac256, BipSuite::Cmac256];
        let verified = keys
            .iter()
            .any(|k| suites.iter().any(|s| bip::verify(*s, k.as_bytes(), frame).is_ok()));
        let refusal = if keys.is_empty() { Refusal::NoKey } else { Refusal::NotVerified };
        let entry = self.transmitter(transmitter.0);
        entry.protected += 1;
        if verified {
            entry.opened += 1;
            *entry.by_cipher.entry("BIP").or_default() += 1;
            return Outcome::Verified;
        }
        *entry.refused.entry(refusal).or_default() += 1;
        Outcome::Refused(refusal)
    }
}

/// Takes one subframe: destination, source, payload.
fn subframe<'a>(r: &mut Reader<'a>) -> Option<(Address, Address, &'a [u8])> {
    let (destination, source) = (r.array().ok()?, r.array().ok()?);
    let len = usize::from(r.u16_be().ok()?);
    let payload = r.take(len).ok()?;
    // The next one begins at a multiple of four; the last one has no padding.
    let _ = r.take((14 + len).next_multiple_of(4) - 14 - len);
    Some((destination, source, payload))
}

/// The group keys that a station gets when it wakes up.
fn sleep_keys(data: &[u8]) -> Vec<GroupKey> {
    let key = |e: Element<'_>| match (e.id, e.data) {
        (SLEEP_GTK, [_, _, len, rest @ ..]) => {
            let key = rest.get(8..)?.get(..usize::from(*len))?;
            KeyBytes::new(key).map(GroupKey::Gtk)
        }
        (SLEEP_IGTK, d) => KeyBytes::new(d.get(8..)?).map(GroupKey::Igtk),
        _ => None,
    };
    Elements::new(data).map_while(Result::ok).filter_map(key).collect()
}
