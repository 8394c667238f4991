//! What is measured: batches of packets, sealed or opened by each cipher.

use super::period::{TableAes, TableCcm};
use crate::measure::Workload;
use serde::Serialize;
use slyfi_aes::{Backend, CcmKey};
use slyfi_base::{LinkCipher, OpenHalf, SealHalf};
use slyfi_ciphers::ccmp::{Ccmp128, Ccmp128Key};
use slyfi_ciphers::crc32::crc32;
use slyfi_ciphers::danger::rc4::Rc4;
use slyfi_ciphers::danger::sbkh::{BaseKeyPair, BaseKeys, Direction, Parameters, Sbkh};
use slyfi_ciphers::danger::tkip::mixing::Ttak;
use slyfi_ciphers::danger::tkip::{Tkip, TkipKey};
use slyfi_ciphers::danger::wep::{Wep, WepKey};
use slyfi_ciphers::{KeyId, PacketKey, PacketNumber};

/// The protections that the paper compares; WPA 2.0 three times, by the AES under it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Cipher {
    /// WEP-104.
    Wep,
    /// WPA 1.0: TKIP.
    Wpa1,
    /// WPA 2.0: CCMP-128, AES with tables as in 2004.
    Wpa2Tables,
    /// The same with constant-time software AES.
    Wpa2Software,
    /// The same with the processor's AES instructions.
    Wpa2Hardware,
    /// SBKH.
    Sbkh,
}

impl Cipher {
    /// All that this machine can run.
    pub fn available() -> Vec<Cipher> {
        let mut all = vec![Cipher::Wep, Cipher::Wpa1, Cipher::Wpa2Tables, Cipher::Wpa2Software];
        if Backend::AesNi.is_available() {
            all.push(Cipher::Wpa2Hardware);
        }
        all.push(Cipher::Sbkh);
        all
    }

    /// What tables and plots call it.
    pub const fn name(self) -> &'static str {
        match self {
            Cipher::Wep => "WEP",
            Cipher::Wpa1 => "WPA 1.0 (TKIP)",
            Cipher::Wpa2Tables => "WPA 2.0 (CCMP), AES tables",
            Cipher::Wpa2Software => "WPA 2.0, constant-time AES",
            Cipher::Wpa2Hardware => "WPA 2.0, AES instructions",
            Cipher::Sbkh => "SBKH",
        }
    }

    /// Bytes that it adds to a packet.
    pub const fn overhead(self) -> usize {
        let o = match self {
            Cipher::Wep => <Wep as LinkCipher>::OVERHEAD,
            Cipher::Wpa1 => <Tkip as LinkCipher>::OVERHEAD,
            Cipher::Wpa2Tables | Cipher::Wpa2Software | Cipher::Wpa2Hardware => {
                <Ccmp128 as LinkCipher>::OVERHEAD
            }
            Cipher::Sbkh => <Sbkh as LinkCipher>::OVERHEAD,
        };
        o.headroom + o.tailroom
    }
}

/// How much of a protection is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// What the paper modelled: state initialisation, integrity value, IV, encryption (§IV).
    Core,
    /// A whole link cipher: also counters, replay windows, key identifiers and, for SBKH, the state
    /// kept for retransmissions and epochs.
    Whole,
}

impl Level {
    /// What tables call it.
    pub const fn name(self) -> &'static str {
        match self {
            Level::Core => "core",
            Level::Whole => "whole",
        }
    }
}

/// What is done to a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Operation {
    /// Encryption.
    Seal,
    /// Decryption, with all its checks.
    Open,
}

/// A data frame from a station, not QoS, as in 2004.
const HEADER: [u8; 24] = [
    0x08, 0x41, 0x2c, 0x00, 2, 0, 0, 0, 0, 0xa, 2, 0, 0, 0, 0, 0xb, 2, 0, 0, 0, 0, 0xc, 0x10, 0x00,
];
const KEY: [u8; 16] = *b"\x1f\x8a\x05\xc3\x77\x40\xee\x92\x6b\xd1\x0e\x5c\x33\xfa\x81\x64";

/// Returns the batch of `packets` packets of `payload` bytes for one cipher, level and operation;
/// `None` for a whole link cipher of 2004's AES, which was made only to be measured.
pub fn batch(
    cipher: Cipher,
    level: Level,
    operation: Operation,
    payload: usize,
    packets: usize,
) -> Option<Box<dyn Workload>> {
    let ccm = |backend| Ccmp128Key::with_key(CcmKey::on(backend, &KEY));
    let size = Size { payload, packets, overhead: cipher.overhead() };
    Some(match (level, cipher) {
        (Level::Core, Cipher::Wep) => pick(WepCore { key: wep(), iv: 0 }, operation, size),
        (Level::Core, Cipher::Wpa1) => pick(TkipCore::new(), operation, size),
        (Level::Core, Cipher::Wpa2Tables) => pick(TableCore::new(), operation, size),
        (Level::Core, Cipher::Wpa2Software) => {
            pick(CcmpCore { key: ccm(Backend::Portable), number: 0 }, operation, size)
        }
        (Level::Core, Cipher::Wpa2Hardware) => {
            pick(CcmpCore { key: ccm(Backend::AesNi), number: 0 }, operation, size)
        }
        (Level::Core, Cipher::Sbkh) => pick(SbkhCore::new(), operation, size),
        (Level::Whole, Cipher::Wep) => {
            whole(|| Wep::new(wep(), KeyId::PAIRWISE, 0), operation, size)
        }
        (Level::Whole, Cipher::Wpa1) => {
            whole(|| Tkip::new(TkipKey::new(&[7; 32]), KeyId::PAIRWISE), operation, size)
        }
        (Level::Whole, Cipher::Wpa2Tables) => return None,
        (Level::Whole, Cipher::Wpa2Software) => {
            whole(|| Ccmp128::new(ccm(Backend::Portable), KeyId::PAIRWISE), operation, size)
        }
        (Level::Whole, Cipher::Wpa2Hardware) => {
            whole(|| Ccmp128::new(ccm(Backend::AesNi), KeyId::PAIRWISE), operation, size)
        }
        (Level::Whole, Cipher::Sbkh) => whole_sbkh(operation, size),
    })
}

#[derive(Clone, Copy)]
struct Size {
    payload: usize,
    packets: usize,
    overhead: usize,
}

/// One cipher's two operations on a packet.
trait Protection: Clone {
    const HEADROOM: usize;
    fn seal(&mut self, buf: &mut [u8], len: usize) -> Option<usize>;
    fn open(&mut self, buf: &mut [u8]) -> bool;
}

fn pick<P: Protection + 'static>(p: P, operation: Operation, size: Size) -> Box<dyn Workload> {
    let Size { payload, packets, overhead } = size;
    let clear: Vec<u8> = (0..payload).map(|i| (i * 167 + 13) as u8).collect();
    let room = vec![vec![0; payload + overhead]; packets];
    match operation {
        Operation::Seal => {
            let packets = room
                .into_iter()
                .map(|mut buf| {
                    buf[P::HEADROOM..P::HEADROOM + payload].copy_from_slice(&clear);
                    buf
                })
                .collect();
            Box::new(Sealing { protection: p, packets, payload })
        }
        Operation::Open => {
            let mut sealer = p.clone();
            let sealed: Vec<Vec<u8>> = room
                .into_iter()
                .map(|mut buf| {
                    buf[P::HEADROOM..P::HEADROOM + payload].copy_from_slice(&clear);
                    let sealed = sealer.seal(&mut buf, payload);
                    assert_eq!(sealed, Some(buf.len()), "the packet fits its buffer");
                    buf
                })
                .collect();
            Box::new(Opening { start: p.clone(), protection: p, work: sealed.clone(), sealed })
        }
    }
}

struct Sealing<P> {
    protection: P,
    packets: Vec<Vec<u8>>,
    payload: usize,
}

impl<P: Protection> Workload for Sealing<P> {
    /// What is in the buffers makes no difference to the cost: they are sealed again as they are.
    fn prepare(&mut self) {}

    fn run(&mut self) {
        for buf in &mut self.packets {
            assert!(self.protection.seal(buf, self.payload).is_some(), "numbers are left");
        }
    }

    fn operations(&self) -> u32 {
        self.packets.len() as u32
    }
}

struct Opening<P> {
    start: P,
    protection: P,
    sealed: Vec<Vec<u8>>,
    work: Vec<Vec<u8>>,
}

impl<P: Protection> Workload for Opening<P> {
    fn prepare(&mut self) {
        self.protection = self.start.clone();
        for (to, from) in self.work.iter_mut().zip(&self.sealed) {
            to.copy_from_slice(from);
        }
    }

    fn run(&mut self) {
        for buf in &mut self.work {
            assert!(self.protection.open(buf), "what was sealed opens");
        }
    }

    fn operations(&self) -> u32 {
        self.work.len() as u32
    }
}

#[derive(Clone)]
struct WepCore {
    key: WepKey,
    iv: u32,
}

fn wep() -> WepKey {
    WepKey::new(&KEY[..13]).expect("WEP-104 takes thirteen bytes")
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
struct TkipCore {
    key: TkipKey,
    ttak: Ttak,
    number: u64,
}

impl TkipCore {
    fn new() -> Self {
        let key = TkipKey::new(&core::array::from_fn(|i| KEY[i % 16] ^ i as u8));
        let transmitter = core::array::from_fn(|i| HEADER[10 + i]);
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
struct CcmpCore {
    key: Ccmp128Key,
    number: u64,
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
struct TableCore {
    ccm: TableCcm,
    number: u64,
}

impl TableCore {
    fn new() -> Self {
        TableCore { ccm: TableCcm(TableAes::new(&KEY)), number: 0 }
    }
}

/// What CCMP authenticates of [`HEADER`] (IEEE 802.11-2020 §12.5.3.3.3): no duration, no sequence
/// number.
const AAD: [u8; 22] =
    [0x08, 0x41, 2, 0, 0, 0, 0, 0xa, 2, 0, 0, 0, 0, 0xb, 2, 0, 0, 0, 0, 0xc, 0, 0];

fn nonce(number: [u8; 6]) -> [u8; 13] {
    core::array::from_fn(|i| match i {
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
struct SbkhCore {
    stream: Rc4,
    counter: u32,
}

impl SbkhCore {
    fn new() -> Self {
        SbkhCore { stream: rekeyed(), counter: 0 }
    }
}

/// What SBKH does when its base key changes: KSA, and I-Offset bytes discarded.
fn rekeyed() -> Rc4 {
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

/// Both halves of a link cipher.
#[derive(Clone)]
struct Halves<S, O> {
    seal: S,
    open: O,
}

/// The headroom is a constant of the cipher, which the halves no longer know.
#[derive(Clone)]
struct WholeLink<S, O, const HEADROOM: usize>(Halves<S, O>);

impl<S: SealHalf + Clone, O: OpenHalf + Clone, const HEADROOM: usize> Protection
    for WholeLink<S, O, HEADROOM>
{
    const HEADROOM: usize = HEADROOM;

    fn seal(&mut self, buf: &mut [u8], len: usize) -> Option<usize> {
        self.0.seal.seal(&HEADER, buf, len).ok()
    }

    fn open(&mut self, buf: &mut [u8]) -> bool {
        self.0.open.open(&HEADER, buf).is_ok()
    }
}

fn whole<C: LinkCipher>(make: impl Fn() -> C, operation: Operation, size: Size) -> Box<dyn Workload>
where
    C::Seal: Clone + 'static,
    C::Open: Clone + 'static,
{
    let (seal, open) = make().split();
    by_headroom::<C, _, _>(Halves { seal, open }, operation, size)
}

fn by_headroom<C: LinkCipher, S, O>(
    halves: Halves<S, O>,
    operation: Operation,
    size: Size,
) -> Box<dyn Workload>
where
    S: SealHalf + Clone + 'static,
    O: OpenHalf + Clone + 'static,
{
    match C::OVERHEAD.headroom {
        4 => pick(WholeLink::<S, O, 4>(halves), operation, size),
        _ => pick(WholeLink::<S, O, 8>(halves), operation, size),
    }
}

/// SBKH's two directions have two keystreams: what one end seals the other opens.
fn whole_sbkh(operation: Operation, size: Size) -> Box<dyn Workload> {
    let end = |sends| {
        let keys = BaseKeys::Fixed(BaseKeyPair::new(KEY, [9; 16]));
        Sbkh::new(keys, Parameters::default(), sends).split()
    };
    let ((seal, _), (_, open)) = (end(Direction::Uplink), end(Direction::Downlink));
    by_headroom::<Sbkh, _, _>(Halves { seal, open }, operation, size)
}

/// RC4's parts by themselves: KSA, 2048 bytes of PRGA, and SBKH's change of base key.
pub fn rc4_parts() -> [Box<dyn Workload>; 3] {
    [
        Box::new(Part(|_: &mut Rc4| drop(std::hint::black_box(Rc4::new(&[&KEY]))), rekeyed(), 64)),
        Box::new(Part(|s: &mut Rc4| s.apply(&mut [0; PRGA_BYTES]), rekeyed(), 4)),
        Box::new(Part(|s: &mut Rc4| *s = rekeyed(), rekeyed(), 4)),
    ]
}

/// Bytes of keystream in an operation of the second of [`rc4_parts`].
pub const PRGA_BYTES: usize = 2048;

struct Part<F>(F, Rc4, u32);

impl<F: FnMut(&mut Rc4)> Workload for Part<F> {
    fn prepare(&mut self) {}

    fn run(&mut self) {
        for _ in 0..self.2 {
            (self.0)(&mut self.1);
        }
    }

    fn operations(&self) -> u32 {
        self.2
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_cipher_seals_and_opens_what_was_sealed() {
        for cipher in Cipher::available() {
            for level in [Level::Core, Level::Whole] {
                for operation in [Operation::Seal, Operation::Open] {
                    for payload in [16, 200, 2048] {
                        let Some(mut w) = batch(cipher, level, operation, payload, 3) else {
                            assert_eq!((cipher, level), (Cipher::Wpa2Tables, Level::Whole));
                            continue;
                        };
                        for _ in 0..3 {
                            w.prepare();
                            w.run();
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn a_changed_packet_does_not_open() {
        let mut p = SbkhCore::new();
        let mut q = p.clone();
        let mut buf = [0; 4 + 16 + 4];
        p.seal(&mut buf, 16).unwrap();
        buf[9] ^= 1;
        assert!(!q.open(&mut buf));
        let mut t = TableCore::new();
        let mut buf = [0; 8 + 16 + 8];
        t.seal(&mut buf, 16).unwrap();
        buf[9] ^= 1;
        assert!(!t.open(&mut buf));
    }

    #[test]
    fn the_cipher_of_2004_is_ccmp() {
        let mut old = TableCore::new();
        let new = Ccmp128Key::with_key(CcmKey::on(Backend::Portable, &KEY));
        let mut buf = [0x5a; 8 + 33 + 8];
        old.seal(&mut buf, 33).unwrap();
        assert!(new.open_any(&HEADER, &mut buf).is_ok());
    }
}
