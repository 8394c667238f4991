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

/// How many transmitters the table shows: a capture full of forged addresses has a million of them.
const MAX_ROWS: usize = 100;

impl Report {
    /// One row for each transmitter, those with most protected frames if there are too many.
    fn transmitter_table(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.transmitters.is_empty() {
            return Ok(());
        }
        let mut shown: Vec<_> = self.transmitters.iter().collect();
        if shown.len() > MAX_ROWS {
            shown.sort_by_key(|(_, t)| std::cmp::Reverse(t.protected));
            shown.truncate(MAX_ROWS);
        }
        writeln!(f, "{:<17}  {:>9}  {:>7}  by / refused", "transmitter", "protected", "opened")?;
        for (address, t) in &shown {
            let ciphers = t.by_cipher.iter().map(|(cipher, n)| format!("{cipher} {n}"));
            let refused = t.refused.iter().map(|(why, n)| format!("{n} refused: {why}"));
            let repeated = (t.repeated > 0).then(|| format!("{} repeated", t.repeated));
            let notes: Vec<String> = ciphers.chain(repeated).chain(refused).collect();
            let (protected, opened) = (t.protected, t.opened);
            writeln!(f, "{address:<17}  {protected:>9}  {opened:>7}  {}", notes.join(", "))?;
        }
        match self.transmitters.len() - shown.len() {
            0 => Ok(()),
            more => writeln!(f, "and {more} transmitters more; JSON has them all"),
        }
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
        self.transmitter_table(f)?;
        let (protected, opened) = self.totals();
        writeln!(f, "{opened} of {protected} protected frames opened")
    }
}
