//! Daemons that link over UDP on loopback, unprivileged and in one process.

mod support;

use slyfi_base::MacAddress;
use slyfi_link::ErrorKind;
use slyfi_link::control::{Answer, Request};
use slyfi_link::daemon::{Options, Outcome};
use slyfi_link::store::{Missing, Store};
use slyfi_wire::carrier::{HEADER, HEADER_LEN};
use std::time::{Duration, Instant};
use support::{NAME, PATIENCE, TempDir, accept, invite, join_by_backhaul, places};

#[test]
fn two_clients_join_by_invite_and_everyone_reaches_everyone() {
    let dir = TempDir::new("everyone");
    let places = places(&dir, 2);
    let ap = places[0].start();
    let (c1, c2) = (places[1].start(), places[2].start());
    c1.says("linked to", 1);
    c2.says("linked to", 1);
    c1.send(ap.mac, b"client 1 to access point");
    assert_eq!(ap.expect(b"client 1 to access point"), c1.mac);
    ap.send(c1.mac, b"access point to client 1");
    assert_eq!(c1.expect(b"access point to client 1"), ap.mac);
    c1.send(c2.mac, b"client 1 to client 2");
    assert_eq!(c2.expect(b"client 1 to client 2"), c1.mac);
    c2.send(MacAddress::BROADCAST, b"client 2 to everyone");
    assert_eq!(ap.expect(b"client 2 to everyone"), c2.mac);
    assert_eq!(c1.expect(b"client 2 to everyone"), c2.mac);
    assert!(!c2.received().iter().any(|p| p.starts_with(b"client 2")), "its own broadcast");

    assert_eq!(c1.stop(), Ok(Outcome::Left));
    ap.says("it took leave", 1);
    assert_eq!(c2.stop(), Ok(Outcome::Left));
    assert_eq!(ap.stop(), Ok(Outcome::Left));
    // Invites became pairings, on both sides the same, and are gone.
    let store = |i: usize| Store::open(&places[i].dir, Missing::Refuse).unwrap();
    let ids = |i| store(i).pairings().unwrap().iter().map(|p| *p.pairing.id()).collect::<Vec<_>>();
    let mut of_clients = [ids(1), ids(2)].concat();
    of_clients.sort_unstable();
    assert_eq!((of_clients.len(), ids(0)), (2, of_clients));
    assert!((0..3).all(|i| store(i).invites().unwrap().is_empty()));
    assert!(store(0).pairings().unwrap().iter().all(|p| p.label == "Petrel"));
}

#[test]
fn a_restarted_access_point_and_a_restarted_client_link_again_in_mid_flow() {
    let dir = TempDir::new("restart");
    let places = places(&dir, 1);
    let ap = places[0].start();
    let client = places[1].start();
    client.says("linked to", 1);
    let flow = |from: &support::Node, to: &support::Node, first: u32| {
        let until = Instant::now() + PATIENCE;
        for n in first.. {
            assert!(Instant::now() < until, "the flow never went on");
            from.send(to.mac, &n.to_be_bytes());
            if to.received().iter().any(|p| p.len() >= 4 && p[..4] >= first.to_be_bytes()[..]) {
                return n;
            }
        }
        unreachable!("the loop has no end");
    };
    let n = flow(&client, &ap, 1);
    ap.crash();
    for lost in 0..20 {
        client.send(places[0].mac, &(n + lost).to_be_bytes());
    }
    let ap = places[0].start();
    let n = flow(&client, &ap, n + 1000);
    client.crash();
    let client = places[1].start();
    client.says("linked to", 3);
    flow(&client, &ap, n + 1000);
    flow(&ap, &client, n + 2000);
    client.stop().unwrap();
    ap.stop().unwrap();
}

#[test]
fn a_running_access_point_invites_shows_dismisses_and_revokes() {
    let dir = TempDir::new("control");
    let places = places(&dir, 1);
    std::fs::remove_dir_all(&places[1].dir).unwrap();
    let ap = places[0].start();
    let Answer::Invite(invite) =
        places[0].ask(&Request::Pair { label: "Gannet".to_owned(), valid_s: 60 }).unwrap()
    else {
        panic!("no invite");
    };
    assert!(invite.daemon_runs && invite.network == NAME);
    accept(&places[1], &invite.url);
    let client = places[1].start();
    client.says("linked to", 1);

    let Answer::Status(status) = places[0].ask(&Request::Status).unwrap() else { panic!() };
    assert_eq!((&status.role[..], status.links.len()), ("ap", 1));
    assert_eq!(status.links[0].label.as_deref(), Some("Gannet"));
    let Answer::Status(of_client) = places[1].ask(&Request::Status).unwrap() else { panic!() };
    assert_eq!(of_client.phase.as_deref(), Some("linked"));
    assert!(of_client.clock.offset_ms.is_some_and(|ms| ms.abs() < 1_000));
    let Answer::Peers(peers) = places[0].ask(&Request::Peers).unwrap() else { panic!() };
    let paired: Vec<_> = peers.pairings.iter().map(|p| (&p.label[..], p.linked)).collect();
    assert_eq!(paired, [("Gannet", Some(true))]);
    let Answer::Metrics(metrics) = places[0].ask(&Request::Metrics).unwrap() else { panic!() };
    assert!(metrics.contains("slyfi_links{role=\"ap\"} 1\n"), "{metrics}");

    // Requests for the other role, and for links that are not there, change nothing.
    for (place, request) in [
        (0, Request::Roam),
        (1, Request::Dismiss { link: 0 }),
        (1, Request::Pair { label: String::new(), valid_s: 60 }),
        (0, Request::Dismiss { link: 99 }),
        (0, Request::Revoke { id: "none".to_owned() }),
    ] {
        assert_eq!(places[place].ask(&request).unwrap_err().kind, ErrorKind::Usage, "{request:?}");
    }

    let link = status.links[0].link;
    assert_eq!(places[0].ask(&Request::Dismiss { link }), Ok(Answer::Done));
    client.says("the access point dismissed it", 1);
    client.says("linked to", 2);
    let id = peers.pairings[0].id.clone();
    assert_eq!(places[0].ask(&Request::Revoke { id }), Ok(Answer::Done));
    client.says("the link is gone", 2);
    client.says("no access point answered", 1);
    let Answer::Peers(peers) = places[0].ask(&Request::Peers).unwrap() else { panic!() };
    assert!(peers.pairings.is_empty());
    assert_eq!(places[1].ask(&Request::Leave), Ok(Answer::Done));
    assert_eq!(client.join(), Ok(Outcome::Left));
    ap.stop().unwrap();
    let store = Store::open(&places[0].dir, Missing::Refuse).unwrap();
    assert!(store.pairings().unwrap().is_empty());
}

#[test]
fn a_pairing_made_at_one_access_point_works_at_its_sibling_and_the_client_moves_there() {
    let dir = TempDir::new("siblings");
    let mut places = places(&dir, 2);
    join_by_backhaul(&dir, &mut places);
    let (first, second) = (places[0].start(), places[1].start());
    let client = places[2].start();
    client.says("linked to", 1);
    first.says("paired", 1);
    // The invite was known to the first only; the pairing that it brought, to both.
    let is_at = |place: &support::Place| match place.ask(&Request::Status) {
        Ok(Answer::Status(status)) => !status.links.is_empty(),
        other => panic!("{other:?}"),
    };
    let to_first = !is_at(&places[0]);
    let (from, to) = if to_first { (&second, &first) } else { (&first, &second) };
    client.send(from.mac, b"to the one");
    from.expect(b"to the one");
    assert_eq!(places[2].ask(&Request::Roam), Ok(Answer::Done));
    client.says("moved to another access point", 1);
    client.send(to.mac, b"to the other");
    assert_eq!(to.expect(b"to the other"), client.mac);
    to.send(client.mac, b"from the other");
    client.expect(b"from the other");
    // The sibling has the pairing of its own right, also when the first is gone.
    first.crash();
    client.stop().unwrap();
    let client = places[2].start();
    client.says("linked to", 2);
    client.send(second.mac, b"once more");
    second.expect(b"once more");
    client.stop().unwrap();
    // Restarted, the first hears of a revocation at the second, which never saw the invite.
    let first = places[0].start();
    let Answer::Peers(peers) = places[1].ask(&Request::Peers).unwrap() else { panic!() };
    let id = peers.pairings[0].id.clone();
    assert_eq!(places[1].ask(&Request::Revoke { id }), Ok(Answer::Done));
    let until = Instant::now() + PATIENCE;
    while !matches!(places[0].ask(&Request::Peers), Ok(Answer::Peers(p)) if p.pairings.is_empty()) {
        assert!(Instant::now() < until, "the first never heard of the revocation");
        std::thread::sleep(Duration::from_millis(10));
    }
    first.stop().unwrap();
    second.stop().unwrap();
}

#[test]
fn an_invite_is_good_for_one_client_only() {
    let dir = TempDir::new("spent");
    let mut places = places(&dir, 2);
    let url = invite(&places[0]);
    accept(&places[1], &url);
    // The second client has the first one's URL, and nothing else.
    std::fs::remove_dir_all(&places[2].dir).unwrap();
    accept(&places[2], &url);
    places[1].options = Options { pair_only: true, ..Options::default() };
    std::fs::remove_dir_all(&places[1].dir).unwrap();
    accept(&places[1], &url);
    let ap = places[0].start();
    assert_eq!(places[1].start().join(), Ok(Outcome::Paired));
    let refused = places[2].start().join().unwrap_err();
    assert_eq!(refused.kind, ErrorKind::Invite, "{refused}");
    ap.stop().unwrap();
    let store = Store::open(&places[0].dir, Missing::Refuse).unwrap();
    assert_eq!(store.pairings().unwrap().len(), 1);
}

#[test]
fn without_an_access_point_a_script_gets_its_failure_with_the_state_of_the_clock() {
    let dir = TempDir::new("alone");
    let mut places = places(&dir, 1);
    let timeout = Some(slyfi_base::Duration::from_millis(700));
    places[1].options = Options { timeout, ..Options::default() };
    let e = places[1].start().join().unwrap_err();
    assert_eq!(e.kind, ErrorKind::NoLink);
    for word in ["no access point answered", "clock", "UTC", "synchronis", "5 min"] {
        assert!(e.to_string().contains(word), "{word} is not in: {e}");
    }
}

#[test]
fn a_first_try_without_an_answer_is_enough_for_a_script_that_tries_once() {
    let dir = TempDir::new("once");
    let mut places = places(&dir, 1);
    places[1].options = Options { once: true, ..Options::default() };
    let e = places[1].start().join().unwrap_err();
    assert_eq!(e.kind, ErrorKind::NoLink);
    // The pairing, here still the invite, is not lost by that.
    places[1].options = Options::default();
    let (ap, client) = (places[0].start(), places[1].start());
    client.says("linked to", 1);
    client.stop().unwrap();
    ap.stop().unwrap();
}

#[test]
fn two_days_later_both_sides_have_advanced_their_keys_and_link() {
    let dir = TempDir::new("days");
    let mut places = places(&dir, 1);
    let (ap, client) = (places[0].start(), places[1].start());
    client.says("linked to", 1);
    client.stop().unwrap();
    ap.stop().unwrap();
    let stored = |place: &support::Place| {
        let store = Store::open(&place.dir, Missing::Refuse).unwrap();
        store.pairings().unwrap().remove(0).pairing
    };
    let before = stored(&places[0]);
    for place in &mut places {
        place.clock_offset_us = 2 * 86_400_000_000;
    }
    let (ap, client) = (places[0].start(), places[1].start());
    client.says("linked to", 2);
    client.stop().unwrap();
    ap.stop().unwrap();
    let (of_ap, of_client) = (stored(&places[0]), stored(&places[1]));
    assert_eq!(of_ap, of_client);
    assert_eq!((before.day(), of_ap.day(), before.id()), (0, 2, of_ap.id()));
    // The keys of day 0 are in no file any more.
    let old = before.encode();
    let old = &old[old.len() - 32..];
    for entry in std::fs::read_dir(&places[0].dir).unwrap() {
        let bytes = std::fs::read(entry.unwrap().path()).unwrap();
        assert!(!bytes.windows(32).any(|w| w == old));
    }
}

#[test]
fn a_capture_has_every_frame_behind_a_radiotap_header() {
    let dir = TempDir::new("pcap");
    let mut places = places(&dir, 1);
    let file = dir.path().join("client.pcapng");
    places[1].options = Options { pcap: Some(file.clone()), ..Options::default() };
    let (ap, client) = (places[0].start(), places[1].start());
    client.says("linked to", 1);
    client.send(ap.mac, b"something to capture");
    ap.expect(b"something to capture");
    client.stop().unwrap();
    ap.stop().unwrap();
    let bytes = std::fs::read(&file).unwrap();
    let word = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
    let (mut at, mut kinds, mut directions) = (0, Vec::new(), [0; 3]);
    while at < bytes.len() {
        let (kind, len) = (word(at), word(at + 4) as usize);
        assert_eq!(word(at + len - 4) as usize, len, "a block ends as it begins");
        if kind == 6 {
            let packet = &bytes[at + 28..at + 28 + word(at + 20) as usize];
            let radiotap = usize::from(u16::from_le_bytes([packet[2], packet[3]]));
            let frame = &packet[radiotap..];
            assert_eq!(frame[..HEADER_LEN], HEADER, "the carrier");
            // The last option before the end is the direction: 1 in, 2 out.
            directions[word(at + len - 12) as usize] += 1;
        }
        kinds.push(kind);
        at += len;
    }
    assert_eq!(kinds[..2], [0x0a0d_0d0a, 1]);
    assert!(kinds[2..].iter().all(|k| *k == 6));
    assert!(directions[1] >= 5 && directions[2] >= 5, "{directions:?}");
}

#[test]
fn a_clock_an_hour_off_gets_no_link_and_both_sides_say_why() {
    let dir = TempDir::new("clock");
    let mut places = places(&dir, 1);
    let ap = places[0].start();
    let client = places[1].start();
    client.says("linked to", 1);
    client.stop().unwrap();
    places[1].clock_offset_us = -3_600_000_000;
    places[1].options =
        Options { timeout: Some(slyfi_base::Duration::from_secs(4)), ..Options::default() };
    let e = places[1].start().join().unwrap_err();
    assert_eq!(e.kind, ErrorKind::NoLink);
    ap.says("is 60 min behind; its probes are ignored until it is set", 1);
    // Four minutes are no obstacle.
    places[1].clock_offset_us = -240_000_000;
    let client = places[1].start();
    client.says("linked to", 2);
    client.stop().unwrap();
    ap.stop().unwrap();
}

#[test]
fn a_log_at_its_most_talkative_has_no_secret_address_or_name() {
    let dir = TempDir::new("guard");
    let mut places = places(&dir, 1);
    let key_log = dir.path().join("keys.log");
    places[0].options = Options { key_log: Some(key_log.clone()), ..Options::default() };
    let ap = places[0].start();
    let client = places[1].start();
    client.says("linked to", 1);
    client.send(ap.mac, b"a payload that stays private");
    ap.expect(b"a payload that stays private");
    std::thread::sleep(Duration::from_millis(1100));
    client.stop().unwrap();
    ap.stop().unwrap();

    let mut secrets: Vec<Vec<u8>> = vec![
        NAME.into(),
        "Petrel".into(),
        "SLYFI://".into(),
        b"a payload that stays private".to_vec(),
    ];
    for place in &places {
        secrets.push(place.ip.to_string().into());
        secrets.push(place.mac.0.to_vec());
        for stored in Store::open(&place.dir, Missing::Refuse).unwrap().pairings().unwrap() {
            secrets.push(stored.pairing.id().to_vec());
            let bytes = stored.pairing.encode();
            secrets.extend(bytes[bytes.len() - 64..].chunks(16).map(<[u8]>::to_vec));
        }
    }
    // Session keys: the words of the key log that are hexadecimal.
    let keys = std::fs::read_to_string(&key_log).unwrap();
    let words: Vec<_> = keys.split_whitespace().filter(|w| w.len() >= 32).collect();
    assert!(!words.is_empty(), "the key log has no keys: {keys}");
    let hex = |s: &str| -> Option<Vec<u8>> {
        (0..s.len()).step_by(2).map(|i| u8::from_str_radix(s.get(i..i + 2)?, 16).ok()).collect()
    };
    secrets.extend(words.iter().filter_map(|w| hex(w)));
    for place in &places {
        let log = place.log.contents();
        assert!(log.len() > 200, "the log says nothing");
        for secret in &secrets {
            assert_eq!(find(&log, secret), None, "in:\n{}", String::from_utf8_lossy(&log));
        }
    }
    // The control: the same scan finds what is there.
    assert!(find(b"host 02:4c:4b:77:31:a0 came", &places[0].mac.0).is_some());
    assert!(find(b"key 024C4B7731A0", &places[0].mac.0).is_some());
}

/// Looks for `secret` raw, in hexadecimal of either case, and with colons, as a tool may print it.
fn find(log: &[u8], secret: &[u8]) -> Option<String> {
    let plain: String = secret.iter().map(|b| format!("{b:02x}")).collect();
    let colons = secret.iter().map(|b| format!("{b:02x}")).collect::<Vec<_>>().join(":");
    let decimals = format!("{secret:?}");
    let lower = log.to_ascii_lowercase();
    let forms = [secret.to_vec(), plain.into_bytes(), colons.into_bytes(), decimals.into_bytes()];
    forms.into_iter().find_map(|form| {
        let form = form.to_ascii_lowercase();
        let found = lower.windows(form.len()).any(|w| w == form);
        found.then(|| String::from_utf8_lossy(&form).into_owned())
    })
}
