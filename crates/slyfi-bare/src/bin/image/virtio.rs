//! What the virtio drivers need of the machine: PCI configuration, memory that devices can reach.

use crate::cpu::{in32, out32};
use core::cell::UnsafeCell;
use core::ptr::NonNull;
use core::sync::atomic::{AtomicUsize, Ordering};
use virtio_drivers::device::rng::VirtIORng;
use virtio_drivers::transport::DeviceType;
use virtio_drivers::transport::pci::bus::{Command, ConfigurationAccess, DeviceFunction, PciRoot};
use virtio_drivers::transport::pci::{PciTransport, virtio_device_type};
use virtio_drivers::{BufferDirection, Hal, PAGE_SIZE, PhysAddr};

/// A virtio generator of random numbers.
pub type Rng = VirtIORng<Identity, PciTransport>;

/// Finds the first virtio device of a type and opens it; the firmware has given it its addresses.
pub fn find(wanted: DeviceType) -> Option<PciTransport> {
    let mut root = PciRoot::new(Ports);
    let found = root.enumerate_bus(0).find(|(_, info)| virtio_device_type(info) == Some(wanted));
    let (function, _) = found?;
    let on = Command::IO_SPACE | Command::MEMORY_SPACE | Command::BUS_MASTER;
    root.set_command(function, on);
    PciTransport::new::<Identity, _>(&mut root, function).ok()
}

/// Opens the random number generator, if there is one.
pub fn rng() -> Option<Rng> {
    VirtIORng::new(find(DeviceType::EntropySource)?).ok()
}

/// PCI configuration mechanism 1 (PCI 3.0 §3.2.2.3.2), which both of QEMU's PC machines have.
struct Ports;

const ADDRESS: u16 = 0xcf8;
const DATA: u16 = 0xcfc;

fn select(function: DeviceFunction, register: u8) {
    let DeviceFunction { bus, device, function } = function;
    let place = u32::from(bus) << 16 | u32::from(device) << 11 | u32::from(function) << 8;
    out32(ADDRESS, 1 << 31 | place | u32::from(register & 0xfc));
}

impl ConfigurationAccess for Ports {
    fn read_word(&self, function: DeviceFunction, register: u8) -> u32 {
        select(function, register);
        in32(DATA)
    }

    fn write_word(&mut self, function: DeviceFunction, register: u8, value: u32) {
        select(function, register);
        out32(DATA, value);
    }

    unsafe fn unsafe_clone(&self) -> Self {
        Ports
    }
}

/// All memory is where it says it is.
pub struct Identity;

/// Pages for the devices' queues; they are never given back.
const PAGES: usize = 32;

#[repr(align(4096))]
struct Pool(UnsafeCell<[u8; PAGES * PAGE_SIZE]>);

// SAFETY: each page is handed out once, by the counter.
unsafe impl Sync for Pool {}

static POOL: Pool = Pool(UnsafeCell::new([0; PAGES * PAGE_SIZE]));
static NEXT: AtomicUsize = AtomicUsize::new(0);

// SAFETY: the pages of `dma_alloc` are zero, page-aligned and nobody else's; `boot.s` maps all of
// the first 4 GiB to itself, where the image, its stack and the devices' registers lie.
unsafe impl Hal for Identity {
    fn dma_alloc(pages: usize, _: BufferDirection) -> (PhysAddr, NonNull<u8>) {
        let first = NEXT.fetch_add(pages, Ordering::Relaxed);
        assert!(first + pages <= PAGES, "more virtio queues than there is room for");
        // SAFETY: within the pool, as just asserted.
        let page = unsafe { POOL.0.get().cast::<u8>().add(first * PAGE_SIZE) };
        (page.expose_provenance() as PhysAddr, NonNull::new(page).expect("a static is somewhere"))
    }

    unsafe fn dma_dealloc(_: PhysAddr, _: NonNull<u8>, _: usize) -> i32 {
        0
    }

    unsafe fn mmio_phys_to_virt(at: PhysAddr, size: usize) -> NonNull<u8> {
        assert!(at + size as u64 <= 1 << 32, "a device lies above 4 GiB, which is not mapped");
        let at = core::ptr::with_exposed_provenance_mut(at as usize);
        NonNull::new(at).expect("no device lies at 0")
    }

    unsafe fn share(buffer: NonNull<[u8]>, _: BufferDirection) -> PhysAddr {
        buffer.cast::<u8>().expose_provenance().get() as PhysAddr
    }

    unsafe fn unshare(_: PhysAddr, _: NonNull<[u8]>, _: BufferDirection) {}
}
