//! One temporal key under one cipher, and opening a frame with it.

use slyfi_ciphers::ccmp::{Ccmp128Key, Ccmp256Key};
use slyfi_ciphers::danger::tkip::{self, MIC_LEN, TkipKey};
use slyfi_ciphers::danger::wep::WepKey;
use slyfi_ciphers::gcmp::GcmpKey;
use slyfi_ciphers::handshake::CipherSuite;
use slyfi_ciphers::{PacketKey, PacketOpened};
use slyfi_wire::ieee80211::MacHeader;

/// A key that frames can be tried with.
#[derive(Clone, Debug)]
pub(crate) enum FrameKey {
    Wep(WepKey),
    Tkip(TkipKey),
    /// The mixing key alone, as other tools print it: Michael is not checked.
    TkipMixing([u8; 16]),
    Ccmp128(Ccmp128Key),
    Ccmp256(Ccmp256Key),
    Gcmp128(GcmpKey),
    Gcmp256(GcmpKey),
}

/// A frame that opened.
#[derive(Debug)]
pub(crate) struct Plain {
    pub payload: Vec<u8>,
    pub key_id: u8,
    pub number: u64,
    pub cipher: &'static str,
}

impl FrameKey {
    /// Every cipher that `key` can be for: the named one only, if its length fits; else all whose
    /// keys have this length. TKIP's longer key is tried last, as its check is the weakest.
    pub fn candidates(key: &[u8], suite: Option<CipherSuite>) -> Vec<FrameKey> {
        let all: Vec<FrameKey> = match key.len() {
            5 | 13 => WepKey::new(key).map(FrameKey::Wep).into_iter().collect(),
            16 => {
                let key = key.try_into().expect("sixteen bytes");
                vec![
                    FrameKey::Ccmp128(Ccmp128Key::new(key)),
                    FrameKey::Gcmp128(GcmpKey::new_128(key)),
                    FrameKey::TkipMixing(*key),
                ]
            }
            32 => {
                let key = key.try_into().expect("thirty-two bytes");
                vec![
                    FrameKey::Ccmp256(Ccmp256Key::new(key)),
                    FrameKey::Gcmp256(GcmpKey::new_256(key)),
                    FrameKey::Tkip(TkipKey::new(key)),
                ]
            }
            _ => Vec::new(),
        };
        match suite {
            Some(suite) if all.iter().any(|k| k.suite() == suite) => {
                all.into_iter().filter(|k| k.suite() == suite).collect()
            }
            _ => all,
        }
    }

    fn suite(&self) -> CipherSuite {
        match self {
            FrameKey::Wep(_) => CipherSuite::Wep104,
            FrameKey::Tkip(_) | FrameKey::TkipMixing(_) => CipherSuite::Tkip,
            FrameKey::Ccmp128(_) => CipherSuite::Ccmp128,
            FrameKey::Ccmp256(_) => CipherSuite::Ccmp256,
            FrameKey::Gcmp128(_) => CipherSuite::Gcmp128,
            FrameKey::Gcmp256(_) => CipherSuite::Gcmp256,
        }
    }

    fn name(&self) -> &'static str {
        match self {
            FrameKey::Wep(_) => "WEP",
            FrameKey::TkipMixing(_) => "TKIP (Michael not checked)",
            other => other.suite().name(),
        }
    }

    /// Opens the body of a frame, if this is its key.
    pub fn open(&self, header: &MacHeader<'_>) -> Option<Plain> {
        let mut buf = header.body().to_vec();
        let bytes = header.bytes();
        let packet = match self {
            FrameKey::Wep(key) => {
                let iv =
                    buf.first_chunk::<3>().map(|[a, b, c]| u32::from_le_bytes([*a, *b, *c, 0]))?;
                let (key_id, opened) = key.open_any(&mut buf).ok()?;
                let payload = opened.payload(&buf).to_vec();
                let number = u64::from(iv);
                return Some(Plain { payload, key_id: key_id.get(), number, cipher: self.name() });
            }
            FrameKey::Tkip(key) => key.open_any(bytes, &mut buf).ok()?,
            FrameKey::TkipMixing(tk) => {
                let packet = tkip::open_mpdu(tk, bytes, &mut buf).ok()?;
                return self.without_michael(header, packet, &buf);
            }
            FrameKey::Ccmp128(key) => key.open_any(bytes, &mut buf).ok()?,
            FrameKey::Ccmp256(key) => key.open_any(bytes, &mut buf).ok()?,
            FrameKey::Gcmp128(key) | FrameKey::Gcmp256(key) => {
                key.open_any(bytes, &mut buf).ok()?
            }
        };
        Some(self.plain(packet, |p| p.opened.payload(&buf).to_vec()))
    }

    fn plain(&self, packet: PacketOpened, payload: impl FnOnce(&PacketOpened) -> Vec<u8>) -> Plain {
        let payload = payload(&packet);
        Plain {
            payload,
            key_id: packet.key_id.get(),
            number: packet.number.get(),
            cipher: self.name(),
        }
    }

    /// Cuts the Michael code off a whole payload; of a fragment nothing is cut.
    fn without_michael(
        &self,
        header: &MacHeader<'_>,
        packet: PacketOpened,
        buf: &[u8],
    ) -> Option<Plain> {
        let fragment = header.frame_control().has_more_fragments()
            || header.sequence().is_none_or(|s| s.fragment() != 0);
        let mut plain = self.plain(packet, |p| p.opened.payload(buf).to_vec());
        if !fragment {
            plain.payload.truncate(plain.payload.len().checked_sub(MIC_LEN)?);
        }
        Some(plain)
    }
}
