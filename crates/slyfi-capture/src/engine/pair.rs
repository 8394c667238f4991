//! The key messages between two stations and the keys they lead to.

use super::frame_key::FrameKey;
use super::masters::Masters;
use slyfi_ciphers::handshake::eapol::DESCRIPTOR_WPA;
use slyfi_ciphers::handshake::ft::{self, Domain, FastTransition};
use slyfi_ciphers::handshake::kde::{Kde, kdes};
use slyfi_ciphers::handshake::ptk::Exchange;
use slyfi_ciphers::handshake::rsn::WPA;
use slyfi_ciphers::handshake::wrap::{aes_unwrap, open_key_data};
use slyfi_ciphers::handshake::{
    CipherSuite, EapolKey, Kdf, KeyBytes, KeyInfo, Message, Ptk, RsnElement, Suite,
};
use slyfi_wire::element::{self, Elements, VENDOR};
use std::collections::{BTreeMap, VecDeque};

/// How many nonces of each side and keys of one pair are kept: enough for lost and repeated messages,
/// too few to be flooded.
const MAX_NONCES: usize = 16;
const MAX_KEYS: usize = 64;

/// A group key as it came out of key data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum GroupKey {
    /// For data.
    Gtk(KeyBytes),
    /// For management frames.
    Igtk(KeyBytes),
}

/// A derived pairwise key.
#[derive(Clone, Debug)]
pub(crate) struct PairwiseKey {
    suite: Suite,
    ptk: Ptk,
    pub frame_keys: Vec<FrameKey>,
}

/// What is known about one authenticator and one supplicant.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pair {
    anonces: VecDeque<[u8; 32]>,
    snonces: VecDeque<[u8; 32]>,
    pub keys: VecDeque<PairwiseKey>,
    pub derived: usize,
    pub rsn: Option<RsnElement>,
    pub messages: BTreeMap<&'static str, u64>,
    transition: Option<Transition>,
}

/// What the elements of fast BSS transition said.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Transition {
    mobility_domain: Option<[u8; 2]>,
    r0_holder: Option<Vec<u8>>,
    r1_holder: Option<[u8; 6]>,
}

/// The two ends and the network's names.
#[derive(Clone, Copy)]
pub(crate) struct Ends<'a> {
    pub authenticator: [u8; 6],
    pub supplicant: [u8; 6],
    pub ssids: &'a [Vec<u8>],
}

fn remember<T: PartialEq>(list: &mut VecDeque<T>, item: T, max: usize) {
    list.retain(|i| *i != item);
    list.push_front(item);
    list.truncate(max);
}

const fn label(message: Message) -> &'static str {
    match message {
        Message::M1 => "1/4",
        Message::M2 => "2/4",
        Message::M3 => "3/4",
        Message::M4 => "4/4",
        Message::Group1 => "group 1/2",
        Message::Group2 => "group 2/2",
        Message::Request => "request",
    }
}

impl Pair {
    /// Looks at an EAPOL packet and returns the group keys it brought.
    pub fn eapol(&mut self, packet: &[u8], ends: Ends<'_>, masters: &mut Masters) -> Vec<GroupKey> {
        // The length of the integrity code follows from how the packet is divided.
        let views = [16, 24, 32].map(|len| EapolKey::new_checked(packet, len).ok());
        if let Some(message) = views.iter().flatten().find_map(EapolKey::message) {
            *self.messages.entry(label(message)).or_default() += 1;
        }
        let mut keys = Vec::new();
        for view in views.into_iter().flatten() {
            keys.extend(self.message(&view, ends, masters));
        }
        keys
    }

    fn message(
        &mut self,
        key: &EapolKey<'_>,
        ends: Ends<'_>,
        masters: &mut Masters,
    ) -> Vec<GroupKey> {
        let Some(message) = key.message() else { return Vec::new() };
        let nonce = *key.nonce;
        let has_nonce = nonce != [0; 32];
        match message {
            Message::M1 => remember(&mut self.anonces, nonce, MAX_NONCES),
            Message::M2 => {
                remember(&mut self.snonces, nonce, MAX_NONCES);
                self.elements(key.data);
                self.prove(key, ends, masters);
            }
            Message::M3 => {
                remember(&mut self.anonces, nonce, MAX_NONCES);
                self.prove(key, ends, masters);
            }
            Message::M4 => {
                // Some stations repeat their nonce here; others send zeros.
                if has_nonce {
                    remember(&mut self.snonces, nonce, MAX_NONCES);
                }
                self.prove(key, ends, masters);
            }
            Message::Group1 | Message::Group2 | Message::Request => {}
        }
        if matches!(message, Message::M3 | Message::Group1) {
            self.group_keys(key)
        } else {
            Vec::new()
        }
    }

    /// Reads the elements that a station sends in association requests and in message 2.
    pub fn elements(&mut self, data: &[u8]) {
        for e in Elements::new(data).map_while(Result::ok) {
            match (e.id, e.data) {
                (element::RSN, d) => self.rsn = RsnElement::parse_rsn(d).ok().or(self.rsn),
                (VENDOR, [a, b, c, 1, d @ ..]) if [*a, *b, *c] == WPA => {
                    self.rsn = self.rsn.filter(|r| !r.is_wpa).or(RsnElement::parse_wpa(d).ok());
                }
                (ft::MOBILITY_DOMAIN, [a, b, ..]) => {
                    self.transition.get_or_insert_default().mobility_domain = Some([*a, *b]);
                }
                (ft::FAST_TRANSITION, d) => self.holders(d),
                _ => {}
            }
        }
    }

    fn holders(&mut self, data: &[u8]) {
        for mic_len in [16, 24, 32] {
            let Ok(element) = FastTransition::parse(data, mic_len) else { continue };
            let transition = self.transition.get_or_insert_default();
            // Only the right division yields a sensible R0KH-ID; the integrity code decides later.
            if let Some(id) = element.r0_holder() {
                transition.r0_holder = Some(id.to_vec());
            }
            transition.r1_holder = element.r1_holder().or(transition.r1_holder);
        }
    }

    /// Returns whether a key that is known proves the message.
    fn proves(suite: Suite, ptk: &Ptk, key: &EapolKey<'_>) -> bool {
        key.mic.len() == suite.mic.tag_len()
            && suite.mic.verify(ptk.kck.as_bytes(), &key.parts_without_mic(), key.mic)
    }

    /// Finds the key that proves the message: one that is known, or one derived from the nonces seen.
    fn prove(&mut self, key: &EapolKey<'_>, ends: Ends<'_>, masters: &mut Masters) {
        let mine = |k: &PairwiseKey| Self::proves(k.suite, &k.ptk, key);
        if let Some(at) = self.keys.iter().position(mine) {
            // The key in use comes first.
            if let Some(known) = self.keys.remove(at) {
                self.keys.push_front(known);
            }
            return;
        }
        if let Some((suite, ptk)) = self.derive(key, ends, masters) {
            self.install(suite, ptk);
        }
    }

    fn derive(
        &self,
        key: &EapolKey<'_>,
        ends: Ends<'_>,
        masters: &mut Masters,
    ) -> Option<(Suite, Ptk)> {
        for suite in Suite::candidates(key.info.version()) {
            if suite.mic.tag_len() != key.mic.len() {
                continue;
            }
            for pmk in masters.pmks(ends.ssids, *suite) {
                let found =
                    self.with_master(*suite, &pmk, ends, |ptk| Self::proves(*suite, ptk, key));
                if let Some(ptk) = found {
                    return Some((*suite, ptk));
                }
            }
        }
        None
    }

    /// Tries a master key with every pair of nonces and every length of temporal key.
    fn with_master(
        &self,
        suite: Suite,
        pmk: &KeyBytes,
        ends: Ends<'_>,
        is_right: impl Fn(&Ptk) -> bool,
    ) -> Option<Ptk> {
        let names: Vec<&[u8]> =
            if suite.is_ft { ends.ssids.iter().map(Vec::as_slice).collect() } else { vec![&[]] };
        for name in names {
            let base = if suite.is_ft { self.r1(suite.kdf, pmk, ends, name)? } else { pmk.clone() };
            for anonce in &self.anonces {
                for snonce in &self.snonces {
                    let exchange = Exchange {
                        authenticator: ends.authenticator,
                        supplicant: ends.supplicant,
                        anonce,
                        snonce,
                    };
                    // PRF-SHA1 output does not depend on its length, so the longest serves all.
                    let lengths: &[usize] =
                        if suite.kdf == Kdf::PrfSha1 { &[32] } else { &[16, 32] };
                    let ptks =
                        lengths.iter().map(|n| Ptk::derive(suite, base.as_bytes(), &exchange, *n));
                    if let Some(ptk) = ptks.into_iter().find(&is_right) {
                        return Some(ptk);
                    }
                }
            }
        }
        None
    }

    fn r1(&self, kdf: Kdf, xxkey: &KeyBytes, ends: Ends<'_>, ssid: &[u8]) -> Option<KeyBytes> {
        let transition = self.transition.as_ref()?;
        let domain = Domain {
            ssid,
            mobility_domain: transition.mobility_domain?,
            r0_holder: transition.r0_holder.as_deref()?,
            r1_holder: transition.r1_holder?,
            station: ends.supplicant,
        };
        Some(ft::pmk_r1(kdf, xxkey.as_bytes(), &domain))
    }

    fn install(&mut self, suite: Suite, ptk: Ptk) {
        let cipher = self.rsn.and_then(|r| r.pairwise);
        let tk = ptk.tk.as_bytes();
        let mut frame_keys = Vec::new();
        let lengths = if suite.kdf == Kdf::PrfSha1 { [16, 32] } else { [tk.len(), 0] };
        for len in lengths {
            let fits = cipher.is_none_or(|c| c.key_len() == len);
            if let Some(key) = tk.get(..len).filter(|k| !k.is_empty() && fits) {
                frame_keys.extend(FrameKey::candidates(key, cipher));
            }
        }
        self.install_frame_keys(suite, ptk, frame_keys);
    }

    fn install_frame_keys(&mut self, suite: Suite, ptk: Ptk, frame_keys: Vec<FrameKey>) {
        self.derived += 1;
        self.keys.push_front(PairwiseKey { suite, ptk, frame_keys });
        self.keys.truncate(MAX_KEYS);
    }

    /// Adds the key of a direct link, whose set-up shows it to whoever opened it.
    pub fn direct_link(&mut self, kck: KeyBytes, tk: KeyBytes) {
        if self.keys.iter().any(|k| k.ptk.tk == tk) {
            return;
        }
        let frame_keys = FrameKey::candidates(tk.as_bytes(), Some(CipherSuite::Ccmp128));
        let kek = tk.clone();
        self.install_frame_keys(Suite::CMAC, Ptk { kck, kek, tk }, frame_keys);
    }

    fn group_keys(&self, key: &EapolKey<'_>) -> Vec<GroupKey> {
        let Some(known) = self.keys.iter().find(|k| Self::proves(k.suite, &k.ptk, key)) else {
            return Vec::new();
        };
        let kek = known.ptk.kek.as_bytes();
        let is_wpa = key.descriptor == DESCRIPTOR_WPA;
        let mut buf = vec![0; key.data.len()];
        let opened = if is_wpa || key.info.has(KeyInfo::ENCRYPTED) {
            open_key_data(known.suite.mic, kek, key.iv, key.data, &mut buf)
        } else {
            buf.copy_from_slice(key.data);
            Ok(key.data.len())
        };
        let Some(data) = opened.ok().and_then(|len| buf.get(..len)) else { return Vec::new() };
        if is_wpa {
            // WPA has no encapsulation: the key data of a group message is the key itself.
            let pairwise = key.info.has(KeyInfo::PAIRWISE);
            let gtk = data.get(..usize::from(key.key_length)).and_then(KeyBytes::new);
            return gtk.filter(|_| !pairwise).map(GroupKey::Gtk).into_iter().collect();
        }
        kdes(data)
            .filter_map(|kde| match kde {
                Kde::Gtk { key, .. } => Some(GroupKey::Gtk(key)),
                Kde::Igtk { key, .. } => Some(GroupKey::Igtk(key)),
                Kde::KeyId(_) | Kde::Pmkid(_) | Kde::Element { .. } => None,
            })
            .collect()
    }

    /// Notes the nonces of an FT authentication (each side's element).
    pub fn ft_authentication(&mut self, elements: &[u8]) {
        self.elements(elements);
        let Some(data) = Elements::new(elements).find(ft::FAST_TRANSITION) else { return };
        for mic_len in [16, 24, 32] {
            let Ok(element) = FastTransition::parse(data, mic_len) else { continue };
            for (nonce, list) in
                [(element.anonce, &mut self.anonces), (element.snonce, &mut self.snonces)]
            {
                if *nonce != [0; 32] {
                    remember(list, *nonce, MAX_NONCES);
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
        let find = |id| Elements::new(elements).map_while(Result::ok).find(|e| e.id == id);
        let (Some(rsn), Some(mobility_domain), Some(fast_transition)) =
            (find(element::RSN), find(ft::MOBILITY_DOMAIN), find(ft::FAST_TRANSITION))
        else {
            return Vec::new();
        };
        self.ft_authentication(elements);
        let frame = ft::Reassociation {
            station: ends.supplicant,
            access_point: ends.authenticator,
            sequence,
            rsn,
            mobility_domain,
            fast_transition,
        };
        let proves = |suite: Suite, ptk: &Ptk| frame.verify(suite.mic, ptk.kck.as_bytes());
        if !self.keys.iter().any(|k| proves(k.suite, &k.ptk)) {
            let suites = [3, 0].into_iter().flat_map(Suite::candidates).filter(|s| s.is_ft);
            let found = suites.into_iter().find_map(|suite| {
                masters.pmks(ends.ssids, *suite).iter().find_map(|pmk| {
                    let ptk = self.with_master(*suite, pmk, ends, |ptk| proves(*suite, ptk))?;
                    Some((*suite, ptk))
                })
            });
            if let Some((suite, ptk)) = found {
                self.install(suite, ptk);
            }
        }
        let Some(known) = self.keys.iter().find(|k| proves(k.suite, &k.ptk)) else {
            return Vec::new();
        };
        let parsed = FastTransition::parse(fast_transition.data, known.suite.mic.tag_len());
        let Ok(element) = parsed else { return Vec::new() };
        let unwrap = |w: ft::WrappedGroupKey<'_>| {
            let mut buf = [0; 64];
            let len = aes_unwrap(known.ptk.kek.as_bytes(), w.wrapped, &mut buf).ok()?;
            KeyBytes::new(buf.get(..w.len.min(len))?)
        };
        let gtk = element.gtk().and_then(unwrap).map(GroupKey::Gtk);
        let igtk = element.igtk().and_then(unwrap).map(GroupKey::Igtk);
        gtk.into_iter().chain(igtk).collect()
    }

    /// Says what was missing for a key; `None` when there is one.
    pub fn missing(&self, masters: &Masters, ssids: &[Vec<u8>]) -> Option<&'static str> {
        if self.derived > 0 {
            return None;
        }
        Some(if !masters.any() {
            "no passphrase or PMK given"
        } else if self.anonces.is_empty() {
            "no message with the authenticator's nonce"
        } else if self.snonces.is_empty() {
            "no message with the supplicant's nonce"
        } else if !["2/4", "3/4", "4/4"].iter().any(|m| self.messages.contains_key(m)) {
            "no message that proves a key"
        } else if ssids.is_empty() && masters.wants_ssid() {
            "the network's name is not in the capture; give it with the passphrase"
        } else {
            "no given passphrase or PMK proves it"
        })
    }
}
