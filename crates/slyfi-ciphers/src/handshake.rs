//! From a passphrase to the keys of a link (IEEE 802.11-2020 §12.7): the bricks of a handshake, for a
//! station, an access point or somebody who watches with the right PMK.
//!
//! ```text
//!   passphrase, SSID --psk--> PMK --Suite::ptk--> KCK | KEK | TK     (FT: through PMK-R0 and PMK-R1)
//!   EAPOL-Key frame  --EapolKey, Mic--> nonces, key data --unwrap, Kde--> GTK, IGTK
//! ```
//!
//! Above the bricks stand two machines for pre-shared keys, sans-IO: [`Authenticator`] and
//! [`Supplicant`], with the 4-way handshake, the group key handshake, time-outs and replay counters. Who
//! only watches (a capture tool) uses the bricks.

pub mod authenticator;
pub mod eapol;
pub mod fils;
pub mod ft;
pub mod group_key;
pub mod kde;
pub mod key_bytes;
pub mod message;
pub mod mic;
pub mod prf;
pub mod profile;
pub mod psk;
pub mod ptk;
pub mod rsn;
pub mod siv;
pub mod suite;
pub mod supplicant;
pub mod tdls;
pub mod wrap;

pub use authenticator::{Authenticator, GivenUp, Progress};
pub use eapol::{EapolKey, KeyInfo, Message};
pub use group_key::GroupKey;
pub use key_bytes::KeyBytes;
pub use message::{Packet, Refusal};
pub use mic::MicAlgorithm;
pub use prf::Kdf;
pub use profile::{OwnElement, Profile};
pub use psk::psk;
pub use ptk::Ptk;
pub use rsn::{CipherSuite, RsnElement};
pub use suite::{AkmSuite, Suite};
pub use supplicant::{Answer, Supplicant};
