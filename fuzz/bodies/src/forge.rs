//! A peer that holds valid keys and says what it likes under them.

use crate::Choices;
use crate::network::{AP_MAC, Seeded, client_mac};
use slyfi_base::{MacAddress, UnixTime};
use slyfi_core::pairing::{Direction, Pairing};
use slyfi_core::shroud::{DirectionSecret, ShroudReceiver, ShroudSender, Slot, Window};
use slyfi_core::sizes::{SizePolicy, Sizes};
use slyfi_core::table::{AddressTable, Entry};
use slyfi_core::tryst::{self, Class, Recipient};
use slyfi_wire::carrier;
use slyfi_wire::message::{Control, DataHeader, LinkHeader, LinkKind};

/// As long as the carrier allows, longer than an honest machine's frames.
fn sizes() -> Sizes {
    Sizes::new(SizePolicy::Buckets, carrier::MAX_BODY)
}

/// Puts the carrier around a body that `fill` writes.
fn frame(fill: impl FnOnce(&mut [u8]) -> Option<usize>) -> Option<Vec<u8>> {
    let mut frame = vec![0; carrier::MAX_FRAME];
    let body = carrier::emit(&mut frame).ok()?;
    let len = fill(body)?;
    frame.truncate(carrier::HEADER_LEN + len);
    Some(frame)
}

/// Seals any payload under a pairing's Tryst keys.
pub(crate) fn seal_tryst(
    pairing: &Pairing,
    direction: Direction,
    class: Class,
    wall: UnixTime,
    payload: &[u8],
    rng: &mut Seeded,
) -> Option<Vec<u8>> {
    let interval = u64::try_from(pairing.interval_at(wall)).ok()?;
    let keys = pairing.tryst_keys(direction, interval).ok()?;
    let address = tryst::address(&keys.addr, class, interval);
    let to = [Recipient { keys: &keys, address: &address }];
    frame(|body| tryst::seal(pairing.suite(), sizes(), &to, payload, rng, body).ok())
}

/// Opens a Tryst frame of this direction and interval, if it is one: its class and payload.
pub(crate) fn open_tryst(
    pairing: &Pairing,
    direction: Direction,
    wall: UnixTime,
    frame: &[u8],
) -> Option<(Class, Vec<u8>)> {
    let interval = u64::try_from(pairing.interval_at(wall)).ok()?;
    let keys = pairing.tryst_keys(direction, interval).ok()?;
    let mut body = carrier::body(frame).ok()?.to_vec();
    let class = Class::ALL
        .into_iter()
        .find(|class| body.starts_with(&tryst::address(&keys.addr, *class, interval)))?;
    let opened = tryst::open(pairing.suite(), &keys, &mut body, 0).ok()?;
    Some((class, body.get(opened.payload)?.to_vec()))
}

/// One end of a session whose messages are forged.
pub(crate) struct Keyed {
    pub(crate) sender: ShroudSender,
    receiver: ShroudReceiver,
    table: AddressTable,
    /// The next sequence of our reliable stream, and of the peer's.
    sequence: u16,
    next: u16,
}

impl Keyed {
    pub(crate) fn new(sends: &DirectionSecret, receives: &DirectionSecret) -> Self {
        let mut table = AddressTable::new(&mut Seeded(3));
        let mut receiver = ShroudReceiver::new(receives, Window { ahead: 200, late: 0 });
        receiver.install(&mut table, Slot::Link(0));
        let sender = ShroudSender::new(sends, sizes());
        Keyed { sender, receiver, table, sequence: 0, next: 0 }
    }

    /// Seals any message under the next number.
    pub(crate) fn seal(&mut self, message: &[u8]) -> Option<Vec<u8>> {
        let offset = self.sender.suite().message_offset();
        frame(|body| {
            body.get_mut(offset..)?.get_mut(..message.len())?.copy_from_slice(message);
            self.sender.seal(body, message.len()).ok()
        })
    }

    /// Opens a frame of the peer, if it is one, and counts it as an honest receiver would.
    pub(crate) fn hear(&mut self, frame: &[u8]) {
        let Ok(body) = carrier::body(frame) else { return };
        let mut body = body.to_vec();
        let Some((_, Entry::Shroud { number, .. })) = self.table.lookup_frame(&body) else {
            return;
        };
        let Ok(opened) = self.receiver.open(number, &mut body) else { return };
        assert!(self.receiver.accept(opened.number, &mut self.table), "looked up just now");
        let Ok((header, ..)) = LinkHeader::parse(&body[opened.message]) else { return };
        if let LinkKind::Data { sequence } | LinkKind::Control { sequence } = header.kind
            && sequence == self.next
        {
            self.next = self.next.wrapping_add(1);
        }
    }

    /// A control message in its turn.
    pub(crate) fn control(&mut self, control: &Control<'_>) -> Option<Vec<u8>> {
        let mut payload = vec![0; control.buffer_len()];
        control.emit(&mut payload).ok()?;
        let kind = LinkKind::Control { sequence: self.sequence };
        self.sequence = self.sequence.wrapping_add(1);
        let heard = self.receiver.highest() as u32;
        let header = LinkHeader { kind, heard, next: self.next, selective: 0 };
        self.message(&header, None, &payload)
    }

    fn message(
        &mut self,
        header: &LinkHeader,
        data: Option<&DataHeader>,
        payload: &[u8],
    ) -> Option<Vec<u8>> {
        let mut message = vec![0; header.buffer_len(data)];
        header.emit(data, &mut message).ok()?;
        message.extend_from_slice(payload);
        self.seal(&message)
    }

    /// A message drawn from the input: near what an honest peer would say, or far from it.
    pub(crate) fn any_message(&mut self, c: &mut Choices<'_>) -> Option<Vec<u8>> {
        if c.below(16) == 0 {
            self.sender.skip_to(self.sender.next_number() + u64::from(c.byte() % 64));
        }
        if c.below(16) == 0 {
            return self.seal(c.run());
        }
        let heard = match c.below(4) {
            0 => c.word(),
            1 => 0,
            _ => self.receiver.highest() as u32,
        };
        let next = match c.below(4) {
            0 => c.short(),
            1 => 0,
            _ => self.next,
        };
        let selective = if c.below(4) == 0 { c.long() } else { 0 };
        let sequence = match c.below(8) {
            0 => c.short(),
            1 => self.sequence.wrapping_add(c.short() % 80),
            _ => {
                self.sequence = self.sequence.wrapping_add(1);
                self.sequence.wrapping_sub(1)
            }
        };
        let mut header = LinkHeader { kind: LinkKind::Ack, heard, next, selective };
        match c.below(8) {
            0 => self.message(&header, None, &[]),
            1 => {
                header.kind = LinkKind::Ping;
                self.message(&header, None, &[])
            }
            2 => {
                header.kind = LinkKind::Cover;
                self.message(&header, None, &[])
            }
            3..=5 => {
                header.kind = LinkKind::Data { sequence };
                let data = DataHeader {
                    destination: (c.below(4) > 0).then(|| any_mac(c)),
                    source: (c.below(8) == 0).then(|| any_mac(c)),
                    ether_type: [0x0800, 0x0806, 0x86dd, 0x88b5, 0][c.below(5)],
                };
                let payload = if c.is() {
                    c.run().to_vec()
                } else {
                    vec![c.byte(); usize::from(c.short()) % carrier::MAX_BODY]
                };
                self.message(&header, Some(&data), &payload)
            }
            _ => {
                header.kind = LinkKind::Control { sequence };
                let control = any_control(c);
                self.message(&header, None, &control)
            }
        }
    }
}

/// An address that means something in these scenarios, or any.
pub(crate) fn any_mac(c: &mut Choices<'_>) -> MacAddress {
    match c.below(7) {
        0 => AP_MAC,
        1 => client_mac(1),
        2 => client_mac(2),
        3 => MacAddress::BROADCAST,
        4 => MacAddress([0x33, 0x33, 0, 0, 0, 1]),
        5 => MacAddress::default(),
        _ => MacAddress(c.array()),
    }
}

/// A control message of either side, or any bytes.
fn any_control(c: &mut Choices<'_>) -> Vec<u8> {
    let address = if c.is() {
        std::net::IpAddr::from([10, 0, 0, c.byte() % 8])
    } else {
        std::net::IpAddr::from(c.array::<16>())
    };
    let control = match c.below(8) {
        0 => Control::AssocRequest { pseudonym: any_mac(c), mtu: c.short() },
        1 => Control::Bind(address),
        2 => Control::Unbind(address),
        3 => Control::Leave,
        4 => Control::EnrolRequest { random: [c.byte(); 32] },
        5 | 6 => Control::Resync,
        _ => return c.run().to_vec(),
    };
    let mut out = vec![0; control.buffer_len()];
    control.emit(&mut out).expect("an exact buffer");
    out
}
