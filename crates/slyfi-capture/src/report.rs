//! What was protected, opened, refused and why: for people and as JSON.

use crate::engine::Refusal;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt;

/// The outcome of [`crate::decrypt()`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Report {
    /// One entry for each file, in order.
    pub files: Vec<FileReport>,
    /// One entry for each transmitter of protected frames, by address.
    pub transmitters: BTreeMap<String, TransmitterReport>,
    /// One entry for each pair of addresses that exchanged key messages.
    pub handshakes: Vec<HandshakeReport>,
}

/// What a file held.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct FileReport {
    /// Its path.
    pub path: String,
    /// Packets in it.
    pub packets: u64,
    /// 802.11 frames among them.
    pub frames: u64,
    /// Packets that an operating system had opened already (Ethernet, Linux cooked).
    pub not_wireless: u64,
    /// Packets whose capture header or link type could not be read.
    pub unreadable: u64,
    /// Frames too short for the header they begin.
    pub malformed: u64,
    /// Whether the file ended in the middle of something.
    pub is_cut: bool,
}

/// What one transmitter's protected frames came to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct TransmitterReport {
    /// Protected frames (and group-addressed management frames with an integrity element).
    pub protected: u64,
    /// Those that opened (or verified).
    pub opened: u64,
    /// Those that opened although a retransmission or a frame with a later number came before.
    pub repeated: u64,
    /// Opened frames by cipher.
    pub by_cipher: BTreeMap<&'static str, u64>,
    /// Refused frames by reason.
    pub refused: BTreeMap<Refusal, u64>,
}

/// What the key messages between two stations came to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct HandshakeReport {
    /// The authenticator (access point), or the initiator of a direct link.
    pub authenticator: String,
    /// The supplicant (station), or the responder.
    pub supplicant: String,
    /// The network's name, where the capture shows it.
    pub ssid: Option<String>,
    /// How often each message was seen: 4-way 1 to 4, group 1 and 2.
    pub messages: BTreeMap<&'static str, u64>,
    /// How often pairwise keys were derived: more than once means rekeys or new associations.
    pub pairwise_keys: usize,
    /// The pairwise cipher that was negotiated, where known.
    pub cipher: Option<&'static str>,
    /// The key management that was negotiated, where known.
    pub key_management: Option<&'static str>,
    /// What is missing, if no key was derived.
    pub missing: Option<&'static str>,
}

impl Report {
    /// Returns how many frames were protected, and how many of them opened.
    pub fn totals(&self) -> (u64, u64) {
        self.transmitters.values().fold((0, 0), |(p, o), t| (p + t.protected, o + t.opened))
    }

    /// Returns the report as JSON.
    ///
    /// # Panics
    /// Never: everything in it has a JSON form.
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).expect("strings, numbers and maps with string keys")
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for file in &self.files {
            write!(f, "{}: {} packets, {} frames", file.path, file.packets, file.frames)?;
            for (n, what) in [
                (file.not_wireless, "opened already by an operating system"),
                (file.unreadable, "with an unknown capture header"),
                (file.malformed, "malformed"),
            ] {
                if n > 0 {
                    write!(f, ", {n} {what}")?;
                }
            }
            writeln!(f, "{}", if file.is_cut { ", cut short" } else { "" })?;
        }
        for h in &self.handshakes {
            write!(f, "handshake {} -> {}", h.authenticator, h.supplicant)?;
            if let Some(ssid) = &h.ssid {
                write!(f, " \"{}\"", ssid.escape_debug())?;
            }
            for text in [h.key_management, h.cipher].into_iter().flatten() {
                write!(f, " {text}")?;
            }
            let seen: Vec<String> = h.messages.iter().map(|(m, n)| format!("{m} x{n}")).collect();
            write!(f, " [{}]", seen.join(", "))?;
            match h.missing {
                Some(missing) => writeln!(f, ": {missing}")?,
                None => writeln!(f, ": {} pairwise key(s)", h.pairwise_keys)?,
            }
        }
        for (address, t) in &self.transmitters {
            write!(f, "{address}: {} protected, {} opened", t.protected, t.opened)?;
            for (cipher, n) in &t.by_cipher {
                write!(f, ", {cipher} {n}")?;
            }
            for (refusal, n) in &t.refused {
                write!(f, ", {n} refused: {refusal}")?;
            }
            if t.repeated > 0 {
                write!(f, ", {} repeated", t.repeated)?;
            }
            writeln!(f)?;
        }
        let (protected, opened) = self.totals();
        writeln!(f, "{opened} of {protected} protected frames opened")
    }
}
