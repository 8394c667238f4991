//! One temporal key under one cipher, and opening a frame with it.

use slyfi_ciphers::ccmp::{Ccmp128Key, Ccmp256Key};
use slyfi_ciphers::danger::tkip::{self, MIC_LEN, TkipKey};
use slyfi_ciphers::danger::wep::WepKey;
use slyfi_ciphers::gcmp::GcmpKey;
use slyfi_ciphers::handshake::CipherSuite;
use slyfi_ciphers::{PacketKey, PacketOpened};
use slyfi_wire::ieee80211::MacHeader;

/// What a TKIP frame is called whose Michael code could not be checked: the keys for it are missing, or
/// the frame is a fragment, and the code covers the whole.
const UNCHECKED: &str = "TKIP (Michael not checked)";

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
    /// Of a TKIP fragment with whatever part of the Michael code it carries.
    pub payload: Vec<u8>,
    pub key_id: u8,
    pub number: u64,
    pub cipher: &'static str,
    /// Of a TKIP fragment: the key that knows the Michael keys.
    pub michael: Option<TkipKey>,
}

impl FrameKey {
    /// Every cipher that `key` can be for, by its length: the named one first. TKIP is tried last
    /// otherwise, as its check is the weakest.
    pub fn candidates(key: &[u8], suite: Option<CipherSuite>) -> Vec<FrameKey> {
        let mut all: Vec<FrameKey> = match key.len() {
            5 | 13 => WepKey::new(key).map(FrameKey::Wep).into_iter().collect(),
            16 => {
                let key = key.try_into().expect("sixteen bytes");
                vec![
                    FrameKey::Ccmp128(Ccmp128Key::new(key)),
                    FrameKey::Gcmp128(GcmpKey::new_128(key)),
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
        all.sort_by_key(|k| suite.is_some_and(|s| s != k.suite()));
        all
    }

    /// What a temporal key that somebody gave can be for: TKIP's may come without its Michael keys.
    pub fn given(key: &[u8]) -> Vec<FrameKey> {
        let mut all = Self::candidates(key, None);
        all.extend(key.try_into().ok().map(FrameKey::TkipMixing));
        all
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
            FrameKey::TkipMixing(_) => UNCHECKED,
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
                let (key_id, cipher) = (key_id.get(), self.name());
                return Some(Plain { payload, key_id, number, cipher, michael: None });
            }
            FrameKey::Tkip(key) => {
                let packet = key.open_any(bytes, &mut buf).ok()?;
                let mut plain = self.plain(packet, |p| p.opened.payload(&buf).to_vec());
                if is_fragment(header) {
                    plain.cipher = UNCHECKED;
                    plain.michael = Some(key.clone());
                }
                return Some(plain);
            }
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
            michael: None,
        }
    }

    /// Cuts the Michael code off a whole payload, or what the last fragment has of it.
    fn without_michael(
        &self,
        header: &MacHeader<'_>,
        packet: PacketOpened,
        buf: &[u8],
    ) -> Option<Plain> {
        let mut plain = self.plain(packet, |p| p.opened.payload(buf).to_vec());
        if !header.frame_control().has_more_fragments() {
            let cut = plain.payload.len().checked_sub(MIC_LEN);
            plain.payload.truncate(if is_fragment(header) { cut.unwrap_or(0) } else { cut? });
        }
        Some(plain)
    }
}

pub(super) fn is_fragment(header: &MacHeader<'_>) -> bool {
    header.frame_control().has_more_fragments()
        || header.sequence().is_none_or(|s| s.fragment() != 0)
}
