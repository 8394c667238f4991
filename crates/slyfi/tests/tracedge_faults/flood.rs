//! Junk of every kind from many connections at full tilt: the server's memory stays bounded, and honest
//! logins are served meanwhile.

use std::fs;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use slyfi_base::SecureRandom;
use slyfi_linux::OsRandom;
use slyfi_tracedge::audit::{OwnRow, Subscription};
use slyfi_tracedge::keys::SecretKey;
use slyfi_tracedge::random::SeededRandom;
use slyfi_tracedge::service::api::Route;
use slyfi_tracedge::subscriber::{self, Seen, Transport, Which};

use crate::full;
use crate::kills::now_s;
use crate::wire::{Wire, config};
use crate::world::{World, json};

/// As many connections as the server attends to, less what an honest one needs.
const CONNECTIONS: usize = 6;
/// An honest login is over before so many requests of the flood are.
const PATIENCE: u64 = 50_000;

/// What a process has in memory, now and at most so far, bytes.
pub fn memory(pid: u32) -> (u64, u64) {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let field = |name: &str| -> u64 {
        let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
        line.trim().trim_end_matches(" kB").trim().parse::<u64>().unwrap() * 1_024
    };
    (field("VmRSS:"), field("VmHWM:"))
}

/// Subscribes within the test.
pub fn subscribe(world: &World, name: &str) -> Subscription {
    let invite = fs::read(world.invite(name)).unwrap();
    let invite: serde_json::Value = serde_json::from_slice(&invite).unwrap();
    let text = |name: &str| invite[name].as_str().unwrap().to_owned();
    let bytes = |text: String| -> Vec<u8> {
        let pairs = text.as_bytes().chunks(2).map(|two| std::str::from_utf8(two).unwrap());
        pairs.map(|two| u8::from_str_radix(two, 16).unwrap()).collect()
    };
    let invitation: [u8; 16] = bytes(text("invitation")).try_into().unwrap();
    let operator = text("operator").parse().unwrap();
    let mut way = Wire::connect(&config(&world.operator), address(world)).unwrap();
    let secret = SecretKey::generate(&mut OsRandom);
    subscriber::subscribe(&mut way, &operator, &invitation, secret, &mut OsRandom).unwrap()
}

pub fn address(world: &World) -> SocketAddr {
    ([127, 0, 0, 1], world.serve.port).into()
}

/// A whole login over a connection of its own, which is returned.
pub fn login(world: &World, mine: &Subscription, audits: u32) -> Wire {
    // Connections that have just ended may hold their places for a moment.
    let mut attempts = (0..100).map(|_| Wire::connect(&config(&world.operator), address(world)));
    let connected = attempts.find_map(|attempt| {
        let pause = Duration::from_millis(50);
        attempt.inspect_err(|_| std::thread::sleep(pause)).ok()
    });
    let mut way = connected.expect("a place for an honest subscriber");
    let operator = mine.receipt.operator;
    let which = Which::Current;
    let head = subscriber::head(&mut way, &operator, &mut Seen::default(), which, now_s()).unwrap();
    let fetched = subscriber::fetch(&mut way, &head, mine, audits, &mut OsRandom).unwrap();
    let OwnRow::Opened(secret) = fetched.own else { panic!("{:?}", fetched.own) };
    let epoch = head.head().epoch.number;
    subscriber::prove(&mut way, epoch, secret.key(), &mut OsRandom).unwrap();
    way
}

/// One piece of junk. Returns whether the connection can be used again.
fn junk(way: &mut Wire, kind: u64, honest: &[u8], rng: &mut SeededRandom) -> std::io::Result<bool> {
    let query = honest.len();
    let mut body = honest.to_vec();
    // The first two bytes name the scheme, the last one's spare bits are zero.
    rng.fill(&mut body[2..query - 1]);
    let mut ask = |method: &str, path: &str, body: &[u8]| -> std::io::Result<u16> {
        way.ask(method, path, body)?;
        Ok(way.response()?.0)
    };
    // Rare kinds end the connection; a new one costs more than the junk.
    let (status, expected) = match (kind % 8, kind % 400) {
        (_, 8) => (ask("POST", "/v1/epoch/99/table", &body[..64])?, 413),
        (_, 16) => (ask("POST", "/v1/epoch/0/table", &[body, vec![0; 1]].concat())?, 413),
        (_, 24) => {
            way.send(b"\x16\x03nonsense\r\n\r\n")?;
            (way.response()?.0, 400)
        }
        (_, 32) => {
            // Half a query, and away.
            way.send(
                format!("POST /v1/epoch/0/table HTTP/1.1\r\nContent-Length: {query}\r\n\r\n")
                    .as_bytes(),
            )?;
            way.send(&body[..query / 2])?;
            return Ok(false);
        }
        // Nobody can tell it from an honest query.
        (0 | 1, _) => (ask("POST", "/v1/epoch/0/table", &body)?, 200),
        (2, _) => (ask("POST", "/v1/epoch/0/directory", &body[..3])?, 400),
        (3, _) => (ask("POST", "/v1/login/finish", &body[..72])?, 403),
        (4, _) => (ask("POST", "/v1/enrol", &body[..144])?, 400),
        (5, _) => (ask("GET", "/v1/epoch/77/top", &[])?, 404),
        (6, _) => (ask("GET", "/v1/../../etc/passwd", &[])?, 404),
        _ => (ask("POST", "/v1/login/begin", &[])?, 200),
    };
    assert!(status == expected || status == 503, "junk {kind}: {status}, not {expected}");
    Ok(status != 413 && kind % 400 != 24)
}

/// Ends the flood when one of its threads ends, for what reason ever.
struct Ended<'a>(&'a AtomicBool);

impl Drop for Ended<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[test]
fn a_flood_of_junk_takes_no_memory_and_keeps_no_honest_subscriber_out() {
    let world = World::new("flood", "lwe");
    let mine = subscribe(&world, "ann");
    world.build();
    let way = login(&world, &mine, 1);
    let query = &way.query;
    let most = if full() { 1_000_000 } else { 4_000 };
    let (sent, failed, honest) = (&AtomicU64::new(0), &AtomicU64::new(0), &AtomicU64::new(0));
    let over = &AtomicBool::new(false);
    let config = &config(&world.operator);
    let pid = world.serve.child.id();
    let (warm, slowest) = (&AtomicU64::new(0), &AtomicU64::new(0));
    let world = &world;
    std::thread::scope(|scope| {
        for number in 0..CONNECTIONS {
            scope.spawn(move || {
                let _ended = Ended(over);
                let mut rng = SeededRandom::new([number as u8; 32]);
                let mut way = None;
                for turn in 0.. {
                    if over.load(Ordering::Relaxed) {
                        break;
                    }
                    let mut open = match way.take() {
                        Some(way) => way,
                        // It may be closed upon as one too many.
                        None => match Wire::connect(config, address(world)) {
                            Ok(way) => way,
                            Err(_) => {
                                failed.fetch_add(1, Ordering::Relaxed);
                                std::thread::sleep(Duration::from_millis(1));
                                continue;
                            }
                        },
                    };
                    // What was not answered does not count, and is no failure of the server's.
                    match junk(&mut open, turn + number as u64 * 67, query, &mut rng) {
                        Ok(goes_on) => {
                            sent.fetch_add(1, Ordering::Relaxed);
                            way = goes_on.then_some(open);
                        }
                        Err(_) => {
                            failed.fetch_add(1, Ordering::Relaxed);
                        }
                    }
                }
            });
        }
        // Honest logins, one after the other, until the flood is over.
        loop {
            let before = sent.load(Ordering::Relaxed);
            login(world, &mine, 1);
            let during = sent.load(Ordering::Relaxed) - before;
            slowest.fetch_max(during, Ordering::Relaxed);
            let logins = honest.fetch_add(1, Ordering::Relaxed) + 1;
            if logins == 1 {
                warm.store(memory(pid).1, Ordering::Relaxed);
            }
            let enough = sent.load(Ordering::Relaxed) >= most && logins >= 5;
            if enough || over.load(Ordering::Relaxed) {
                break;
            }
        }
        over.store(true, Ordering::Relaxed);
    });
    let [sent, honest, slowest, warm] =
        [sent, honest, slowest, warm].map(|n| n.load(Ordering::Relaxed));
    let (now, highest) = memory(pid);
    println!(
        "{sent} requests of junk ({failed:?} more not answered), {honest} logins meanwhile, \
         the slowest within {slowest} of them; \
         memory {} kB at the first login, {} kB at most, {} kB now",
        warm >> 10,
        highest >> 10,
        now >> 10
    );
    assert!(sent >= most && honest >= 5);
    assert!(slowest < PATIENCE, "a login took as long as {slowest} requests");
    assert!(highest < warm + (32 << 20), "memory grew from {warm} to {highest}");
    // And the operator is well.
    assert!(json(&["build", "--dir", &world.operator, "--json"])["epoch"] == 1);
}

#[test]
fn a_process_that_hoards_is_seen_to() {
    let me = std::process::id();
    let before = memory(me).1.max(memory(me).0);
    let hoard = vec![1u8; 200 << 20];
    assert!(memory(me).1 >= before + (100 << 20), "{}", hoard.len());
}

#[test]
fn what_has_begun_and_never_ends_holds_a_bounded_place() {
    let world = World::new("slow", "lwe");
    let mine = subscribe(&world, "ann");
    world.build();
    login(&world, &mine, 0);
    let (_, before) = memory(world.serve.child.id());
    let config = config(&world.operator);
    // Each announces as much as it may, and sends nothing of it.
    let held: Vec<_> = (0..CONNECTIONS)
        .filter_map(|_| {
            let mut way = Wire::connect(&Arc::clone(&config), address(&world)).ok()?;
            let head = b"POST /v1/epoch/0/table HTTP/1.1\r\nContent-Length: 1000\r\n\r\n";
            way.send(head).ok()?;
            Some(way)
        })
        .collect();
    assert!(!held.is_empty());
    let (_, after) = memory(world.serve.child.id());
    assert!(after < before + (8 << 20), "{before} {after}");
    // There is one place left, and an honest one gets it.
    login(&world, &mine, 0);
}

#[test]
fn the_test_speaks_as_the_subscribers_program_does() {
    let world = World::new("speaks", "lwe");
    let mut way = Wire::connect(&config(&world.operator), address(&world)).unwrap();
    assert_eq!(way.call(Route::Epochs, &[]).unwrap(), (200, Vec::new()));
    assert_eq!(way.call(Route::Top { epoch: 0 }, &[]).unwrap().0, 404);
    assert_eq!(way.binding().len(), 32);
}
