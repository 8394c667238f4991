//! A made-up network: frames of an association with any suite and cipher, sealed for real.
#![allow(dead_code, reason = "each test file is a crate of its own and uses some of these")]

use slyfi_capture::{Key, PcapWriter};
use slyfi_ciphers::ccmp::{Ccmp128Key, Ccmp256Key};
use slyfi_ciphers::danger::tkip::TkipKey;
use slyfi_ciphers::gcmp::GcmpKey;
use slyfi_ciphers::handshake::eapol::{DESCRIPTOR_RSN, DESCRIPTOR_WPA, EapolKeyRepr};
use slyfi_ciphers::handshake::ft::{Domain, pmk_r1};
use slyfi_ciphers::handshake::ptk::Exchange;
use slyfi_ciphers::handshake::wrap::{aes_wrap, rc4_in_place};
use slyfi_ciphers::handshake::{KeyInfo, MicAlgorithm, Ptk, Suite, psk};
use slyfi_ciphers::{KeyId, PacketKey, PacketNumber};
use std::path::{Path, PathBuf};

pub const AP: [u8; 6] = [2, 0, 0, 0, 0, 0xa];
pub const STATION: [u8; 6] = [2, 0, 0, 0, 0, 0xb];
pub const SSID: &[u8] = b"made-up network";
pub const PASSPHRASE: &str = "correct horse";

/// What a made-up network uses.
#[derive(Clone)]
pub struct Plan {
    pub suite: Suite,
    /// Type of the AKM selector under 00-0F-AC; 0 stands for WPA's PSK.
    pub akm: u8,
    /// Type of the pairwise and group cipher.
    pub cipher: u8,
    /// Low bits of key information.
    pub version: u16,
    pub pmk: Vec<u8>,
    /// Key identifier of the pairwise key.
    pub key_id: u8,
    pub ap: [u8; 6],
    pub snonce: [u8; 32],
    pub anonce: [u8; 32],
}

impl Plan {
    pub fn new(suite: Suite, akm: u8, version: u16, cipher: u8) -> Self {
        let pmk = psk(PASSPHRASE.as_bytes(), SSID).as_bytes().to_vec();
        Plan {
            suite,
            akm,
            cipher,
            version,
            pmk,
            key_id: 0,
            ap: AP,
            snonce: [0x51; 32],
            anonce: [0xa1; 32],
        }
    }

    pub fn key(&self) -> Key {
        let hex: String = self.pmk.iter().map(|b| format!("{b:02x}")).collect();
        format!("wpa-psk:{hex}").parse().unwrap()
    }

    fn is_wpa(&self) -> bool {
        self.akm == 0
    }

    pub fn tk_len(&self) -> usize {
        if matches!(self.cipher, 4 | 8) { 16 } else { 32 }
    }

    /// The RSN or WPA element.
    pub fn element(&self) -> Vec<u8> {
        let c = self.cipher;
        if self.is_wpa() {
            let body = [
                0, 0x50, 0xf2, 1, 1, 0, 0, 0x50, 0xf2, c, 1, 0, 0, 0x50, 0xf2, c, 1, 0, 0, 0x50,
                0xf2, 2,
            ];
            return [&[221, body.len() as u8][..], &body].concat();
        }
        let body = [
            1, 0, 0, 0x0f, 0xac, c, 1, 0, 0, 0x0f, 0xac, c, 1, 0, 0, 0x0f, 0xac, self.akm, 0, 0x20,
        ];
        [&[48, body.len() as u8][..], &body].concat()
    }

    pub fn mobility_domain() -> Vec<u8> {
        vec![54, 3, 0x12, 0x34, 0]
    }

    /// The FT element with these nonces; the code zero.
    pub fn ft_element(&self, anonce: [u8; 32], snonce: [u8; 32], group: &[u8]) -> Vec<u8> {
        let mut d = vec![0, 0];
        d.extend(vec![0; self.suite.mic.tag_len()]);
        d.extend(anonce);
        d.extend(snonce);
        d.extend([1, 6]);
        d.extend(self.ap);
        d.extend([3, 4]);
        d.extend(b"r0kh");
        d.extend(group);
        [&[55, d.len() as u8][..], &d].concat()
    }

    fn ft_elements(&self) -> Vec<u8> {
        if !self.suite.is_ft {
            return Vec::new();
        }
        [Self::mobility_domain(), self.ft_element([0; 32], [0; 32], &[])].concat()
    }

    pub fn ptk(&self) -> Ptk {
        let domain = Domain {
            ssid: SSID,
            mobility_domain: [0x12, 0x34],
            r0_holder: b"r0kh",
            r1_holder: self.ap,
            station: STATION,
        };
        let pmk = if self.suite.is_ft {
            pmk_r1(self.suite.kdf, &self.pmk, &domain).as_bytes().to_vec()
        } else {
            self.pmk.clone()
        };
        let exchange = Exchange {
            authenticator: self.ap,
            supplicant: STATION,
            anonce: &self.anonce,
            snonce: &self.snonce,
        };
        Ptk::derive(self.suite, &pmk, &exchange, self.tk_len())
    }

    pub fn gtk(&self) -> Vec<u8> {
        (0x60..0x60 + self.tk_len() as u8).collect()
    }

    /// Beacon, association request and response.
    pub fn association(&self) -> Vec<Vec<u8>> {
        let ssid = [&[0, SSID.len() as u8][..], SSID].concat();
        let rates = [1, 1, 0x8c];
        let mut elements = [&ssid[..], &rates, &self.element()].concat();
        if self.suite.is_ft {
            elements.extend(Self::mobility_domain());
        }
        let beacon = [&[0; 8][..], &[100, 0, 0x11, 0], &elements].concat();
        let request = [&[0x11, 0, 1, 0][..], &elements].concat();
        let response = [&[0x11, 0, 0, 0, 1, 0xc0][..], &rates, &self.ft_elements()].concat();
        vec![
            management(0x80, [0xff; 6], self.ap, self.ap, &beacon),
            management(0x00, self.ap, STATION, self.ap, &request),
            management(0x10, STATION, self.ap, self.ap, &response),
        ]
    }

    fn eapol(&self, bits: u16, counter: u64, nonce: [u8; 32], data: &[u8], prove: bool) -> Vec<u8> {
        let repr = EapolKeyRepr {
            version: 2,
            descriptor: if self.is_wpa() { DESCRIPTOR_WPA } else { DESCRIPTOR_RSN },
            info: KeyInfo(self.version | bits),
            key_length: self.tk_len() as u16,
            replay_counter: counter,
            nonce,
            iv: [0x1f; 16],
            rsc: [0; 8],
            mic_len: self.suite.mic.tag_len(),
            data,
        };
        let mut buf = vec![0; repr.buffer_len()];
        repr.emit(&mut buf).unwrap();
        if prove {
            EapolKeyRepr::prove(&mut buf, self.suite.mic, self.ptk().kck.as_bytes()).unwrap();
        }
        [&[0xaa, 0xaa, 3, 0, 0, 0, 0x88, 0x8e][..], &buf].concat()
    }

    fn wrapped(&self, data: &[u8]) -> Vec<u8> {
        let ptk = self.ptk();
        if self.suite.mic == MicAlgorithm::HmacMd5 {
            let mut out = data.to_vec();
            rc4_in_place(ptk.kek.as_bytes(), &[0x1f; 16], &mut out);
            return out;
        }
        let mut padded = data.to_vec();
        if padded.len() < 16 || !padded.len().is_multiple_of(8) {
            padded.push(0xdd);
            padded.resize(padded.len().next_multiple_of(8).max(16), 0);
        }
        let mut out = vec![0; padded.len() + 8];
        aes_wrap(ptk.kek.as_bytes(), &padded, &mut out).unwrap();
        out
    }

    fn gtk_kde(&self) -> Vec<u8> {
        let gtk = self.gtk();
        [&[0xdd, gtk.len() as u8 + 6, 0, 0x0f, 0xac, 1, 1, 0][..], &gtk].concat()
    }

    /// The four messages, and the group message where the suite has its own.
    pub fn handshake(&self) -> Vec<Vec<u8>> {
        let (p, a, m, s) = (KeyInfo::PAIRWISE, KeyInfo::ACK, KeyInfo::MIC, KeyInfo::SECURE);
        let (i, e) = (KeyInfo::INSTALL, KeyInfo::ENCRYPTED);
        let second = [self.element(), self.ft_elements()].concat();
        let mut third = self.element();
        if !self.is_wpa() {
            third.extend(self.ft_elements());
            third.extend(self.gtk_kde());
            if self.key_id != 0 {
                third.extend([0xdd, 6, 0, 0x0f, 0xac, 10, self.key_id, 0]);
            }
        }
        let third = if self.is_wpa() {
            self.eapol(p | a | m | i, 2, self.anonce, &third, true)
        } else {
            self.eapol(p | a | m | i | s | e, 2, self.anonce, &self.wrapped(&third), true)
        };
        let s4 = if self.is_wpa() { 0 } else { s };
        let mut out = vec![
            from_ap(self.ap, &self.eapol(p | a, 1, self.anonce, &[], false)),
            to_ap(self.ap, &self.eapol(p | m, 1, self.snonce, &second, true)),
            from_ap(self.ap, &third),
            to_ap(self.ap, &self.eapol(p | m | s4, 2, [0; 32], &[], true)),
        ];
        if self.is_wpa() {
            let gtk = self.wrapped(&self.gtk());
            out.push(from_ap(self.ap, &self.eapol(a | m | s | 0x10, 3, [0; 32], &gtk, true)));
            out.push(to_ap(self.ap, &self.eapol(m | s | 0x10, 3, [0; 32], &[], true)));
        }
        out
    }

    /// Seals a payload under a temporal key of the plan's cipher.
    pub fn seal(
        &self,
        tk: &[u8],
        header: &[u8],
        key_id: u8,
        number: u64,
        payload: &[u8],
    ) -> Vec<u8> {
        let mut buf = vec![0; 8 + payload.len() + 16];
        buf[8..8 + payload.len()].copy_from_slice(payload);
        let (n, id, len) =
            (PacketNumber::new(number).unwrap(), KeyId::new(key_id).unwrap(), payload.len());
        let half = || tk.try_into().unwrap();
        let full = || tk.try_into().unwrap();
        let sealed = match self.cipher {
            2 => {
                let key = TkipKey::new(full());
                let ttak = key.phase1(header[10..16].try_into().unwrap(), n);
                key.seal_at(&ttak, n, id, header, &mut buf, len)
            }
            4 => Ccmp128Key::new(half()).seal_at(n, id, header, &mut buf, len),
            8 => GcmpKey::new_128(half()).seal_at(n, id, header, &mut buf, len),
            9 => GcmpKey::new_256(full()).seal_at(n, id, header, &mut buf, len),
            10 => Ccmp256Key::new(full()).seal_at(n, id, header, &mut buf, len),
            other => panic!("no cipher {other}"),
        };
        buf.truncate(sealed.unwrap());
        [header, &buf].concat()
    }

    /// One frame up, one down, one to the group, with their payloads.
    pub fn data(&self, first_number: u64) -> Vec<(Vec<u8>, Vec<u8>)> {
        let tk = self.ptk().tk.as_bytes().to_vec();
        let payload = |n: u8| {
            let mut p = vec![0xaa, 0xaa, 3, 0, 0, 0, 0x08, 0];
            p.extend([0x45, 0, 0, 28, 0, n, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
            p.extend([0, 7, 0, 9, 0, 8, 0, 0]);
            p
        };
        let up = qos(1, self.ap, STATION, self.ap, 5);
        let down = qos(2, STATION, self.ap, self.ap, 0);
        let mut group = qos(2, [0xff; 6], self.ap, self.ap, 0);
        group.truncate(24);
        group[0] = 0x08;
        vec![
            (self.seal(&tk, &up, self.key_id, first_number, &payload(1)), payload(1)),
            (self.seal(&tk, &down, self.key_id, first_number + 1, &payload(2)), payload(2)),
            (self.seal(&self.gtk(), &group, 1, first_number + 2, &payload(3)), payload(3)),
        ]
    }
}

pub fn management(fc: u8, to: [u8; 6], from: [u8; 6], bssid: [u8; 6], body: &[u8]) -> Vec<u8> {
    [&[fc, 0, 0, 0][..], &to, &from, &bssid, &[0x10, 0], body].concat()
}

fn qos(ds: u8, a1: [u8; 6], a2: [u8; 6], a3: [u8; 6], tid: u8) -> Vec<u8> {
    [&[0x88, 0x40 | ds, 0, 0][..], &a1, &a2, &a3, &[0x20, 0, tid, 0]].concat()
}

fn from_ap(ap: [u8; 6], body: &[u8]) -> Vec<u8> {
    [&[0x08, 2, 0, 0][..], &STATION, &ap, &ap, &[0x30, 0], body].concat()
}

fn to_ap(ap: [u8; 6], body: &[u8]) -> Vec<u8> {
    [&[0x08, 1, 0, 0][..], &ap, &STATION, &ap, &[0x40, 0], body].concat()
}

/// Writes frames into a pcap file in the directory for temporary files.
pub fn write(name: &str, frames: &[Vec<u8>]) -> PathBuf {
    let path =
        std::env::temp_dir().join(format!("slyfi-capture-{}-{name}.pcap", std::process::id()));
    let mut w = PcapWriter::new(Vec::new(), 105).unwrap();
    for (i, f) in frames.iter().enumerate() {
        w.packet(1_700_000_000_000_000_000 + i as u64 * 1_000_000, f).unwrap();
    }
    std::fs::write(&path, w.finish().unwrap()).unwrap();
    path
}

/// Every opened frame: its packet number and payload.
#[derive(Default)]
pub struct Collect(pub Vec<(u64, Vec<u8>)>);

impl slyfi_capture::Sink for Collect {
    fn opened(&mut self, frame: &slyfi_capture::Opened<'_>) -> std::io::Result<()> {
        self.0.push((frame.packet, frame.payload.to_vec()));
        Ok(())
    }
}

pub fn open_all(path: &Path, keys: &[Key]) -> (Vec<(u64, Vec<u8>)>, slyfi_capture::Report) {
    let mut sink = Collect::default();
    let report = slyfi_capture::decrypt(
        &[path.to_owned()],
        keys,
        slyfi_capture::Options::default(),
        &mut sink,
    )
    .unwrap();
    (sink.0, report)
}

/// Says that something could not be tested. In continuous integration that is a failure.
pub fn skip(why: &str) {
    assert!(std::env::var_os("CI").is_none(), "{why}");
    eprintln!("SKIPPED: {why}");
}

/// Where other people's captures are, if they are there.
pub fn captures() -> Option<PathBuf> {
    let path = std::env::var_os("SLYFI_CAPTURES").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/captures"),
        PathBuf::from,
    );
    if path.is_dir() {
        return Some(path);
    }
    skip("no captures beside the project; SLYFI_CAPTURES names their folder");
    None
}

/// Every decrypted frame as tshark has it (number, bytes), or `None` when there is no tshark.
pub fn tshark(path: &Path, keys: &[(&str, String)]) -> Option<Vec<(u64, Vec<u8>)>> {
    let mut command = std::process::Command::new("tshark");
    command.arg("-r").arg(path).args(["-o", "wlan.enable_decryption:TRUE", "-P", "-x"]);
    command.args(["-o", "gui.column.format:\"No.\",\"%m\""]);
    for (kind, value) in keys {
        command.arg("-o").arg(format!("uat:80211_keys:\"{kind}\",\"{value}\""));
    }
    let Ok(output) = command.output() else {
        skip("tshark is not installed");
        return None;
    };
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let (mut number, mut inside, mut found) = (0, false, Vec::<(u64, Vec<u8>)>::new());
    for line in text.lines() {
        if let Ok(n) = line.trim().parse::<u64>() {
            (number, inside) = (n, false);
        } else if line.ends_with("bytes):") {
            // EAPOL-Key frames show their key data, too; that is no frame.
            inside = line.starts_with("Decrypted ") && line.contains(" data (");
            if inside {
                found.push((number, Vec::new()));
            }
        } else if inside
            && let Some(columns) = line.get(6..53.min(line.len()))
            && let Some((_, bytes)) = found.last_mut()
        {
            bytes.extend(columns.split_whitespace().filter_map(|b| u8::from_str_radix(b, 16).ok()));
        }
    }
    Some(found)
}
