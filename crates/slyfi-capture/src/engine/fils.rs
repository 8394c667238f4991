//! Fast initial link set-up: the two nonces of its authentication, the keys of its association, and its
//! handshake without integrity codes.

use super::masters::Masters;
use super::pair::{Ends, GroupKey, Nonce, Pair, remember};
use slyfi_ciphers::handshake::fils::{self, Association};
use slyfi_ciphers::handshake::kde::kdes;
use slyfi_ciphers::handshake::{EapolKey, KeyInfo, Ptk, Suite};

/// The nonces of the last authentication.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Nonces {
    station: Option<[u8; 16]>,
    access_point: Option<[u8; 16]>,
}

impl Pair {
    /// Notes the nonce of an authentication frame.
    pub fn fils_authentication(&mut self, from_station: bool, elements: &[u8]) {
        let Some(nonce) = fils::nonce(elements) else { return };
        let place = if from_station { &mut self.fils.station } else { &mut self.fils.access_point };
        *place = Some(nonce);
    }

    /// Looks at an association request or response, `fixed` bytes of fixed fields in front.
    pub fn fils_association(
        &mut self,
        from_station: bool,
        body: &[u8],
        fixed: usize,
        ends: Ends<'_>,
        masters: &mut Masters,
    ) -> Vec<GroupKey> {
        let (Some(snonce), Some(anonce)) = (self.fils.station, self.fils.access_point) else {
            return Vec::new();
        };
        let association = Association {
            station: ends.supplicant,
            access_point: ends.authenticator,
            snonce: &snonce,
            anonce: &anonce,
        };
        let mut buf = vec![0; body.len()];
        let mut open =
            |ptk: &Ptk| association.open(from_station, body, fixed, &ptk.kek, &mut buf).ok();
        let mut len = self.keys.iter().find_map(|k| open(&k.ptk));
        if len.is_none() {
            let found = fils::SUITES.iter().find_map(|suite| {
                let pmks = masters.pmks(ends.ssids, *suite);
                pmks.iter().find_map(|pmk| {
                    [16, 32].iter().find_map(|tk_len| {
                        let ptk = association.ptk(*suite, pmk.as_bytes(), *tk_len);
                        open(&ptk).map(|len| (len, *suite, ptk))
                    })
                })
            });
            if let Some((opened, suite, ptk)) = found {
                len = Some(opened);
                self.install(suite, ptk);
            }
        }
        let plain = len.and_then(|n| buf.get(..n)).unwrap_or(&[]);
        fils::delivered(plain).map(GroupKey::all).unwrap_or_default()
    }

    /// Looks at a key message without an integrity code.
    pub fn fils_message(
        &mut self,
        key: &EapolKey<'_>,
        ends: Ends<'_>,
        masters: &mut Masters,
    ) -> Vec<GroupKey> {
        let info = key.info;
        if info.has(KeyInfo::MIC) {
            return Vec::new();
        }
        let (pairwise, ack) = (info.has(KeyInfo::PAIRWISE), info.has(KeyInfo::ACK));
        let nonce = *key.nonce;
        let own = match (pairwise && nonce != [0; 32], ack) {
            (false, _) => None,
            (true, true) => {
                remember(&mut self.anonces, nonce);
                Some(Nonce::Authenticator(nonce))
            }
            (true, false) => {
                remember(&mut self.snonces, nonce);
                Some(Nonce::Supplicant(nonce))
            }
        };
        if !info.has(KeyInfo::ENCRYPTED) {
            if pairwise && ack {
                *self.messages.entry("1/4").or_default() += 1;
            }
            return Vec::new();
        }
        let label = match (pairwise, ack, info.has(KeyInfo::SECURE)) {
            (true, true, _) => "3/4",
            (true, false, true) => "4/4",
            (true, false, false) => "2/4",
            (false, true, _) => "group 1/2",
            (false, false, _) => "group 2/2",
        };
        *self.messages.entry(label).or_default() += 1;
        let mut buf = vec![0; key.data.len()];
        let mut len =
            self.keys.iter().find_map(|k| fils::open_key_data(key, &k.ptk.kek, &mut buf).ok());
        if let (None, Some(own)) = (len, own) {
            let found = self.fils_derive(key, own, ends, masters);
            if let Some((suite, ptk)) = found {
                len = fils::open_key_data(key, &ptk.kek, &mut buf).ok();
                let plain = len.and_then(|n| buf.get(..n)).unwrap_or(&[]);
                // Message 2 says what was negotiated.
                self.elements(plain);
                self.install(suite, ptk);
            }
        }
        let plain = len.and_then(|n| buf.get(..n)).unwrap_or(&[]);
        if ack { GroupKey::all(plain) } else { Vec::new() }
    }

    fn fils_derive(
        &self,
        key: &EapolKey<'_>,
        own: Nonce,
        ends: Ends<'_>,
        masters: &mut Masters,
    ) -> Option<(Suite, Ptk)> {
        fils::SUITES.iter().find_map(|suite| {
            let pmks = masters.pmks(ends.ssids, *suite);
            pmks.iter().find_map(|pmk| {
                let is_right = |ptk: &Ptk| {
                    let mut out = vec![0; key.data.len()];
                    fils::open_key_data(key, &ptk.kek, &mut out).is_ok()
                };
                self.with_master(*suite, pmk, own, ends, is_right).map(|ptk| (*suite, ptk))
            })
        })
    }
}

impl GroupKey {
    /// All that stand in key data.
    pub fn all(data: &[u8]) -> Vec<GroupKey> {
        kdes(data).filter_map(GroupKey::of).collect()
    }
}
