//! Reading capture files for the tests.

use pcap_parser::{Block, PcapBlockOwned, PcapError, create_reader};
use std::path::PathBuf;

/// The folder of recorded captures, kept beside the repository because of their licences.
///
/// `None`, said loudly, where it is absent; with `CI` set its absence is a failure.
pub fn captures() -> Option<PathBuf> {
    let dir = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/captures"));
    if dir.join("INDEX.tsv").is_file() {
        return Some(dir);
    }
    assert!(std::env::var_os("CI").is_none(), "no recorded captures at {}", dir.display());
    eprintln!("SKIPPED: no recorded captures at ../shared/captures beside the repository");
    None
}

/// One packet of a capture file.
pub struct Captured {
    /// The link-layer header type.
    pub link_type: i32,
    /// The bytes.
    pub data: Vec<u8>,
}

/// Reads all packets of a pcap or pcapng file. A file that is cut short ends there.
pub fn read_packets(bytes: &[u8]) -> Vec<Captured> {
    let mut reader = create_reader(1 << 20, bytes).expect("a capture file");
    let (mut packets, mut interfaces, mut legacy) = (Vec::new(), Vec::new(), 0);
    let mut keep = |link_type, data: &[u8], caplen: u32| {
        let data = data.get(..caplen as usize).unwrap_or(data).to_vec();
        packets.push(Captured { link_type, data });
    };
    loop {
        match reader.next() {
            Ok((offset, block)) => {
                match block {
                    PcapBlockOwned::LegacyHeader(h) => {
                        // The upper half tells the length of frame check sequences, if any.
                        legacy = h.network.0 & 0xffff;
                    }
                    PcapBlockOwned::Legacy(p) => keep(legacy, p.data, p.caplen),
                    PcapBlockOwned::NG(Block::SectionHeader(_)) => interfaces.clear(),
                    PcapBlockOwned::NG(Block::InterfaceDescription(i)) => {
                        interfaces.push(i.linktype.0);
                    }
                    PcapBlockOwned::NG(Block::EnhancedPacket(p)) => {
                        let link_type = interfaces[p.if_id as usize];
                        keep(link_type, p.data, p.caplen);
                    }
                    PcapBlockOwned::NG(Block::SimplePacket(p)) => {
                        let caplen = p.data.len() as u32;
                        keep(interfaces[0], p.data, caplen);
                    }
                    PcapBlockOwned::NG(_) => {}
                }
                reader.consume(offset);
            }
            Err(PcapError::Incomplete(_)) => {
                if reader.refill().is_err() || reader.reader_exhausted() {
                    return packets;
                }
            }
            Err(_) => return packets,
        }
    }
}
