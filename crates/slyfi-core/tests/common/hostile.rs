//! A peer that has the keys of a session and none of the manners: it seals whatever a test wants.
//!
//! The keys come from the key log, and where the stream stands from the frames on the air.

#![allow(dead_code, reason = "each test file uses its own part")]

use crate::common::{AP_MAC, Net, Seeded, client_mac, ethernet, linked_with};
use slyfi_base::Duration;
use slyfi_core::ap::ApConfig;
use slyfi_core::client::ClientConfig;
use slyfi_core::keys::Key256;
use slyfi_core::shroud::{DirectionSecret, ShroudReceiver, ShroudSender, Slot, Window};
use slyfi_core::sizes::Sizes;
use slyfi_core::suite::Suite;
use slyfi_core::table::{AddressTable, Entry};
use slyfi_wire::carrier;
use slyfi_wire::message::{Control, DataHeader, GroupMessage, LinkHeader, LinkKind};

/// A frame of a session, opened.
pub struct Heard {
    pub number: u64,
    pub header: LinkHeader,
    pub payload: Vec<u8>,
}

/// One of a session's two ends, in the wrong hands.
pub struct Hostile {
    pub sender: ShroudSender,
    /// The sequence of the next message of the reliable stream.
    pub sequence: u16,
    /// What its headers say was heard, and where the peer's stream stands.
    pub heard: u32,
    pub next: u16,
}

fn hex(text: &str) -> Vec<u8> {
    (0..text.len()).step_by(2).map(|i| u8::from_str_radix(&text[i..i + 2], 16).unwrap()).collect()
}

/// The secrets up and down of the last session in a node's key log.
pub fn session_secrets(net: &Net, node: usize) -> (DirectionSecret, DirectionSecret) {
    let line = net.nodes[node].key_log.iter().rfind(|l| l.starts_with("SLYFI_SESSION ")).unwrap();
    let fields: Vec<&str> = line.split(' ').collect();
    let suite = Suite::from_byte(hex(fields[2])[0]).unwrap();
    let secret = |text| DirectionSecret::new(suite, Key256::from_slice(&hex(text)).unwrap());
    (secret(fields[3]), secret(fields[4]))
}

/// The secret of the last group key in a node's key log.
pub fn group_secret(net: &Net, node: usize) -> DirectionSecret {
    let line = net.nodes[node].key_log.iter().rfind(|l| l.starts_with("SLYFI_GROUP ")).unwrap();
    let fields: Vec<&str> = line.split(' ').collect();
    let suite = Suite::from_byte(hex(fields[2])[0]).unwrap();
    DirectionSecret::new(suite, Key256::from_slice(&hex(fields[3])).unwrap())
}

/// The bodies on the air that open under a direction's secret, with their numbers.
pub fn opened(net: &Net, secret: &DirectionSecret) -> Vec<(usize, u64, Vec<u8>)> {
    let mut table = AddressTable::new(&mut Seeded(0));
    let mut receiver = ShroudReceiver::new(secret, Window { ahead: 1_000, late: 0 });
    receiver.install(&mut table, Slot::Link(0));
    let mut all = Vec::new();
    for (_, node, frame) in &net.air {
        let mut frame = frame.clone();
        let Ok(body) = carrier::body_mut(&mut frame) else { continue };
        let Some((0, Entry::Shroud { number, .. })) = table.lookup_frame(body) else { continue };
        let Ok(found) = receiver.open(number, body) else { continue };
        assert!(receiver.accept(found.number, &mut table), "a number came twice");
        all.push((*node, found.number, body[found.message].to_vec()));
    }
    all
}

/// All frames of a direction, read.
pub fn heard(net: &Net, secret: &DirectionSecret) -> Vec<Heard> {
    let read = |(_, number, message): (usize, u64, Vec<u8>)| {
        let (header, _, payload) = LinkHeader::parse(&message).unwrap();
        Heard { number, header, payload: payload.to_vec() }
    };
    opened(net, secret).into_iter().map(read).collect()
}

impl Hostile {
    /// Takes over the client's end of the session of `client`, which must be silent from now on.
    pub fn client(net: &Net, client: usize) -> Self {
        let (up, down) = session_secrets(net, client);
        Hostile::new(net, &up, &down, Sizes::default())
    }

    /// Takes over the access point's end.
    pub fn access_point(net: &Net, client: usize) -> Self {
        let (up, down) = session_secrets(net, client);
        Hostile::new(net, &down, &up, Sizes::default())
    }

    /// A sender with another size of frames.
    pub fn new(net: &Net, mine: &DirectionSecret, theirs: &DirectionSecret, sizes: Sizes) -> Self {
        let mut sender = ShroudSender::new(mine, sizes);
        let sent = heard(net, mine);
        sender.skip_to(sent.iter().map(|h| h.number).max().unwrap_or(0) + 1);
        let sequence = |h: &Heard| match h.header.kind {
            LinkKind::Data { sequence } | LinkKind::Control { sequence } => Some(sequence + 1),
            _ => None,
        };
        let received = heard(net, theirs);
        Hostile {
            sender,
            sequence: sent.iter().filter_map(sequence).max().unwrap_or(0),
            heard: received.iter().map(|h| h.number as u32).max().unwrap_or(0),
            next: received.iter().filter_map(sequence).max().unwrap_or(0),
        }
    }

    /// Seals any message.
    pub fn seal(&mut self, message: &[u8]) -> Vec<u8> {
        let max = self.sender.sizes().max_body();
        let mut frame = vec![0; carrier::HEADER_LEN + max];
        let body = carrier::emit(&mut frame).unwrap();
        let offset = self.sender.suite().message_offset();
        body[offset..offset + message.len()].copy_from_slice(message);
        let len = self.sender.seal(body, message.len()).unwrap();
        frame.truncate(carrier::HEADER_LEN + len);
        frame
    }

    /// Seals a message of one's own making on the link.
    pub fn link(&mut self, kind: LinkKind, data: Option<DataHeader>, payload: &[u8]) -> Vec<u8> {
        let header = LinkHeader { kind, heard: self.heard, next: self.next, selective: 0 };
        let mut message = vec![0; header.buffer_len(data.as_ref()) + payload.len()];
        let len = header.emit(data.as_ref(), &mut message).unwrap();
        message[len..].copy_from_slice(payload);
        self.seal(&message)
    }

    /// Seals a control message, next in the reliable stream.
    pub fn control(&mut self, control: &Control<'_>) -> Vec<u8> {
        let mut payload = vec![0; control.buffer_len()];
        control.emit(&mut payload).unwrap();
        let sequence = self.sequence;
        self.sequence = self.sequence.wrapping_add(1);
        self.link(LinkKind::Control { sequence }, None, &payload)
    }

    /// Seals data, next in the reliable stream.
    pub fn data(&mut self, header: DataHeader, payload: &[u8]) -> Vec<u8> {
        let sequence = self.sequence;
        self.sequence = self.sequence.wrapping_add(1);
        self.link(LinkKind::Data { sequence }, Some(header), payload)
    }
}

/// Seals a broadcast under a group secret, with a number.
pub fn broadcast(secret: &DirectionSecret, number: u64, message: &GroupMessage<'_>) -> Vec<u8> {
    let mut sender = ShroudSender::new(secret, Sizes::default());
    sender.skip_to(number);
    let mut bytes = vec![0; message.buffer_len()];
    message.emit(&mut bytes).unwrap();
    let mut hostile = Hostile { sender, sequence: 0, heard: 0, next: 0 };
    hostile.seal(&bytes)
}

/// A network whose key logs are on.
pub fn logged(n: u8, suite: Suite) -> Net {
    let ap = ApConfig { suite, key_log: true, ..ApConfig::default() };
    let client = ClientConfig { key_log: true, ..ClientConfig::default() };
    linked_with(n, suite, ap, client)
}

pub fn frames_of(net: &Net, node: usize) -> Vec<Vec<u8>> {
    net.air.iter().filter(|(_, n, _)| *n == node).map(|(_, _, f)| f.clone()).collect()
}

/// Whether data still goes both ways between the access point and a client.
pub fn serves(net: &mut Net, client: usize) -> bool {
    let number = (net.now.as_micros() % 251) as u8;
    let mac = client_mac(client as u8);
    let up = ethernet(AP_MAC, mac, 0x0800, &[number, 1, 1]);
    let down = ethernet(mac, AP_MAC, 0x0800, &[number, 2, 2]);
    let sent = net.send(client, &up).is_ok() && net.send(0, &down).is_ok();
    net.run(Duration::from_millis(300));
    sent && net.nodes[0].delivered.contains(&up) && net.nodes[client].delivered.contains(&down)
}
