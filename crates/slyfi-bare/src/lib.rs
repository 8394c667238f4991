//! SlyFi's core and CCM with no operating system.
//!
//! | part | what |
//! |---|---|
//! | [`exchange`] | the exchange of bare-wireless-2016 §5.4.1 (Figure 12), over any datagrams and any clock |
//! | [`ethernet`] | a [`slyfi_base::Radio`] over any port of raw Ethernet frames |
//! | [`station`] | hosts SlyFi's client machine without a system under it |
//! | [`options`] | the words of a kernel command line, which are also the arguments on Linux |
//! | `slyfi-exchange` | the exchange on Linux |
//! | `slyfi-image` | the freestanding image (feature `image`): PVH and multiboot2 entry, virtio-net, UDP/IP |
//!
//! The library has no `unsafe`, no `std`, and does not allocate except in [`station`], whose client
//! machine does. [`measurements`] describes what the measuring command writes.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;
#[cfg(test)]
extern crate std;

pub mod ethernet;
pub mod exchange;
pub mod measurements;
pub mod options;
pub mod station;
