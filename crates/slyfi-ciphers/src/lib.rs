//! The link ciphers that the papers compare, as pure state machines over bytes.
//!
//! ```text
//!   header (clear) | IV or PN | payload (sealed) | ICV or MIC
//! ```
//!
//! | cipher | module | on the air | state |
//! |---|---|---|---|
//! | open | [`danger::open`] | nothing | none |
//! | WEP-40/104 | [`danger::wep`] | 4 + n + 4 | an IV counter |
//! | TKIP (WPA 1.0) | [`danger::tkip`] | 8 + n + 8 + 4 | a counter, replay counters, countermeasures |
//! | SBKH | [`danger::sbkh`] | 4 + n + 4 | an RC4 state and a counter per direction |
//! | CCMP-128/256 (WPA 2.0) | [`ccmp`] | 8 + n + 8 or 16 | a counter, replay counters |
//! | GCMP-128/256 | [`gcmp`] | 8 + n + 16 | a counter, replay counters |
//!
//! All of them stand behind [`slyfi_base::LinkCipher`]. What is broken lives in [`danger`], so that
//! nobody can use it without writing the word. [`ccm`] is CCM itself (RFC 3610, every M and L),
//! [`bip`] the integrity of group-addressed management frames, and [`handshake`] the keys: passphrase
//! to PMK, PMK to PTK, EAPOL-Key frames, what is wrapped in them.
//!
//! Two levels. The *keys* ([`PacketKey`]) seal at a number they are given and open whatever verifies;
//! a capture tool wants those. The *halves* ([`slyfi_base::SealHalf`], [`slyfi_base::OpenHalf`]) count
//! the numbers and refuse replays; a link wants those.
//!
//! Nothing here allocates, reads a clock or draws randomness.
#![no_std]

pub mod aad;
pub mod bip;
pub mod ccm;
pub mod ccmp;
pub mod crc32;
pub mod danger;
pub mod gcmp;
pub mod handshake;
pub mod packet;
pub mod replay;

pub use packet::{
    KeyId, PacketCipher, PacketKey, PacketNumber, PacketOpen, PacketOpened, PacketSeal,
};
