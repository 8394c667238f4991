//! The scene: an access point with a file, three clients, an eavesdropper.

use super::measure::{Measured, Parts};
use slyfi_base::{Command, Duration, Instant, MacAddress, Now, Rate, TxMeta};
use slyfi_core::ap::{ApConfig, ApLink};
use slyfi_core::client::{ClientConfig, ClientLink};
use slyfi_core::pairing::{Kind, NetworkName, Pairing, Terms};
use slyfi_core::sizes::Sizes;
use slyfi_core::suite::Suite;
use slyfi_link::{Error, ErrorKind, Result};
use slyfi_rivals::wifi_open::{self, OpenAp, OpenStation, Ssid, StationConfig};
use slyfi_sim::{Air, IpHost, LinkQuality, NodeConfig, NodeId, Scenario, SimRng, Sniffer};
use std::fs::File;
use std::io::BufWriter;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::Path;

/// The network's name; over 802.11 everybody reads it.
pub const NAME: &[u8] = b"Harbour Street 12";

/// The file that is fetched, in bytes.
const FILE_LEN: usize = 2 * 1024 * 1024;

/// Echo requests of each of the two clients that send them.
pub const PINGS: u16 = 40;

const PORT: u16 = 80;
/// How far apart the clients arrive. More than a second: the hosts' stack (smoltcp) asks for one
/// neighbour a second at most, and the access point's host is asked by three.
const ARRIVAL: Duration = Duration::from_millis(1_200);

const PING_PAUSE: Duration = Duration::from_millis(50);

/// How long everything may take, on the simulated clock.
const PATIENCE: Duration = Duration::from_secs(60);

/// What the machines speak.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// Ordinary 802.11 without protection.
    WifiOpen,
    /// SlyFi, suite `aead`.
    SlyFi,
}

impl Protocol {
    /// Returns what it is, for people.
    pub const fn words(self) -> &'static str {
        match self {
            Protocol::WifiOpen => "ordinary 802.11 (open)",
            Protocol::SlyFi => "SlyFi (suite aead)",
        }
    }

    const fn capture(self) -> &'static str {
        match self {
            Protocol::WifiOpen => "wifi-open.pcapng",
            Protocol::SlyFi => "slyfi.pcapng",
        }
    }
}

/// The hosts' addresses: over 802.11 as vendors give them, over SlyFi what a TAP interface has, local
/// ones, which is all that an access point grants as a pseudonym.
const fn mac(protocol: Protocol, i: u8) -> MacAddress {
    match protocol {
        Protocol::WifiOpen => MacAddress([0x00, 0x16, 0x6f, 0x20, 0x08, i]),
        Protocol::SlyFi => MacAddress([0x02, 0x16, 0x6f, 0x20, 0x08, i]),
    }
}

const fn ip(i: u8) -> IpAddr {
    IpAddr::V4(Ipv4Addr::new(10, 83, 0, 1 + i))
}

/// Plays the scene once.
///
/// # Errors
/// The capture cannot be written, or the run went wrong.
pub fn play(protocol: Protocol, seed: u64, out: &Path) -> Result<Measured> {
    let path = out.join(protocol.capture());
    let file = File::create(&path).map_err(|e| Error::system(path.display(), &e))?;
    let mut scene = Scenario::new(seed).with_quality(LinkQuality::lossy(0.02));
    let content = content(&scene.air);
    let sniffer = scene.sniffer(Sniffer::new().with_capture(BufWriter::new(file)));
    match protocol {
        Protocol::WifiOpen => add_open(&mut scene, &content),
        Protocol::SlyFi => add_slyfi(&mut scene, &content)?,
    }
    let wrong = |e: slyfi_sim::RunError| {
        Error::new(ErrorKind::System, format!("{}: {e}", protocol.words()), "try another --seed")
    };
    let clients = scene.clients.clone();
    for (i, client) in (1..).zip(clients.clone()) {
        // People do not switch on in the same microsecond.
        scene.air.at(Instant::ZERO + ARRIVAL.saturating_mul(i), move |air| {
            // Refused only by machines of the other kind.
            let _ = air.command(client, Command::Connect);
        });
    }
    let host = |air: &Air, node: NodeId| air.host::<IpHost>(node).is_some_and(IpHost::is_done);
    let done = |air: &Air| clients.iter().all(|c| host(air, *c));
    let finished = scene.air.run_to(PATIENCE, done).map_err(wrong)?;
    scene.air.flush().map_err(wrong)?;
    if !finished {
        let cause = format!("{}: not everything arrived in a minute", protocol.words());
        return Err(Error::new(ErrorKind::System, cause, "try another --seed"));
    }
    Measured::take(&mut scene, &Parts { sniffer, content: &content, capture: &path })
}

/// The file: random, so that nothing of it is on the air by chance.
fn content(air: &Air) -> Vec<u8> {
    let mut content = vec![0; FILE_LEN];
    air.rng("file", 0).fill_bytes(&mut content);
    content
}

/// What people do on the network: one fetches the file, one sends pings to the access point, one to
/// another client.
fn hosts(protocol: Protocol, content: &[u8]) -> (IpHost, [IpHost; 3]) {
    let host = |i: u8| IpHost::new(mac(protocol, i), &[(ip(i), 24)]);
    let ap = host(0).with_file(PORT, content).started();
    let clients = [
        host(1).with_fetch(SocketAddr::new(ip(0), PORT)),
        host(2).with_ping(ip(0), PINGS, 56, PING_PAUSE),
        host(3).with_ping(ip(2), PINGS, 56, PING_PAUSE),
    ];
    (ap, clients)
}

fn add_open(scene: &mut Scenario, content: &[u8]) {
    let mac = |i| mac(Protocol::WifiOpen, i);
    // Everything that the referee looks for is there; that is what this run is to show.
    scene.air.referee().expect_findings();
    // expect: the constant has 1 to 32 bytes.
    let ssid = Ssid::new(NAME).expect("a name");
    let node =
        |name: &str, i| secrets(NodeConfig::new(name), mac(i)).with_hardware_address(mac(i).0);
    let (ap, clients) = hosts(Protocol::WifiOpen, content);
    let make = |mut rng: SimRng, now: Now| {
        OpenAp::new(now, wifi_open::ApConfig::new(mac(0), ssid.clone()), &mut rng)
    };
    scene.access_point(node("access point", 0), make, ap);
    for (i, host) in (1..).zip(clients) {
        let config = StationConfig::new(mac(i), vec![ssid.clone()]);
        scene.client(node("client", i), |rng, _| OpenStation::new(config, rng), host);
    }
}

fn add_slyfi(scene: &mut Scenario, content: &[u8]) -> Result<()> {
    let mac = |i| mac(Protocol::SlyFi, i);
    // One rate for everything, the one that 802.11 uses for data.
    let rate = TxMeta { rate: Rate::PEAK };
    let ap_config = ApConfig { rate, ..ApConfig::default() };
    let client_config = ClientConfig { rate, ..ClientConfig::default() };
    let sizes = Sizes::new(client_config.policy, client_config.max_body);
    scene.air.referee().set_sizes(move |len| sizes.allows(Suite::AEAD, len));
    let mut pairings = Vec::new();
    for i in 0..3 {
        pairings.push(pairing(&scene.air, i)?);
    }
    let (ap, clients) = hosts(Protocol::SlyFi, content);
    let known = pairings.clone();
    let make = |rng: SimRng, now: Now| {
        let mut link = ApLink::new(ap_config, mac(0), rng, now);
        for pairing in known {
            // Refused only for an id that is there already, and these are random.
            let _ = link.add_pairing(now, pairing);
        }
        link
    };
    scene.access_point(secrets(NodeConfig::new("access point"), mac(0)), make, ap);
    for ((i, host), pairing) in (1..).zip(clients).zip(pairings) {
        let make = |rng: SimRng, now: Now| {
            let mut link = ClientLink::new(client_config, mac(i), rng, now);
            // As above.
            let _ = link.add_pairing(now, pairing);
            link
        };
        scene.client(secrets(NodeConfig::new("client"), mac(i)), make, host);
    }
    Ok(())
}

/// Tells the referee what must not be seen.
fn secrets(config: NodeConfig, mac: MacAddress) -> NodeConfig {
    config.with_secret("network name", NAME).with_secret("hardware address", mac.0)
}

fn pairing(air: &Air, i: u64) -> Result<Pairing> {
    // expect: the constant has 1 to 32 bytes.
    let name = NetworkName::new(NAME).expect("a name");
    let t0 = air.wall().shifted(-86_400 * 1_000_000);
    let terms = Terms::new(name, Suite::AEAD, t0, Kind::Member);
    Pairing::generate(&terms, &mut air.rng("pairing", i))
        .map_err(|_| Error::new(ErrorKind::System, "the demonstration's pairing is refused", ""))
}
