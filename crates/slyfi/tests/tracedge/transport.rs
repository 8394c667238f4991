//! What comes over the wire that the subscriber's program does not send, and what must not come back.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::Command;
use std::time::{Duration, Instant};

use rustls::{ClientConnection, StreamOwned};

use crate::world::{World, ok, tracedge};

type Tls = StreamOwned<ClientConnection, TcpStream>;

#[test]
fn junk_does_not_stop_it() {
    let world = World::new("junk", "lwe");
    let ann = world.subscribe("ann");
    world.build();
    for (junk, status) in [
        (&b"GET /v1/nothing HTTP/1.1\r\nConnection: close\r\n\r\n"[..], "HTTP/1.1 404"),
        (b"nonsense\r\n\r\n", "HTTP/1.1 400"),
        (b"POST /v1/enrol HTTP/1.1\r\nContent-Length: 1025\r\n\r\n", "HTTP/1.1 413"),
        (b"GET /v1/epochs HTTP/1.1\r\nContent-Length: 1\r\n\r\nx", "HTTP/1.1 413"),
        (
            b"POST /v1/epoch/0/table HTTP/1.1\r\nContent-Length: 3\r\nConnection: close\r\n\r\nabc",
            "HTTP/1.1 400",
        ),
        (b"POST /v1/epoch/0/table HTTP/1.1\r\nContent-Length: 99999999999\r\n\r\n", "HTTP/1.1 413"),
        (b"POST /v1/epoch/9/table HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc", "HTTP/1.1 413"),
        (&[b'a'; 20_000], "HTTP/1.1 431"),
    ] {
        let answer = world.send(junk);
        assert!(answer.starts_with(status), "{:?}: {answer}", String::from_utf8_lossy(junk));
    }
    // What is no TLS, and more connections than there are places, which say nothing.
    for _ in 0..50 {
        let mut socket = TcpStream::connect(("127.0.0.1", world.serve.port)).unwrap();
        let _ = socket.write_all(b"GET / HTTP/1.1\r\n\r\n");
    }
    let silent: Vec<_> =
        (0..20).map(|_| TcpStream::connect(("127.0.0.1", world.serve.port)).unwrap()).collect();
    drop(silent);
    // They have gone, and their places with them.
    let served = (0..50).any(|_| {
        std::thread::sleep(Duration::from_millis(100));
        tracedge(&["fetch", "--dir", &ann]).status.success()
    });
    assert!(served);
    ok(&["prove", "--dir", &ann]);
}

#[test]
fn a_message_of_doubtful_length_is_refused() {
    let world = World::new("doubt", "lwe");
    let get = |version: &str, fields: &str, body: &str| {
        let head = format!("GET /v1/epochs HTTP/{version}\r\nConnection: close\r\n{fields}\r\n");
        world.send(format!("{head}{body}").as_bytes())
    };
    for (version, fields, body) in [
        ("1.1", "", ""),
        ("1.1", "Content-Length: 0\r\n", ""),
        // Said twice, but the same (RFC 9110 §8.6).
        ("1.1", "Content-Length: 0\r\nContent-Length: 0\r\n", ""),
    ] {
        let answer = get(version, fields, body);
        assert!(answer.starts_with("HTTP/1.1 200"), "{fields:?}: {answer}");
    }
    for (version, fields, body) in [
        ("1.1", "Content-Length: +0\r\n", ""),
        ("1.1", "Content-Length: 0, 0\r\n", ""),
        ("1.1", "Content-Length: 0\r\nContent-Length: 1\r\n", "x"),
        ("1.1", "Content-Length: 99999999999999999999999\r\n", ""),
        ("1.1", "Transfer-Encoding: chunked\r\n", "0\r\n\r\n"),
        ("1.1", "Content-Length: 0\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n"),
        ("1.1", "Transfer-Encoding: gzip\r\n", ""),
        ("1.1", "no field\r\n", ""),
        ("1.0", "", ""),
    ] {
        let answer = get(version, fields, body);
        assert!(answer.contains(" 400 "), "{version} {fields:?}: {answer}");
        assert!(!answer.contains(" 200 "), "{version} {fields:?}: {answer}");
    }
    let many = get("1.1", &"a: b\r\n".repeat(40), "");
    assert!(many.starts_with("HTTP/1.1 431"), "{many}");
}

/// Runs curl; `None` where there is none, which CI must not be.
fn curl(world: &World, args: &[&str]) -> Option<String> {
    let authority = format!("{}/authority.pem", world.operator);
    let made = Command::new("curl").args(["-sS", "--cacert", &authority]).args(args).output();
    let Ok(out) = made else {
        assert!(std::env::var_os("CI").is_none(), "curl must be there in CI");
        println!("skipped: there is no curl");
        return None;
    };
    let err = String::from_utf8_lossy(&out.stderr).into_owned();
    assert!(out.status.success(), "{args:?}: {err}");
    Some(String::from_utf8_lossy(&out.stdout).into_owned())
}

#[test]
fn another_client_gets_the_same_over_http_1_and_http_2() {
    let world = World::new("curl", "lwe");
    world.subscribe("ann");
    world.build();
    let fetch = |version: &str, path: &str, more: &[&str]| -> Option<(String, Vec<u8>)> {
        let file = world.dir.path("body");
        let url = format!("{}{path}", world.serve.url());
        // Written when nothing comes, too.
        std::fs::write(&file, "").unwrap();
        let args =
            [&[version, "-D", "-", "-o", &file, "-w", "%{http_version}", &url][..], more].concat();
        Some((curl(&world, &args)?, std::fs::read(&file).unwrap()))
    };
    let wrong = ["--data-binary", "abc"];
    let long = "x".repeat(2_000);
    for (path, more, status) in [
        ("/v1/epochs", &[][..], 200),
        ("/v1/epoch/0/table", &[], 200),
        ("/v1/epoch/0/table/hint", &[], 200),
        ("/v1/nothing", &[], 404),
        ("/v1/epochs?x=1", &[], 404),
        ("/v1/epoch/0/table", &wrong, 400),
        ("/v1/enrol", &["--data-binary", &long], 413),
    ] {
        let Some((head1, body1)) = fetch("--http1.1", path, more) else { return };
        let (head2, body2) = fetch("--http2", path, more).unwrap();
        assert_eq!(body1, body2, "{path}");
        assert_eq!(body1.is_empty(), status != 200, "{path}");
        if (path, status) == ("/v1/epoch/0/table", 200) {
            let table = format!("{}/000000000000.table", world.operator);
            assert_eq!(body1, std::fs::read(table).unwrap());
        }
        assert!(head1.starts_with(&format!("HTTP/1.1 {status}")), "{path}: {head1}");
        assert!(head2.starts_with(&format!("HTTP/2 {status}")), "{path}: {head2}");
        assert!(head1.ends_with("1.1") && head2.ends_with('2'), "{head1} {head2}");
        for head in [head1, head2] {
            // Nothing by which a response or a machine would be known again.
            let fields = head.lines().skip(1).filter_map(|line| line.split_once(": "));
            for (name, value) in fields {
                let known = ["content-type", "content-length", "connection"];
                assert!(known.contains(&name), "{path}: {name}: {value}");
            }
        }
    }
    // A body that comes in pieces of no announced length.
    let (head, _) =
        fetch("--http1.1", "/v1/enrol", &["-H", "Transfer-Encoding: chunked", "-d", "x"]).unwrap();
    assert!(head.contains("HTTP/1.1 400"), "{head}");
}

#[test]
fn no_tickets_are_given_by_which_a_client_would_be_known_again() {
    let world = World::new("tickets", "lwe");
    for protocols in [&[][..], &[&b"http/1.1"[..]], &[b"h2", b"http/1.1"]] {
        let mut stream = world.connect(protocols);
        stream.write_all(b"GET /v1/epochs HTTP/1.1\r\nConnection: close\r\n\r\n").unwrap();
        let _ = stream.read_to_end(&mut Vec::new());
        assert_eq!(stream.conn.tls13_tickets_received(), 0);
        let chosen = stream.conn.alpn_protocol();
        assert_eq!(chosen, protocols.first().copied(), "the first that both speak");
    }
}

/// HTTP/2 by hand (RFC 9113): frames that no client sends.
struct Frames {
    tls: Tls,
}

const DATA: u8 = 0;
const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const PING: u8 = 6;
const GOAWAY: u8 = 7;

impl Frames {
    /// Begins, with these settings.
    fn begin(world: &World, settings: &[(u16, u32)]) -> Self {
        let mut frames = Frames { tls: world.connect(&[b"h2"]) };
        frames.tls.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").unwrap();
        let pairs: Vec<u8> = settings
            .iter()
            .flat_map(|(name, value)| [&name.to_be_bytes()[..], &value.to_be_bytes()].concat())
            .collect();
        frames.send(SETTINGS, 0, 0, &pairs).unwrap();
        frames
    }

    fn send(&mut self, kind: u8, flags: u8, stream: u32, payload: &[u8]) -> std::io::Result<()> {
        let length = (payload.len() as u32).to_be_bytes();
        let mut frame = length[1..].to_vec();
        frame.extend([kind, flags]);
        frame.extend(stream.to_be_bytes());
        frame.extend(payload);
        self.tls.write_all(&frame)
    }

    /// Asks for `path`; `more` says whether a body follows.
    fn ask(&mut self, stream: u32, post: bool, path: &str, more: bool) -> std::io::Result<()> {
        // RFC 7541: :method and :scheme of the static table; :path without indexing.
        let mut block = vec![if post { 0x83 } else { 0x82 }, 0x87, 0x04, path.len() as u8];
        block.extend(path.as_bytes());
        // END_HEADERS, and END_STREAM if there is no body.
        self.send(HEADERS, if more { 4 } else { 5 }, stream, &block)
    }

    /// The next frame: kind, flags, stream and payload; `None` when the peer has closed.
    fn next(&mut self) -> Option<(u8, u8, u32, Vec<u8>)> {
        let mut head = [0; 9];
        self.tls.read_exact(&mut head).ok()?;
        let length = u32::from_be_bytes([0, head[0], head[1], head[2]]);
        let mut payload = vec![0; length as usize];
        self.tls.read_exact(&mut payload).ok()?;
        if (head[3], head[4]) == (PING, 0) {
            // It may have closed meanwhile, which the next read says.
            let _ = self.send(PING, 1, 0, &payload);
        }
        let stream = u32::from_be_bytes([head[5], head[6], head[7], head[8]]);
        Some((head[3], head[4], stream, payload))
    }

    /// The error of a RST_STREAM or of a GOAWAY's.
    fn error(kind: u8, payload: &[u8]) -> u32 {
        let at = if kind == GOAWAY { 4 } else { 0 };
        u32::from_be_bytes(payload[at..at + 4].try_into().unwrap())
    }
}

#[test]
fn http_2_says_what_it_allows_and_means_it() {
    let world = World::new("h2", "lwe");
    let mut frames = Frames::begin(&world, &[]);
    let (kind, _, _, payload) = frames.next().unwrap();
    assert_eq!(kind, SETTINGS);
    let settings: Vec<(u16, u32)> = payload
        .as_chunks::<6>()
        .0
        .iter()
        .map(|[a, b, c, d, e, f]| {
            (u16::from_be_bytes([*a, *b]), u32::from_be_bytes([*c, *d, *e, *f]))
        })
        .collect();
    // RFC 9113 §6.5.2: header table, concurrent streams, window, header list.
    for wanted in [(1, 0), (3, 4), (4, 131_072), (6, 8_192)] {
        assert!(settings.contains(&wanted), "{wanted:?}: {settings:?}");
    }
    // Ten requests whose bodies never come: four are taken, six refused.
    for n in 0..10 {
        frames.ask(1 + 2 * n, true, "/v1/enrol", true).unwrap();
    }
    let mut refused = Vec::new();
    while refused.len() < 6 {
        let (kind, _, stream, payload) = frames.next().expect("it stays open");
        assert_ne!(kind, HEADERS, "nobody is answered before the body is there");
        if kind == RST_STREAM {
            assert_eq!(Frames::error(kind, &payload), 7, "REFUSED_STREAM");
            refused.push(stream);
        }
    }
    assert!(refused.iter().all(|stream| *stream > 7), "{refused:?}");
    // The four are answered one after the other: no receipt for this, but an answer.
    for stream in [1, 3, 5, 7] {
        frames.send(DATA, 1, stream, b"abc").unwrap();
    }
    let mut answered: Vec<_> = std::iter::from_fn(|| frames.next())
        .filter(|frame| frame.0 == HEADERS)
        .take(4)
        // :status 400, of the static table.
        .map(|frame| (frame.2, frame.3[0]))
        .collect();
    answered.sort();
    assert_eq!(answered, [1, 3, 5, 7].map(|stream| (stream, 0x8c)));
}

#[test]
fn streams_that_are_opened_and_reset_at_once_end_the_connection() {
    let world = World::new("reset", "lwe");
    let ann = world.subscribe("ann");
    world.build();
    let mut frames = Frames::begin(&world, &[]);
    for n in 0..20_000 {
        let stream = 1 + 2 * n;
        let sent = frames.ask(stream, true, "/v1/epoch/0/table", true);
        // CANCEL (CVE-2023-44487).
        if sent.and_then(|()| frames.send(RST_STREAM, 0, stream, &[0, 0, 0, 8])).is_err() {
            break;
        }
    }
    let ended = std::iter::from_fn(|| frames.next()).find(|frame| frame.0 == GOAWAY);
    // It may be closed before that can be read.
    if let Some((kind, _, _, payload)) = ended {
        assert_eq!(Frames::error(kind, &payload), 11, "ENHANCE_YOUR_CALM");
    }
    assert!(frames.next().is_none(), "it goes on");
    ok(&["fetch", "--dir", &ann]);
}

#[test]
fn who_holds_all_places_gives_one_to_who_has_none() {
    let world = World::new("fair", "lwe");
    let url = format!("{}/v1/epochs", world.serve.url());
    // All eight, by one address, and none of them says a word.
    let held: Vec<_> =
        (0..8).map(|_| TcpStream::connect(("127.0.0.1", world.serve.port)).unwrap()).collect();
    std::thread::sleep(Duration::from_millis(300));
    let args = ["-o", "/dev/null", "-w", "%{http_code}", &url];
    let Some(other) = curl(&world, &[&["--interface", "127.0.0.2"][..], &args].concat()) else {
        return;
    };
    assert_eq!(other, "200");
    std::thread::sleep(Duration::from_millis(300));
    // The other has left, so one more is let in; and then none.
    let more = [(); 2].map(|()| TcpStream::connect(("127.0.0.1", world.serve.port)).unwrap());
    let closed = more.map(|mut socket| {
        socket.set_read_timeout(Some(Duration::from_secs(1))).unwrap();
        socket.read(&mut [0]).is_ok_and(|n| n == 0)
    });
    assert_eq!(closed, [false, true]);
    drop(held);
}

#[test]
fn it_ends_when_it_is_told_to_and_says_goodbye() {
    for signal in ["-TERM", "-INT"] {
        let mut world = World::new(&format!("end{signal}"), "lwe");
        world.subscribe("ann");
        world.build();
        let mut frames = Frames::begin(&world, &[]);
        frames.ask(1, false, "/v1/epochs", false).unwrap();
        let answered = std::iter::from_fn(|| frames.next()).find(|frame| frame.0 == DATA).unwrap();
        assert!(answered.3.len() > 400, "a head");
        let mut idle = world.connect(&[b"http/1.1"]);
        idle.write_all(b"GET /v1/epochs HTTP/1.1\r\n\r\n").unwrap();
        idle.read_exact(&mut [0; 12]).unwrap();
        let pid = world.serve.child.id().to_string();
        assert!(Command::new("kill").args([signal, &pid]).status().unwrap().success());
        let said = std::iter::from_fn(|| frames.next()).find(|frame| frame.0 == GOAWAY).unwrap();
        assert_eq!(Frames::error(GOAWAY, &said.3), 0, "NO_ERROR");
        let began = Instant::now();
        while frames.next().is_some() {}
        let status = world.serve.child.wait().unwrap();
        assert!(status.success(), "{signal}: {status}");
        assert!(began.elapsed() < Duration::from_secs(9), "it did not wait for anybody");
        assert!(!std::path::Path::new(&format!("{}/control", world.operator)).exists());
        // Without it, orders are carried out by whoever gives them.
        world.invite("bob");
    }
}

#[test]
fn slow_peers_are_given_up() {
    if std::env::var_os("SLYFI_FULL").is_none() {
        println!(
            "half a minute of waiting: with SLYFI_FULL (what the limits do is in the unit tests)"
        );
        return;
    }
    let world = World::new("slow", "hintless");
    let ann = world.subscribe("ann");
    world.build();
    let patient = Duration::from_secs(40);
    let until_closed = |tls: &mut Tls, drip: &[u8]| {
        let began = Instant::now();
        tls.sock.set_read_timeout(Some(Duration::from_secs(1))).unwrap();
        while began.elapsed() < patient {
            match tls.read(&mut [0; 4_096]) {
                Ok(0) => return true,
                Ok(_) => (),
                Err(e) if matches!(e.kind(), std::io::ErrorKind::WouldBlock) => {
                    if tls.write_all(drip).is_err() {
                        return true;
                    }
                }
                Err(_) => return true,
            }
        }
        false
    };
    std::thread::scope(|scope| {
        // No TLS at all.
        scope.spawn(|| {
            let mut socket = TcpStream::connect(("127.0.0.1", world.serve.port)).unwrap();
            socket.set_read_timeout(Some(patient)).unwrap();
            assert_eq!(socket.read(&mut [0]).unwrap(), 0);
        });
        // A head, a body, byte by byte.
        for begin in [
            &b"GET /v1/epochs HTTP/1.1\r\nX: "[..],
            b"POST /v1/enrol HTTP/1.1\r\nContent-Length: 1000\r\n\r\n",
        ] {
            let (world, until_closed) = (&world, &until_closed);
            scope.spawn(move || {
                let mut tls = world.connect(&[b"http/1.1"]);
                tls.write_all(begin).unwrap();
                assert!(until_closed(&mut tls, b"x"), "{}", String::from_utf8_lossy(begin));
            });
        }
        // A window that is never opened, and pings meanwhile.
        scope.spawn(|| {
            let mut frames = Frames::begin(&world, &[(4, 0)]);
            frames.ask(1, false, "/v1/epoch/0/table", false).unwrap();
            let ping = [0, 0, 8, 6, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8];
            assert!(until_closed(&mut frames.tls, &ping), "a window that is never opened");
        });
        // Meanwhile others are served.
        for _ in 0..3 {
            ok(&["fetch", "--dir", &ann]);
        }
    });
}
