//! An operator's directory, its running `serve`, and commands as people type them.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::sync::Arc;
use std::time::Duration;

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConnection, StreamOwned};
use serde_json::Value;

/// A directory of its own for a test, removed at the end.
pub struct TempDir(PathBuf);

impl TempDir {
    pub fn new(name: &str) -> Self {
        let dir = std::env::temp_dir().join(format!("slyfi-te-{}-{name}", std::process::id()));
        fs::create_dir_all(&dir).unwrap();
        TempDir(dir)
    }

    pub fn path(&self, name: &str) -> String {
        self.0.join(name).to_str().unwrap().to_owned()
    }
}

impl Drop for TempDir {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

pub fn slyfi() -> Command {
    Command::new(env!("CARGO_BIN_EXE_slyfi"))
}

pub fn tracedge(args: &[&str]) -> Output {
    slyfi().arg("tracedge").args(args).output().unwrap()
}

/// A clock for other processes, which leaps with everything that goes by it (libfaketime).
pub struct Clock {
    library: String,
    file: String,
}

impl Clock {
    /// `None` where there is no libfaketime, which CI must not be.
    pub fn new(dir: &TempDir) -> Option<Self> {
        let machines = fs::read_dir("/usr/lib").unwrap().flatten();
        let library = machines
            .map(|entry| entry.path().join("faketime/libfaketimeMT.so.1"))
            .find(|path| path.exists());
        let Some(library) = library else {
            assert!(std::env::var_os("CI").is_none(), "faketime must be there in CI");
            println!("skipped: there is no faketime");
            return None;
        };
        let clock =
            Clock { library: library.to_str().unwrap().to_owned(), file: dir.path("clock") };
        clock.set(0);
        Some(clock)
    }

    /// Sets it ahead (or back), seconds.
    pub fn set(&self, ahead: i64) {
        // Whole or not at all: it is read at every look.
        let new = format!("{}.new", self.file);
        fs::write(&new, format!("{ahead:+}\n")).unwrap();
        fs::rename(new, &self.file).unwrap();
    }

    /// A command that goes by it.
    pub fn slyfi(&self) -> Command {
        let mut command = slyfi();
        command.env("LD_PRELOAD", &self.library);
        command.env("FAKETIME_TIMESTAMP_FILE", &self.file).env("FAKETIME_NO_CACHE", "1");
        command
    }

    pub fn tracedge(&self, args: &[&str]) -> Output {
        self.slyfi().arg("tracedge").args(args).output().unwrap()
    }
}

pub fn ok(args: &[&str]) -> String {
    succeeded(args, tracedge(args))
}

/// What a command printed that must not have failed.
pub fn succeeded(args: &[&str], out: Output) -> String {
    let err = String::from_utf8_lossy(&out.stderr).into_owned();
    assert!(out.status.success(), "{args:?}: {err}");
    String::from_utf8(out.stdout).unwrap()
}

pub fn json(args: &[&str]) -> Value {
    serde_json::from_str(&ok(args)).unwrap()
}

/// What a command printed that ends with this code.
pub fn json_with(code: i32, args: &[&str]) -> Value {
    let out = tracedge(args);
    failed(code, args, out.clone());
    serde_json::from_slice(&out.stdout).unwrap()
}

/// Runs what must fail: returns its one line.
pub fn fails(code: i32, args: &[&str]) -> String {
    failed(code, args, tracedge(args))
}

/// The one line of a command that must have failed.
pub fn failed(code: i32, args: &[&str], out: Output) -> String {
    let err = String::from_utf8(out.stderr).unwrap();
    assert_eq!(out.status.code(), Some(code), "{args:?}: {err}");
    let line = err.strip_suffix('\n').unwrap_or(&err);
    assert!(line.starts_with("slyfi: error: ") && !line.contains('\n'), "{args:?}: {err}");
    line.to_owned()
}

/// A running `serve`, ended with the test.
pub struct Serve {
    pub child: Child,
    pub port: u16,
}

impl Serve {
    pub fn start(dir: &str, port: u16) -> Self {
        Self::start_as(Command::new(env!("CARGO_BIN_EXE_slyfi")), dir, port)
    }

    /// Starts it with what `command` says already.
    pub fn start_as(mut command: Command, dir: &str, port: u16) -> Self {
        command.args(["tracedge", "serve", "--dir", dir, "--connections", "8"]);
        command.args(["--listen", &format!("127.0.0.1:{port}")]);
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let line = lines.next().unwrap().unwrap();
        let port = line.rsplit_once(':').unwrap().1.parse().unwrap();
        Serve { child, port }
    }

    pub fn url(&self) -> String {
        format!("https://127.0.0.1:{}", self.port)
    }

    pub fn kill(&mut self) {
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
pub struct World {
    pub dir: TempDir,
    pub operator: String,
    pub serve: Serve,
}

impl World {
    pub fn new(name: &str, scheme: &str) -> Self {
        let dir = TempDir::new(name);
        let operator = dir.path("operator");
        ok(&["init", "--dir", &operator, "--rows", "300", "--scheme", scheme]);
        let serve = Serve::start(&operator, 0);
        World { dir, operator, serve }
    }

    pub fn invite(&self, name: &str) -> String {
        let file = self.dir.path(&format!("{name}.invite"));
        ok(&["enrol", "--dir", &self.operator, "--url", &self.serve.url(), &file]);
        file
    }

    /// Subscribes, and returns the subscriber's directory.
    pub fn subscribe(&self, name: &str) -> String {
        let (invite, dir) = (self.invite(name), self.dir.path(name));
        ok(&["subscribe", &invite, "--dir", &dir]);
        dir
    }

    pub fn build(&self) -> Value {
        json(&["build", "--dir", &self.operator, "--json"])
    }

    /// Talks TLS to the operator and sends `bytes`; returns all that comes.
    pub fn send(&self, bytes: &[u8]) -> String {
        let mut stream = self.connect(&[]);
        stream.write_all(bytes).unwrap();
        let mut out = Vec::new();
        // It may close without waiting for what was sent besides.
        let _ = stream.read_to_end(&mut out);
        String::from_utf8_lossy(&out).into_owned()
    }

    /// Talks TLS to the operator, offering `protocols`.
    pub fn connect(&self, protocols: &[&[u8]]) -> StreamOwned<ClientConnection, TcpStream> {
        let authority = fs::read(format!("{}/authority.pem", self.operator)).unwrap();
        let mut roots = rustls::RootCertStore::empty();
        roots.add(CertificateDer::from_pem_slice(&authority).unwrap()).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut config = rustls::ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
        config.alpn_protocols = protocols.iter().map(|name| name.to_vec()).collect();
        let name = "127.0.0.1".try_into().unwrap();
        let tls = ClientConnection::new(Arc::new(config), name).unwrap();
        let socket = TcpStream::connect(("127.0.0.1", self.serve.port)).unwrap();
        socket.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        StreamOwned::new(tls, socket)
    }
}
