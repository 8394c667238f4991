//! The protocols that slyfi-2008 §5.1 compares SlyFi with, behind the same [`slyfi_base::Link`]
//! contract, so that an experiment swaps one type.
//!
//! * [`wifi`]: ordinary 802.11 infrastructure mode, generic over what protects its frames.
//! * [`wifi_open`]: the same 802.11 without WEP or WPA, the paper's baseline. It meets none of the
//!   paper's security requirements, and whoever watches the air must be able to tell: it is also the
//!   control of every privacy check.
//!
//! The paper's other three (public key, symmetric key, Armknecht et al.) are not in this crate; each
//! is a module of its own beside [`wifi_open`] once it is written.
//!
//! Sans-IO like SlyFi's own machines: no clocks, sockets, threads or entropy of its own.
#![no_std]

extern crate alloc;

pub mod wifi;
pub mod wifi_open;
