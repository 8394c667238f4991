//! The messages: clear ones with a pattern that the receiver checks, and the same ones sealed.
//!
//! # Layout
//! Integers big-endian. A clear message of n bytes, which is also what is inside a sealed one:
//!
//! | bytes | field |
//! |---|---|
//! | 4 | run |
//! | 4 | number: 0 … m − 1 from the server, 2³² − 1 a request |
//! | n − 8 | bytes i = 8 … n − 1: `7·i + 13` modulo 256 |
//!
//! A sealed message, n + 21 bytes (AES-128-CCM, M = 8, L = 2: CCMP's, bare-wireless-2016 §5.1):
//!
//! | bytes | field |
//! |---|---|
//! | 13 | nonce: direction (0 client, 1 server) ‖ salt, 8 random bytes of this run and end ‖ number of the seal, 4 |
//! | n | the message, encrypted |
//! | 8 | tag |
//!
//! Associated data, not sent: `slyfi-bare` ‖ run 4 ‖ m 4 ‖ n 4, and from the server also the 8 bytes
//! of the client's salt: a burst recorded in another run is not taken for this one's.

use super::{MIN_SIZE, Settings};
use slyfi_base::SecureRandom;
use slyfi_ciphers::ccm::{Ccm, Parameters};

/// The paper's CCM: an eight-byte tag, a two-byte length.
const PARAMETERS: Parameters = Parameters::CCMP_128;
const NONCE_LEN: usize = PARAMETERS.nonce_len();
const TAG_LEN: usize = PARAMETERS.tag_len();
const CONTEXT: &[u8; 10] = b"slyfi-bare";
const SALT_LEN: usize = 8;
const AAD_LEN: usize = CONTEXT.len() + 12 + SALT_LEN;

/// Bytes that sealing adds.
pub const SEALED_OVERHEAD: usize = NONCE_LEN + TAG_LEN;

/// The number of a request.
const REQUEST: u32 = u32::MAX;

/// A message of this run, as it came out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Packet {
    /// The client asks for a burst.
    Request,
    /// One message of a burst.
    Numbered(u32),
}

/// A message is not of this run, or not what was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refused;

/// What every message of one run looks like but for its number.
#[derive(Debug)]
pub struct Template {
    bytes: [u8; super::MAX_SIZE],
    size: usize,
}

impl Template {
    /// Makes the template of a run; sizes out of range are brought into it.
    pub fn new(settings: &Settings) -> Self {
        let size = settings.size.clamp(MIN_SIZE, super::MAX_SIZE);
        let mut bytes = [0; super::MAX_SIZE];
        for (i, byte) in bytes.iter_mut().enumerate() {
            *byte = (i as u8).wrapping_mul(7).wrapping_add(13);
        }
        bytes[..4].copy_from_slice(&settings.run.to_be_bytes());
        Template { bytes, size }
    }

    /// Returns n.
    pub const fn size(&self) -> usize {
        self.size
    }

    /// Writes a message over all of `out`, which has n bytes.
    pub fn write(&self, packet: Packet, out: &mut [u8]) {
        out.copy_from_slice(&self.bytes[..self.size]);
        let number = match packet {
            Packet::Request => REQUEST,
            Packet::Numbered(number) => number,
        };
        out[4..MIN_SIZE].copy_from_slice(&number.to_be_bytes());
    }

    /// Checks every byte of a message.
    ///
    /// # Errors
    /// [`Refused`] when it differs from what this run sends in anything but its number.
    pub fn read(&self, message: &[u8]) -> Result<Packet, Refused> {
        let (head, rest) = message.split_first_chunk::<MIN_SIZE>().ok_or(Refused)?;
        let [a, b, c, d, number @ ..] = *head;
        if [a, b, c, d] != self.bytes[..4] || rest != &self.bytes[MIN_SIZE..self.size] {
            return Err(Refused);
        }
        Ok(match u32::from_be_bytes(number) {
            REQUEST => Packet::Request,
            number => Packet::Numbered(number),
        })
    }
}

/// Who a sealed message is from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Direction {
    /// The client.
    Up = 0,
    /// The server.
    Down = 1,
}

/// The key and the associated data of one run.
#[derive(Debug)]
pub struct Run {
    ccm: Ccm,
    aad: [u8; AAD_LEN],
    aad_len: usize,
}

impl Run {
    /// Makes the one of the client's request.
    pub fn new(settings: &Settings) -> Self {
        let ccm =
            Ccm::new(&settings.key.reveal()[..], PARAMETERS).expect("the key has AES-128's length");
        let mut aad = [0; AAD_LEN];
        let words = [settings.run, settings.burst, settings.size as u32];
        let (context, rest) = aad.split_at_mut(CONTEXT.len());
        context.copy_from_slice(CONTEXT);
        for (field, word) in rest.chunks_exact_mut(4).zip(words) {
            field.copy_from_slice(&word.to_be_bytes());
        }
        Run { ccm, aad, aad_len: AAD_LEN - SALT_LEN }
    }

    /// Makes the one of the server's answers to the client with this salt.
    pub fn answering(settings: &Settings, salt: [u8; SALT_LEN]) -> Self {
        let mut run = Run::new(settings);
        run.aad[AAD_LEN - SALT_LEN..].copy_from_slice(&salt);
        run.aad_len = AAD_LEN;
        run
    }

    fn aad(&self) -> &[u8] {
        &self.aad[..self.aad_len]
    }
}

/// Seals the messages of one end.
#[derive(Debug)]
pub struct Sealer {
    nonce: [u8; NONCE_LEN],
    sealed: u32,
}

impl Sealer {
    /// Draws this run's salt.
    ///
    /// # Security
    /// Nonces are this salt and a counter, so two runs under one key collide only if 64 random bits
    /// do.
    pub fn new<R: SecureRandom + ?Sized>(direction: Direction, rng: &mut R) -> Self {
        let mut nonce = [0; NONCE_LEN];
        nonce[0] = direction as u8;
        rng.fill(&mut nonce[1..9]);
        Sealer { nonce, sealed: 0 }
    }

    /// Returns the salt.
    pub fn salt(&self) -> [u8; SALT_LEN] {
        let mut salt = [0; SALT_LEN];
        salt.copy_from_slice(&self.nonce[1..9]);
        salt
    }

    /// Writes a sealed message over all of `out`, which has n + [`SEALED_OVERHEAD`] bytes.
    ///
    /// # Panics
    /// After 2³² messages, or if `out` has another length.
    pub fn seal(&mut self, run: &Run, template: &Template, packet: Packet, out: &mut [u8]) {
        self.nonce[9..].copy_from_slice(&self.sealed.to_be_bytes());
        self.sealed = self.sealed.checked_add(1).expect("a nonce would come twice");
        let (nonce, rest) = out.split_at_mut(NONCE_LEN);
        let (data, tag) = rest.split_at_mut(template.size());
        nonce.copy_from_slice(&self.nonce);
        template.write(packet, data);
        run.ccm
            .seal_in_place(&self.nonce, run.aad(), data, tag)
            .expect("nonce, tag and message have CCMP's lengths");
    }
}

/// Opens the messages of the other end, each at most once.
#[derive(Debug)]
pub struct Opener {
    direction: Direction,
    /// Of the first message that verified: all others of this run have the same.
    salt: Option<[u8; SALT_LEN]>,
    /// The number that the next seal has at least.
    next: u32,
}

impl Opener {
    /// Makes one for messages from this direction.
    pub const fn new(direction: Direction) -> Self {
        Opener { direction, salt: None, next: 0 }
    }

    /// Returns the other end's salt, once a message has verified.
    pub const fn salt(&self) -> Option<[u8; SALT_LEN]> {
        self.salt
    }

    /// Verifies and decrypts a message in place.
    ///
    /// # Errors
    /// [`Refused`]: forged, replayed, reflected, of another run or not a message at all.
    pub fn open(
        &mut self,
        run: &Run,
        template: &Template,
        message: &mut [u8],
    ) -> Result<Packet, Refused> {
        if message.len() != template.size() + SEALED_OVERHEAD {
            return Err(Refused);
        }
        let (nonce, rest) = message.split_first_chunk_mut::<NONCE_LEN>().ok_or(Refused)?;
        let (data, tag) = rest.split_at_mut(template.size());
        let [direction, salt @ .., a, b, c, d] = *nonce;
        let number = u32::from_be_bytes([a, b, c, d]);
        let known = self.salt.is_none_or(|s| s == salt);
        if direction != self.direction as u8 || !known || number < self.next {
            return Err(Refused);
        }
        run.ccm.open_in_place(nonce, run.aad(), data, tag).map_err(|_| Refused)?;
        let packet = template.read(data)?;
        self.salt = Some(salt);
        self.next = number.saturating_add(1);
        Ok(packet)
    }
}
