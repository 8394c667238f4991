//! The machines of wifi-open against each other.

use crate::net::{
    AP, CARD_TRIES, Net, ap, ap_config, at, packet, ssid, station, station_config, station_mac,
};
use slyfi_base::event::{NoLink, Phase, Unlinked};
use slyfi_base::{
    ApiMisuse, Command, DropReason, Event, LinkId, MacAddress, Output, Rate, Refused, RxMeta,
};
use slyfi_rivals::wifi_open::{MAX_PACKET, StationConfig, Timers};
use slyfi_wire::ieee80211::{MacHeader, management};
use slyfi_wire::pcapng::{Interface, LinkType, Packet, Resolution, Section};
use std::process::Command as Process;

const SET_UP: [u8; 6] = [
    management::PROBE_REQUEST,
    management::PROBE_RESPONSE,
    management::AUTHENTICATION,
    management::AUTHENTICATION,
    management::ASSOCIATION_REQUEST,
    management::ASSOCIATION_RESPONSE,
];

fn no_link(net: &Net, n: usize) -> Option<NoLink> {
    net.nodes[n].events.iter().find_map(|e| match e {
        Event::NoLink { why, .. } => Some(*why),
        _ => None,
    })
}

#[test]
fn a_station_links_by_the_six_frames_of_the_standard() {
    let mut net = Net::new(1);
    net.command(1, Command::Connect);
    assert!(net.run_until(1.0, |net| net.is_linked(1)));
    assert_eq!(net.exchange(), SET_UP);
    let phases = [Phase::Probing, Phase::Authenticating, Phase::Associating, Phase::Linked];
    let mut expected = phases.map(Event::Phase).to_vec();
    expected.push(Event::Linked { link: LinkId(0), pairing: 0 });
    assert_eq!(net.nodes[1].events, expected);
    assert_eq!(net.nodes[0].events, [Event::Linked { link: LinkId(0), pairing: 0 }]);
}

#[test]
fn a_station_that_was_not_told_to_connect_stays_silent_and_carries_nothing() {
    let mut net = Net::new(1);
    net.run(60.0);
    assert_eq!(net.exchange(), []);
    let p = packet(AP, station_mac(1), b"x");
    assert_eq!(net.nodes[1].link.handle_packet(at(0), &p), Err(Refused::NotLinked));
}

#[test]
fn packets_go_both_ways_and_everyone_can_read_them() {
    let mut net = Net::linked(1);
    net.send(1, AP, b"to the access point");
    net.send(0, station_mac(1), b"to the station");
    assert_eq!(net.nodes[0].delivered, [packet(AP, station_mac(1), b"to the access point")]);
    assert_eq!(net.nodes[1].delivered, [packet(station_mac(1), AP, b"to the station")]);
    // The control of every privacy check: addresses and contents are there for all to see.
    let (_, meta, frame) = net.air.last().unwrap();
    assert_eq!(meta.rate, Rate::PEAK);
    let header = MacHeader::new_checked(frame).unwrap();
    assert_eq!(header.destination(), Some(station_mac(1)));
    assert!(frame.ends_with(b"to the station"));
    assert!(
        net.air.iter().all(|(_, _, f)| f.windows(6).any(|w| w == AP.0 || w == station_mac(1).0))
    );
}

#[test]
fn stations_reach_each_other_through_the_access_point_alone() {
    let mut net = Net::linked(2);
    let (before, foreign) = (net.air.len(), net.nodes[2].link.drops().of(DropReason::Foreign));
    net.send(1, station_mac(2), b"hello");
    assert_eq!(net.nodes[2].delivered, [packet(station_mac(2), station_mac(1), b"hello")]);
    assert!(net.nodes[0].delivered.is_empty(), "not for the access point's host");
    assert_eq!(net.air.len() - before, 2, "once to the access point, once from it");
    let after = net.nodes[2].link.drops().of(DropReason::Foreign);
    assert_eq!(after, foreign + 1, "the way to the access point");
}

#[test]
fn group_packets_reach_everyone_once_and_not_their_sender() {
    let mut net = Net::linked(3);
    for group in [MacAddress::BROADCAST, MacAddress([0x33, 0x33, 0, 0, 0, 0xfb])] {
        net.nodes.iter_mut().for_each(|n| n.delivered.clear());
        let echoes = net.nodes[1].link.drops().of(DropReason::Echo);
        net.send(1, group, b"who is there?");
        let expected = [packet(group, station_mac(1), b"who is there?")];
        for n in [0, 2, 3] {
            assert_eq!(net.nodes[n].delivered, expected, "node {n}");
        }
        assert!(net.nodes[1].delivered.is_empty());
        assert_eq!(net.nodes[1].link.drops().of(DropReason::Echo), echoes + 1);
        let (_, meta, frame) = net.air.last().unwrap();
        assert_eq!((meta.rate, frame[2], frame[3]), (Rate::BASE, 0, 0));
    }
    net.nodes.iter_mut().for_each(|n| n.delivered.clear());
    net.send(0, MacAddress::BROADCAST, b"all");
    assert!((1..=3).all(|n| net.nodes[n].delivered.len() == 1));
}

#[test]
fn each_lost_management_frame_is_made_up_for() {
    // The nth frame of the set-up never arrives, however often the card repeats it.
    for lost in 0..SET_UP.len() {
        let mut net = Net::new(1);
        let mut number = None;
        let mut seen = 0;
        net.reaches = Box::new(move |_, _, frame| {
            let header = MacHeader::new_checked(frame).unwrap();
            if header.frame_control().subtype() == management::BEACON {
                return true;
            }
            let key = (header.addr2(), header.sequence());
            if number == Some(key) {
                return false;
            }
            if number.is_none() && !header.frame_control().is_retry() {
                if seen == lost {
                    number = Some(key);
                    return false;
                }
                seen += 1;
            }
            true
        });
        net.command(1, Command::Connect);
        assert!(net.run_until(2.0, |net| net.is_linked(1)), "without frame {lost}");
        assert!(net.exchange().len() > SET_UP.len());
        assert_eq!(net.nodes[0].events.len(), 1, "one link, not two: {:?}", net.nodes[0].events);
        net.send(1, AP, b"up");
        net.send(0, station_mac(1), b"down");
        assert_eq!((net.nodes[0].delivered.len(), net.nodes[1].delivered.len()), (1, 1));
    }
}

#[test]
fn a_frame_that_never_arrives_fails_the_set_up_in_its_phase() {
    let whys = [
        NoLink::NoAnswer,
        NoLink::NoAnswer,
        NoLink::NoAuthentication,
        NoLink::NoAuthentication,
        NoLink::Refused,
        NoLink::Refused,
    ];
    for (lost, why) in whys.into_iter().enumerate() {
        let mut net = Net::new(1);
        let sender = if lost % 2 == 0 { 1 } else { 0 };
        net.reaches = Box::new(move |from, _, frame| {
            let header = MacHeader::new_checked(frame).unwrap();
            from != sender || header.frame_control().subtype() != SET_UP[lost]
        });
        net.command(1, Command::Connect);
        assert!(!net.run_until(60.0, |net| net.is_linked(1)));
        assert_eq!(no_link(&net, 1), Some(why), "frame {lost}");
        net.reaches = Box::new(|_, _, _| true);
        assert!(net.run_until(60.0, |net| net.is_linked(1)), "it keeps trying");
    }
}

#[test]
fn what_a_card_repeats_is_delivered_once() {
    let mut net = Net::linked(2);
    net.loses_acks = true;
    net.send(1, AP, b"a");
    net.send(1, AP, b"b");
    net.send(1, station_mac(2), b"c");
    assert_eq!(net.nodes[0].delivered.len(), 2);
    assert_eq!(net.nodes[2].delivered.len(), 1);
    assert_eq!(net.nodes[0].link.drops().of(DropReason::Duplicate), 3);
    assert_eq!(net.nodes[2].link.drops().of(DropReason::Duplicate), 1);

    // A set-up under the same loss makes one link, too.
    let mut net = Net::new(1);
    net.loses_acks = true;
    net.command(1, Command::Connect);
    assert!(net.run_until(1.0, |net| net.is_linked(1)));
    net.run(1.0);
    assert_eq!(net.nodes[0].events.len(), 1, "{:?}", net.nodes[0].events);
}

#[test]
fn a_station_joins_the_one_of_its_networks_that_is_there() {
    let mut net = Net::new(0);
    let networks = ["work", "home", "cafe"].map(ssid).to_vec();
    net.add(station_mac(1), station(StationConfig::new(station_mac(1), networks)));
    net.command(1, Command::Connect);
    assert!(net.run_until(1.0, |net| net.is_linked(1)));
    assert_eq!(net.exchange()[..4], [4, 4, 4, 5], "three probes at once, one answer");

    let mut net = Net::new(0);
    let elsewhere = StationConfig::new(station_mac(1), vec![ssid("work")]);
    net.add(station_mac(1), station(elsewhere));
    net.command(1, Command::Connect);
    assert!(!net.run_until(10.0, |net| net.is_linked(1)));
    assert_eq!(no_link(&net, 1), Some(NoLink::NoAnswer));
}

#[test]
fn pauses_between_failed_set_ups_double_up_to_their_limit() {
    let mut net = Net::new(1);
    net.reaches = Box::new(|_, _, _| false);
    net.command(1, Command::Connect);
    net.run(300.0);
    let pauses: Vec<u64> = net.nodes[1]
        .events
        .iter()
        .filter_map(|e| match e {
            Event::NoLink { retry_in, .. } => Some(retry_in.as_micros()),
            _ => None,
        })
        .collect();
    let base = [1, 2, 4, 8, 16, 32, 32, 32].map(|s| s * 1_000_000);
    for (pause, base) in pauses.iter().zip(base) {
        assert!((base..=base * 5 / 4).contains(pause), "{pauses:?}");
    }
    assert!(pauses.len() >= base.len() && pauses.iter().any(|p| p % 1_000_000 != 0));
}

#[test]
fn an_encrypted_network_of_the_same_name_is_not_joined() {
    let mut net = Net::new(1);
    net.command(1, Command::Connect);
    net.settle();
    assert!(net.is_linked(1));
    let find = |kind| net.air.iter().find(|(_, _, f)| f[0] == kind << 4).unwrap().2.clone();
    let mut answer = find(management::PROBE_RESPONSE);
    for (privacy, authenticates) in [(0x10, false), (0x00, true)] {
        let mut s = station(station_config(1));
        s.handle_command(at(0), Command::Connect).unwrap();
        // Behind the header, time stamp and interval.
        answer[24 + 10] = 0x01 | privacy;
        s.handle_frame(at(1), RxMeta::default(), &mut answer);
        let mut buf = [0; 4096];
        let mut authenticated = false;
        loop {
            match s.poll_output(&mut buf) {
                Output::Transmit(_, f) => authenticated |= f[0] == management::AUTHENTICATION << 4,
                Output::Timeout(_) => break,
                _ => {}
            }
        }
        assert_eq!(authenticated, authenticates);
    }
}

#[test]
fn idle_links_stay_up_by_keep_alives() {
    for beacons in [Some(100), None] {
        let mut net = Net::new(0);
        let mut config = ap_config();
        config.beacon_interval = beacons;
        net.nodes.clear();
        net.add(AP, ap(config));
        net.add(station_mac(1), station(station_config(1)));
        net.command(1, Command::Connect);
        assert!(net.run_until(1.0, |net| net.is_linked(1)));
        net.run(600.0);
        assert!(net.is_linked(1) && net.is_linked(0));
        let count = |kind| net.air.iter().filter(|(_, _, f)| f[0] == kind).count();
        assert!(count(0x48) + count(0x40) >= 59, "a Null frame or directed probe every 10 s");
        assert_eq!(count(0x80) > 0, beacons.is_some());
    }
}

#[test]
fn a_side_that_falls_silent_is_given_up() {
    let mut net = Net::linked(1);
    net.reaches = Box::new(|from, _, _| from != 0);
    let t = net.now.mono;
    let gone = Event::Unlinked { link: LinkId(0), why: Unlinked::Silent };
    assert!(net.run_until(60.0, |net| net.nodes[1].events.contains(&gone)));
    let waited = net.now.mono.checked_since(t).unwrap();
    assert!((39..=41).contains(&waited.as_secs()), "{waited:?}");
    assert!(net.run_until(60.0, |net| no_link(net, 1) == Some(NoLink::NoAnswer)));

    let mut net = Net::linked(1);
    net.reaches = Box::new(|from, _, _| from != 1);
    assert!(net.run_until(41.0, |net| net.nodes[0].events.contains(&gone)));
    assert!(!net.is_linked(0));
    // The deauthentication reaches the station.
    assert!(net.run_until(1.0, |net| !net.is_linked(1)));
}

#[test]
fn leaving_is_announced_and_ends_the_link_on_both_sides() {
    let mut net = Net::linked(1);
    let left = Event::Unlinked { link: LinkId(0), why: Unlinked::Left };
    net.command(1, Command::Leave);
    net.settle();
    assert_eq!(net.nodes[0].events.last(), Some(&left));
    assert_eq!(net.nodes[1].events.last(), Some(&left));
    net.run(60.0);
    assert!(!net.is_linked(1), "and nobody asks it back");
    net.command(1, Command::Connect);
    assert!(net.run_until(1.0, |net| net.is_linked(1)));
}

#[test]
fn dismissed_stations_come_back_unless_they_are_told_not_to() {
    let mut net = Net::linked(2);
    net.command(0, Command::Dismiss(LinkId(1)));
    let dismissed = Event::Unlinked { link: LinkId(1), why: Unlinked::Dismissed };
    assert_eq!(net.nodes[0].events.last(), Some(&dismissed));
    net.settle();
    let dismissed = Event::Unlinked { link: LinkId(0), why: Unlinked::Dismissed };
    assert!(net.nodes[2].events.contains(&dismissed));
    assert!(!net.nodes[1].events.contains(&dismissed));
    assert!(net.run_until(1.0, |net| net.is_linked(2)));

    net.command(0, Command::Leave);
    net.settle();
    assert!(net.nodes[1].events.contains(&dismissed));
    assert!(net.run_until(1.0, |net| net.is_linked(1) && net.is_linked(2)));
}

#[test]
fn an_access_point_that_restarted_tells_its_former_stations() {
    let mut net = Net::linked(1);
    net.nodes[0].link = ap(ap_config());
    net.nodes[0].events.clear();
    net.send(1, AP, b"lost");
    assert!(net.nodes[0].delivered.is_empty());
    assert!(net.run_until(1.0, |net| net.is_linked(1) && net.is_linked(0)));
    net.send(1, AP, b"found");
    assert_eq!(net.nodes[0].delivered.len(), 1);
}

#[test]
fn a_station_that_set_up_anew_replaces_its_former_link() {
    let mut net = Net::linked(1);
    net.send(1, AP, b"used");
    net.nodes[1].link = station(station_config(1));
    net.command(1, Command::Connect);
    let replaced = Event::Unlinked { link: LinkId(0), why: Unlinked::Replaced };
    assert!(net.run_until(1.0, |net| net.nodes[0].events.contains(&replaced)));
    assert!(net.run_until(1.0, |net| net.is_linked(0)));
}

#[test]
fn a_full_access_point_says_so() {
    let mut net = Net::new(0);
    let mut config = ap_config();
    config.max_members = 2;
    net.nodes.clear();
    net.add(AP, ap(config));
    for n in 1..=3 {
        net.add(station_mac(n), station(station_config(n)));
        net.command(usize::from(n), Command::Connect);
        net.run(0.5);
    }
    assert!(net.is_linked(1) && net.is_linked(2) && !net.is_linked(3));
    assert_eq!(no_link(&net, 3), Some(NoLink::Full));
    net.command(1, Command::Leave);
    assert!(net.run_until(10.0, |net| net.is_linked(3)), "a place is free again");
}

#[test]
fn every_frame_of_a_card_has_the_next_number() {
    let mut net = Net::linked(2);
    for n in 0..5000u32 {
        net.send(1, station_mac(2), &n.to_be_bytes());
    }
    assert_eq!(net.nodes[2].delivered.len(), 5000);
    for node in 0..3 {
        let numbers: Vec<u16> = net
            .air
            .iter()
            .filter(|(from, _, _)| *from == node)
            .map(|(_, _, f)| MacHeader::new_checked(f).unwrap().sequence().unwrap().sequence())
            .collect();
        assert!(numbers.windows(2).all(|w| w[1] == (w[0] + 1) % 4096), "node {node}");
    }
}

#[test]
fn packets_and_commands_that_cannot_be_served_are_refused() {
    let mut net = Net::linked(1);
    let now = net.now;
    let long = packet(AP, station_mac(1), &vec![0; MAX_PACKET - 13]);
    let stranger = packet(station_mac(9), AP, b"x");
    let too_long = Err(Refused::TooLong { actual: MAX_PACKET + 1, limit: MAX_PACKET });
    for n in [0, 1] {
        let link = &mut net.nodes[n].link;
        assert_eq!(link.handle_packet(now, &[0; 13]), Err(Refused::TooShort));
        assert_eq!(link.handle_packet(now, &long), too_long);
        assert_eq!(link.handle_command(now, Command::Bind([10, 0, 0, 1].into())), Ok(()));
    }
    assert_eq!(net.nodes[1].link.handle_packet(now, &long[..MAX_PACKET]), Ok(()));
    let ap = &mut net.nodes[0].link;
    assert_eq!(ap.handle_packet(now, &stranger), Err(Refused::NoSuchMember));
    assert_eq!(ap.handle_command(now, Command::Connect), Err(ApiMisuse::WrongRole));
    assert_eq!(ap.handle_command(now, Command::Dismiss(LinkId(7))), Err(ApiMisuse::NoSuchLink));
    let station = &mut net.nodes[1].link;
    assert_eq!(station.handle_command(now, Command::Dismiss(LinkId(0))), Err(ApiMisuse::WrongRole));
    assert_eq!(station.handle_command(now, Command::Roam), Err(ApiMisuse::WrongState));
}

#[test]
fn a_host_that_does_not_drain_is_held_back_and_loses_nothing_that_was_taken() {
    let mut net = Net::linked(1);
    let p = packet(AP, station_mac(1), b"x");
    let now = net.now;
    let mut taken = 0;
    while net.nodes[1].link.handle_packet(now, &p).is_ok() {
        taken += 1;
        assert!(taken < 100_000);
    }
    assert_eq!(net.nodes[1].link.handle_packet(now, &p), Err(Refused::QueueFull));
    net.drain(1);
    net.settle();
    assert_eq!(net.nodes[0].delivered.len(), taken);
    assert_eq!(net.nodes[1].link.handle_packet(now, &p), Ok(()));
}

#[test]
fn encrypted_fragmented_and_damaged_frames_are_not_delivered() {
    let mut net = Net::linked(1);
    net.send(1, AP, b"whole");
    let (_, _, whole) = net.air.last().unwrap().clone();
    let mut deliver = |meta: RxMeta, change: &dyn Fn(&mut Vec<u8>)| {
        let mut frame = whole.clone();
        change(&mut frame);
        let link = &mut net.nodes[0].link;
        let before: Vec<_> = link.drops().iter().collect();
        link.handle_frame(at(0), meta, &mut frame);
        let after: Vec<_> = link.drops().iter().collect();
        before.iter().zip(&after).find(|(b, a)| b != a).map(|(b, _)| b.0)
    };
    let good = RxMeta::default();
    assert_eq!(deliver(good, &|_| {}), None);
    assert_eq!(deliver(good, &|f| f[1] |= 0x40), Some(DropReason::Unexpected), "protected");
    assert_eq!(deliver(good, &|f| f[1] |= 0x04), Some(DropReason::Unexpected), "more fragments");
    assert_eq!(deliver(good, &|f| f[22] |= 1), Some(DropReason::Unexpected), "second fragment");
    assert_eq!(deliver(good, &|f| f[1] |= 0x02), Some(DropReason::Foreign), "four addresses");
    assert_eq!(deliver(good, &|f| f[9] ^= 1), Some(DropReason::Foreign), "another receiver");
    assert_eq!(deliver(good, &|f| f.truncate(23)), Some(DropReason::Malformed));
    assert_eq!(deliver(good, &|f| f.truncate(24)), Some(DropReason::Malformed), "no data in it");
    let bad = RxMeta { bad_fcs: true, ..good };
    assert_eq!(deliver(bad, &|_| {}), Some(DropReason::BadFcs));
    let stranger = deliver(good, &|f| f[15] = 9);
    assert_eq!(stranger, Some(DropReason::Unexpected), "not associated");
}

#[test]
fn tshark_sees_an_ordinary_network() {
    let mut net = Net::linked(2);
    net.send(1, station_mac(2), b"through");
    net.command(1, Command::Leave);
    net.settle();
    let mut file = Vec::new();
    let mut append = |len: usize, emit: &dyn Fn(&mut [u8])| {
        let start = file.len();
        file.resize(start + len, 0);
        emit(&mut file[start..]);
    };
    let section = Section::default();
    append(section.buffer_len(), &|b| assert!(section.emit(b).is_ok()));
    let interface = Interface {
        link_type: LinkType::Ieee80211,
        resolution: Resolution::Micros,
        snap_len: 0,
        name: None,
        description: None,
    };
    append(interface.buffer_len(), &|b| assert!(interface.emit(b).is_ok()));
    for (n, (_, _, frame)) in net.air.iter().enumerate() {
        let parts = [&frame[..]];
        let p = Packet {
            interface: 0,
            timestamp: n as u64,
            parts: &parts,
            direction: None,
            comment: None,
        };
        append(p.buffer_len(), &|b| assert!(p.emit(b).is_ok()));
    }
    let path = std::env::temp_dir().join(format!("slyfi-rivals-{}.pcapng", std::process::id()));
    std::fs::write(&path, &file).unwrap();
    let output = Process::new("tshark")
        .args(["-n", "-T", "fields", "-E", "separator=|", "-r"])
        .arg(&path)
        .args(["-e", "wlan.fc.type_subtype", "-e", "wlan.sa", "-e", "wlan.ssid"])
        .args(["-e", "wlan.fixed.status_code", "-e", "wlan.fixed.aid", "-e", "llc.type"])
        .args(["-e", "_ws.malformed", "-e", "_ws.expert.severity"])
        .output();
    std::fs::remove_file(&path).unwrap();
    let Ok(output) = output else {
        eprintln!("SKIPPED: no tshark");
        return;
    };
    let text = String::from_utf8(output.stdout).unwrap();
    let lines: Vec<&str> = text.lines().filter(|l| !l.starts_with("0x0008|")).collect();
    assert_eq!(lines.len(), 2 * 6 + 2 + 1, "{text}");
    let (one, ap, home) = ("02:00:00:00:01:01", "02:00:00:00:00:aa", "686f6d65");
    let from = |mac| lines.iter().copied().filter(|l| l.contains(mac)).collect::<Vec<_>>();
    assert_eq!(
        from(one),
        [
            format!("0x0004|{one}|{home}|||||"),
            format!("0x000b|{one}||0x0000||||"),
            format!("0x0000|{one}|{home}|||||"),
            // To the access point and on from there.
            format!("0x0020|{one}||||0x88b5||"),
            format!("0x0020|{one}||||0x88b5||"),
            format!("0x000c|{one}||||||"),
        ]
    );
    let answers = |aid| {
        [
            format!("0x0005|{ap}|{home}|||||"),
            format!("0x000b|{ap}||0x0000||||"),
            format!("0x0001|{ap}||0x0000|{aid}|||"),
        ]
    };
    assert_eq!(from(ap), [answers("0x0001"), answers("0x0002")].concat());
}

#[test]
fn cards_repeat_as_often_as_the_defaults_allow_for() {
    // A card's seven tries at base rate, with back-off, end well before a request is repeated.
    let longest_try_us = 2_000;
    assert!(u64::from(CARD_TRIES) * longest_try_us < Timers::default().answer_wait.as_micros());
}
