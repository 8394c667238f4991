//! The end: how the machine stops, and what is printed when it must.

use crate::cpu::{out8, out32};
use crate::serial::say;

/// How the program ended. QEMU's `isa-debug-exit` makes `2·v + 1` its exit status of value v.
#[derive(Clone, Copy, Debug)]
#[repr(u32)]
pub enum Exit {
    /// All was done: status 33.
    Done = 0x10,
    /// It could not be done, and the last line says why: status 35.
    Failed = 0x11,
    /// A bug: status 37.
    Panicked = 0x12,
    /// The processor refused an instruction: status 39.
    Exception = 0x13,
}

/// Where QEMU's `isa-debug-exit` is (docs/bare.md).
const DEBUG_EXIT: u16 = 0xf4;

/// Ends the machine. On real hardware, which has no such device, it stops here.
///
/// The status is also the last line: QEMU's debug exit ends its process from the processor's thread,
/// and now and then crashes while it goes.
pub fn exit(how: Exit) -> ! {
    say!("exit {}", 2 * how as u32 + 1);
    out32(DEBUG_EXIT, how as u32);
    // QEMU's own power-off of the q35 machine (ACPI PM1a control: sleep enable), should there be
    // no debug exit.
    out8(0x604, 0x00);
    out8(0x605, 0x20);
    loop {
        core::hint::spin_loop();
    }
}

#[panic_handler]
fn panic(info: &core::panic::PanicInfo<'_>) -> ! {
    say!("PANIC {info}");
    exit(Exit::Panicked)
}

/// Where `boot.s` brings every exception, on a stack of its own.
#[unsafe(no_mangle)]
extern "C" fn exception(vector: u64, error: u64, at: u64, address: u64) -> ! {
    say!("EXCEPTION {vector} error {error:#x} at {at:#x} address {address:#x}");
    exit(Exit::Exception)
}
