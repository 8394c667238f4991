//! The packet air over veth pairs and on something that looks like a monitor interface.

mod common;

use common::{RawSocket, bring_up, drop_thread_capabilities, in_namespace, ip, wait_for, wire};
use slyfi_base::{Dbm, Instant, MacAddress, Radio, RadioConfig, Rate, RxMeta, TxMeta};
use slyfi_linux::packet::{Accept, ETHERTYPE, Queueing, ReceivePath};
use slyfi_linux::{AdminState, AirSocket, Flush, Interface, PacketConfig, PacketRadio, RadioError};
use slyfi_linux::{UdpAir, UdpConfig, UdpRadio, netconfig};
use slyfi_wire::carrier::{ADDRESS_OF_ALL, HEADER};
use slyfi_wire::radiotap::{self, RxRepr};
use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::fs::OpenOptionsExt;

const PATHS: [ReceivePath; 2] = [ReceivePath::Ring, ReceivePath::Messages];

fn open(config: &PacketConfig) -> PacketRadio {
    let mut radio = PacketRadio::open(config).unwrap();
    assert_eq!(radio.receive_path(), config.receive);
    radio.initialize(Instant::ZERO, &RadioConfig::default()).unwrap();
    radio
}

fn pair(receive: ReceivePath) -> (PacketRadio, PacketRadio) {
    let radio = |name| open(&PacketConfig { receive, ..PacketConfig::on(name) });
    (radio("a"), radio("b"))
}

/// A SlyFi frame as far as anyone without keys can see.
fn frame(fill: u8, len: usize) -> Vec<u8> {
    let mut f = HEADER.to_vec();
    f.resize(len, fill);
    f
}

fn send(radio: &mut PacketRadio, frame: &[u8]) {
    assert!(radio.write(Instant::ZERO, TxMeta { rate: Rate::PEAK }, frame).unwrap());
    assert_eq!(radio.flush().unwrap(), Flush::Complete);
}

fn receive(radio: &mut PacketRadio) -> Option<(RxMeta, Vec<u8>)> {
    let fd = radio.receiver().try_clone_to_owned().unwrap();
    let mut buf = [0; 3000];
    wait_for(fd.as_fd(), |now| {
        radio.read(now, &mut buf).unwrap().map(|(meta, len)| (meta, buf[..len].to_vec()))
    })
}

#[test]
fn frames_cross_a_wire_both_ways_and_never_come_back() {
    for path in PATHS {
        in_namespace(move || {
            wire();
            let (mut a, mut b) = pair(path);
            for round in 0..5 {
                let (ping, pong) = (frame(round, 60), frame(round, 1480));
                send(&mut a, &ping);
                let (meta, got) = receive(&mut b).unwrap();
                assert_eq!(got, ping);
                assert_eq!(meta, RxMeta { rate: Some(Rate::PEAK), signal: None, bad_fcs: false });
                send(&mut b, &pong);
                // Its own ping would have been first.
                assert_eq!(receive(&mut a).unwrap().1, pong);
            }
            for radio in [&mut a, &mut b] {
                let c = radio.counters();
                assert_eq!((c.received, c.sent, c.echoes, c.overrun), (5, 5, 0, 0));
            }
        });
    }
}

#[test]
fn the_wire_shows_the_same_header_whoever_sends() {
    for queueing in [Queueing::Discipline, Queueing::Bypass] {
        in_namespace(move || {
            wire();
            let sniffer = RawSocket::on("b");
            let radio = |name| open(&PacketConfig { queueing, ..PacketConfig::on(name) });
            let (mut a, mut b) = (radio("a"), radio("b"));
            let secret = frame(0x77, 100);
            let mut expected = [0xff; 6].to_vec();
            expected.extend(ADDRESS_OF_ALL);
            expected.extend(ETHERTYPE.to_be_bytes());
            expected.extend(radiotap::tx_header(Rate::PEAK));
            expected.extend(&secret);
            let is_ours = |p: &[u8]| p[12..14] == ETHERTYPE.to_be_bytes();
            send(&mut a, &secret);
            assert_eq!(sniffer.find(is_ours).unwrap(), expected);
            if queueing == Queueing::Discipline {
                send(&mut b, &secret);
                assert_eq!(sniffer.find(is_ours).unwrap(), expected);
            }
            for name in ["a", "b"] {
                let MacAddress(mac) = Interface::by_name(name).unwrap().mac.unwrap();
                assert_ne!(mac, ADDRESS_OF_ALL);
                assert!(!expected.windows(6).any(|w| w == mac), "the card's own address");
            }
        });
    }
}

#[test]
fn what_is_not_slyfis_stays_in_the_kernel() {
    for path in PATHS {
        in_namespace(move || {
            wire();
            let other = RawSocket::on("b");
            let (mut a, mut b) = pair(path);
            let mut good = [0xff; 6].to_vec();
            good.extend(ADDRESS_OF_ALL);
            good.extend(ETHERTYPE.to_be_bytes());
            good.extend(radiotap::tx_header(Rate::BASE));
            good.extend(frame(1, 100));
            // Another EtherType, another source, another radiotap version, another frame.
            for at in [12, 6, 11, 14, 14 + radiotap::TX_HEADER_LEN, good.len() - 100 + 12] {
                let mut bad = good.clone();
                bad[at] ^= 0x10;
                other.send(&bad);
            }
            other.send(&good[..14]);
            other.send(&[0; 60]);
            send(&mut b, &frame(2, 100));
            assert_eq!(receive(&mut a).unwrap().1, frame(2, 100), "the first to come through");
            let c = a.counters();
            assert_eq!((c.received, c.foreign, c.malformed, c.echoes), (1, 0, 0, 0));
            // Addressed to another station: heard all the same.
            good[..6].copy_from_slice(&[0x02, 9, 9, 9, 9, 9]);
            other.send(&good);
            assert_eq!(receive(&mut a).unwrap().1, frame(1, 100));
        });
    }
}

#[test]
fn other_802_11_frames_come_when_asked_for() {
    in_namespace(|| {
        wire();
        let any = |name| open(&PacketConfig { accept: Accept::AnyFrame, ..PacketConfig::on(name) });
        let (mut sender, mut strict) = (any("a"), open(&PacketConfig::on("b")));
        let mut lenient = any("b");
        let mut data_frame = frame(3, 80);
        data_frame[0] = 0x08;
        send(&mut sender, &data_frame);
        send(&mut sender, &frame(4, 80));
        assert_eq!(receive(&mut lenient).unwrap().1, data_frame);
        assert_eq!(receive(&mut strict).unwrap().1, frame(4, 80));
    });
}

#[test]
fn the_longest_frame_fits_and_a_longer_one_is_refused() {
    for (mtu, longest) in [(1500, 1488), (9000, slyfi_wire::carrier::MAX_FRAME), (576, 564)] {
        in_namespace(move || {
            wire();
            for name in ["a", "b"] {
                netconfig::set_mtu(name, mtu).unwrap();
            }
            bring_up(&["a", "b"]);
            for path in PATHS {
                let (mut a, mut b) = pair(path);
                assert_eq!(a.capabilities().max_frame, longest);
                let long = a.write(Instant::ZERO, TxMeta::default(), &frame(1, longest + 1));
                assert!(matches!(long, Err(RadioError::FrameTooLong { .. })));
                send(&mut a, &frame(2, longest));
                assert_eq!(receive(&mut b).unwrap().1, frame(2, longest));
            }
        });
    }
}

#[test]
fn a_slow_reader_loses_frames_in_order_and_is_told() {
    for path in PATHS {
        in_namespace(move || {
            wire();
            let (mut a, mut b) = pair(path);
            let mut sent = 0u32;
            while b.counters().overrun == 0 {
                let mut f = frame(0, 1400);
                f[28..32].copy_from_slice(&sent.to_be_bytes());
                assert!(a.write(Instant::ZERO, TxMeta::default(), &f).unwrap());
                sent += 1;
                assert!(sent < 1_000_000, "more than any kernel keeps for a socket");
            }
            assert_eq!(a.flush().unwrap(), Flush::Complete);
            // The last of all comes when everything before it came or was lost.
            let end = frame(9, 99);
            let (mut got, mut last, mut buf) = (0, None, [0; 3000]);
            loop {
                send(&mut a, &end);
                let Some((_, len)) = b.read(Instant::ZERO, &mut buf).unwrap() else { continue };
                if buf[..len] == end {
                    break;
                }
                assert_eq!(len, 1400);
                let number = Some(u32::from_be_bytes([buf[28], buf[29], buf[30], buf[31]]));
                assert!(number > last, "{number:?} after {last:?}");
                (got, last) = (got + 1, number);
            }
            let c = b.counters();
            assert_eq!(c.received, got + 1);
            assert!(got < u64::from(sent) && c.overrun > 0);
            while b.read(Instant::ZERO, &mut buf).unwrap().is_some() {}
            send(&mut a, &frame(8, 99));
            let next = std::iter::from_fn(|| receive(&mut b)).find(|(_, f)| *f != end);
            assert_eq!(next.unwrap().1, frame(8, 99), "and it goes on");
        });
    }
}

#[test]
fn an_interface_that_goes_down_says_so_and_comes_back_without_rights() {
    for path in PATHS {
        in_namespace(move || {
            wire();
            let (mut a, mut b) = pair(path);
            netconfig::set_state("b", AdminState::Down).unwrap();
            let mut buf = [0; 99];
            let gone = b.read(Instant::ZERO, &mut buf);
            assert!(matches!(gone, Err(RadioError::InterfaceDown { .. })), "{gone:?}");
            assert!(matches!(b.reset(Instant::ZERO), Err(RadioError::InterfaceDown { .. })));
            let early = b.write(Instant::ZERO, TxMeta::default(), &frame(1, 60));
            assert!(matches!(early, Err(RadioError::NotInitialized)));
            bring_up(&["a", "b"]);
            drop_thread_capabilities();
            assert!(matches!(
                PacketRadio::open(&PacketConfig::on("b")),
                Err(RadioError::NoPermission)
            ));
            b.reset(Instant::ZERO).unwrap();
            // The kernel drops frames in silence until it has noticed the carrier.
            let heard = |from: &mut PacketRadio, to: &mut PacketRadio, number| {
                (0..20).find_map(|_| {
                    send(from, &frame(number, 60));
                    receive(to)
                })
            };
            assert_eq!(heard(&mut a, &mut b, 5).unwrap().1, frame(5, 60));
            assert_eq!(heard(&mut b, &mut a, 6).unwrap().1, frame(6, 60));
        });
    }
}

#[test]
fn an_interface_that_is_removed_says_so() {
    in_namespace(|| {
        wire();
        let (mut a, mut b) = pair(ReceivePath::Ring);
        ip("link del dev a");
        let gone = b.read(Instant::ZERO, &mut [0; 99]);
        assert!(matches!(gone, Err(RadioError::NoSuchInterface { .. })), "{gone:?}");
        assert!(matches!(b.reset(Instant::ZERO), Err(RadioError::NoSuchInterface { .. })));
        a.write(Instant::ZERO, TxMeta::default(), &frame(1, 60)).unwrap();
        assert!(matches!(a.flush(), Err(RadioError::NoSuchInterface { .. })));
    });
}

#[test]
fn interfaces_that_cannot_serve_are_refused_with_the_mend() {
    in_namespace(|| {
        wire();
        let refused = |name: &str| PacketRadio::open(&PacketConfig::on(name)).err().unwrap();
        assert!(matches!(refused("none"), RadioError::NoSuchInterface { .. }));
        assert!(matches!(refused("lo"), RadioError::UnsupportedInterface { .. }));
        netconfig::set_state("a", AdminState::Down).unwrap();
        let down = refused("a");
        assert!(matches!(down, RadioError::InterfaceDown { .. }));
        assert!(down.to_string().contains("ip link set a up"));
        netconfig::set_mac("a", MacAddress(ADDRESS_OF_ALL)).unwrap();
        bring_up(&["a", "b"]);
        assert!(matches!(refused("a"), RadioError::AddressInUse { .. }));
        let mut b = PacketRadio::open(&PacketConfig::on("b")).expect("its peer may have it");
        let loud = RadioConfig { frequency: None, power: Some(Dbm(20)) };
        assert!(matches!(
            b.initialize(Instant::ZERO, &loud),
            Err(RadioError::NoSuchSetting { .. })
        ));
        assert!(matches!(b.read(Instant::ZERO, &mut [0; 99]), Err(RadioError::NotInitialized)));
    });
}

/// The driver's side of an interface whose hardware type is that of monitor mode: a TUN device,
/// told to look like one.
struct Monitor(File);

impl Monitor {
    fn new(name: &str) -> Self {
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .custom_flags(libc::O_NONBLOCK)
            .open("/dev/net/tun")
            .unwrap();
        // SAFETY: all zeros is a value of this structure of integers.
        let mut request = unsafe { std::mem::zeroed::<libc::ifreq>() };
        for (to, from) in request.ifr_name.iter_mut().zip(name.bytes()) {
            *to = from as libc::c_char;
        }
        request.ifr_ifru.ifru_flags = libc::IFF_TUN as libc::c_short;
        // SAFETY: the request is a whole `struct ifreq`.
        let code = unsafe { libc::ioctl(file.as_raw_fd(), libc::TUNSETIFF, &raw mut request) };
        assert_eq!(code, 0, "{}", std::io::Error::last_os_error());
        let kind = libc::c_int::from(libc::ARPHRD_IEEE80211_RADIOTAP);
        // SAFETY: TUNSETLINK takes an integer, no pointer.
        let code = unsafe { libc::ioctl(file.as_raw_fd(), libc::TUNSETLINK, kind) };
        assert_eq!(code, 0, "{}", std::io::Error::last_os_error());
        netconfig::set_state(name, AdminState::Up).unwrap();
        Monitor(file)
    }

    /// The card hears something.
    fn hears(&mut self, radiotap: &[u8], frame: &[u8]) {
        // struct tun_pi: flags, then the protocol that mac80211 gives monitored frames.
        let packet = [&[0, 0, 0, 4], radiotap, frame].concat();
        self.0.write_all(&packet).unwrap();
    }

    /// The card is given something to send.
    fn sends(&mut self) -> Option<Vec<u8>> {
        let mut packet = [0; 4000];
        let fd = self.0.try_clone().unwrap();
        wait_for(fd.as_fd(), |_| self.0.read(&mut packet).ok().map(|n| packet[4..n].to_vec()))
    }
}

fn received_header(flags: u8) -> Vec<u8> {
    let repr = RxRepr {
        tsft: Some(1234),
        flags,
        rate: Some(Rate::BASE),
        signal: Some(Dbm(-41)),
        ..RxRepr::default()
    };
    let mut header = vec![0; repr.buffer_len()];
    repr.emit(&mut header).unwrap();
    header
}

#[test]
fn a_monitor_interface_carries_radiotap_and_nothing_else() {
    for path in PATHS {
        in_namespace(move || {
            let mut card = Monitor::new("mon");
            let mut radio = open(&PacketConfig { receive: path, ..PacketConfig::on("mon") });
            send(&mut radio, &frame(1, 100));
            let expected = [&radiotap::tx_header(Rate::PEAK)[..], &frame(1, 100)].concat();
            assert_eq!(card.sends().unwrap(), expected);

            // An own frame handed back by the driver, somebody else's other frame, then three good
            // ones: plain, with frame check sequence, with a bad one.
            card.hears(&radiotap::tx_header(Rate::PEAK), &frame(1, 100));
            card.hears(&received_header(0), &[0x80; 100]);
            card.hears(&received_header(0), &frame(2, 100));
            let fcs = [frame(3, 100), vec![0xee; 4]].concat();
            card.hears(&received_header(radiotap::FLAG_FCS), &fcs);
            card.hears(&received_header(radiotap::FLAG_FCS | radiotap::FLAG_BAD_FCS), &fcs);
            for (fill, bad_fcs) in [(2, false), (3, false), (3, true)] {
                let (meta, got) = receive(&mut radio).unwrap();
                assert_eq!(got, frame(fill, 100));
                let (signal, rate) = (Some(Dbm(-41)), Some(Rate::BASE));
                assert_eq!(meta, RxMeta { signal, rate, bad_fcs });
            }
            let c = radio.counters();
            assert_eq!((c.received, c.echoes, c.foreign), (3, 1, 0));
            assert_eq!(radio.capabilities().max_frame, 1500 - radiotap::TX_HEADER_LEN);
        });
    }
}

#[test]
fn a_monitor_interface_is_refused_while_any_interface_has_the_carriers_address() {
    in_namespace(|| {
        let _card = Monitor::new("mon");
        wire();
        assert!(PacketRadio::open(&PacketConfig::on("mon")).is_ok());
        netconfig::set_mac("a", MacAddress(ADDRESS_OF_ALL)).unwrap();
        match PacketRadio::open(&PacketConfig::on("mon")).err().unwrap() {
            RadioError::AddressInUse { interface } => assert_eq!(interface, "a"),
            other => panic!("{other:?}"),
        }
        ip("link del dev a");
        assert!(PacketRadio::open(&PacketConfig::on("mon")).is_ok());
    });
}

#[test]
fn the_udp_air_works_on_a_bare_machine_and_over_ipv6() {
    in_namespace(|| {
        wire();
        netconfig::add_address("a", "fe80::5159".parse().unwrap(), 64).unwrap();
        let group = "[ff02::534c:5900]:5789".parse().unwrap();
        let over_ipv6 = UdpAir::Multicast { group, interface: Some("a".to_owned()), hops: 1 };
        for config in [UdpConfig::default(), UdpConfig { air: over_ipv6, max_frame: None }] {
            let [mut one, mut two] = [0, 1].map(|_| {
                let mut radio = UdpRadio::open(&config).unwrap();
                radio.initialize(Instant::ZERO, &RadioConfig::default()).unwrap();
                radio
            });
            let longest = frame(7, one.capabilities().max_frame);
            assert!(one.write(Instant::ZERO, TxMeta::default(), &longest).unwrap());
            assert_eq!(one.flush().unwrap(), Flush::Complete);
            let fd = two.receiver().try_clone_to_owned().unwrap();
            let mut buf = [0; 3000];
            let got = wait_for(fd.as_fd(), |now| two.read(now, &mut buf).unwrap());
            assert_eq!(&buf[..got.unwrap().1], longest);
            assert!(one.read(Instant::ZERO, &mut buf).unwrap().is_none());
            assert_eq!((one.counters().echoes, one.counters().lost), (0, 0), "{config:?}");
        }
    });
}
