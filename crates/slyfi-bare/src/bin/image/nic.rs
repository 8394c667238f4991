//! The virtio network card (virtio 1.2 §5.1): fixed buffers, no allocation, no interrupts.

use crate::virtio::{self, Identity};
use core::cell::UnsafeCell;
use core::sync::atomic::{AtomicBool, Ordering};
use slyfi_bare::ethernet::{self, Port};
use smoltcp::phy::{Device, DeviceCapabilities, Medium, RxToken, TxToken};
use smoltcp::time::Instant;
use virtio_drivers::device::net::VirtIONetRaw;
use virtio_drivers::transport::DeviceType;
use virtio_drivers::transport::pci::PciTransport;

/// Buffers each way; QEMU's queues have 256.
const QUEUE: usize = 256;

/// Room for a frame and the device's header.
const SLOT: usize = 2048;

/// The longest Ethernet frame without its check sequence.
const LONGEST: usize = ethernet::HEADER_LEN + 1500;

type Slots = [[u8; SLOT]; QUEUE];

struct Memory(UnsafeCell<[Slots; 2]>);

// SAFETY: handed out once, to the one card, by `TAKEN`.
unsafe impl Sync for Memory {}

static MEMORY: Memory = Memory(UnsafeCell::new([[[0; SLOT]; QUEUE]; 2]));
static TAKEN: AtomicBool = AtomicBool::new(false);

/// The card. It is made once.
pub struct Nic {
    device: VirtIONetRaw<Identity, PciTransport, QUEUE>,
    rx: &'static mut Slots,
    tx: &'static mut Slots,
    /// Which slot a descriptor of the receive queue has.
    rx_slot: [u16; QUEUE],
    /// The slot that was handed out last and goes back to the device at the next turn.
    consumed: Option<u16>,
    /// Which slot a descriptor of the transmit queue has, and how much of it.
    tx_slot: [(u16, u16); QUEUE],
    free: [u16; QUEUE],
    free_len: usize,
    mtu: usize,
}

/// The card does not do what the standard says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Broken;

impl Nic {
    /// Opens the first card.
    ///
    /// # Errors
    /// When there is none, or it does not start.
    pub fn open(mtu: usize) -> Result<Self, &'static str> {
        let transport = virtio::find(DeviceType::Network).ok_or("no virtio network card on PCI")?;
        assert!(!TAKEN.swap(true, Ordering::Relaxed), "there is memory for one card");
        // SAFETY: the flag lets exactly one caller come here.
        let [rx, tx] = unsafe { &mut *MEMORY.0.get() };
        let mut device =
            VirtIONetRaw::new(transport).map_err(|_| "the virtio network card does not start")?;
        device.disable_interrupts();
        let mut nic = Nic {
            device,
            rx,
            tx,
            rx_slot: [0; QUEUE],
            consumed: None,
            tx_slot: [(0, 0); QUEUE],
            free: core::array::from_fn(|slot| slot as u16),
            free_len: QUEUE,
            mtu,
        };
        for slot in 0..QUEUE as u16 {
            nic.give_back(slot).map_err(|Broken| "the card takes no receive buffers")?;
        }
        Ok(nic)
    }

    /// Returns the card's address.
    pub fn mac(&self) -> [u8; 6] {
        self.device.mac_address()
    }

    /// Returns whether everything sent has left.
    pub fn is_drained(&mut self) -> bool {
        self.reap();
        self.free_len == QUEUE
    }

    /// Lets the device fill a receive buffer.
    fn give_back(&mut self, slot: u16) -> Result<(), Broken> {
        // SAFETY: the slot is not looked at again before `take` gets its descriptor back.
        let token = unsafe { self.device.receive_begin(&mut self.rx[usize::from(slot)]) };
        let token = token.map_err(|_| Broken)?;
        *self.rx_slot.get_mut(usize::from(token)).ok_or(Broken)? = slot;
        Ok(())
    }

    /// Takes the next received frame: its slot and where in it the frame is.
    fn take(&mut self) -> Result<Option<(usize, core::ops::Range<usize>)>, Broken> {
        if let Some(slot) = self.consumed.take() {
            self.give_back(slot)?;
        }
        let Some(token) = self.device.poll_receive() else { return Ok(None) };
        let slot = *self.rx_slot.get(usize::from(token)).ok_or(Broken)?;
        let at = usize::from(slot);
        // SAFETY: this slot was given with this descriptor.
        let filled = unsafe { self.device.receive_complete(token, &mut self.rx[at]) };
        let (header, len) = filled.map_err(|_| Broken)?;
        self.consumed = Some(slot);
        // The device says how much it wrote; it is not believed beyond the slot.
        Ok(Some((at, header..(header + len).min(SLOT))))
    }

    /// Takes back the buffers that the device has sent.
    fn reap(&mut self) {
        while let Some(token) = self.device.poll_transmit() {
            let (slot, len) = self.tx_slot[usize::from(token) % QUEUE];
            let sent = &self.tx[usize::from(slot)][..usize::from(len)];
            // SAFETY: this slot was given with this descriptor, at this length.
            if unsafe { self.device.transmit_complete(token, sent) }.is_err() {
                return;
            }
            self.free[self.free_len] = slot;
            self.free_len += 1;
        }
    }

    /// Sends a frame of `len` bytes, which `fill` writes. There must be a free slot.
    fn transmit<R>(&mut self, len: usize, fill: impl FnOnce(&mut [u8]) -> R) -> Result<R, Broken> {
        let slot = self.free[self.free_len.checked_sub(1).ok_or(Broken)?];
        let buffer = &mut self.tx[usize::from(slot)];
        let header = self.device.fill_buffer_header(buffer).map_err(|_| Broken)?;
        let frame = buffer.get_mut(..header + len).ok_or(Broken)?;
        let result = fill(&mut frame[header..]);
        // SAFETY: the slot is off the free list, so nobody touches it before `reap`.
        let token = unsafe { self.device.transmit_begin(frame) }.map_err(|_| Broken)?;
        self.tx_slot[usize::from(token) % QUEUE] = (slot, (header + len) as u16);
        self.free_len -= 1;
        Ok(result)
    }

    fn has_room(&mut self) -> bool {
        if self.free_len == 0 {
            self.reap();
        }
        self.free_len > 0
    }
}

impl Port for Nic {
    type Error = Broken;

    fn mtu(&self) -> usize {
        self.mtu
    }

    fn receive<T>(&mut self, take: impl FnOnce(&mut [u8]) -> T) -> Result<Option<T>, Broken> {
        let Some((slot, range)) = self.take()? else { return Ok(None) };
        Ok(Some(take(&mut self.rx[slot][range])))
    }

    fn send(&mut self, len: usize, fill: impl FnOnce(&mut [u8])) -> Result<bool, Broken> {
        if len > LONGEST {
            return Err(Broken);
        }
        if !self.has_room() {
            return Ok(false);
        }
        self.transmit(len, fill).map(|()| true)
    }
}

impl Device for Nic {
    type RxToken<'a> = Received<'a>;
    type TxToken<'a> = Sending<'a>;

    fn receive(&mut self, _: Instant) -> Option<(Received<'_>, Sending<'_>)> {
        // An answer may have to be sent at once; without room for it the frame waits.
        if !self.has_room() {
            return None;
        }
        let (slot, range) = self.take().expect("the card does what the standard says")?;
        // The device does not write here before `take` gives the slot back, which needs `self`.
        let frame: *const [u8] = &raw const self.rx[slot][range];
        // SAFETY: both tokens live no longer than the borrow of `self`, and sending does not touch
        // the receive slots.
        let frame = unsafe { &*frame };
        Some((Received(frame), Sending(self)))
    }

    fn transmit(&mut self, _: Instant) -> Option<Sending<'_>> {
        self.has_room().then_some(Sending(self))
    }

    fn capabilities(&self) -> DeviceCapabilities {
        let mut capabilities = DeviceCapabilities::default();
        capabilities.medium = Medium::Ethernet;
        capabilities.max_transmission_unit = ethernet::HEADER_LEN + self.mtu;
        capabilities
    }
}

/// A received frame.
pub struct Received<'a>(&'a [u8]);

impl RxToken for Received<'_> {
    fn consume<R, F: FnOnce(&[u8]) -> R>(self, f: F) -> R {
        f(self.0)
    }
}

/// Room for a frame.
pub struct Sending<'a>(&'a mut Nic);

impl TxToken for Sending<'_> {
    fn consume<R, F: FnOnce(&mut [u8]) -> R>(self, len: usize, f: F) -> R {
        self.0.transmit(len, f).expect("there was room, and the card does what the standard says")
    }
}
