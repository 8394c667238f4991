//! The exchange of bare-wireless-2016 §5.4.1 on Linux: the same code as on the image without an
//! operating system, over a socket.

use slyfi_bare::exchange::{Clock, Cost, Datagrams, Outcome, Report, Settings, request, serve};
use slyfi_bare::options::{Options, Role};
use slyfi_base::{Duration, SecureRandom};
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::process::ExitCode;
use std::time::Instant;

const USAGE: &str = "\
usage: slyfi-exchange role=server|client|count key=HEX [peer=ADDRESS] [WORD ...]

  slyfi-exchange role=server key=00112233445566778899aabbccddeeff
  slyfi-exchange role=client key=00112233445566778899aabbccddeeff peer=10.9.0.1 rounds=5

Words: port=4000 n=50,250,500,750,1000 m=1000 rounds=1 patience=30. Both ends need the same n, m,
rounds and key. Prints a line of JSON for each run, times in nanoseconds. Sockets get the system's
default buffers: a client that loses messages needs a larger net.core.rmem_default.";

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if words.is_empty() || words.iter().any(|w| w == "--help" || w == "-h") {
        println!("{USAGE}");
        return if words.is_empty() { ExitCode::from(2) } else { ExitCode::SUCCESS };
    }
    match run(&words) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(why) => {
            eprintln!("slyfi-exchange: {why}");
            ExitCode::from(2)
        }
    }
}

fn run(words: &[String]) -> Result<bool, String> {
    let options = Options::parse(words.iter().map(String::as_str))
        .map_err(|e| format!("{e}; --help lists the words"))?;
    match options.role {
        Role::Server | Role::Client | Role::Count => {}
        Role::Station => {
            return Err("`slyfi join` is the station of a machine with an operating system".into());
        }
        Role::Panic | Role::Fault => return Err("the image has this role only".into()),
    }
    let mut rng = System(File::open("/dev/random").map_err(|e| format!("/dev/random: {e}"))?);
    let mut clock = Monotonic(Instant::now());
    if options.role == Role::Count {
        return count(&options, &mut clock, &mut rng);
    }
    let mut net = Socket::open(&options).map_err(|e| format!("the UDP socket: {e}"))?;
    let sizes = options.sizes();
    for run in 0..options.rounds * sizes.len() as u32 {
        let settings = settings(&options, sizes[run as usize % sizes.len()], run)?;
        let outcome = match options.role {
            Role::Server => serve(&mut net, &mut clock, &mut rng, &settings).map(Outcome::Served),
            _ => request(&mut net, &mut clock, &mut rng, &settings).map(Outcome::Received),
        };
        let outcome = outcome.unwrap_or_else(Outcome::Failed);
        println!("{}", report(&settings, &outcome));
        if let Outcome::Failed(_) = outcome {
            return Ok(false);
        }
    }
    Ok(true)
}

fn settings(options: &Options<'_>, size: usize, run: u32) -> Result<Settings, String> {
    let key = options.key.clone().ok_or("`key` is missing")?;
    Ok(Settings { size, burst: options.burst, run, key, patience: options.patience })
}

fn report(settings: &Settings, outcome: &Outcome<ErrorKind>) -> String {
    let aes = slyfi_aes::backend().to_string();
    Report { system: "linux", aes: &aes, settings, outcome: *outcome }.to_string()
}

/// Prints what CCM costs at every size, without a network.
fn count(options: &Options<'_>, clock: &mut Monotonic, rng: &mut System) -> Result<bool, String> {
    for (run, size) in options.sizes().iter().enumerate() {
        let cost = Cost::measure(clock, rng, &settings(options, *size, run as u32)?);
        println!("{cost}");
    }
    Ok(true)
}

/// A UDP socket and the peer that is written to.
struct Socket {
    socket: UdpSocket,
    peer: SocketAddr,
    last_sender: SocketAddr,
    patience: Duration,
    buffer: [u8; 2048],
}

impl Socket {
    fn open(options: &Options<'_>) -> std::io::Result<Self> {
        let port = if options.role == Role::Server { options.port } else { 0 };
        let own = options.address.map_or(Ipv4Addr::UNSPECIFIED, |(address, _)| address);
        let socket = UdpSocket::bind((own, port))?;
        let peer = (options.peer.unwrap_or(Ipv4Addr::UNSPECIFIED), options.port).into();
        let patience = Duration::ZERO;
        Ok(Socket { socket, peer, last_sender: peer, patience, buffer: [0; 2048] })
    }
}

impl Datagrams for Socket {
    type Error = ErrorKind;

    fn send(&mut self, len: usize, fill: impl FnOnce(&mut [u8])) -> Result<(), ErrorKind> {
        let datagram = self.buffer.get_mut(..len).ok_or(ErrorKind::InvalidInput)?;
        fill(datagram);
        self.socket.send_to(datagram, self.peer).map_err(|e| e.kind())?;
        Ok(())
    }

    fn receive(&mut self, buf: &mut [u8], patience: Duration) -> Result<Option<usize>, ErrorKind> {
        if self.patience != patience {
            // A system call of its own, so only when it changes.
            let limit = std::time::Duration::from_micros(patience.as_micros());
            self.socket.set_read_timeout(Some(limit)).map_err(|e| e.kind())?;
            self.patience = patience;
        }
        match self.socket.recv_from(buf) {
            Ok((len, sender)) => {
                self.last_sender = sender;
                Ok(Some(len))
            }
            Err(e) => match e.kind() {
                ErrorKind::WouldBlock | ErrorKind::TimedOut => Ok(None),
                // The peer's port is not open yet; the request goes again.
                ErrorKind::ConnectionRefused | ErrorKind::Interrupted => Ok(None),
                kind => Err(kind),
            },
        }
    }

    fn waited_nanos(&self) -> u64 {
        0
    }

    fn answer_sender(&mut self) {
        self.peer = self.last_sender;
    }

    fn flush(&mut self) -> Result<(), ErrorKind> {
        Ok(())
    }
}

struct Monotonic(Instant);

impl Clock for Monotonic {
    fn nanos(&mut self) -> u64 {
        self.0.elapsed().as_nanos() as u64
    }
}

/// The kernel's generator; reading waits until it is seeded.
struct System(File);

impl SecureRandom for System {
    fn fill(&mut self, out: &mut [u8]) {
        self.0.read_exact(out).expect("no entropy: stop rather than repeat a nonce");
    }
}
