//! The first serial port, where everything is printed.

use crate::cpu::{in8, out8};
use core::fmt;

/// 16550 line status register of COM1, and its bit "transmitter holding register empty".
const STATUS: u16 = 0x3fd;
const EMPTY: u8 = 0x20;
const DATA: u16 = 0x3f8;

/// Rounds that a byte waits: without a port, printing must not hold the machine.
const PATIENCE: u32 = 100_000;

/// COM1, as the firmware or the loader has set it up (115200 8N1 under QEMU and our GRUB menu).
pub struct Com1;

impl fmt::Write for Com1 {
    fn write_str(&mut self, s: &str) -> fmt::Result {
        for byte in s.bytes() {
            let mut rounds = 0;
            while in8(STATUS) & EMPTY == 0 && rounds < PATIENCE {
                rounds += 1;
            }
            out8(DATA, byte);
        }
        Ok(())
    }
}

/// Prints a line.
macro_rules! say {
    ($($what:tt)*) => {{
        use core::fmt::Write as _;
        // A serial port takes everything.
        let _ = writeln!($crate::serial::Com1, $($what)*);
    }};
}
pub(crate) use say;
