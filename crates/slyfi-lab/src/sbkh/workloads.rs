//! What is measured: batches of packets, sealed or opened by each cipher.

use super::core::{CcmpCore, SbkhCore, TableCore, TkipCore, WepCore, rekeyed, wep};
use crate::measure::Workload;
use serde::Serialize;
use slyfi_aes::{Backend, CcmKey};
use slyfi_base::{LinkCipher, OpenHalf, SealHalf};
use slyfi_ciphers::KeyId;
use slyfi_ciphers::ccmp::{Ccmp128, Ccmp128Key};
use slyfi_ciphers::danger::rc4::Rc4;
use slyfi_ciphers::danger::sbkh::{BaseKeyPair, BaseKeys, Direction, Parameters, Sbkh};
use slyfi_ciphers::danger::tkip::{Tkip, TkipKey};
use slyfi_ciphers::danger::wep::Wep;

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
pub(super) const HEADER: [u8; 24] = [
    0x08, 0x41, 0x2c, 0x00, 2, 0, 0, 0, 0, 0xa, 2, 0, 0, 0, 0, 0xb, 2, 0, 0, 0, 0, 0xc, 0x10, 0x00,
];
pub(super) const KEY: [u8; 16] =
    *b"\x1f\x8a\x05\xc3\x77\x40\xee\x92\x6b\xd1\x0e\x5c\x33\xfa\x81\x64";

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
        (Level::Core, Cipher::Wep) => pick(WepCore::new(), operation, size),
        (Level::Core, Cipher::Wpa1) => pick(TkipCore::new(), operation, size),
        (Level::Core, Cipher::Wpa2Tables) => pick(TableCore::new(), operation, size),
        (Level::Core, Cipher::Wpa2Software) => {
            pick(CcmpCore::new(ccm(Backend::Portable)), operation, size)
        }
        (Level::Core, Cipher::Wpa2Hardware) => {
            pick(CcmpCore::new(ccm(Backend::AesNi)), operation, size)
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
pub(super) trait Protection: Clone {
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
    use slyfi_ciphers::PacketKey;

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
