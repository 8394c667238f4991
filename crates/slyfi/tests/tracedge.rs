//! TracEdge as operator and subscribers meet it: processes, sockets, certificates.
#![cfg(feature = "tracedge")]

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::sync::Arc;
use std::time::Duration;

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use serde_json::Value;

/// A directory of its own for a test, removed at the end.
struct TempDir(PathBuf);

impl TempDir {
    fn new(name: &str) -> Self {
        let dir = std::env::temp_dir().join(format!("slyfi-te-{}-{name}", std::process::id()));
        fs::create_dir_all(&dir).unwrap();
        TempDir(dir)
    }

    fn path(&self, name: &str) -> String {
        self.0.join(name).to_str().unwrap().to_owned()
    }
}

impl Drop for TempDir {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn tracedge(args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_slyfi"));
    command.arg("tracedge").args(args).output().unwrap()
}

fn ok(args: &[&str]) -> String {
    let out = tracedge(args);
    let err = String::from_utf8_lossy(&out.stderr).into_owned();
    assert!(out.status.success(), "{args:?}: {err}");
    String::from_utf8(out.stdout).unwrap()
}

fn json(args: &[&str]) -> Value {
    serde_json::from_str(&ok(args)).unwrap()
}

/// Runs what must fail: returns its one line.
fn fails(code: i32, args: &[&str]) -> String {
    let out = tracedge(args);
    let err = String::from_utf8(out.stderr).unwrap();
    assert_eq!(out.status.code(), Some(code), "{args:?}: {err}");
    let line = err.strip_suffix('\n').unwrap_or(&err);
    assert!(line.starts_with("slyfi: error: ") && !line.contains('\n'), "{args:?}: {err}");
    line.to_owned()
}

/// A running `serve`, ended with the test.
struct Serve {
    child: Child,
    port: u16,
}

impl Serve {
    fn start(dir: &str, port: u16) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_slyfi"));
        command.args(["tracedge", "serve", "--dir", dir, "--connections", "8"]);
        command.args(["--listen", &format!("127.0.0.1:{port}")]);
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let line = lines.next().unwrap().unwrap();
        let port = line.rsplit_once(':').unwrap().1.parse().unwrap();
        Serve { child, port }
    }

    fn url(&self) -> String {
        format!("https://127.0.0.1:{}", self.port)
    }

    fn kill(&mut self) {
        // It may have been killed already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Serve {
    fn drop(&mut self) {
        self.kill();
    }
}

/// An operator and its invitations.
struct World {
    dir: TempDir,
    operator: String,
    serve: Serve,
}

impl World {
    fn new(name: &str, scheme: &str) -> Self {
        let dir = TempDir::new(name);
        let operator = dir.path("operator");
        ok(&["init", "--dir", &operator, "--rows", "300", "--scheme", scheme]);
        let serve = Serve::start(&operator, 0);
        World { dir, operator, serve }
    }

    fn invite(&self, name: &str) -> String {
        let file = self.dir.path(&format!("{name}.invite"));
        ok(&["enrol", "--dir", &self.operator, "--url", &self.serve.url(), &file]);
        file
    }

    /// Subscribes, and returns the subscriber's directory.
    fn subscribe(&self, name: &str) -> String {
        let (invite, dir) = (self.invite(name), self.dir.path(name));
        ok(&["subscribe", &invite, "--dir", &dir]);
        dir
    }

    fn build(&self) -> Value {
        json(&["build", "--dir", &self.operator, "--json"])
    }

    /// Talks TLS to the operator and sends `bytes`; returns all that comes.
    fn send(&self, bytes: &[u8]) -> String {
        let authority = fs::read(format!("{}/authority.pem", self.operator)).unwrap();
        let mut roots = rustls::RootCertStore::empty();
        roots.add(CertificateDer::from_pem_slice(&authority).unwrap()).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = rustls::ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
        let name = "127.0.0.1".try_into().unwrap();
        let tls = rustls::ClientConnection::new(Arc::new(config), name).unwrap();
        let socket = TcpStream::connect(("127.0.0.1", self.serve.port)).unwrap();
        socket.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        let mut stream = rustls::StreamOwned::new(tls, socket);
        stream.write_all(bytes).unwrap();
        let mut out = Vec::new();
        // It may close without waiting for what was sent besides.
        let _ = stream.read_to_end(&mut out);
        String::from_utf8_lossy(&out).into_owned()
    }
}

#[test]
fn from_an_invitation_to_a_login_and_out_again() {
    let mut world = World::new("life", "hintless");
    let (ann, bob) = (world.subscribe("ann"), world.subscribe("bob"));
    let early = fails(6, &["fetch", "--dir", &ann]);
    assert!(early.contains("no epoch") && early.contains("try later"), "{early}");
    let unready = fails(6, &["prove", "--dir", &ann]);
    assert!(unready.contains("no key of this epoch; slyfi tracedge fetch"), "{unready}");

    let built = world.build();
    assert_eq!((&built["epoch"], &built["subscribed"]), (&0.into(), &2.into()));
    let fetched = json(&["fetch", "--dir", &ann, "--json"]);
    assert_eq!(fetched["epoch"], 0);
    assert!(fetched["rows_checked"].as_u64().unwrap() >= 2, "{fetched}");
    assert_eq!(json(&["prove", "--dir", &ann, "--json"])["epoch"], 0);
    let audited = json(&["audit", "--dir", &bob, "--audits", "3", "--json"]);
    assert!(audited["rows_checked"].as_u64().unwrap() >= 4, "{audited}");
    let status = json(&["status", "--dir", &ann, "--json"]);
    assert_eq!((&status["current"], &status["seen_epoch"]), (&0.into(), &0.into()));

    // Who comes now has to wait, and who leaves is out with the next epoch.
    let carol = world.subscribe("carol");
    let waits = fails(5, &["fetch", "--dir", &carol]);
    assert!(waits.contains("the subscription begins with epoch 1"), "{waits}");
    let none = fails(6, &["fetch", "--next", "--dir", &bob]);
    assert!(none.contains("has not built the next epoch"), "{none}");
    let row = status["row"].to_string();
    let revoked = ok(&["revoke", "--dir", &world.operator, &row]);
    assert!(revoked.contains("from epoch 1 on"), "{revoked}");
    fails(2, &["revoke", "--dir", &world.operator, &row]);
    assert_eq!(world.build()["epoch"], 1);
    let twice = fails(2, &["build", "--dir", &world.operator, "--json"]);
    assert!(twice.contains("epoch 1 is built"), "{twice}");
    for dir in [&bob, &carol] {
        assert_eq!(json(&["fetch", "--next", "--dir", dir, "--json"])["epoch"], 1);
    }
    let refused = fails(5, &["fetch", "--next", "--dir", &ann]);
    assert!(refused.contains("not subscribed in epoch 1"), "{refused}");

    // Killed at any moment, it serves the same again.
    let port = world.serve.port;
    world.serve.kill();
    fails(6, &["fetch", "--dir", &bob]);
    world.serve = Serve::start(&world.operator, port);
    ok(&["fetch", "--dir", &bob]);
    ok(&["prove", "--dir", &bob]);
}

#[test]
fn refuses_another_operators_certificate_and_id() {
    let world = World::new("pin", "lwe");
    let another = world.dir.path("another");
    ok(&["init", "--dir", &another, "--rows", "10"]);
    let (file, dir) = (world.invite("ann"), world.dir.path("ann"));
    let good: Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
    let mut wrong = good.clone();
    wrong["authority"] = fs::read_to_string(format!("{another}/authority.pem")).unwrap().into();
    let forged = world.dir.path("forged.invite");
    fs::write(&forged, wrong.to_string()).unwrap();
    let refused = fails(6, &["subscribe", &forged, "--dir", &dir]);
    assert!(refused.contains("does not prove that it is the operator"), "{refused}");
    let id = "0".repeat(64);
    let refused = fails(5, &["subscribe", &file, "--operator", &id, "--dir", &dir]);
    assert!(refused.contains("of another operator"), "{refused}");
    let id = good["operator"].as_str().unwrap();
    ok(&["subscribe", &file, "--operator", id, "--dir", &dir]);
    // It got its row once.
    let spent = fails(5, &["subscribe", &file, "--dir", &world.dir.path("bob")]);
    assert!(spent.contains("spent"), "{spent}");
    // A second directory cannot be made of the first.
    fails(2, &["subscribe", &file, "--dir", &dir]);
    fails(2, &["init", "--dir", &world.operator]);
}

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
        (&[b'a'; 20_000], "HTTP/1.1 413"),
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
