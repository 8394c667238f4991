//! The freestanding image: boots from QEMU's `-kernel` (PVH) or GRUB (multiboot2), and runs the
//! exchange of bare-wireless-2016 §5.4.1 or a SlyFi station, with no operating system.
//!
//! | file | what |
//! |---|---|
//! | `boot.s`, `link.ld` | from the loader to `kmain` |
//! | `loader` | the command line that the loader left |
//! | `cpu`, `serial`, `exit`, `symbols`, `heap` | the machine's least |
//! | `clock`, `entropy` | time and randomness |
//! | `virtio`, `nic` | the network card |
//! | `udp` | the exchange's datagrams over smoltcp |
//! | `run` | what the command line asks for |
//! | `host` | the IP host behind a SlyFi station |
//!
//! Everything is polled and on one processor; there are no interrupts and no threads.
#![no_std]
#![no_main]

extern crate alloc;

mod clock;
mod cpu;
mod entropy;
mod exit;
mod heap;
mod host;
mod loader;
mod nic;
mod run;
mod serial;
mod symbols;
mod udp;
mod virtio;

use exit::{Exit, exit};
use serial::say;

core::arch::global_asm!(include_str!("boot.s"));

/// Where `boot.s` arrives, in ring 3 with a stack. `info` and `magic` are what the loader passed.
#[unsafe(no_mangle)]
extern "C" fn kmain(info: usize, magic: u32) -> ! {
    say!("slyfi-image {}", env!("CARGO_PKG_VERSION"));
    symbols::initialize();
    heap::initialize();
    let line = loader::command_line(info, magic);
    match run::run(line) {
        Ok(()) => exit(Exit::Done),
        Err(why) => {
            say!("slyfi-image: {why}");
            exit(Exit::Failed)
        }
    }
}
