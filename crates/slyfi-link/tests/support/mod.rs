//! A network of daemons in one process: UDP on loopback, hosts at the ends of sockets.

use slyfi_base::{MacAddress, RadioConfig};
use slyfi_link::config::{Config, Network, Role};
use slyfi_link::control::{Answer, Client, Request};
use slyfi_link::daemon::{self, Options, Outcome, Setup};
use slyfi_link::host_port::{HostPort, SocketPort};
use slyfi_link::logging::{Level, Logger, Recorder, Reveal};
use slyfi_link::store::{Missing, Store};
use slyfi_link::{Error, ErrorKind, Result, pairing};
use slyfi_linux::{Clock, OsRandom, UdpAir, UdpConfig, UdpRadio, Waker};
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::os::fd::BorrowedFd;
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

pub const NAME: &str = "Lighthouse Keepers";
pub const PATIENCE: Duration = Duration::from_secs(30);

/// A directory of its own for a test, removed at the end.
pub struct TempDir(PathBuf);

impl TempDir {
    pub fn new(name: &str) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let n = COUNT.fetch_add(1, Ordering::Relaxed);
        let dir = std::env::temp_dir().join(format!("slyfi-{name}-{}-{n}", std::process::id()));
        std::fs::create_dir_all(&dir).unwrap();
        TempDir(dir)
    }

    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for TempDir {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A host port that can be pulled out, so that a daemon ends without a word to anybody.
struct Unpluggable {
    port: SocketPort,
    pulled: Arc<AtomicBool>,
}

impl HostPort for Unpluggable {
    fn fd(&self) -> BorrowedFd<'_> {
        self.port.fd()
    }

    fn read(&mut self, buf: &mut [u8]) -> Result<Option<usize>> {
        if self.pulled.load(Ordering::SeqCst) {
            return Err(Error::new(ErrorKind::System, "pulled", ""));
        }
        self.port.read(buf)
    }

    fn write(&mut self, frame: &[u8]) -> Result<bool> {
        self.port.write(frame)
    }

    fn name(&self) -> &str {
        self.port.name()
    }

    fn mac(&self) -> Result<MacAddress> {
        self.port.mac()
    }

    fn set_mac(&mut self, mac: MacAddress) -> Result<()> {
        self.port.set_mac(mac)
    }

    fn addresses(&self) -> Result<Vec<IpAddr>> {
        self.port.addresses()
    }
}

/// Where a node is: its store, its address on the air, its host.
pub struct Place {
    pub role: Role,
    pub dir: PathBuf,
    pub air: UdpAir,
    pub mac: MacAddress,
    pub ip: IpAddr,
    pub log: Recorder,
    pub clock_offset_us: i64,
    pub options: Options,
    pub config: Config,
}

/// A running daemon and the host at its other end.
pub struct Node {
    thread: JoinHandle<Result<Outcome>>,
    stopper: Waker,
    pulled: Arc<AtomicBool>,
    pub host: UnixDatagram,
    pub mac: MacAddress,
    log: Recorder,
}

impl Place {
    /// Asks the daemon that runs here.
    pub fn ask(&self, request: &Request) -> Result<Answer> {
        let mut client =
            Client::connect(&self.dir.join("control.sock"))?.expect("a daemon listens");
        client.ask(request)
    }

    /// Starts a daemon here.
    pub fn start(&self) -> Node {
        let (port, host) = SocketPort::pair(self.mac, vec![self.ip]).unwrap();
        host.set_read_timeout(Some(Duration::from_millis(20))).unwrap();
        let pulled = Arc::new(AtomicBool::new(false));
        let port = Unpluggable { port, pulled: pulled.clone() };
        let (send, receive) = std::sync::mpsc::channel();
        let (dir, air, role, mac) = (self.dir.clone(), self.air.clone(), self.role, self.mac);
        let options = Options { clock_offset_us: self.clock_offset_us, ..self.options.clone() };
        let config = self.config.clone();
        let log = Logger::new(Level::Trace, Reveal::None, Box::new(self.log.clone()));
        let thread = std::thread::spawn(move || {
            let store = Store::open(&dir, Missing::Create)?;
            let mut radio = UdpRadio::open(&UdpConfig { air, max_frame: None }).unwrap();
            let clock = Clock::with_offset(options.clock_offset_us);
            let now = clock.now();
            slyfi_base::Radio::initialize(&mut radio, now.mono, &RadioConfig::default()).unwrap();
            let air = slyfi_base::Radio::capabilities(&radio);
            let machine = daemon::make_machine(role, &config, &options, air, mac, now)?;
            let mtu = machine.mtu().min(1500) as u16;
            let setup = Setup { config, options, air: "test".to_owned(), mtu };
            let mut daemon =
                daemon::assemble(machine, Box::new(radio), Box::new(port), store, setup, log)?;
            daemon.listen(&dir.join("control.sock"))?;
            send.send(daemon.stopper()).unwrap();
            daemon.run()
        });
        let stopper = receive.recv_timeout(PATIENCE).expect("the daemon started");
        Node { thread, stopper, pulled, host, mac: self.mac, log: self.log.clone() }
    }
}

impl Node {
    /// Ends the daemon in good order.
    pub fn stop(self) -> Result<Outcome> {
        self.stopper.wake();
        self.thread.join().unwrap()
    }

    /// Waits for a daemon that ends by itself.
    pub fn join(self) -> Result<Outcome> {
        let until = Instant::now() + PATIENCE;
        while !self.thread.is_finished() {
            assert!(Instant::now() < until, "the daemon goes on");
            std::thread::sleep(Duration::from_millis(10));
        }
        self.thread.join().unwrap()
    }

    /// Ends the daemon without a word, as a crash would: nothing is sent, nothing is stored.
    pub fn crash(self) {
        self.pulled.store(true, Ordering::SeqCst);
        // Something to read, so that it notices.
        let _ = self.host.send(&[0; 64]);
        assert!(self.thread.join().unwrap().is_err());
    }

    /// Waits until the log has `text`, `times` times.
    pub fn says(&self, text: &str, times: usize) {
        let until = Instant::now() + PATIENCE;
        loop {
            let log = String::from_utf8(self.log.contents()).unwrap();
            if log.matches(text).count() >= times {
                return;
            }
            assert!(Instant::now() < until, "no {text:?} in:\n{log}");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Sends an Ethernet frame of the host.
    pub fn send(&self, to: MacAddress, payload: &[u8]) {
        let mut frame = Vec::new();
        frame.extend(to.0);
        frame.extend(self.mac.0);
        // IEEE Std 802-2014 §9.2.4, Local Experimental 2: no protocol of the host's.
        frame.extend([0x88, 0xb6]);
        frame.extend(payload);
        self.host.send(&frame).unwrap();
    }

    /// Waits for an Ethernet frame to the host with `payload` and returns its source.
    pub fn expect(&self, payload: &[u8]) -> MacAddress {
        let until = Instant::now() + PATIENCE;
        let mut buf = [0; 2048];
        while Instant::now() < until {
            let Ok(n) = self.host.recv(&mut buf) else { continue };
            if buf[..n].get(14..14 + payload.len()) == Some(payload) {
                return MacAddress(buf[6..12].try_into().unwrap());
            }
        }
        panic!("never received {payload:?}");
    }

    /// Takes everything that has arrived for the host.
    pub fn received(&self) -> Vec<Vec<u8>> {
        let mut buf = [0; 2048];
        let mut all = Vec::new();
        while let Ok(n) = self.host.recv(&mut buf) {
            all.push(buf[14.min(n)..n].to_vec());
        }
        all
    }
}

fn config() -> Config {
    let mut config = Config::default();
    config.network.name = NAME.to_owned();
    config
}

/// An access point and `clients` clients with an invite each, on an air of their own.
pub fn places(dir: &TempDir, clients: usize) -> Vec<Place> {
    // The kernel picks free ports; they are given back only right before they are used.
    let sockets: Vec<_> = (0..=clients).map(|_| UdpSocket::bind("127.0.0.1:0").unwrap()).collect();
    let all: Vec<SocketAddr> = sockets.iter().map(|s| s.local_addr().unwrap()).collect();
    drop(sockets);
    let place = |i: usize| {
        let peers = all.iter().filter(|a| **a != all[i]).copied().collect();
        let role = if i == 0 { Role::AccessPoint } else { Role::Client };
        Place {
            role,
            dir: dir.path().join(format!("node{i}")),
            air: UdpAir::Unicast { bind: all[i], peers },
            mac: MacAddress([0x02, 0x4c, 0x4b, 0x77, 0x31, 0xa0 + i as u8]),
            ip: IpAddr::from([10, 83, 177, 1 + i as u8]),
            log: Recorder::default(),
            clock_offset_us: 0,
            options: Options::default(),
            config: config(),
        }
    };
    let places: Vec<Place> = (0..=clients).map(place).collect();
    for client in &places[1..] {
        let url = invite(&places[0]);
        accept(client, &url);
    }
    places
}

/// Makes the second place an access point, with the first one as its sibling.
pub fn join_by_backhaul(dir: &TempDir, places: &mut [Place]) {
    use std::io::Write;
    use std::os::unix::fs::OpenOptionsExt;
    let key = dir.path().join("backhaul.key");
    let mut options = std::fs::OpenOptions::new();
    let mut file = options.write(true).create_new(true).mode(0o600).open(&key).unwrap();
    file.write_all("5e".repeat(32).as_bytes()).unwrap();
    let sockets = [0, 1].map(|_| UdpSocket::bind("127.0.0.1:0").unwrap());
    let at = sockets.map(|s| s.local_addr().unwrap());
    std::fs::remove_dir_all(&places[1].dir).unwrap();
    places[1].role = Role::AccessPoint;
    for i in [0, 1] {
        let points = &mut places[i].config.access_point;
        points.backhaul = Some(at[i]);
        points.siblings = vec![at[1 - i]];
        points.backhaul_key = Some(key.clone());
    }
}

/// Makes an invite at an access point that does not run.
pub fn invite(ap: &Place) -> String {
    let mut store = Store::open(&ap.dir, Missing::Create).unwrap();
    let network = Network { name: NAME.to_owned(), ..Network::default() };
    let (life, wall) = (slyfi_base::Duration::from_secs(600), Clock::new().now().wall);
    pairing::make_invite(&mut store, &network, "Petrel", life, wall, &mut OsRandom).unwrap().1.url
}

/// Takes an invite at a client that does not run.
pub fn accept(client: &Place, url: &str) {
    let mut store = Store::open(&client.dir, Missing::Create).unwrap();
    pairing::accept_invite(&mut store, url, Clock::new().now().wall).unwrap();
}
