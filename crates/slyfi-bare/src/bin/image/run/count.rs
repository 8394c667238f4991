//! What CCM and the whole packet path cost, without a card and without a peer: under an emulator
//! that counts instructions the numbers are the same run after run.

use super::settings;
use crate::clock::Clock;
use crate::entropy::Entropy;
use crate::heap;
use crate::serial::say;
use crate::symbols;
use crate::udp::{Drained, Place, Udp};
use alloc::rc::Rc;
use alloc::string::String;
use core::cell::RefCell;
use core::net::Ipv4Addr;
use slyfi_bare::exchange::{
    Clock as _, Cost, Datagrams, Direction, MAX_SIZE, Opener, Packet, Run, SEALED_OVERHEAD, Sealer,
    Settings, Template,
};
use slyfi_bare::options::Options;
use slyfi_base::Duration;
use smoltcp::phy::{Device, DeviceCapabilities, Medium, RxToken, TxToken};
use smoltcp::time::Instant;

/// Datagrams that one measurement of the path takes.
const DATAGRAMS: u32 = 64;

/// Checks the memory functions that everything stands on, then measures at every size.
pub fn run(options: &Options<'_>, clock: &mut Clock, rng: &mut Entropy) -> Result<(), String> {
    symbols::check();
    let (left, right) = (Ipv4Addr::new(10, 9, 0, 1), Ipv4Addr::new(10, 9, 0, 2));
    let (there, back) = (Queue::default(), Queue::default());
    let place = |own, peer| Place { address: (own, 24), port: 4000, peer: (peer, 4000) };
    let end = |rx: &Queue, tx: &Queue| Wire { rx: Rc::clone(rx), tx: Rc::clone(tx) };
    let mut a = Udp::new(end(&back, &there), [2, 0, 0, 0, 0, 1], place(left, right), *clock);
    let mut b = Udp::new(end(&there, &back), [2, 0, 0, 0, 0, 2], place(right, left), *clock);
    for (run, size) in options.sizes().iter().enumerate() {
        let settings = settings(options, *size, run as u32)?;
        let cost = Cost::measure(clock, rng, &settings);
        let before = heap::calls();
        let mut path = Path { a: &mut a, b: &mut b, clock, settings: &settings };
        let clear = path.clear();
        let sealed = path.sealed(rng);
        let allocations = heap::calls() - before;
        let Cost { size, seal_ns, open_ns } = cost;
        say!(
            "{{\"n\":{size},\"seal\":{seal_ns},\"open\":{open_ns},\"clear_path\":{clear},\
             \"sealed_path\":{sealed},\"allocations\":{allocations}}}"
        );
    }
    Ok(())
}

/// Two sockets on one wire.
struct Path<'a> {
    a: &'a mut Udp<Wire>,
    b: &'a mut Udp<Wire>,
    clock: &'a mut Clock,
    settings: &'a Settings,
}

impl Path<'_> {
    /// Nanoseconds for one clear datagram from program to program.
    fn clear(&mut self) -> u64 {
        let template = Template::new(self.settings);
        self.datagrams(
            template.size(),
            |number, out| template.write(number, out),
            |message| template.read(message).ok(),
        )
    }

    /// The same for a sealed one.
    fn sealed(&mut self, rng: &mut Entropy) -> u64 {
        let (template, run) = (Template::new(self.settings), Run::new(self.settings));
        let mut sealer = Sealer::new(Direction::Up, rng);
        let mut opener = Opener::new(Direction::Up);
        self.datagrams(
            template.size() + SEALED_OVERHEAD,
            |number, out| sealer.seal(&run, &template, number, out),
            |message| opener.open(&run, &template, message).ok(),
        )
    }

    fn datagrams(
        &mut self,
        len: usize,
        mut write: impl FnMut(Packet, &mut [u8]),
        mut read: impl FnMut(&mut [u8]) -> Option<Packet>,
    ) -> u64 {
        let mut buf = [0; MAX_SIZE + SEALED_OVERHEAD];
        // The first one also has the neighbour's address to find, and is not counted.
        let mut begin = 0;
        for number in 0..=DATAGRAMS {
            if number == 1 {
                begin = self.clock.nanos();
            }
            let packet = Packet::Numbered(number);
            self.a.offer(len, |out| write(packet, out)).expect("a wire is long enough");
            let came = loop {
                if let Ok(Some(len)) = self.b.receive(&mut buf, Duration::ZERO) {
                    break len;
                }
                self.a.poll_in();
                self.a.poll_out();
            };
            assert_eq!(read(&mut buf[..came]), Some(packet), "the wire changed a datagram");
        }
        (self.clock.nanos() - begin) / u64::from(DATAGRAMS)
    }
}

/// Frames on their way: a few slots, made once.
struct Slots {
    frames: [([u8; 1600], usize); 4],
    first: usize,
    len: usize,
}

impl Default for Slots {
    fn default() -> Self {
        Slots { frames: [([0; 1600], 0); 4], first: 0, len: 0 }
    }
}

type Queue = Rc<RefCell<Slots>>;

/// One end of a wire.
struct Wire {
    rx: Queue,
    tx: Queue,
}

impl Drained for Wire {
    fn is_drained(&mut self) -> bool {
        self.tx.borrow().len == 0
    }
}

impl Device for Wire {
    type RxToken<'a> = Taking;
    type TxToken<'a> = Putting;

    fn receive(&mut self, _: Instant) -> Option<(Taking, Putting)> {
        let ready = self.rx.borrow().len > 0;
        ready.then(|| (Taking(Rc::clone(&self.rx)), Putting(Rc::clone(&self.tx))))
    }

    fn transmit(&mut self, _: Instant) -> Option<Putting> {
        let slots = self.tx.borrow();
        (slots.len < slots.frames.len()).then(|| Putting(Rc::clone(&self.tx)))
    }

    fn capabilities(&self) -> DeviceCapabilities {
        let mut capabilities = DeviceCapabilities::default();
        capabilities.medium = Medium::Ethernet;
        capabilities.max_transmission_unit = 1514;
        capabilities
    }
}

struct Taking(Queue);

impl RxToken for Taking {
    fn consume<R, F: FnOnce(&[u8]) -> R>(self, f: F) -> R {
        let mut slots = self.0.borrow_mut();
        let at = slots.first;
        slots.first = (at + 1) % slots.frames.len();
        slots.len -= 1;
        let (frame, len) = &slots.frames[at];
        f(&frame[..*len])
    }
}

struct Putting(Queue);

impl TxToken for Putting {
    fn consume<R, F: FnOnce(&mut [u8]) -> R>(self, len: usize, f: F) -> R {
        let mut slots = self.0.borrow_mut();
        let at = (slots.first + slots.len) % slots.frames.len();
        slots.len += 1;
        slots.frames[at].1 = len;
        f(&mut slots.frames[at].0[..len])
    }
}
