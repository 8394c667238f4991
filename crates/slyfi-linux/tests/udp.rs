//! Two UDP radios in one process, over loopback. No rights needed.

use slyfi_base::{Dbm, Mhz};
use slyfi_base::{Duration, Instant, Radio, RadioChange, RadioConfig, Rate, RxMeta, TxMeta};
use slyfi_linux::{AirSocket, Clock, Flush, Interest, Poll, RadioError, Token};
use slyfi_linux::{UdpAir, UdpConfig, UdpRadio};
use std::net::{SocketAddr, UdpSocket};

/// A group of this test's own (RFC 2365 §6.1 local scope, port picked by the system).
fn group() -> SocketAddr {
    let port = UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    SocketAddr::new("239.255.83.76".parse().unwrap(), port)
}

fn open(air: UdpAir) -> UdpRadio {
    let mut radio = UdpRadio::open(&UdpConfig { air, max_frame: None }).unwrap();
    radio.initialize(Instant::ZERO, &RadioConfig::default()).unwrap();
    radio
}

fn multicast(group: SocketAddr) -> UdpRadio {
    open(UdpAir::Multicast { group, interface: Some("lo".to_owned()), hops: 1 })
}

/// Two radios that are each other's peer.
fn unicast_pair(host: &str) -> (UdpRadio, UdpRadio) {
    let free = |_| UdpSocket::bind(format!("{host}:0")).unwrap();
    let sockets = [0, 1].map(free);
    let [a, b] = sockets.each_ref().map(|s| s.local_addr().unwrap());
    drop(sockets);
    let radio = |bind, peer| open(UdpAir::Unicast { bind, peers: vec![peer] });
    (radio(a, b), radio(b, a))
}

fn send(radio: &mut UdpRadio, frame: &[u8]) {
    assert!(radio.write(Instant::ZERO, TxMeta { rate: Rate::PEAK }, frame).unwrap());
    assert_eq!(radio.flush().unwrap(), Flush::Complete);
}

/// Waits for a frame, a second at most.
fn receive(radio: &mut UdpRadio) -> Option<(RxMeta, Vec<u8>)> {
    let (clock, mut poll) = (Clock::new(), Poll::new().unwrap());
    poll.add(radio.receiver(), Token(0), Interest::Read).unwrap();
    let deadline = clock.now().mono + Duration::from_secs(1);
    let mut buf = [0; 3000];
    loop {
        let now = clock.now().mono;
        if let Some((meta, len)) = radio.read(now, &mut buf).unwrap() {
            return Some((meta, buf[..len].to_vec()));
        }
        if now >= deadline {
            return None;
        }
        poll.wait(now, Some(deadline)).unwrap();
    }
}

fn nothing_comes(radio: &mut UdpRadio) {
    // Loopback delivers within the sender's system call, so there is nothing to wait for.
    assert_eq!(radio.read(Instant::ZERO, &mut [0; 3000]).unwrap(), None);
}

fn both_hear_each_other_and_never_themselves(mut a: UdpRadio, mut b: UdpRadio) {
    for round in 0..3 {
        let (ping, pong) = (vec![round; 100], vec![round; 1500]);
        send(&mut a, &ping);
        let (meta, got) = receive(&mut b).unwrap();
        assert_eq!(got, ping);
        assert_eq!(meta, RxMeta { rate: Some(Rate::PEAK), signal: None, bad_fcs: false });
        send(&mut b, &pong);
        assert_eq!(receive(&mut a).unwrap().1, pong);
        nothing_comes(&mut a);
        nothing_comes(&mut b);
    }
    for radio in [&mut a, &mut b] {
        let c = radio.counters();
        assert_eq!((c.received, c.sent, c.lost, c.overrun), (3, 3, 0, 0));
    }
}

#[test]
fn multicast_radios_hear_each_other_and_never_themselves() {
    let group = group();
    let (mut a, b) = (multicast(group), multicast(group));
    let mut third = multicast(group);
    send(&mut a, b"to everyone");
    assert_eq!(receive(&mut third).unwrap().1, b"to everyone");
    nothing_comes(&mut a);
    assert_eq!(a.counters().echoes, 0, "what came back did not leave the kernel");
    both_hear_each_other_and_never_themselves(multicast(group), multicast(group));
    drop(b);
}

#[test]
fn unicast_radios_hear_each_other_and_never_themselves() {
    for host in ["127.0.0.1", "[::1]"] {
        let (a, b) = unicast_pair(host);
        both_hear_each_other_and_never_themselves(a, b);
    }
}

#[test]
fn a_radio_that_is_its_own_peer_still_does_not_hear_itself() {
    let own = UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let mut radio = open(UdpAir::Unicast { bind: own, peers: vec![own] });
    send(&mut radio, b"echo");
    nothing_comes(&mut radio);
    assert_eq!(radio.counters().echoes, 1);
}

#[test]
fn strangers_are_not_heard_over_unicast() {
    let (mut a, mut b) = unicast_pair("127.0.0.1");
    let stranger = UdpSocket::bind("127.0.0.1:0").unwrap();
    let datagram = [&slyfi_wire::radiotap::tx_header(Rate::BASE)[..], b"frame"].concat();
    stranger.send_to(&datagram, b.local_address()).unwrap();
    send(&mut a, b"of a peer");
    assert_eq!(receive(&mut b).unwrap().1, b"of a peer");
    nothing_comes(&mut b);
    assert_eq!(b.counters().foreign, 1);
}

#[test]
fn datagrams_that_are_no_frames_are_dropped_and_counted() {
    let group = group();
    let mut radio = multicast(group);
    let stranger = UdpSocket::bind("127.0.0.1:0").unwrap();
    let good = [&slyfi_wire::radiotap::tx_header(Rate::BASE)[..], b"frame"].concat();
    stranger.send_to(&good[..7], group).unwrap();
    stranger.send_to(&vec![0; 5000], group).unwrap();
    stranger.send_to(b"", group).unwrap();
    stranger.send_to(&good, group).unwrap();
    assert_eq!(receive(&mut radio).unwrap().1, b"frame");
    let c = radio.counters();
    assert_eq!((c.malformed, c.too_long, c.received), (2, 1, 1));
}

#[test]
fn a_frame_longer_than_the_readers_buffer_is_dropped() {
    let (mut a, mut b) = unicast_pair("127.0.0.1");
    send(&mut a, &[1; 100]);
    send(&mut a, &[2; 99]);
    let mut buf = [0; 99];
    let (_, len) = b.read(Instant::ZERO, &mut buf).unwrap().unwrap();
    assert_eq!((len, buf[0]), (99, 2));
    assert_eq!(b.counters().too_long, 1);
}

#[test]
fn writes_queue_until_flushed_and_a_full_queue_flushes_itself() {
    let (mut a, mut b) = unicast_pair("127.0.0.1");
    for i in 0..200u8 {
        assert!(a.write(Instant::ZERO, TxMeta::default(), &[i; 40]).unwrap());
    }
    assert_eq!(a.flush().unwrap(), Flush::Complete);
    for i in 0..200u8 {
        assert_eq!(receive(&mut b).unwrap().1, [i; 40], "in order");
    }
    nothing_comes(&mut b);
    a.write(Instant::ZERO, TxMeta::default(), b"not flushed").unwrap();
    nothing_comes(&mut b);
    a.reset(Instant::ZERO).unwrap();
    a.flush().unwrap();
    nothing_comes(&mut b);
}

#[test]
fn a_slow_reader_is_told_what_it_missed_and_own_echoes_do_not_count() {
    let group = group();
    let (mut sender, mut slow) = (multicast(group), multicast(group));
    for i in 0..9000u32 {
        let mut frame = [0; 1400];
        frame[..4].copy_from_slice(&i.to_be_bytes());
        assert!(sender.write(Instant::ZERO, TxMeta::default(), &frame).unwrap());
    }
    assert_eq!(sender.flush().unwrap(), Flush::Complete);
    while slow.read(Instant::ZERO, &mut [0; 1400]).unwrap().is_some() {}
    let c = slow.counters();
    assert!(c.overrun > 0, "9000 frames are more than the kernel keeps");
    assert_eq!(c.received + c.overrun, 9000);
    nothing_comes(&mut sender);
    let c = sender.counters();
    assert_eq!((c.sent, c.overrun), (9000, 0));
    send(&mut slow, b"still there");
    assert_eq!(receive(&mut sender).unwrap().1, b"still there");
}

#[test]
fn a_peer_that_is_not_there_is_a_lossy_air_and_no_error() {
    let (mut a, b) = unicast_pair("127.0.0.1");
    drop(b);
    for _ in 0..5 {
        send(&mut a, b"into the void");
        nothing_comes(&mut a);
    }
    assert_eq!(a.counters().sent + a.counters().lost, 5);
}

#[test]
fn frames_that_came_before_the_radio_was_up_are_forgotten() {
    let group = group();
    let air = UdpAir::Multicast { group, interface: Some("lo".to_owned()), hops: 0 };
    let mut late = UdpRadio::open(&UdpConfig { air, max_frame: None }).unwrap();
    let mut early = multicast(group);
    send(&mut early, b"too early");
    assert!(matches!(late.read(Instant::ZERO, &mut [0; 99]), Err(RadioError::NotInitialized)));
    let unsent = late.write(Instant::ZERO, TxMeta::default(), b"x");
    assert!(matches!(unsent, Err(RadioError::NotInitialized)));
    late.initialize(Instant::ZERO, &RadioConfig::default()).unwrap();
    nothing_comes(&mut late);
    send(&mut early, b"in time");
    assert_eq!(receive(&mut late).unwrap().1, b"in time");
}

#[test]
fn settings_and_lengths_that_the_air_does_not_have_are_refused() {
    let (mut a, _b) = unicast_pair("127.0.0.1");
    let tuned = RadioConfig { frequency: Some(Mhz(5180)), power: None };
    let loud = RadioConfig { frequency: None, power: Some(Dbm(20)) };
    for config in [tuned, loud] {
        let refused = a.initialize(Instant::ZERO, &config);
        assert!(matches!(refused, Err(RadioError::NoSuchSetting { .. })));
    }
    let change = RadioChange::Frequency(Mhz(5180));
    assert!(a.configure(Instant::ZERO, change).is_err());
    let limit = a.capabilities().max_frame;
    assert_eq!(limit, slyfi_wire::carrier::MAX_FRAME, "loopback carries every frame whole");
    let long = vec![0; limit + 1];
    let refused = a.write(Instant::ZERO, TxMeta::default(), &long);
    assert!(matches!(refused, Err(RadioError::FrameTooLong { .. })));
    assert!(a.write(Instant::ZERO, TxMeta::default(), &long[1..]).unwrap());
}

#[test]
fn addresses_that_cannot_work_are_refused_with_a_reason() {
    let a = |text: &str| text.parse::<SocketAddr>().unwrap();
    let unicast = |bind, peers: &[&str]| UdpAir::Unicast {
        bind: a(bind),
        peers: peers.iter().map(|p| a(p)).collect(),
    };
    for air in [
        UdpAir::Multicast { group: a("192.0.2.1:5789"), interface: None, hops: 1 },
        unicast("127.0.0.1:0", &[]),
        unicast("127.0.0.1:0", &["[::1]:9"]),
        unicast("127.0.0.1:0", &["127.0.0.1:0"]),
        unicast("127.0.0.1:0", &["0.0.0.0:9"]),
        unicast("127.0.0.1:0", &["239.1.2.3:9"]),
    ] {
        let refused = UdpRadio::open(&UdpConfig { air: air.clone(), max_frame: None });
        assert!(matches!(refused, Err(RadioError::BadAddress { .. })), "{air:?}");
    }
    let interface = Some("no-such-if".to_owned());
    let air = UdpAir::Multicast { group: slyfi_linux::udp::DEFAULT_GROUP, interface, hops: 1 };
    let refused = UdpRadio::open(&UdpConfig { air, max_frame: None });
    assert!(matches!(refused, Err(RadioError::NoSuchInterface { .. })));
}
