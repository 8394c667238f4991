//! Radiotap: the capture header in front of an 802.11 frame (radiotap.org; all little-endian).
//!
//! # Layout
//! `version 0 | pad | length u16 | present u32 [, present u32 ...] | fields`. Each present bit stands
//! for a field; fields are aligned to their own size *from the start of the header*. Bit 31 announces
//! another present word, bit 29 starts the radiotap namespace anew for the next word, bit 30 hands
//! the next word to a vendor, whose data has a length and is skipped.
//!
//! The length of the header always holds, so that the frame behind it can be found even where a
//! field is not known; parsing of fields stops there, because the place of the next is unknown.

use crate::{Malformed, NoSpace, Reader, Writer};
use slyfi_base::{Dbm, Rate, RxMeta};

/// The shortest header: version, pad, length, one present word.
pub const MIN_LEN: usize = 8;

/// Flags field: the frame's last four bytes are its frame check sequence.
pub const FLAG_FCS: u8 = 0x10;
/// Flags field: padding between the 802.11 header and body, to a multiple of four.
pub const FLAG_DATA_PAD: u8 = 0x20;
/// Flags field: the frame check sequence is bad.
pub const FLAG_BAD_FCS: u8 = 0x40;

/// TX flags field: do not wait for an acknowledgement, do not retry.
pub const TX_NO_ACK: u16 = 0x0008;
/// TX flags field: leave the sequence control as it is.
pub const TX_NO_SEQ: u16 = 0x0010;
/// TX flags field: do not reorder with other injected frames.
pub const TX_ORDER: u16 = 0x0020;

/// Present bits of the fields that are written here.
mod bit {
    pub const TSFT: u32 = 0;
    pub const FLAGS: u32 = 1;
    pub const RATE: u32 = 2;
    pub const CHANNEL: u32 = 3;
    pub const SIGNAL: u32 = 5;
    pub const NOISE: u32 = 6;
    pub const ANTENNA: u32 = 11;
    pub const TX_FLAGS: u32 = 15;
    pub const RADIOTAP_NAMESPACE: u32 = 29;
    pub const VENDOR_NAMESPACE: u32 = 30;
    pub const MORE: u32 = 31;
}

/// Alignment and size in bytes of the fields of bits 0 to 27 (radiotap.org, "Defined Fields").
const FIELDS: [(u8, u8); 28] = [
    (8, 8),  // TSFT
    (1, 1),  // Flags
    (1, 1),  // Rate
    (2, 4),  // Channel
    (2, 2),  // FHSS
    (1, 1),  // Antenna signal, dBm
    (1, 1),  // Antenna noise, dBm
    (2, 2),  // Lock quality
    (2, 2),  // TX attenuation
    (2, 2),  // TX attenuation, dB
    (1, 1),  // TX power, dBm
    (1, 1),  // Antenna
    (1, 1),  // Antenna signal, dB
    (1, 1),  // Antenna noise, dB
    (2, 2),  // RX flags
    (2, 2),  // TX flags
    (1, 1),  // RTS retries
    (1, 1),  // Data retries
    (4, 8),  // XChannel
    (1, 3),  // MCS
    (4, 8),  // A-MPDU status
    (2, 12), // VHT
    (8, 12), // Timestamp
    (2, 12), // HE
    (2, 12), // HE-MU
    (2, 6),  // HE-MU other user
    (1, 1),  // Zero-length PSDU
    (2, 4),  // L-SIG
];

/// Bytes of [`tx_header`].
pub const TX_HEADER_LEN: usize = 12;

/// Returns the header that goes in front of every injected frame: rate and TX flags, nothing else.
///
/// # Layout
/// `00 00 0c00 04800000 | rate | pad | TX flags` with NOACK, NOSEQ and ORDER, so that the card
/// neither retries nor counts (the sequence number of a card would link its frames).
pub const fn tx_header(rate: Rate) -> [u8; TX_HEADER_LEN] {
    let present = (1u32 << bit::RATE | 1 << bit::TX_FLAGS).to_le_bytes();
    let flags = (TX_NO_ACK | TX_NO_SEQ | TX_ORDER).to_le_bytes();
    let [p0, p1, p2, p3] = present;
    [0, 0, TX_HEADER_LEN as u8, 0, p0, p1, p2, p3, rate.0, 0, flags[0], flags[1]]
}

/// A channel as radiotap has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Channel {
    /// Centre frequency in MHz.
    pub frequency: u16,
    /// Kind of channel: [`Channel::A`] and others of radiotap's "Channel" field.
    pub flags: u16,
}

impl Channel {
    /// Flags of an 802.11a channel: 5 GHz, OFDM.
    pub const A: u16 = 0x0140;
    /// Flags of an 802.11g channel: 2.4 GHz, OFDM.
    pub const PURE_G: u16 = 0x00c0;
}

/// What a radiotap header says about a received frame. The first occurrence of a field counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct RxInfo {
    /// The receiver's microsecond counter when the first bit arrived.
    pub tsft: Option<u64>,
    /// The Flags field.
    pub flags: Option<u8>,
    /// Legacy rate; absent for HT and later.
    pub rate: Option<Rate>,
    /// Channel.
    pub channel: Option<Channel>,
    /// Signal at the antenna.
    pub signal: Option<Dbm>,
    /// Noise at the antenna.
    pub noise: Option<Dbm>,
    /// Antenna index.
    pub antenna: Option<u8>,
    /// HT rate: known mask, flags, index.
    pub mcs: Option<[u8; 3]>,
    /// TX flags: only present in the header of a frame that this host sent.
    pub tx_flags: Option<u16>,
    /// Whether every field was understood; otherwise those after the first unknown one are missing.
    pub complete: bool,
}

impl RxInfo {
    /// Returns whether this is a copy of an own transmission (drivers hand injected frames back).
    pub const fn is_own_echo(&self) -> bool {
        self.tx_flags.is_some()
    }

    /// Returns whether the radio found the frame check sequence bad.
    pub const fn is_bad_fcs(&self) -> bool {
        self.has_flag(FLAG_BAD_FCS)
    }

    /// Returns whether the frame ends with its frame check sequence.
    pub const fn has_fcs(&self) -> bool {
        self.has_flag(FLAG_FCS)
    }

    /// Returns whether padding follows the 802.11 header.
    pub const fn has_data_pad(&self) -> bool {
        self.has_flag(FLAG_DATA_PAD)
    }

    const fn has_flag(&self, flag: u8) -> bool {
        match self.flags {
            Some(flags) => flags & flag != 0,
            None => false,
        }
    }

    /// Returns the part of it that a link machine is told.
    pub const fn meta(&self) -> RxMeta {
        RxMeta { signal: self.signal, rate: self.rate, bad_fcs: self.is_bad_fcs() }
    }
}

/// A received packet: radiotap header and 802.11 frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Radiotap<'a> {
    header: &'a [u8],
    frame: &'a [u8],
    info: RxInfo,
}

impl<'a> Radiotap<'a> {
    /// Parses the header of `packet`.
    ///
    /// # Errors
    /// [`Malformed::Value`] for another version or a length below [`MIN_LEN`];
    /// [`Malformed::Truncated`] when the length is past the packet, or when present words, fields or
    /// the frame check sequence are past their end.
    pub fn new_checked(packet: &'a [u8]) -> Result<Self, Malformed> {
        let mut r = Reader::new(packet);
        if r.u8()? != 0 {
            return Err(Malformed::Value { offset: 0 });
        }
        r.u8()?;
        let length = usize::from(r.u16_le()?);
        if length < MIN_LEN {
            return Err(Malformed::Value { offset: 2 });
        }
        let (header, frame) = packet
            .split_at_checked(length)
            .ok_or(Malformed::Truncated { needed: length, actual: packet.len() })?;
        let info = parse_fields(header)?;
        let frame = if info.has_fcs() {
            let without = frame.len().checked_sub(4);
            without
                .and_then(|n| frame.get(..n))
                .ok_or(Malformed::Truncated { needed: length + 4, actual: packet.len() })?
        } else {
            frame
        };
        Ok(Radiotap { header, frame, info })
    }

    /// Returns what the header says.
    pub const fn info(&self) -> &RxInfo {
        &self.info
    }

    /// Returns the 802.11 frame, its frame check sequence removed.
    pub const fn frame(&self) -> &'a [u8] {
        self.frame
    }

    /// Returns the length of the header: where the frame begins.
    pub const fn header_len(&self) -> usize {
        self.header.len()
    }
}

/// Whose bits a present word holds.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Namespace {
    Radiotap,
    Vendor,
}

fn parse_fields(header: &[u8]) -> Result<RxInfo, Malformed> {
    let mut words = Reader::new(header);
    words.take(4)?;
    let mut fields = words.clone();
    while fields.u32_le()? & 1 << bit::MORE != 0 {}

    let mut info = RxInfo::default();
    let (mut namespace, mut first_bit) = (Namespace::Radiotap, 0);
    loop {
        let word = words.u32_le()?;
        if namespace == Namespace::Radiotap {
            for b in 0..bit::RADIOTAP_NAMESPACE {
                if word & 1 << b == 0 {
                    continue;
                }
                let Some(&(align, size)) = FIELDS.get((first_bit + b) as usize) else {
                    // A field (or TLVs, bit 28) of unknown length: what follows cannot be found.
                    return Ok(info);
                };
                align_to(&mut fields, usize::from(align))?;
                note(&mut info, first_bit + b, fields.take(usize::from(size))?);
            }
        }
        // Where neither bit is set, the next word goes on counting in the same namespace.
        first_bit += 32;
        if word & 1 << bit::VENDOR_NAMESPACE != 0 {
            // OUI, sub-namespace, length of all data that the vendor's bits stand for.
            align_to(&mut fields, 2)?;
            fields.take(4)?;
            let skip = fields.u16_le()?;
            fields.take(usize::from(skip))?;
            (namespace, first_bit) = (Namespace::Vendor, 0);
        }
        if word & 1 << bit::RADIOTAP_NAMESPACE != 0 {
            (namespace, first_bit) = (Namespace::Radiotap, 0);
        }
        if word & 1 << bit::MORE == 0 {
            info.complete = true;
            return Ok(info);
        }
    }
}

/// Skips to the next multiple of `align` from the start of the header.
fn align_to(fields: &mut Reader<'_>, align: usize) -> Result<(), Malformed> {
    let misplaced = fields.position() % align;
    if misplaced != 0 {
        fields.take(align - misplaced)?;
    }
    Ok(())
}

/// Keeps a field's value if it is the first of its kind and one of interest.
fn note(info: &mut RxInfo, field: u32, data: &[u8]) {
    let mut r = Reader::new(data);
    let byte = data.first().copied();
    match field {
        bit::TSFT => info.tsft = info.tsft.or(r.u64_le().ok()),
        bit::FLAGS => info.flags = info.flags.or(byte),
        bit::RATE => info.rate = info.rate.or(byte.map(Rate)),
        bit::CHANNEL => {
            if let (None, Ok(frequency), Ok(flags)) = (info.channel, r.u16_le(), r.u16_le()) {
                info.channel = Some(Channel { frequency, flags });
            }
        }
        bit::SIGNAL => info.signal = info.signal.or(byte.map(|b| Dbm(b.cast_signed()))),
        bit::NOISE => info.noise = info.noise.or(byte.map(|b| Dbm(b.cast_signed()))),
        bit::ANTENNA => info.antenna = info.antenna.or(byte),
        bit::TX_FLAGS => info.tx_flags = info.tx_flags.or(r.u16_le().ok()),
        19 => info.mcs = info.mcs.or(r.array().ok()),
        _ => {}
    }
}

/// The header in front of a frame in a capture that SlyFi writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct RxRepr {
    /// The medium's or receiver's microsecond counter.
    pub tsft: Option<u64>,
    /// [`FLAG_FCS`] and others.
    pub flags: u8,
    /// Legacy rate.
    pub rate: Option<Rate>,
    /// Channel.
    pub channel: Option<Channel>,
    /// Signal at the antenna.
    pub signal: Option<Dbm>,
}

impl RxRepr {
    /// The longest header that [`RxRepr::emit`] writes.
    pub const MAX_LEN: usize = 23;

    /// Returns the length of the header in bytes.
    pub const fn buffer_len(&self) -> usize {
        let mut n = MIN_LEN;
        if self.tsft.is_some() {
            n += 8;
        }
        n += 1;
        if self.rate.is_some() {
            n += 1;
        }
        if self.channel.is_some() {
            n = n.next_multiple_of(2) + 4;
        }
        if self.signal.is_some() {
            n += 1;
        }
        n
    }

    /// Writes the header.
    ///
    /// # Errors
    /// [`NoSpace`] when `buf` is shorter than [`RxRepr::buffer_len`].
    pub fn emit(&self, buf: &mut [u8]) -> Result<usize, NoSpace> {
        let len = self.buffer_len();
        let mut w = Writer::new(buf, len)?;
        let present = u32::from(self.tsft.is_some()) << bit::TSFT
            | 1 << bit::FLAGS
            | u32::from(self.rate.is_some()) << bit::RATE
            | u32::from(self.channel.is_some()) << bit::CHANNEL
            | u32::from(self.signal.is_some()) << bit::SIGNAL;
        w.u16_le(0);
        // At most MAX_LEN.
        w.u16_le(len as u16);
        w.u32_le(present);
        if let Some(tsft) = self.tsft {
            w.u64_le(tsft);
        }
        w.u8(self.flags);
        if let Some(rate) = self.rate {
            w.u8(rate.0);
        }
        if let Some(channel) = self.channel {
            w.align(2);
            w.u16_le(channel.frequency);
            w.u16_le(channel.flags);
        }
        if let Some(signal) = self.signal {
            w.u8(signal.0.cast_unsigned());
        }
        Ok(w.finish())
    }
}

#[cfg(test)]
mod tests;
