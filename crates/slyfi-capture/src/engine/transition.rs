//! Fast BSS transition: what its elements say, and the keys of a station that roams.

use super::masters::Masters;
use super::pair::{Ends, GroupKey, Nonce, Pair, remember};
use slyfi_ciphers::handshake::ft::{self, Domain, FastTransition};
use slyfi_ciphers::handshake::wrap::aes_unwrap;
use slyfi_ciphers::handshake::{Kdf, KeyBytes, Ptk, Suite};
use slyfi_wire::element::Elements;

/// The lengths that an integrity code in an FT element can have.
const MIC_LENGTHS: [usize; 3] = [16, 24, 32];

/// What the elements of fast BSS transition said.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Transition {
    mobility_domain: Option<[u8; 2]>,
    r0_holder: Option<Vec<u8>>,
    r1_holder: Option<[u8; 6]>,
}

impl Pair {
    /// Reads who holds the keys.
    pub fn transition_elements(&mut self, data: &[u8]) {
        for e in Elements::new(data).map_while(Result::ok) {
            match (e.id, e.data) {
                (ft::MOBILITY_DOMAIN, [a, b, ..]) => {
                    self.transition.mobility_domain = Some([*a, *b]);
                }
                (ft::FAST_TRANSITION, d) => self.holders(d),
                _ => {}
            }
        }
    }

    fn holders(&mut self, data: &[u8]) {
        for mic_len in MIC_LENGTHS {
            let Ok(element) = FastTransition::parse(data, mic_len) else { continue };
            // Only the right division yields a sensible R0KH-ID; the integrity code decides later.
            if let Some(id) = element.r0_holder() {
                self.transition.r0_holder = Some(id.to_vec());
            }
            self.transition.r1_holder = element.r1_holder().or(self.transition.r1_holder);
        }
    }

    /// Derives PMK-R1 from the first-level secret in a network of this name.
    pub fn r1(&self, kdf: Kdf, xxkey: &KeyBytes, ends: Ends<'_>, ssid: &[u8]) -> Option<KeyBytes> {
        let domain = Domain {
            ssid,
            mobility_domain: self.transition.mobility_domain?,
            r0_holder: self.transition.r0_holder.as_deref()?,
            r1_holder: self.transition.r1_holder?,
            station: ends.supplicant,
        };
        Some(ft::pmk_r1(kdf, xxkey.as_bytes(), &domain))
    }

    /// Notes the nonces of an FT authentication (each side's element).
    pub fn ft_authentication(&mut self, elements: &[u8]) {
        self.elements(elements);
        let Some(data) = Elements::new(elements).find(ft::FAST_TRANSITION) else { return };
        for mic_len in MIC_LENGTHS {
            let Ok(element) = FastTransition::parse(data, mic_len) else { continue };
            for (nonce, list) in
                [(element.anonce, &mut self.anonces), (element.snonce, &mut self.snonces)]
            {
                if *nonce != [0; 32] {
                    remember(list, *nonce);
                }
            }
        }
    }

    /// Looks at an FT reassociation request (`sequence` 5) or response (6): its integrity code proves
    /// the key, and the response brings the group keys.
    pub fn ft_reassociation(
        &mut self,
        sequence: u8,
        elements: &[u8],
        ends: Ends<'_>,
        masters: &mut Masters,
    ) -> Vec<GroupKey> {
        self.ft_reassociation_inner(sequence, elements, ends, masters).unwrap_or_default()
    }

    fn ft_reassociation_inner(
        &mut self,
        sequence: u8,
        elements: &[u8],
        ends: Ends<'_>,
        masters: &mut Masters,
    ) -> Option<Vec<GroupKey>> {
        let (station, access_point) = (ends.supplicant, ends.authenticator);
        let frame = ft::Reassociation::parse(station, access_point, sequence, elements)?;
        let fast_transition = frame.fast_transition;
        self.ft_authentication(elements);
        let proves = |suite: Suite, ptk: &Ptk| frame.verify(suite.mic, ptk.kck.as_bytes());
        if !self.keys.iter().any(|k| proves(k.suite, &k.ptk)) {
            let suites = [3, 0].into_iter().flat_map(Suite::candidates).filter(|s| s.is_ft);
            let found = suites.into_iter().find_map(|suite| {
                let len = suite.mic.tag_len();
                let element = FastTransition::parse(fast_transition.data, len).ok()?;
                let nonces = Nonce::Both(*element.anonce, *element.snonce);
                masters.pmks(ends.ssids, *suite).iter().find_map(|pmk| {
                    let is_right = |ptk: &Ptk| proves(*suite, ptk);
                    let ptk = self.with_master(*suite, pmk, nonces, ends, is_right)?;
                    Some((*suite, ptk))
                })
            });
            if let Some((suite, ptk)) = found {
                self.install(suite, ptk);
            }
        }
        let known = self.keys.iter().find(|k| proves(k.suite, &k.ptk))?;
        let element =
            FastTransition::parse(fast_transition.data, known.suite.mic.tag_len()).ok()?;
        let unwrap = |w: ft::WrappedGroupKey<'_>| {
            let mut buf = [0; 64];
            let len = aes_unwrap(known.ptk.kek.as_bytes(), w.wrapped, &mut buf).ok()?;
            KeyBytes::new(buf.get(..w.len.min(len))?)
        };
        let gtk = element.gtk().and_then(unwrap).map(GroupKey::Gtk);
        let igtk = element.igtk().and_then(unwrap).map(GroupKey::Igtk);
        Some(gtk.into_iter().chain(igtk).collect())
    }
}
