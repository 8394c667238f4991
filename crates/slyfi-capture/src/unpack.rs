//! Compressed captures: gzip is opened on the way, others are named.

use flate2::read::MultiGzDecoder;
use std::io::{self, Cursor, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A stream whose first bytes were looked at.
pub(crate) enum Unpacked<R: Read> {
    /// As it was.
    Plain(Front<R>),
    /// Opened on the way.
    Gzip(Box<MultiGzDecoder<Front<R>>>, Damage),
}

pub(crate) type Front<R> = io::Chain<Cursor<Vec<u8>>, R>;

/// Set when a compressed stream ended too early or made no sense.
#[derive(Clone, Debug, Default)]
pub(crate) struct Damage(Arc<AtomicBool>);

impl Damage {
    pub fn is_there(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// What a stream turned out to be.
pub(crate) enum Looked<R: Read> {
    Stream(Unpacked<R>, Damage),
    /// Compressed in a way that is not opened here, by this program.
    Other(&'static str),
}

/// Looks at the first bytes (gzip: RFC 1952 §2.3.1; the others by their formats' magic numbers).
pub(crate) fn look<R: Read>(mut stream: R) -> io::Result<Looked<R>> {
    let mut first = Vec::new();
    stream.by_ref().take(6).read_to_end(&mut first)?;
    let other = match first.as_slice() {
        [0x28, 0xb5, 0x2f, 0xfd, ..] => Some("zstd"),
        [0xfd, b'7', b'z', b'X', b'Z', 0] => Some("xz"),
        [b'B', b'Z', b'h', ..] => Some("bzip2"),
        [0x04, 0x22, 0x4d, 0x18, ..] => Some("lz4"),
        [b'P', b'K', 3, 4, ..] => Some("zip"),
        _ => None,
    };
    if let Some(program) = other {
        return Ok(Looked::Other(program));
    }
    let is_gzip = first.starts_with(&[0x1f, 0x8b]);
    let front = Cursor::new(first).chain(stream);
    let damage = Damage::default();
    let unpacked = if is_gzip {
        Unpacked::Gzip(Box::new(MultiGzDecoder::new(front)), damage.clone())
    } else {
        Unpacked::Plain(front)
    };
    Ok(Looked::Stream(unpacked, damage))
}

/// Reads the first block of a capture and puts it in front again: whoever takes the capture apart wants
/// it whole, and a pipe may bring the first bytes one by one.
pub(crate) fn with_first_block<R: Read>(mut stream: R) -> io::Result<Front<R>> {
    /// What a pcap file begins with, and the least that a pcapng file does (24 and 28 bytes).
    const LEAST: u64 = 28;
    const PCAPNG: [u8; 4] = [0x0a, 0x0d, 0x0d, 0x0a];
    let mut first = Vec::new();
    stream.by_ref().take(LEAST).read_to_end(&mut first)?;
    if let [magic @ .., l0, l1, l2, l3, o0, _, _, _] = first.get(..12).unwrap_or(&[])
        && *magic == PCAPNG
    {
        let len = [*l0, *l1, *l2, *l3];
        // The byte order magic, 0x1a2b3c4d.
        let len = if *o0 == 0x4d { u32::from_le_bytes(len) } else { u32::from_be_bytes(len) };
        let rest = u64::from(len).saturating_sub(LEAST).min(MAX_FIRST_BLOCK);
        stream.by_ref().take(rest).read_to_end(&mut first)?;
    }
    Ok(Cursor::new(first).chain(stream))
}

/// The longest section header that is waited for.
const MAX_FIRST_BLOCK: u64 = 1 << 15;

impl<R: Read> Read for Unpacked<R> {
    /// Damage in a compressed stream ends it, as a capture that was cut off ends.
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        use io::ErrorKind::{InvalidData, InvalidInput, UnexpectedEof};
        match self {
            Unpacked::Plain(stream) => stream.read(buf),
            Unpacked::Gzip(stream, damage) => match stream.read(buf) {
                Err(e) if matches!(e.kind(), InvalidData | InvalidInput | UnexpectedEof) => {
                    damage.0.store(true, Ordering::Relaxed);
                    Ok(0)
                }
                other => other,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{CaptureError, Input, Packet, PcapWriter, PcapngSink};
    use flate2::Compression;
    use flate2::write::GzEncoder;
    use std::io::Write;
    use std::path::Path;

    /// A stream that brings one byte at a time.
    struct Dripping(Cursor<Vec<u8>>);

    impl Read for Dripping {
        fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
            let len = buf.len().min(1);
            self.0.read(&mut buf[..len])
        }
    }

    fn capture() -> Vec<u8> {
        let mut w = PcapWriter::new(Vec::new(), 105).unwrap();
        for n in 0..50 {
            w.packet(n, format!("frame {n} {}", n * 7919 % 101).as_bytes()).unwrap();
        }
        w.finish().unwrap()
    }

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut out = GzEncoder::new(Vec::new(), Compression::default());
        out.write_all(bytes).unwrap();
        out.finish().unwrap()
    }

    /// How many packets there are, and whether it is cut.
    fn packets(mut input: Input) -> Result<(u64, bool), CaptureError> {
        let (mut reader, mut packet) = (input.reader()?, Packet::default());
        while reader.read(&mut packet)? {}
        Ok((packet.number, reader.is_cut()))
    }

    #[test]
    fn captures_in_gzip_are_read_and_those_cut_short_say_so() {
        let name = Path::new("x.gz");
        let zipped = gzip(&capture());
        assert_eq!(packets(Input::bytes(name, zipped.clone())).unwrap(), (50, false));
        let (some, cut) = packets(Input::bytes(name, &zipped[..zipped.len() * 3 / 4])).unwrap();
        assert!(cut && 0 < some && some < 50, "{some} packets");
        let twice = [gzip(&capture()[..500]), gzip(&capture()[500..])].concat();
        assert_eq!(packets(Input::bytes(name, twice)).unwrap(), (50, false));
    }

    #[test]
    fn a_capture_may_come_byte_by_byte() {
        let pcapng = PcapngSink::new(Vec::new()).finish().unwrap();
        for (bytes, n) in [(capture(), 50), (gzip(&capture()), 50), (pcapng, 0)] {
            let stream = Dripping(Cursor::new(bytes));
            assert_eq!(packets(Input::stream(Path::new("-"), stream)).unwrap(), (n, false));
        }
    }

    #[test]
    fn other_compressions_are_named() {
        for (magic, name) in [
            (&b"\x28\xb5\x2f\xfd1234"[..], "zstd"),
            (b"\xfd7zXZ\x00", "xz"),
            (b"BZh91AY", "bzip2"),
            (b"\x04\x22\x4d\x18", "lz4"),
            (b"PK\x03\x04", "zip"),
        ] {
            let error = packets(Input::bytes(Path::new("x"), magic)).unwrap_err();
            assert!(error.to_string().contains(name), "{error}");
        }
    }
}
