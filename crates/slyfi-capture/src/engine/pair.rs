//! The key messages between two stations and the keys they lead to.

use super::fils::Nonces;
use super::frame_key::FrameKey;
use super::masters::Masters;
use super::transition::Transition;
use slyfi_ciphers::handshake::eapol::DESCRIPTOR_WPA;
use slyfi_ciphers::handshake::kde::Kde;
use slyfi_ciphers::handshake::ptk::Exchange;
use slyfi_ciphers::handshake::rsn::WPA;
use slyfi_ciphers::handshake::wrap::open_key_data;
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

impl GroupKey {
    pub(super) fn of(kde: Kde<'_>) -> Option<Self> {
        match kde {
            Kde::Gtk { key, .. } => Some(GroupKey::Gtk(key)),
            Kde::Igtk { key, .. } => Some(GroupKey::Igtk(key)),
            Kde::KeyId(_) | Kde::Pmkid(_) | Kde::Element { .. } => None,
        }
    }
}

/// A derived pairwise key.
#[derive(Clone, Debug)]
pub(crate) struct PairwiseKey {
    pub suite: Suite,
    pub ptk: Ptk,
    pub frame_keys: Vec<FrameKey>,
}

/// What is known about one authenticator and one supplicant.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pair {
    pub anonces: VecDeque<[u8; 32]>,
    pub snonces: VecDeque<[u8; 32]>,
    pub keys: VecDeque<PairwiseKey>,
    pub derived: usize,
    pub rsn: Option<RsnElement>,
    pub messages: BTreeMap<&'static str, u64>,
    pub transition: Transition,
    pub fils: Nonces,
}

/// The two ends and the network's names.
#[derive(Clone, Copy)]
pub(crate) struct Ends<'a> {
    pub authenticator: [u8; 6],
    pub supplicant: [u8; 6],
    pub ssids: &'a [Vec<u8>],
}

/// The nonce that a message itself brings: only the other side's has to be looked for. Trying every
/// pair of all that were seen would cost whoever opens a capture 256 derivations for a forged message.
#[derive(Clone, Copy)]
pub(crate) enum Nonce {
    Authenticator([u8; 32]),
    Supplicant([u8; 32]),
    Both([u8; 32], [u8; 32]),
}

/// Puts a nonce in front, and forgets the oldest.
pub(crate) fn remember(list: &mut VecDeque<[u8; 32]>, nonce: [u8; 32]) {
    list.retain(|n| *n != nonce);
    list.push_front(nonce);
    list.truncate(MAX_NONCES);
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
        if let Ok(view) = EapolKey::new_checked(packet, 0) {
            keys.extend(self.fils_message(&view, ends, masters));
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
            Message::M1 => remember(&mut self.anonces, nonce),
            Message::M2 => {
                remember(&mut self.snonces, nonce);
                self.elements(key.data);
                self.prove(key, Some(Nonce::Supplicant(nonce)), ends, masters);
            }
            Message::M3 => {
                remember(&mut self.anonces, nonce);
                self.prove(key, Some(Nonce::Authenticator(nonce)), ends, masters);
            }
            Message::M4 => {
                // Some stations repeat their nonce here; others send zeros, and what those prove an
                // earlier message has proven.
                if has_nonce {
                    remember(&mut self.snonces, nonce);
                }
                let own = has_nonce.then_some(Nonce::Supplicant(nonce));
                self.prove(key, own, ends, masters);
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
                _ => {}
            }
        }
        self.transition_elements(data);
    }

    /// Returns whether a key that is known proves the message.
    fn proves(suite: Suite, ptk: &Ptk, key: &EapolKey<'_>) -> bool {
        key.mic.len() == suite.mic.tag_len()
            && suite.mic.verify(ptk.kck.as_bytes(), &key.parts_without_mic(), key.mic)
    }

    /// Finds the key that proves the message: one that is known, or one derived from the nonces seen.
    fn prove(
        &mut self,
        key: &EapolKey<'_>,
        nonce: Option<Nonce>,
        ends: Ends<'_>,
        masters: &mut Masters,
    ) {
        let mine = |k: &PairwiseKey| Self::proves(k.suite, &k.ptk, key);
        if let Some(at) = self.keys.iter().position(mine) {
            // The key in use comes first.
            if let Some(known) = self.keys.remove(at) {
                self.keys.push_front(known);
            }
            return;
        }
        let Some(nonce) = nonce else { return };
        if let Some((suite, ptk)) = self.derive(key, nonce, ends, masters) {
            self.install(suite, ptk);
        }
    }

    fn derive(
        &self,
        key: &EapolKey<'_>,
        nonce: Nonce,
        ends: Ends<'_>,
        masters: &mut Masters,
    ) -> Option<(Suite, Ptk)> {
        for suite in Suite::candidates(key.info.version()) {
            if suite.mic.tag_len() != key.mic.len() {
                continue;
            }
            for pmk in masters.pmks(ends.ssids, *suite) {
                let found = self
                    .with_master(*suite, &pmk, nonce, ends, |ptk| Self::proves(*suite, ptk, key));
                if let Some(ptk) = found {
                    return Some((*suite, ptk));
                }
            }
        }
        None
    }

    /// Tries a master key with every pair of nonces that can belong together and every length of
    /// temporal key.
    pub(super) fn with_master(
        &self,
        suite: Suite,
        pmk: &KeyBytes,
        nonce: Nonce,
        ends: Ends<'_>,
        is_right: impl Fn(&Ptk) -> bool,
    ) -> Option<Ptk> {
        let names: Vec<&[u8]> =
            if suite.is_ft { ends.ssids.iter().map(Vec::as_slice).collect() } else { vec![&[]] };
        let nonces: Vec<(&[u8; 32], &[u8; 32])> = match &nonce {
            Nonce::Authenticator(a) => self.snonces.iter().map(|s| (a, s)).collect(),
            Nonce::Supplicant(s) => self.anonces.iter().map(|a| (a, s)).collect(),
            Nonce::Both(a, s) => vec![(a, s)],
        };
        for name in names {
            let base = if suite.is_ft { self.r1(suite.kdf, pmk, ends, name)? } else { pmk.clone() };
            for (anonce, snonce) in &nonces {
                let exchange = Exchange {
                    authenticator: ends.authenticator,
                    supplicant: ends.supplicant,
                    anonce,
                    snonce,
                };
                // PRF-SHA1 output does not depend on its length, so the longest serves all.
                let lengths: &[usize] = if suite.kdf == Kdf::PrfSha1 { &[32] } else { &[16, 32] };
                let ptks =
                    lengths.iter().map(|n| Ptk::derive(suite, base.as_bytes(), &exchange, *n));
                if let Some(ptk) = ptks.into_iter().find(&is_right) {
                    return Some(ptk);
                }
            }
        }
        None
    }

    pub(super) fn install(&mut self, suite: Suite, ptk: Ptk) {
        let cipher = self.rsn.and_then(|r| r.pairwise);
        let tk = ptk.tk.as_bytes();
        let mut frame_keys = Vec::new();
        let mut lengths = if suite.kdf == Kdf::PrfSha1 { [16, 32] } else { [tk.len(), 0] };
        // What was negotiated is tried first. The others, too: nobody vouches for the element.
        lengths.sort_by_key(|len| cipher.is_some_and(|c| c.key_len() != *len));
        for key in lengths.iter().filter_map(|len| tk.get(..*len)) {
            frame_keys.extend(FrameKey::candidates(key, cipher));
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
        GroupKey::all(data)
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
