//! From a configuration to a daemon that can run: everything that needs rights, then none of them.

use super::drain::Outgoing;
use super::events::Progress;
use super::{BATCH, Daemon, SLOT, radio_error};
use crate::backhaul::{BackhaulSocket, read_key};
use crate::config::values::Auto;
use crate::config::{AirKind, Config, Role};
use crate::error::{Error, ErrorKind, Result};
use crate::host_port::{HostPort, tap_error};
use crate::keylog::KeyLog;
use crate::logging::Logger;
use crate::machine::{Machine, Wifi};
use crate::metrics::Counters;
use crate::pairing::network_name;
use crate::pcap::Capture;
use crate::store::Store;
use crate::wifi::{Cipher, Secret, SecretSource, Settings, guard};
use slyfi_base::{Capabilities, Duration, Instant, Now, TxMeta};
use slyfi_core::ap::{ApConfig, ApLink};
use slyfi_core::client::{ClientConfig, ClientLink};
use slyfi_linux::packet::Accept;
use slyfi_linux::{
    AdminState, AirSocket, Clock, OsRandom, PacketConfig, PacketRadio, Persistence, Poll, Signals,
    Tap, TapConfig, TapMode, Target, UdpAir, UdpConfig, UdpRadio, Waker,
};
use slyfi_rivals::wifi::{self, Protection, Ssid};
use slyfi_wire::ieee80211::HeaderRepr;
use slyfi_wire::{carrier, llc};
use std::collections::BTreeSet;
use std::path::PathBuf;

/// The most that Ethernet carries after its header (IEEE 802.3-2022 §3.2.7).
const ETHERNET_MTU: usize = 1500;

/// Addresses behind the newest that stay valid on an air that reorders.
const LATE_WITHOUT_ORDER: u8 = 32;

/// What the command line adds to the configuration.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// `--clock-offset`: added to the clock, in microseconds.
    pub clock_offset_us: i64,
    /// `--key-log`
    pub key_log: Option<PathBuf>,
    /// `--pcap`
    pub pcap: Option<PathBuf>,
    /// `--timeout`: a client gives up when it has no link by then.
    pub timeout: Option<Duration>,
    /// `--once`: a client gives up when its first try fails.
    pub once: bool,
    /// `--pair-only`: a client ends when it has a pairing.
    pub pair_only: bool,
}

/// What a daemon was made from.
#[derive(Clone, Debug)]
pub struct Setup {
    /// The configuration.
    pub config: Config,
    /// The command line's additions.
    pub options: Options,
    /// The air, in words.
    pub air: String,
    /// The interface's MTU in bytes.
    pub mtu: u16,
}

/// Opens everything that a daemon of `role` needs and gives up the rights for it.
///
/// # Errors
/// What cannot be opened, with the mend.
pub fn open(
    role: Role,
    config: Config,
    options: Options,
    store: Store,
    log: Logger,
) -> Result<Daemon> {
    let clock = Clock::with_offset(options.clock_offset_us);
    log.set_time(clock.now().wall);
    // What is wrong with the secret is said before anything needs rights.
    let secret = wifi_secret(&config, &options)?;
    let (radio, air) = open_air(&config)?;
    let mut carries = radio.capabilities();
    if let Auto::Given(most) = config.air.max_frame {
        carries.max_frame = carries.max_frame.min(most.into());
    }
    let max_body = max_body(carries)?;
    let tap = open_tap(&config)?;
    let host_mac = tap.mac()?;
    let machine = match secret {
        Some(secret) => make_wifi(role, &config, &secret, carries, host_mac, clock.now())?,
        None => make_machine(role, &config, &options, carries, host_mac, clock.now())?,
    };
    let mtu = tap_mtu(&config, machine.mtu())?;
    tap.set_mtu(mtu.into()).map_err(tap_error)?;
    for address in &config.tap.address {
        tap.add_address(address.ip, address.prefix).map_err(tap_error)?;
    }
    tap.set_state(AdminState::Up).map_err(tap_error)?;
    let control = config.control_path(role);
    let name = tap.name();
    match config.wifi.cipher {
        None => info!(
            log,
            "{} on {air}, interface {name}, MTU {mtu} (frames carry {max_body} bytes)",
            role.name()
        ),
        Some(cipher) => {
            let what = cipher.described();
            info!(
                log,
                "{} of ordinary 802.11, {what}, on {air}, interface {name}, MTU {mtu}",
                role.name()
            );
            info!(
                log,
                "its frames show names and addresses to everyone; without --cipher they do not"
            );
        }
    }
    let setup = Setup { config, options, air, mtu };
    let mut daemon = assemble(machine, radio, Box::new(tap), store, setup, log)?;
    daemon.listen(&control)?;
    daemon.signals = Some(Signals::catch().map_err(|e| Error::system("signals", &e))?);
    drop_rights(&daemon)?;
    Ok(daemon)
}

/// Puts a daemon together from parts that are open already. It has no control socket and catches no
/// signals.
///
/// # Errors
/// What the options ask for and cannot be opened.
pub fn assemble(
    machine: Machine,
    radio: Box<dyn AirSocket>,
    host: Box<dyn HostPort>,
    store: Store,
    setup: Setup,
    log: Logger,
) -> Result<Daemon> {
    let points = &setup.config.access_point;
    let backhaul = match (machine.role(), points.backhaul) {
        (Role::AccessPoint, Some(at)) => Some(BackhaulSocket::bind(at, &points.siblings)?),
        _ => None,
    };
    Ok(Daemon {
        poll: Poll::new().map_err(super::poll_error)?,
        waker: Waker::new().map_err(super::poll_error)?,
        clock: Clock::with_offset(setup.options.clock_offset_us),
        capture: setup.options.pcap.as_deref().map(Capture::create).transpose()?,
        key_log: setup.options.key_log.as_deref().map(KeyLog::open).transpose()?,
        machine,
        radio,
        host,
        store,
        control: None,
        backhaul,
        signals: None,
        log,
        setup,
        counters: Counters::default(),
        outgoing: Outgoing::new(),
        progress: Progress::default(),
        bound: BTreeSet::new(),
        frames: vec![[0; SLOT]; BATCH],
        held: None,
        started: Instant::ZERO,
        next_tick: Instant::ZERO,
        next_prune: Instant::ZERO,
        leaving_until: None,
        ends_with: None,
    })
}

/// Makes the machine of a role from the configuration and what the air can do.
///
/// # Errors
/// A network name or a backhaul key that is none, an air that carries too little.
pub fn make_machine(
    role: Role,
    config: &Config,
    options: &Options,
    air: Capabilities,
    host_mac: slyfi_base::MacAddress,
    now: Now,
) -> Result<Machine> {
    if let Some(secret) = wifi_secret(config, options)? {
        return make_wifi(role, config, &secret, air, host_mac, now);
    }
    Ok(match role {
        Role::AccessPoint => {
            let config = ap_config(config, options, air)?;
            Machine::AccessPoint(ApLink::new(config, host_mac, OsRandom, now))
        }
        Role::Client => {
            let config = client_config(config, options, air)?;
            Machine::Client(ClientLink::new(config, host_mac, OsRandom, now))
        }
    })
}

/// Reads the secret of ordinary 802.11; `None` for SlyFi.
fn wifi_secret(config: &Config, options: &Options) -> Result<Option<(Cipher, Secret)>> {
    let Some(cipher) = config.wifi.cipher else { return Ok(None) };
    if options.key_log.is_some() {
        let cause = "ordinary 802.11 has no key log";
        let mend =
            "leave --key-log out: tshark and `slyfi decrypt` open its captures with the secret";
        return Err(Error::new(ErrorKind::Usage, cause, mend));
    }
    let source = SecretSource {
        passphrase_file: config.wifi.passphrase_file.clone(),
        key_file: config.wifi.key_file.clone(),
    };
    Ok(Some((cipher, Secret::find(cipher, &source)?)))
}

/// Makes a machine of ordinary 802.11, whose card has the interface's address.
fn make_wifi(
    role: Role,
    config: &Config,
    secret: &(Cipher, Secret),
    air: Capabilities,
    host_mac: slyfi_base::MacAddress,
    now: Now,
) -> Result<Machine> {
    max_body(air)?;
    let (cipher, secret) = (secret.0, &secret.1);
    let name = config.network.name.as_bytes();
    // `Config::check` has seen to the length.
    let ssid = Ssid::new(name).ok_or_else(|| {
        Error::new(ErrorKind::Usage, "the network's name is no SSID", "use 1 to 32 bytes")
    })?;
    let (group_rekey, hop) = (config.wifi.group_rekey.0, config.wifi.hop.0);
    let settings = Settings { cipher, ssid: name, group_rekey, hop };
    let guard = guard(role, host_mac, &settings, secret, now, OsRandom)?;
    let overhead = guard.overhead();
    let around = HeaderRepr::default().buffer_len() + llc::HEADER_LEN;
    let sealed = overhead.headroom + overhead.tailroom;
    let mtu = air.max_frame.saturating_sub(around + sealed).min(ETHERNET_MTU);
    let rate = config.air.rate.0;
    let described = Wifi { cipher, mtu };
    Ok(match role {
        Role::AccessPoint => {
            let most = config.access_point.max_sessions;
            let mut config = wifi::ApConfig::new(host_mac, ssid);
            config.data_rate = rate;
            config.max_members = u16::try_from(most).unwrap_or(u16::MAX);
            let ap = wifi::AccessPoint::protected(now, config, guard, &mut OsRandom);
            Machine::WifiAccessPoint(ap, described)
        }
        Role::Client => {
            let mut config = wifi::StationConfig::new(host_mac, vec![ssid]);
            config.data_rate = rate;
            let station = wifi::Station::protected(config, guard, OsRandom);
            Machine::WifiStation(station, described)
        }
    })
}

/// Returns the configuration of a client's machine.
///
/// # Errors
/// [`ErrorKind::Usage`] for an air that carries too little.
fn client_config(config: &Config, options: &Options, air: Capabilities) -> Result<ClientConfig> {
    let defaults = ClientConfig::default();
    let link = &config.link;
    Ok(ClientConfig {
        rate: TxMeta { rate: config.air.rate.0 },
        max_body: max_body(air)?,
        window: link.window,
        late: late(link.late, air),
        keeps_order: air.keeps_order,
        policy: link.size_policy,
        keep_alive: link.keep_alive.0,
        dead_after: link
            .dead_after
            .map_or(defaults.dead_after.max(link.keep_alive.0.saturating_mul(3)), |d| d.0),
        cover: link.cover.0,
        key_log: options.key_log.is_some(),
        heed_announcements: config.client.heed_announcements,
        ..defaults
    })
}

fn ap_config(config: &Config, options: &Options, air: Capabilities) -> Result<ApConfig> {
    let (link, points) = (&config.link, &config.access_point);
    let defaults = ApConfig::default();
    let name = network_name(&config.network.name)?;
    Ok(ApConfig {
        rate: TxMeta { rate: config.air.rate.0 },
        max_body: max_body(air)?,
        window: link.window,
        late: late(link.late, air),
        keeps_order: air.keeps_order,
        policy: link.size_policy,
        suite: config.network.suite,
        interval: config.network.interval.0,
        skew: config.network.skew,
        reply_jitter: points.reply_jitter.0,
        dead_after: link.dead_after.map_or(defaults.dead_after, |d| d.0),
        max_sessions: points.max_sessions,
        time_beacon: points.time_beacon.0,
        announce: points.announce.0.map(|every| (name, every)),
        cover: link.cover.0,
        key_log: options.key_log.is_some(),
        backhaul: points.backhaul_key.as_deref().map(read_key).transpose()?,
        ..defaults
    })
}

fn late(configured: Auto<u8>, air: Capabilities) -> u8 {
    match configured {
        Auto::Given(late) => late,
        Auto::Auto if air.keeps_order => 0,
        Auto::Auto => LATE_WITHOUT_ORDER,
    }
}

/// Returns the longest body past the carrier, as every node of the network counts it.
fn max_body(air: Capabilities) -> Result<usize> {
    if !air.injects {
        return Err(Error::new(
            ErrorKind::Usage,
            "this radio can only listen",
            "use another card: `iw phy` must list the monitor mode, and its driver must inject",
        ));
    }
    let room = air.max_frame.saturating_sub(carrier::HEADER_LEN);
    if room < slyfi_core::sizes::MIN_MAX_BODY {
        return Err(Error::new(
            ErrorKind::Usage,
            format!("the air carries frames of only {} bytes", air.max_frame),
            "raise the MTU of its interface",
        ));
    }
    Ok(room.min(slyfi_core::sizes::DEFAULT_MAX_BODY))
}

fn tap_mtu(config: &Config, carried: usize) -> Result<u16> {
    let most = carried.min(ETHERNET_MTU);
    match config.tap.mtu {
        Auto::Auto => Ok(most as u16),
        Auto::Given(mtu) if usize::from(mtu) <= most => Ok(mtu),
        Auto::Given(mtu) => Err(Error::new(
            ErrorKind::Usage,
            format!("[tap] mtu is {mtu}, but a frame of this air carries {most} bytes"),
            "use \"auto\"",
        )),
    }
}

fn open_air(config: &Config) -> Result<(Box<dyn AirSocket>, String)> {
    let air = &config.air;
    match air.kind {
        AirKind::Packet => {
            // `Config::check` has seen to it that there is one.
            let interface = air.interface.as_deref().unwrap_or_default();
            let mut packet = PacketConfig::on(interface);
            if config.wifi.cipher.is_some() {
                packet.accept = Accept::AnyFrame;
            }
            let radio = PacketRadio::open(&packet).map_err(radio_error)?;
            Ok((Box::new(radio), format!("packet air on {interface}")))
        }
        AirKind::Udp => {
            let (kind, words) = match air.bind {
                Some(bind) if !air.peers.is_empty() => {
                    let words = format!("udp air with {} peers", air.peers.len());
                    (UdpAir::Unicast { bind, peers: air.peers.clone() }, words)
                }
                _ => {
                    let interface = air.interface.clone();
                    let on = interface.as_deref().map_or(String::new(), |i| format!(" on {i}"));
                    let words = format!("udp air, group {}{on}", air.group);
                    (UdpAir::Multicast { group: air.group, interface, hops: air.hops }, words)
                }
            };
            let config = UdpConfig { air: kind, max_frame: None };
            Ok((Box::new(UdpRadio::open(&config).map_err(radio_error)?), words))
        }
    }
}

fn open_tap(config: &Config) -> Result<Tap> {
    let persistence = match config.tap.persist {
        true => Persistence::Persistent,
        false => Persistence::Unchanged,
    };
    let name = config.tap.name.clone();
    Tap::open(&TapConfig { name, mode: TapMode::CreateOrAttach, persistence }).map_err(tap_error)
}

/// Becomes the configured user, after the store and the socket were given to it.
fn drop_rights(daemon: &Daemon) -> Result<()> {
    let Some(user) = daemon.setup.config.user.clone() else { return Ok(()) };
    let failed = |e: slyfi_linux::DropError| {
        crate::host_port::split_mend(ErrorKind::Privileges, &e.to_string())
    };
    if crate::config::is_root() {
        let (uid, gid) = slyfi_linux::user_ids(&user).map_err(failed)?;
        daemon.store.give_to(uid, gid)?;
        if let Some(control) = &daemon.control {
            control.give_to(uid, gid)?;
        }
    }
    slyfi_linux::drop_privileges(&Target { user, chroot: None }).map_err(failed)?;
    info!(daemon.log, "privileges are dropped");
    Ok(())
}
