//! The engine: frames in, opened frames and a report out. No files, no clocks.
//!
//! ```text
//!   management --> names of networks, what was negotiated, FT authentications
//!   data, clear or opened: EAPOL --> Pair --> pairwise and group keys;  TDLS --> direct-link keys
//!   protected --> the keys of its two ends, of its network, given ones --> Opened or Refused
//! ```

mod fils;
mod fragments;
mod frame_key;
mod learn;
mod masters;
mod pair;
mod transition;

use crate::Key;
use crate::report::{FileReport, HandshakeReport, Report, TransmitterReport};
use fragments::Fragments;
use frame_key::{FrameKey, Plain};
use masters::{Masters, Network};
use pair::{Ends, GroupKey, Pair};
use serde::Serialize;
use slyfi_ciphers::danger::tkip::MIC_LEN;
use slyfi_ciphers::handshake::{CipherSuite, KeyBytes};
use slyfi_ciphers::packet::EXT_IV;
use slyfi_wire::ieee80211::{MacHeader, Type};
use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::fmt;

type Address = [u8; 6];

/// How much of each is kept, so that a capture full of forged addresses cannot fill the memory.
const MAX_NETWORKS: usize = 50_000;
const MAX_PAIRS: usize = 50_000;
const MAX_TRANSMITTERS: usize = 50_000;
const MAX_LANES: usize = 500_000;
const MAX_GROUP_KEYS: usize = 64;

/// An opened frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Opened<'a> {
    /// Which file, from 0.
    pub file: usize,
    /// Which packet in it, from 1.
    pub packet: u64,
    /// Nanoseconds since 1970.
    pub timestamp: u64,
    /// The 802.11 header with the Protected bit cleared.
    pub header: &'a [u8],
    /// What was sealed.
    pub payload: &'a [u8],
    /// Which cipher.
    pub cipher: &'static str,
    /// The key identifier of the frame.
    pub key_id: u8,
    /// The packet number, or the IV.
    pub number: u64,
}

/// Why a protected frame did not open.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Refusal {
    /// No given key leads to one for these ends.
    NoKey,
    /// There are keys for these ends and none of them verifies the frame: another association's key,
    /// or damage.
    NotVerified,
    /// The radio had marked the frame as damaged.
    BadFcs,
    /// Too short for any cipher's header and trailer.
    TooShort,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Refusal::NoKey => "no key for its ends",
            Refusal::NotVerified => "no key verifies it",
            Refusal::BadFcs => "received damaged",
            Refusal::TooShort => "too short",
        })
    }
}

/// What became of a frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome<'a> {
    /// It was not protected.
    Clear,
    /// It is no 802.11 frame of a known version, or cut in its header.
    Malformed,
    /// It opened.
    Opened(Opened<'a>),
    /// A group-addressed management frame whose integrity element verified.
    Verified,
    /// It did not open.
    Refused(Refusal),
}

/// Opens frames and learns keys from them.
#[derive(Debug, Default)]
pub struct Engine {
    masters: Masters,
    wep: Vec<FrameKey>,
    given: Vec<FrameKey>,
    given_bytes: Vec<KeyBytes>,
    networks: HashMap<Address, Network>,
    pairs: HashMap<(Address, Address), Pair>,
    groups: HashMap<Address, VecDeque<(KeyBytes, Vec<FrameKey>)>>,
    integrity_groups: HashMap<Address, VecDeque<KeyBytes>>,
    fragments: Fragments,
    tkip_fragments: Fragments,
    transmitters: BTreeMap<Address, TransmitterReport>,
    other_transmitters: TransmitterReport,
    highest: HashMap<(Address, Address, u8, u8), u64>,
    header: Vec<u8>,
    payload: Vec<u8>,
}

impl Engine {
    /// An engine that knows these keys.
    pub fn new(keys: &[Key]) -> Self {
        let mut engine = Engine { masters: Masters::new(keys), ..Engine::default() };
        for key in keys {
            match key {
                Key::Wep(wep) => engine.wep.push(FrameKey::Wep(wep.clone())),
                Key::Temporal(tk) => {
                    engine.given.extend(FrameKey::given(tk.as_bytes()));
                    engine.given_bytes.push(tk.clone());
                }
                Key::Passphrase { .. } | Key::Pmk(_) | Key::Msk(_) => {}
            }
        }
        engine
    }

    /// Forgets what was counted and keeps what was learned: for a second look at the same frames.
    pub fn start_over(&mut self) {
        self.transmitters.clear();
        self.other_transmitters = TransmitterReport::default();
        (self.fragments, self.tkip_fragments) = (Fragments::default(), Fragments::default());
        self.highest.clear();
        self.pairs.values_mut().for_each(|p| p.messages.clear());
    }

    /// Returns a number that grows with everything learned: names, nonces' keys, group keys.
    pub fn knowledge(&self) -> usize {
        let names: usize = self.networks.values().map(|n| n.ssids.len()).sum();
        let pairwise: usize = self.pairs.values().map(|p| p.derived).sum();
        let group: usize = self.groups.values().map(VecDeque::len).sum();
        let integrity: usize = self.integrity_groups.values().map(VecDeque::len).sum();
        names + pairwise + group + integrity
    }

    /// Looks at one 802.11 frame (without frame check sequence).
    pub fn observe(
        &mut self,
        file: usize,
        packet: u64,
        timestamp: u64,
        frame: &[u8],
        bad_fcs: bool,
    ) -> Outcome<'_> {
        let Ok(header) = MacHeader::new_checked(frame) else { return Outcome::Malformed };
        let fc = header.frame_control();
        let sealed = fc.is_protected() && (fc.carries_data() || fc.kind() == Type::Management);
        if !sealed {
            if !bad_fcs {
                match fc.kind() {
                    Type::Management => return self.management(&header, frame),
                    Type::Data if fc.carries_data() => self.body(&header, header.body()),
                    _ => {}
                }
            }
            return Outcome::Clear;
        }
        let Some(transmitter) = header.addr2() else { return Outcome::Malformed };
        let attempt = self.open(&header);
        let entry = self.transmitter(transmitter.0);
        entry.protected += 1;
        let mut plain = match attempt {
            Ok(plain) => plain,
            Err(refusal) => {
                let refusal = if bad_fcs { Refusal::BadFcs } else { refusal };
                *entry.refused.entry(refusal).or_default() += 1;
                return Outcome::Refused(refusal);
            }
        };
        self.check_fragment(&header, &mut plain);
        let entry = self.transmitter(transmitter.0);
        entry.opened += 1;
        *entry.by_cipher.entry(plain.cipher).or_default() += 1;
        self.count_repetition(&header, &plain);
        if fc.kind() == Type::Data {
            self.body(&header, &plain.payload);
        } else {
            self.opened_management(&header, &plain.payload);
        }
        self.header.clear();
        self.header.extend_from_slice(header.bytes());
        if let Some(flags) = self.header.get_mut(1) {
            *flags &= !0x40;
        }
        self.payload = plain.payload;
        Outcome::Opened(Opened {
            file,
            packet,
            timestamp,
            header: &self.header,
            payload: &self.payload,
            cipher: plain.cipher,
            key_id: plain.key_id,
            number: plain.number,
        })
    }

    /// Michael's code covers a whole payload and ends its last fragment: checks it there, if all the others
    /// were seen, and takes it off.
    fn check_fragment(&mut self, header: &MacHeader<'_>, plain: &mut Plain) {
        let Some(key) = &plain.michael else { return };
        let whole = self.tkip_fragments.add(header, &plain.payload, |_| true);
        if header.frame_control().has_more_fragments() {
            return;
        }
        if whole.is_some_and(|w| key.proves_whole(header.bytes(), &w)) {
            plain.cipher = CipherSuite::Tkip.name();
        }
        plain.payload.truncate(plain.payload.len().saturating_sub(MIC_LEN));
    }

    /// Counts frames whose number is not above that of the last of their transmitter, receiver, key
    /// and TID. WEP numbers nothing.
    fn count_repetition(&mut self, header: &MacHeader<'_>, plain: &Plain) {
        let Some(transmitter) = header.addr2() else { return };
        if plain.cipher == "WEP" {
            return;
        }
        let tid = header.qos_control().map_or(16, |q| q.tid());
        let lane = (transmitter.0, header.addr1().0, plain.key_id, tid);
        if self.highest.len() >= MAX_LANES && !self.highest.contains_key(&lane) {
            return;
        }
        let highest = self.highest.entry(lane).or_default();
        if plain.number > *highest {
            *highest = plain.number;
        } else {
            self.transmitter(transmitter.0).repeated += 1;
        }
    }

    fn open(&self, header: &MacHeader<'_>) -> Result<Plain, Refusal> {
        let octet = *header.body().get(3).ok_or(Refusal::TooShort)?;
        let (receiver, transmitter) = (header.addr1(), header.addr2().ok_or(Refusal::TooShort)?);
        if octet & EXT_IV == 0 {
            return first_open(self.wep.iter().chain(self.group(transmitter.0)), header);
        }
        if header.body().len() < 16 {
            return Err(Refusal::TooShort);
        }
        let own = [(transmitter.0, receiver.0), (receiver.0, transmitter.0)];
        let pairwise = own
            .iter()
            .filter_map(|ends| self.pairs.get(ends))
            .flat_map(|p| p.keys.iter().flat_map(|k| &k.frame_keys));
        if receiver.is_group() {
            first_open(self.group(transmitter.0).chain(&self.given), header)
        } else {
            first_open(pairwise.chain(&self.given).chain(self.group(transmitter.0)), header)
        }
    }

    fn group(&self, transmitter: Address) -> impl Iterator<Item = &FrameKey> {
        self.groups.get(&transmitter).into_iter().flatten().flat_map(|(_, keys)| keys)
    }

    /// The record of a transmitter; behind the bound all further ones share one.
    fn transmitter(&mut self, address: Address) -> &mut TransmitterReport {
        let full = self.transmitters.len() >= MAX_TRANSMITTERS;
        if full && !self.transmitters.contains_key(&address) {
            return &mut self.other_transmitters;
        }
        self.transmitters.entry(address).or_default()
    }

    fn network(&mut self, bssid: Address) -> Option<&mut Network> {
        if self.networks.len() >= MAX_NETWORKS && !self.networks.contains_key(&bssid) {
            // Those in which nobody proved a key make room.
            let proven: HashSet<Address> =
                self.pairs.iter().filter(|(_, p)| p.derived > 0).map(|((a, _), _)| *a).collect();
            self.networks.retain(|b, _| proven.contains(b));
            if self.networks.len() >= MAX_NETWORKS {
                return None;
            }
        }
        Some(self.networks.entry(bssid).or_default())
    }

    /// Runs `f` on a pair with the means to derive keys, and keeps the group keys it returns.
    fn with_pair(
        &mut self,
        authenticator: Address,
        supplicant: Address,
        f: impl FnOnce(&mut Pair, Ends<'_>, &mut Masters) -> Vec<GroupKey>,
    ) {
        let ends = (authenticator, supplicant);
        if self.pairs.len() >= MAX_PAIRS && !self.pairs.contains_key(&ends) {
            self.pairs.retain(|_, p| p.derived > 0);
            if self.pairs.len() >= MAX_PAIRS {
                return;
            }
        }
        let ssids = self.networks.get(&authenticator).map_or(&[][..], |n| &n.ssids);
        let pair = self.pairs.entry(ends).or_default();
        let group = pair.rsn.and_then(|r| r.group);
        let full = self.groups.len() >= MAX_PAIRS && !self.groups.contains_key(&authenticator);
        for key in f(pair, Ends { authenticator, supplicant, ssids }, &mut self.masters) {
            match key {
                _ if full => {}
                GroupKey::Gtk(bytes) => {
                    let list = self.groups.entry(authenticator).or_default();
                    if !list.iter().any(|(known, _)| *known == bytes) {
                        let keys = FrameKey::candidates(bytes.as_bytes(), group);
                        list.push_front((bytes, keys));
                        list.truncate(MAX_GROUP_KEYS);
                    }
                }
                GroupKey::Igtk(bytes) => {
                    let list = self.integrity_groups.entry(authenticator).or_default();
                    if !list.contains(&bytes) {
                        list.push_front(bytes);
                        list.truncate(MAX_GROUP_KEYS);
                    }
                }
            }
        }
    }

    /// Ends the run.
    pub fn into_report(self, files: Vec<FileReport>) -> Report {
        let Engine { pairs, networks, masters, transmitters, other_transmitters, .. } = self;
        let mut handshakes: Vec<HandshakeReport> = pairs
            .iter()
            .filter(|(_, pair)| !pair.messages.is_empty() || pair.derived > 0)
            .map(|((authenticator, supplicant), pair)| {
                let ssids = networks.get(authenticator).map_or(&[][..], |n| &n.ssids);
                HandshakeReport {
                    authenticator: text(authenticator),
                    supplicant: text(supplicant),
                    ssid: ssids.first().map(|s| String::from_utf8_lossy(s).into_owned()),
                    messages: pair.messages.clone(),
                    pairwise_keys: pair.derived,
                    cipher: pair.rsn.and_then(|r| r.pairwise).map(|c| c.name()),
                    key_management: pair.rsn.and_then(|r| r.akm).map(|a| a.name()),
                    missing: pair.missing(&masters, ssids),
                }
            })
            .collect();
        handshakes.sort_by(|a, b| {
            (&a.authenticator, &a.supplicant).cmp(&(&b.authenticator, &b.supplicant))
        });
        let mut transmitters: BTreeMap<String, TransmitterReport> =
            transmitters.into_iter().map(|(a, t)| (text(&a), t)).collect();
        if other_transmitters.protected > 0 {
            transmitters.insert("others".into(), other_transmitters);
        }
        Report { files, transmitters, handshakes }
    }
}

fn first_open<'k>(
    keys: impl Iterator<Item = &'k FrameKey>,
    header: &MacHeader<'_>,
) -> Result<Plain, Refusal> {
    let mut refusal = Refusal::NoKey;
    for key in keys {
        if let Some(plain) = key.open(header) {
            return Ok(plain);
        }
        refusal = Refusal::NotVerified;
    }
    Err(refusal)
}

fn text(address: &Address) -> String {
    let [a, b, c, d, e, f] = address;
    format!("{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{f:02x}")
}
