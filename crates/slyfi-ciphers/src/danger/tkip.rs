//! TKIP, which is WPA 1.0 (IEEE 802.11-2020 §12.5.2): a WEP key for each packet from a mixing function,
//! Michael over the payload and its addresses, a sequence counter, and countermeasures.
//!
//! # Layout
//! `TSC1 | WEPSeed1 | TSC0 | key-id | TSC2 TSC3 TSC4 TSC5 | payload | Michael 8 | ICV 4`
//!
//! # Security
//! Deprecated. Michael can be inverted, so one known payload gives its key; the countermeasures stop
//! guessing and let any outsider who can replay a frame stop the network.

pub mod countermeasures;
pub mod key;
pub mod link;
pub mod michael;
pub mod mixing;

pub use countermeasures::Countermeasures;
pub use key::{MIC_LEN, Refused, TkipKey, open_mpdu};
pub use link::{Tkip, TkipOpen, TkipSeal};
pub use michael::{MichaelKey, michael};
