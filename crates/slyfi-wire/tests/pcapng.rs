//! Captures written here, opened by other programs.

use pcap_parser::{Block, PcapBlockOwned, PcapNGOption, PcapNGSlice};
use slyfi_base::{Dbm, MacAddress, Rate};
use slyfi_wire::announcement::Announcement;
use slyfi_wire::carrier;
use slyfi_wire::pcapng::{Direction, Interface, LinkType, Packet, Resolution, Section};
use slyfi_wire::radiotap::{self, Channel, RxRepr};
use std::process::Command;

const MICROS: u64 = 1_700_000_000_123_456;

fn section() -> Section<'static> {
    Section { application: Some("a test"), comment: Some("two interfaces, five packets") }
}

fn interface(link_type: LinkType, resolution: Resolution) -> Interface<'static> {
    Interface { link_type, resolution, snap_len: 0, name: Some("air"), description: None }
}

fn beacon() -> Vec<u8> {
    let a = Announcement {
        bssid: MacAddress([2, 1, 2, 3, 4, 5]),
        sequence: 9,
        timestamp: 77,
        interval: 100,
        ssid: b"announced",
        ap_id: *b"an-ap-id",
    };
    let mut frame = vec![0; a.buffer_len()];
    a.emit(&mut frame).unwrap();
    frame
}

fn slyfi() -> Vec<u8> {
    let mut frame = vec![0xa5; carrier::MIN_FRAME + 5];
    carrier::emit(&mut frame).unwrap();
    frame
}

/// A capture with radiotap packets of odd and even lengths on interface 0, Ethernet on interface 1.
fn capture() -> Vec<u8> {
    let mut file = Vec::new();
    let mut block = |len: usize, emit: &dyn Fn(&mut [u8]) -> usize| {
        let at = file.len();
        file.resize(at + len, 0xee);
        assert_eq!(emit(&mut file[at..]), len);
        assert!(len.is_multiple_of(4));
    };
    let s = section();
    block(s.buffer_len(), &|b| s.emit(b).unwrap());
    for i in [
        interface(LinkType::Radiotap, Resolution::Micros),
        interface(LinkType::Ethernet, Resolution::Nanos),
    ] {
        block(i.buffer_len(), &|b| i.emit(b).unwrap());
    }
    let rx = RxRepr {
        tsft: Some(0x0102_0304_0506),
        flags: 0,
        rate: Some(Rate::PEAK),
        channel: Some(Channel { frequency: 5180, flags: Channel::A }),
        signal: Some(Dbm(-42)),
    };
    let mut header = vec![0; rx.buffer_len()];
    rx.emit(&mut header).unwrap();
    let (beacon, slyfi, tx) = (beacon(), slyfi(), radiotap::tx_header(Rate::BASE));
    let on = |interface, timestamp| Packet {
        interface,
        timestamp,
        parts: &[],
        direction: None,
        comment: None,
    };
    let received = [&header[..], &beacon[..]];
    let sent = [&tx[..], &slyfi[..]];
    for p in [
        Packet { parts: &received, comment: Some("clear"), ..on(0, MICROS) },
        Packet { parts: &sent, direction: Some(Direction::Outbound), ..on(0, MICROS + 1) },
        Packet {
            parts: &[&[0x55; 61]],
            direction: Some(Direction::Inbound),
            ..on(1, MICROS * 1000)
        },
        on(1, MICROS * 1000 + 5),
        Packet { parts: &[&[0x55; 14]], comment: Some(""), ..on(1, u64::MAX) },
    ] {
        block(p.buffer_len(), &|b| p.emit(b).unwrap());
        let mut short = vec![0; p.buffer_len() - 1];
        assert_eq!(p.emit(&mut short).unwrap_err().needed, p.buffer_len());
    }
    file
}

/// An option's value without its padding.
fn option<'a>(o: &'a PcapNGOption<'_>) -> &'a [u8] {
    &o.value[..usize::from(o.len)]
}

#[test]
fn a_written_capture_is_read_back_block_by_block() {
    let file = capture();
    let (mut interfaces, mut packets) = (Vec::new(), Vec::new());
    for block in PcapNGSlice::from_slice(&file).unwrap() {
        match block.unwrap() {
            PcapBlockOwned::NG(Block::SectionHeader(s)) => {
                assert_eq!((s.major_version, s.minor_version, s.section_len), (1, 0, -1));
                assert_eq!(option(&s.options[1]), b"a test");
            }
            PcapBlockOwned::NG(Block::InterfaceDescription(i)) => {
                interfaces.push((i.linktype.0, i.if_tsresol));
            }
            PcapBlockOwned::NG(Block::EnhancedPacket(p)) => packets.push((
                p.if_id,
                u64::from(p.ts_high) << 32 | u64::from(p.ts_low),
                p.data[..p.caplen as usize].to_vec(),
                p.options.first().map(|o| option(o).to_vec()),
            )),
            _ => panic!("a block that was not written"),
        }
    }
    assert_eq!(interfaces, [(127, 6), (1, 9)]);
    assert_eq!(packets.len(), 5);
    assert_eq!((packets[0].0, packets[0].1), (0, MICROS));
    assert_eq!(packets[0].3.as_deref(), Some(&b"clear"[..]));
    assert!(packets[0].2.ends_with(&beacon()));
    assert!(packets[1].2.ends_with(&slyfi()));
    assert_eq!(packets[1].3.as_deref(), Some(&2u32.to_le_bytes()[..]));
    assert_eq!(packets[2].2, [0x55; 61]);
    assert_eq!(packets[3].2, []);
    assert_eq!(packets[4].1, u64::MAX);
}

#[test]
fn tshark_reads_a_written_capture_without_complaint() {
    let dir = std::env::temp_dir().join(format!("slyfi-wire-{}", std::process::id()));
    std::fs::create_dir_all(&dir).unwrap();
    let path = dir.join("written.pcapng");
    // The last packet's time stamp is past the year 2500, which tshark does not print.
    let file = capture();
    let last = Packet {
        interface: 1,
        timestamp: u64::MAX,
        parts: &[&[0x55; 14]],
        direction: None,
        comment: Some(""),
    };
    std::fs::write(&path, &file[..file.len() - last.buffer_len()]).unwrap();
    let output = Command::new("tshark")
        .args(["-n", "-T", "fields", "-E", "separator=|", "-E", "occurrence=f", "-r"])
        .arg(&path)
        .args(["-e", "frame.time_epoch", "-e", "frame.comment", "-e", "radiotap.dbm_antsignal"])
        .args([
            "-e",
            "radiotap.channel.freq",
            "-e",
            "radiotap.txflags",
            "-e",
            "wlan.fc.type_subtype",
        ])
        .args(["-e", "wlan.ssid", "-e", "wlan.fixed.category_code", "-e", "_ws.malformed"])
        .output();
    std::fs::remove_dir_all(&dir).unwrap();
    let Ok(output) = output else {
        eprintln!("SKIPPED: no tshark");
        return;
    };
    let text = String::from_utf8(output.stdout).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 4, "{text}{}", String::from_utf8_lossy(&output.stderr));
    let ssid = "616e6e6f756e636564";
    assert_eq!(lines[0], format!("1700000000.123456000|clear|-42|5180||0x0008|{ssid}||"));
    assert_eq!(lines[1], "1700000000.123457000||||0x0038|0x000d||127|");
    assert!(lines[2].starts_with("1700000000.123456000|"), "{}", lines[2]);
    assert!(lines[3].starts_with("1700000000.123456005|"), "{}", lines[3]);
}
