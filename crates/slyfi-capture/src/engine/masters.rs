//! The given keys as pairwise master keys for one network, and what is known of networks.

use crate::Key;
use slyfi_ciphers::handshake::{Kdf, KeyBytes, Suite, psk};
use std::collections::HashMap;

/// The most SSIDs kept for a BSSID: an access point may change its name, a forger may try to make
/// every passphrase cost a key derivation for each of a million names.
const MAX_SSIDS: usize = 4;

/// What the capture shows of a BSSID.
#[derive(Clone, Debug, Default)]
pub(crate) struct Network {
    /// Its names, the last seen last.
    pub ssids: Vec<Vec<u8>>,
}

impl Network {
    pub fn named(&mut self, ssid: &[u8]) {
        let hidden = ssid.iter().all(|b| *b == 0);
        if hidden || self.ssids.iter().any(|s| s == ssid) {
            return;
        }
        // A handshake comes right behind the association that names its network, so the latest
        // names are the ones to keep.
        if self.ssids.len() >= MAX_SSIDS {
            self.ssids.remove(0);
        }
        self.ssids.push(ssid.to_vec());
    }
}

/// The given keys, with every PSK computed once.
#[derive(Debug, Default)]
pub(crate) struct Masters {
    keys: Vec<Key>,
    psks: HashMap<(usize, Vec<u8>), KeyBytes>,
}

impl Masters {
    pub fn new(keys: &[Key]) -> Self {
        Masters { keys: keys.to_vec(), psks: HashMap::new() }
    }

    /// Returns whether any of the keys can lead to a PMK at all.
    pub fn any(&self) -> bool {
        self.keys.iter().any(|k| matches!(k, Key::Passphrase { .. } | Key::Pmk(_) | Key::Msk(_)))
    }

    /// Returns whether a passphrase waits for the network's name.
    pub fn wants_ssid(&self) -> bool {
        self.keys.iter().any(|k| matches!(k, Key::Passphrase { ssid: None, .. }))
    }

    /// Every master key that could stand behind a handshake of `suite` in a network of these names.
    pub fn pmks(&mut self, ssids: &[Vec<u8>], suite: Suite) -> Vec<KeyBytes> {
        let Masters { keys, psks } = self;
        let mut out = Vec::new();
        for (index, key) in keys.iter().enumerate() {
            match key {
                Key::Pmk(pmk) => out.push(pmk.clone()),
                Key::Msk(msk) => out.extend(from_msk(msk, suite)),
                Key::Passphrase { passphrase, ssid } => {
                    let names = ssid.as_ref().map_or(ssids, std::slice::from_ref);
                    out.extend(names.iter().map(|name| {
                        psks.entry((index, name.clone()))
                            .or_insert_with(|| psk(&passphrase.0, name))
                            .clone()
                    }));
                }
                Key::Wep(_) | Key::Temporal(_) => {}
            }
        }
        out
    }
}

/// The part of an EAP master session key that a suite takes (IEEE 802.11-2020 §12.7.1.3, §12.7.1.6.3).
fn from_msk(msk: &KeyBytes, suite: Suite) -> Option<KeyBytes> {
    let range = match (suite.is_ft, suite.kdf) {
        (true, Kdf::Sha256) => 32..64,
        (_, Kdf::Sha384) => 0..48,
        _ => 0..32,
    };
    KeyBytes::new(msk.as_bytes().get(range)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hidden_names_do_not_count_and_the_number_of_names_is_bounded() {
        let mut n = Network::default();
        n.named(&[]);
        n.named(&[0, 0, 0]);
        assert!(n.ssids.is_empty());
        for i in 0..10u8 {
            n.named(&[b'a' + i]);
            n.named(&[b'a' + i]);
        }
        assert_eq!(n.ssids, [b"g", b"h", b"i", b"j"], "the latest");
    }

    #[test]
    fn a_passphrase_without_ssid_serves_each_known_name_and_none_otherwise() {
        let mut m = Masters::new(&["wpa-pwd:12345678".parse().unwrap()]);
        assert!(m.any() && m.wants_ssid());
        assert!(m.pmks(&[], Suite::VERSION_2).is_empty());
        let both = m.pmks(&[b"a".to_vec(), b"b".to_vec()], Suite::VERSION_2);
        assert_eq!(both, [psk(b"12345678", b"a"), psk(b"12345678", b"b")]);
    }

    #[test]
    fn each_suite_takes_its_part_of_the_master_session_key() {
        let bytes: [u8; 64] = std::array::from_fn(|i| i as u8);
        let msk = KeyBytes::new(&bytes).unwrap();
        let part = |suite| from_msk(&msk, suite).unwrap().as_bytes().to_vec();
        assert_eq!(part(Suite::VERSION_2), bytes[..32]);
        assert_eq!(part(Suite::SHA_384), bytes[..48]);
        let ft = *Suite::candidates(3).iter().find(|s| s.is_ft).unwrap();
        assert_eq!(part(ft), bytes[32..]);
    }
}
