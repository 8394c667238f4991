//! The peer key of a TDLS direct link (IEEE 802.11-2020 §12.7.8.2).

use super::ft::{FastTransition, head};
use super::{Kdf, KeyBytes, MicAlgorithm};
use sha2::{Digest, Sha256};
use slyfi_wire::element::Element;

/// Element identifier of Link Identifier (§9.4.2.61): BSSID, initiator, responder.
pub const LINK_IDENTIFIER: u8 = 101;

/// The two ends of a direct link, their access point and their nonces.
#[derive(Clone, Copy, Debug)]
pub struct DirectLink<'a> {
    /// The initiator.
    pub initiator: [u8; 6],
    /// The responder.
    pub responder: [u8; 6],
    /// The BSSID of the network that carried the set-up.
    pub bssid: [u8; 6],
    /// The initiator's nonce.
    pub snonce: &'a [u8; 32],
    /// The responder's nonce.
    pub anonce: &'a [u8; 32],
}

/// Derives TPK-KCK and TPK-TK. The input has no secret: who saw the set-up in clear has the key.
pub fn tpk(link: &DirectLink<'_>) -> (KeyBytes, KeyBytes) {
    let DirectLink { initiator, responder, bssid, snonce, anonce } = link;
    let input =
        Sha256::new().chain_update(snonce.min(anonce)).chain_update(snonce.max(anonce)).finalize();
    let mut out = KeyBytes::zeros(32);
    let context: [&[u8]; 3] = [initiator.min(responder), initiator.max(responder), bssid];
    Kdf::Sha256.derive(&input, "TDLS PMK", &context, out.as_mut_bytes());
    let (kck, tk) = out.as_bytes().split_at(16);
    let own = |b| KeyBytes::new(b).unwrap_or_else(|| KeyBytes::zeros(0));
    (own(kck), own(tk))
}

/// What the integrity code of a set-up response or confirm covers (§12.7.8.4.3, §12.7.8.4.4).
#[derive(Clone, Copy, Debug)]
pub struct SetUp<'a> {
    /// 2 in the response, 3 in the confirm.
    pub sequence: u8,
    /// The Link Identifier element.
    pub link_identifier: Element<'a>,
    /// The RSN element.
    pub rsn: Element<'a>,
    /// The Timeout Interval element: how long the key lives.
    pub timeout: Element<'a>,
    /// The Fast BSS Transition element, the code and both nonces inside.
    pub fast_transition: Element<'a>,
}

impl SetUp<'_> {
    /// Returns initiator and responder; `None` when the element has not its length.
    pub fn ends(&self) -> Option<([u8; 6], [u8; 6])> {
        let (_, ends) = self.link_identifier.data.split_first_chunk::<6>()?;
        let (initiator, responder) = ends.split_first_chunk::<6>()?;
        Some((*initiator, *responder.first_chunk()?))
    }

    /// Returns TPK-KCK and TPK-TK if the code verifies under the key that the frame itself leads to.
    pub fn proven_key(&self) -> Option<(KeyBytes, KeyBytes)> {
        const MIC: MicAlgorithm = MicAlgorithm::AesCmac;
        let (initiator, responder) = self.ends()?;
        let ft = FastTransition::parse(self.fast_transition.data, MIC.tag_len()).ok()?;
        let (kck, tk) = tpk(&DirectLink {
            initiator,
            responder,
            bssid: *self.link_identifier.data.first_chunk()?,
            snonce: ft.snonce,
            anonce: ft.anonce,
        });
        let (control, rest) = self.fast_transition.data.split_at_checked(2)?;
        let [link, rsn, timeout, transition] =
            [self.link_identifier, self.rsn, self.timeout, self.fast_transition].map(head);
        let parts: [&[u8]; 13] = [
            &initiator,
            &responder,
            core::slice::from_ref(&self.sequence),
            &link,
            self.link_identifier.data,
            &rsn,
            self.rsn.data,
            &timeout,
            self.timeout.data,
            &transition,
            control,
            &[0; 16],
            rest.get(MIC.tag_len()..)?,
        ];
        MIC.verify(kck.as_bytes(), &parts, ft.mic).then_some((kck, tk))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_up_proves_itself_and_a_changed_one_does_not() {
        let mut link = [2; 18];
        (link[6], link[12]) = (4, 6);
        let mut transition = [0; 82];
        transition[18..50].fill(0xa1);
        transition[50..].fill(0x51);
        let (rsn, timeout) = ([1, 0, 5], [2, 1, 2, 3, 4]);
        let covered: [&[u8]; 11] = [
            &link[6..12],
            &link[12..],
            &[2],
            &[101, 18],
            &link,
            &[48, 3],
            &rsn,
            &[56, 5],
            &timeout,
            &[55, 82],
            &transition,
        ];
        let key = tpk(&DirectLink {
            initiator: [4, 2, 2, 2, 2, 2],
            responder: [6, 2, 2, 2, 2, 2],
            bssid: [2; 6],
            snonce: &[0x51; 32],
            anonce: &[0xa1; 32],
        });
        let code = MicAlgorithm::AesCmac.compute(key.0.as_bytes(), &covered).unwrap();
        transition[2..18].copy_from_slice(&code[..16]);
        let proven = |sequence, link: &[u8], timeout: &[u8], transition: &[u8]| {
            SetUp {
                sequence,
                link_identifier: Element { id: LINK_IDENTIFIER, data: link },
                rsn: Element { id: 48, data: &rsn },
                timeout: Element { id: 56, data: timeout },
                fast_transition: Element { id: 55, data: transition },
            }
            .proven_key()
        };
        assert_eq!(proven(2, &link, &timeout, &transition), Some(key));
        assert_eq!(proven(3, &link, &timeout, &transition), None);
        assert_eq!(proven(2, &link, &[2, 1, 2, 3, 5], &transition), None);
        assert_eq!(proven(2, &link[..17], &timeout, &transition), None);
        transition[40] ^= 1;
        assert_eq!(proven(2, &link, &timeout, &transition), None);
    }
}
