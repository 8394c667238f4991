//! Protections that do not protect. They are here to be measured, compared and taken apart.
//!
//! | what | broken by |
//! |---|---|
//! | [`open`] | nothing to break |
//! | [`wep`] | 24-bit IVs repeat, so keystream repeats; a linear checksum; no replay counter; weak RC4 keys |
//! | [`tkip`] | Michael is invertible and has about 20 bits of strength; its countermeasures are a switch for outsiders |
//! | [`sbkh`] | the checksum of WEP under a keystream that moves on: a frame held back can be changed |
//!
//! The attacks are this crate's tests (`tests/attacks_*.rs`).

pub mod open;
pub mod rc4;
pub mod sbkh;
pub mod tkip;
pub mod wep;
