//! What the paper modelled of each cipher (§IV), made of this project's parts.

use super::period::{TableAes, TableCcm};
use super::workloads::{HEADER, KEY, Protection};
use slyfi_ciphers::ccmp::Ccmp128Key;
use slyfi_ciphers::crc32::crc32;
use slyfi_ciphers::danger::rc4::Rc4;
use slyfi_ciphers::danger::sbkh::Parameters;
use slyfi_ciphers::danger::tkip::TkipKey;
use slyfi_ciphers::danger::tkip::mixing::Ttak;
use slyfi_ciphers::danger::wep::WepKey;
use slyfi_ciphers::{KeyId, PacketKey, PacketNumber};

#[derive(Clone)]
pub(super) struct WepCore {
    key: WepKey,
    iv: u32,
}

pub(super) fn wep() -> WepKey {
    WepKey::new(&KEY[..13]).expect("WEP-104 takes thirteen bytes")
}

impl WepCore {
    pub(super) fn new() -> Self {
        WepCore { key: wep(), iv: 0 }
    }
}

impl Protection for WepCore {
    const HEADROOM: usize = 4;

    fn seal(&mut self, buf: &mut [u8], len: usize) -> Option<usize> {
        self.iv = self.iv.wrapping_add(1);
        let [a, b, c, _] = self.iv.to_le_bytes();
        self.key.seal_at([a, b, c], KeyId::PAIRWISE, buf, len)
    }

    fn open(&mut self, buf: &mut [u8]) -> bool {
        self.key.open_any(buf).is_ok()
    }
}

fn next(number: &mut u64) -> PacketNumber {
    *number += 1;
    PacketNumber::new(*number).expect("fewer than 2^48 packets are measured")
}

/// TKIP with phase 1 of the mixing done, as for 65535 of 65536 packets, when it seals. Its opening
/// runs phase 1, because a key that keeps nothing has nowhere to keep it.
#[derive(Clone)]
pub(super) struct TkipCore {
    key: TkipKey,
    ttak: Ttak,
    number: u64,
}

impl TkipCore {
    pub(super) fn new() -> Self {
        let key = TkipKey::new(&std::array::from_fn(|i| KEY[i % 16] ^ i as u8));
        let transmitter = std::array::from_fn(|i| HEADER[10 + i]);
        let ttak = key.phase1(transmitter, next(&mut 0));
        // The low 16 bits of the number must not wrap round under one phase 1.
        TkipCore { key, ttak, number: 0 }
    }
}

impl Protection for TkipCore {
    const HEADROOM: usize = 8;

    fn seal(&mut self, buf: &mut [u8], len: usize) -> Option<usize> {
        self.number = (self.number + 1) & 0xffff;
        let number = PacketNumber::new(self.number)?;
        self.key.seal_at(&self.ttak, number, KeyId::PAIRWISE, &HEADER, buf, len)
    }

    fn open(&mut self, buf: &mut [u8]) -> bool {
        self.key.open_any(&HEADER, buf).is_ok()
    }
}

#[derive(Clone)]
pub(super) struct CcmpCore {
    key: Ccmp128Key,
    number: u64,
}

impl CcmpCore {
    pub(super) const fn new(key: Ccmp128Key) -> Self {
        CcmpCore { key, number: 0 }
    }
}

impl Protection for CcmpCore {
    const HEADROOM: usize = 8;

    fn seal(&mut self, buf: &mut [u8], len: usize) -> Option<usize> {
        self.key.seal_at(next(&mut self.number), KeyId::PAIRWISE, &HEADER, buf, len)
    }

    fn open(&mut self, buf: &mut [u8]) -> bool {
        self.key.open_any(&HEADER, buf).is_ok()
    }
}

/// CCMP over 2004's AES. The header's part of the associated data is made once, which is in WPA 2.0's
/// favour, as the paper's own simplifications were (§IV).
#[derive(Clone)]
pub(super) struct TableCore {
    ccm: TableCcm,
    number: u64,
}

impl TableCore {
    pub(super) fn new() -> Self {
        TableCore { ccm: TableCcm(TableAes::new(&KEY)), number: 0 }
    }
}

/// What CCMP authenticates of [`HEADER`] (IEEE 802.11-2020 §12.5.3.3.3): no duration, no sequence
/// number.
const AAD: [u8; 22] =
    [0x08, 0x41, 2, 0, 0, 0, 0, 0xa, 2, 0, 0, 0, 0, 0xb, 2, 0, 0, 0, 0, 0xc, 0, 0];

fn nonce(number: [u8; 6]) -> [u8; 13] {
    std::array::from_fn(|i| match i {
        0 => 0,
        1..=6 => HEADER[9 + i],
        _ => number[i - 7],
    })
}

impl Protection for TableCore {
    const HEADROOM: usize = 8;

    fn seal(&mut self, buf: &mut [u8], len: usize) -> Option<usize> {
        let n = next(&mut self.number).to_be_bytes();
        let (front, rest) = buf.split_at_mut_checked(8)?;
        let (data, tag) = rest.split_at_mut_checked(len)?;
        front.copy_from_slice(&[n[5], n[4], 0, 0x20, n[3], n[2], n[1], n[0]]);
        tag.copy_from_slice(&self.ccm.seal(&nonce(n), &AAD, data));
        Some(8 + len + 8)
    }

    fn open(&mut self, buf: &mut [u8]) -> bool {
        let Some(([p0, p1, _, _, p2, p3, p4, p5], rest)) = buf.split_first_chunk_mut::<8>() else {
            return false;
        };
        let n = [*p5, *p4, *p3, *p2, *p1, *p0];
        let Some((data, tag)) = rest.split_last_chunk_mut::<8>() else { return false };
        self.ccm.open(&nonce(n), &AAD, data, tag)
    }
}

/// SBKH as §IV measured it: a CRC for each packet and the keystream carried on. KSA and I-Offset come
/// once for a million packets and are measured by themselves.
#[derive(Clone)]
pub(super) struct SbkhCore {
    stream: Rc4,
    counter: u32,
}

impl SbkhCore {
    pub(super) fn new() -> Self {
        SbkhCore { stream: rekeyed(), counter: 0 }
    }
}

/// What SBKH does when its base key changes: KSA, and I-Offset bytes discarded.
pub(super) fn rekeyed() -> Rc4 {
    let mut stream = Rc4::new(&[&KEY]);
    stream.skip(u64::from(Parameters::PAPER_I_OFFSET));
    stream
}

impl Protection for SbkhCore {
    const HEADROOM: usize = 4;

    fn seal(&mut self, buf: &mut [u8], len: usize) -> Option<usize> {
        let (front, rest) = buf.get_mut(..4 + len + 4)?.split_at_mut_checked(4)?;
        let [_, a, b, c] = self.counter.to_be_bytes();
        self.counter = (self.counter + 1) & 0x00ff_ffff;
        front.copy_from_slice(&[a, b, c, 0]);
        let (payload, icv) = rest.split_last_chunk_mut::<4>()?;
        *icv = crc32(payload).to_le_bytes();
        self.stream.apply(rest);
        Some(4 + len + 4)
    }

    fn open(&mut self, buf: &mut [u8]) -> bool {
        let Some(([a, b, c, _], rest)) = buf.split_first_chunk_mut::<4>() else { return false };
        if u32::from_be_bytes([0, *a, *b, *c]) != self.counter {
            return false;
        }
        self.counter = (self.counter + 1) & 0x00ff_ffff;
        self.stream.apply(rest);
        let Some((payload, icv)) = rest.split_last_chunk::<4>() else { return false };
        crc32(payload).to_le_bytes() == *icv
    }
}
