//! Ordinary 802.11 with the field's protections, on the same airs as SlyFi: what `--cipher` runs.
//!
//! ```text
//!   slyfi_rivals::wifi  (beacons, association, data)
//!        │ Protection
//!        ├── RsnAccessPoint, RsnStation   TKIP, CCMP, GCMP: passphrase, 4-way and group handshakes
//!        ├── WepGuard                     WEP: a static key, a durable IV counter
//!        └── SbkhGuard                    SBKH: base keys, durable positions, resynchronisation
//! ```
//!
//! The ciphers and the handshakes are slyfi-ciphers'; the frames are slyfi-rivals'. Here they meet: keys
//! are put in use, numbers that must not come again are made durable, countermeasures are taken.

mod cipher;
mod halves;
mod rsn_access_point;
mod rsn_station;
mod sbkh;
mod secrets;
#[cfg(test)]
mod test_support;
#[cfg(test)]
mod tests;
mod wep;

pub use cipher::Cipher;
pub use rsn_access_point::{RsnAccessPoint, RsnSettings};
pub use rsn_station::RsnStation;
pub use sbkh::{SbkhGuard, SbkhSettings};
pub use secrets::{Secret, SecretSource};
pub use wep::WepGuard;

use crate::config::Role;
use crate::error::Result;
use slyfi_base::{DropReason, Duration, MacAddress, Now, SecureRandom};
use slyfi_ciphers::handshake::{KeyBytes, Refusal, psk};
use slyfi_rivals::wifi::{Open, Protection};

/// A protection of any kind, as the daemon's machines have it.
pub type Guard = Box<dyn Protection + Send>;

/// What makes a protection besides its secret.
#[derive(Clone, Copy, Debug)]
pub struct Settings<'a> {
    /// Which protection.
    pub cipher: Cipher,
    /// The network's name: the salt of a passphrase.
    pub ssid: &'a [u8],
    /// How often an access point replaces the group key; `None` only when a member leaves.
    pub group_rekey: Option<Duration>,
    /// SBKH's Time Duration: how long a base key pair is in use.
    pub hop: Duration,
}

/// Makes the protection of one end whose interface has the address `own`.
///
/// # Errors
/// [`crate::ErrorKind::Usage`] when the secret is none for this cipher.
pub fn guard(
    role: Role,
    own: MacAddress,
    settings: &Settings<'_>,
    secret: &Secret,
    now: Now,
    mut rng: impl SecureRandom + Send + 'static + std::fmt::Debug,
) -> Result<Guard> {
    let cipher = settings.cipher;
    if let Some(profile) = cipher.profile() {
        let pmk = match secret {
            Secret::Passphrase(passphrase) => psk(passphrase, settings.ssid),
            Secret::Pmk(pmk) => pmk.clone(),
            Secret::Key(_) | Secret::None => return Err(cipher.wrong_secret()),
        };
        return Ok(match role {
            Role::AccessPoint => {
                let rsn = RsnSettings { group_rekey: settings.group_rekey, ..Default::default() };
                Box::new(RsnAccessPoint::new(profile, pmk, own, rsn, now, rng))
            }
            Role::Client => Box::new(RsnStation::new(profile, pmk, own, rng)),
        });
    }
    match (cipher, secret) {
        (Cipher::Open, Secret::None) => Ok(Box::new(Open::default())),
        (Cipher::Wep, Secret::Key(key)) => {
            let guard = WepGuard::new(key, &mut rng).ok_or_else(|| cipher.wrong_secret())?;
            Ok(Box::new(guard))
        }
        (Cipher::Sbkh, Secret::Key(key)) => {
            let master = KeyBytes::new(key).ok_or_else(|| cipher.wrong_secret())?;
            let sbkh = SbkhSettings { role, own, master, hop: settings.hop };
            // `Config::check` has seen to the Time Duration.
            Ok(Box::new(SbkhGuard::new(sbkh).ok_or_else(|| cipher.wrong_secret())?))
        }
        _ => Err(cipher.wrong_secret()),
    }
}

/// Says as whose fault a refused handshake message is counted.
const fn drop_reason(refusal: Refusal) -> DropReason {
    match refusal {
        Refusal::Malformed => DropReason::Malformed,
        Refusal::Replayed => DropReason::Replayed,
        _ => DropReason::HandshakeRefused,
    }
}
