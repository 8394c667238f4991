//! From a passphrase to the keys of a link (IEEE 802.11-2020 §12.7): the bricks of a handshake, for a
//! station, an access point or somebody who watches with the right PMK.
//!
//! ```text
//!   passphrase, SSID --psk--> PMK --Suite::ptk--> KCK | KEK | TK     (FT: through PMK-R0 and PMK-R1)
//!   EAPOL-Key frame  --EapolKey, Mic--> nonces, key data --unwrap, Kde--> GTK, IGTK
//! ```
//!
//! The state of a handshake (which message comes next) is the user's.

pub mod eapol;
pub mod ft;
pub mod kde;
pub mod key_bytes;
pub mod mic;
pub mod prf;
pub mod psk;
pub mod ptk;
pub mod rsn;
pub mod suite;
pub mod tdls;
pub mod wrap;

pub use eapol::{EapolKey, KeyInfo, Message};
pub use key_bytes::KeyBytes;
pub use mic::MicAlgorithm;
pub use prf::Kdf;
pub use psk::psk;
pub use ptk::Ptk;
pub use rsn::{CipherSuite, RsnElement};
pub use suite::{AkmSuite, Suite};
