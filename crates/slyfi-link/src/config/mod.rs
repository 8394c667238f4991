//! The configuration: one TOML file, unknown keys refused, every default a working one.
//!
//! [`keys::KEYS`] is the one place where keys are documented; the example file and the reference in
//! `docs/manual.md` are generated from it, and a test holds it equal to what is parsed here.

pub mod keys;
pub mod values;

use crate::error::{Error, ErrorKind, Result};
use crate::logging::{Level, Reveal};
use crate::wifi::Cipher;
use serde::Deserialize;
use slyfi_base::{Duration, Rate};
use slyfi_core::pairing::MAX_SKEW;
use slyfi_core::sizes::SizePolicy;
use slyfi_core::suite::Suite;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use values::{Auto, BitRate, HostAddress, Optional, Span};

/// Everything that can be configured. Command-line flags are written over it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// The user whose rights the daemon keeps after start-up; `None` keeps the ones it has.
    pub user: Option<String>,
    /// The network's name and its pairing parameters.
    pub network: Network,
    /// How frames get on the air.
    pub air: Air,
    /// The network interface that this host sees.
    pub tap: Tap,
    /// The link's own parameters.
    pub link: Link,
    /// What only a client has.
    pub client: Client,
    /// What only an access point has.
    pub access_point: AccessPoint,
    /// Where keys are kept.
    pub store: Store,
    /// Where commands are taken.
    pub control: Control,
    /// What is logged.
    pub log: Log,
    /// Ordinary 802.11 instead of SlyFi.
    pub wifi: Wifi,
}

/// `[network]`: what an access point writes into the pairings it makes.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Network {
    /// The name that people see; never on the air in clear unless announced.
    pub name: String,
    /// The cryptography of new pairings.
    #[serde(deserialize_with = "suite")]
    pub suite: Suite,
    /// Tryst's interval I.
    pub interval: Span,
    /// Tryst's skew k, in intervals.
    pub skew: u8,
}

impl Default for Network {
    fn default() -> Self {
        // slyfi-2008 §4.1: 5-minute intervals; k = 1 tolerates clocks 5 minutes apart.
        let interval = Span(Duration::from_secs(300));
        Network { name: "slyfi".to_owned(), suite: Suite::AEAD, interval, skew: 1 }
    }
}

/// The kinds of air.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum AirKind {
    /// Frames in UDP datagrams, to a multicast group or to peers one by one.
    #[default]
    Udp,
    /// Frames on an Ethernet-like or monitor-mode interface.
    Packet,
}

impl FromStr for AirKind {
    type Err = String;

    fn from_str(s: &str) -> Result<Self, String> {
        match s {
            "udp" => Ok(AirKind::Udp),
            "packet" => Ok(AirKind::Packet),
            _ => Err(format!("unknown air `{s}`, expected udp or packet")),
        }
    }
}

/// `[air]`
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Air {
    /// Which air.
    #[serde(deserialize_with = "values::text")]
    pub kind: AirKind,
    /// The interface of a packet air, or the one that a UDP air's multicast leaves by.
    pub interface: Option<String>,
    /// The multicast group of a UDP air.
    pub group: SocketAddr,
    /// How many routers a multicast datagram may pass, plus one.
    pub hops: u8,
    /// The local address of a UDP air that sends to peers.
    pub bind: Option<SocketAddr>,
    /// The other nodes of a UDP air; when there are any, no multicast is used.
    pub peers: Vec<SocketAddr>,
    /// The one bit rate of all frames.
    pub rate: BitRate,
    /// The longest 802.11 frame in bytes.
    pub max_frame: Auto<u16>,
}

impl Default for Air {
    fn default() -> Self {
        Air {
            kind: AirKind::Udp,
            interface: None,
            group: slyfi_linux::udp::DEFAULT_GROUP,
            hops: 1,
            bind: None,
            peers: Vec::new(),
            rate: BitRate(Rate::BASE),
            max_frame: Auto::Auto,
        }
    }
}

/// `[tap]`
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Tap {
    /// The interface's name.
    pub name: String,
    /// Addresses that the daemon gives the interface.
    pub address: Vec<HostAddress>,
    /// Whether the interface outlives the daemon.
    pub persist: bool,
    /// The interface's MTU.
    pub mtu: Auto<u16>,
}

impl Default for Tap {
    fn default() -> Self {
        Tap { name: "slyfi0".to_owned(), address: Vec::new(), persist: false, mtu: Auto::Auto }
    }
}

/// `[link]`
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Link {
    /// Shroud's window w, in addresses.
    pub window: u16,
    /// How far behind the newest a frame may arrive and still be taken, in addresses.
    pub late: Auto<u8>,
    /// What is done so that lengths tell less.
    #[serde(deserialize_with = "size_policy")]
    pub size_policy: SizePolicy,
    /// After how much silence a client tests its link.
    pub keep_alive: Span,
    /// After how much silence a link is lost; `None` is the role's own.
    pub dead_after: Option<Span>,
    /// How often a frame leaves when there is nothing to say.
    pub cover: Optional,
}

impl Default for Link {
    fn default() -> Self {
        Link {
            // slyfi-2008 §3.4.
            window: 50,
            late: Auto::Auto,
            size_policy: SizePolicy::default(),
            keep_alive: Span(Duration::from_secs(2)),
            dead_after: None,
            cover: Optional(None),
        }
    }
}

/// `[client]`
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
pub struct Client {
    /// Whether clear announcements of paired networks are followed.
    pub heed_announcements: bool,
}

/// `[access_point]`
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct AccessPoint {
    /// The most links at once.
    pub max_sessions: u32,
    /// The longest random delay before a probe or an authentication is answered.
    pub reply_jitter: Span,
    /// How often the time goes out, encrypted, to all members.
    pub time_beacon: Optional,
    /// How often the network's name is announced in clear.
    pub announce: Optional,
    /// The other access points of the network.
    pub siblings: Vec<SocketAddr>,
    /// The local address for messages of siblings.
    pub backhaul: Option<SocketAddr>,
    /// The file with the secret that all access points of the network share.
    pub backhaul_key: Option<PathBuf>,
}

impl Default for AccessPoint {
    fn default() -> Self {
        AccessPoint {
            max_sessions: 256,
            reply_jitter: Span(Duration::from_millis(10)),
            time_beacon: Optional(Some(Duration::from_secs(5))),
            announce: Optional(None),
            siblings: Vec::new(),
            backhaul: None,
            backhaul_key: None,
        }
    }
}

/// `[store]`
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
pub struct Store {
    /// The directory of the key store; `None` is the role's own.
    pub path: Option<PathBuf>,
}

/// `[control]`
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
pub struct Control {
    /// The control socket; `None` is `control.sock` in the store's directory.
    pub path: Option<PathBuf>,
}

/// `[log]`
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
pub struct Log {
    /// How much is said.
    #[serde(deserialize_with = "values::text")]
    pub level: Level,
    /// Which private values may be shown.
    #[serde(deserialize_with = "values::text")]
    pub reveal: Reveal,
}

/// `[wifi]`: ordinary 802.11 instead of SlyFi, for comparison.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Wifi {
    /// What protects the frames; `None` is SlyFi.
    #[serde(deserialize_with = "cipher")]
    pub cipher: Option<Cipher>,
    /// The file with the passphrase.
    pub passphrase_file: Option<PathBuf>,
    /// The file with the static key.
    pub key_file: Option<PathBuf>,
    /// How often the group key is replaced.
    pub group_rekey: Optional,
    /// SBKH's Time Duration.
    pub hop: Span,
}

impl Default for Wifi {
    fn default() -> Self {
        Wifi {
            cipher: None,
            passphrase_file: None,
            key_file: None,
            group_rekey: Optional(Some(Duration::from_secs(3600))),
            hop: Span(Duration::from_secs(300)),
        }
    }
}

fn cipher<'de, D: serde::Deserializer<'de>>(d: D) -> Result<Option<Cipher>, D::Error> {
    values::text(d).map(Some)
}

fn suite<'de, D: serde::Deserializer<'de>>(d: D) -> Result<Suite, D::Error> {
    let name = String::deserialize(d)?;
    values::suite(&name).map_err(serde::de::Error::custom)
}

fn size_policy<'de, D: serde::Deserializer<'de>>(d: D) -> Result<SizePolicy, D::Error> {
    let name = String::deserialize(d)?;
    values::size_policy(&name).map_err(serde::de::Error::custom)
}

/// Which end of the link a daemon is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// `slyfi ap`
    AccessPoint,
    /// `slyfi join`
    Client,
}

impl Role {
    /// Returns the name used in paths and in the control protocol.
    pub const fn name(self) -> &'static str {
        match self {
            Role::AccessPoint => "ap",
            Role::Client => "client",
        }
    }
}

impl Config {
    /// Parses a configuration; `source` is named in errors.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`] with the line of the fault.
    pub fn parse(text: &str, source: &str) -> Result<Config> {
        let config: Config = toml::from_str(text).map_err(|e| {
            let line = e.span().map(|s| 1 + text[..s.start.min(text.len())].matches('\n').count());
            let at = line.map_or_else(String::new, |n| format!(" line {n}"));
            let mend = "`slyfi config example` shows every key";
            Error::new(ErrorKind::Usage, format!("{source}{at}: {}", e.message()), mend)
        })?;
        config.check().map_err(|e| Error { cause: format!("{source}: {}", e.cause), ..e })?;
        Ok(config)
    }

    /// Reads and parses a configuration file.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`] when it cannot be read or is wrong.
    pub fn read(path: &Path) -> Result<Config> {
        let text = std::fs::read_to_string(path).map_err(|e| {
            let mend = "give the path of a configuration file, or leave --config out";
            Error::new(ErrorKind::Usage, format!("{}: {e}", path.display()), mend)
        })?;
        Config::parse(&text, &path.display().to_string())
    }

    /// Checks what no single value can show to be wrong.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`].
    pub fn check(&self) -> Result<()> {
        let wrong = |cause: &str, mend: &str| Err(Error::new(ErrorKind::Usage, cause, mend));
        if self.network.name.is_empty() || self.network.name.len() > 32 {
            return wrong("[network] name must have 1 to 32 bytes", "choose a shorter name");
        }
        let interval = self.network.interval.0;
        if !(1..=86_400).contains(&interval.as_secs())
            || !interval.as_micros().is_multiple_of(1_000_000)
        {
            return wrong("[network] interval must be whole seconds, 1s to 1d", "use \"5m\"");
        }
        if self.network.skew > MAX_SKEW {
            return wrong(
                "[network] skew is above 16 intervals",
                "use 1, and NTP on every machine",
            );
        }
        if self.air.kind == AirKind::Packet && self.air.interface.is_none() {
            return wrong(
                "a packet air needs an interface",
                "set [air] interface, or give --interface NAME",
            );
        }
        if self.air.peers.is_empty() && !self.air.group.ip().is_multicast() {
            return wrong(
                "[air] group is not a multicast address",
                "use one of 239.0.0.0/8 or ff02::/16, or list [air] peers",
            );
        }
        if !self.air.peers.is_empty() && self.air.bind.is_none() {
            return wrong(
                "[air] peers need a local address",
                "set [air] bind, for example \"0.0.0.0:5789\"",
            );
        }
        if !(8..=1024).contains(&self.link.window) {
            return wrong("[link] window must be 8 to 1024 addresses", "use 50");
        }
        if matches!(self.link.late, Auto::Given(65..)) {
            return wrong("[link] late must be 0 to 64 addresses", "use \"auto\"");
        }
        if self.link.dead_after.is_some_and(|dead| dead.0 <= self.link.keep_alive.0) {
            return wrong(
                "[link] dead_after is not longer than keep_alive",
                "leave it out, or use three times keep_alive",
            );
        }
        if self.access_point.max_sessions == 0 {
            return wrong("[access_point] max_sessions is 0", "allow at least one session");
        }
        let backhaul = &self.access_point;
        if !backhaul.siblings.is_empty()
            && (backhaul.backhaul.is_none() || backhaul.backhaul_key.is_none())
        {
            return wrong(
                "[access_point] siblings need backhaul and backhaul_key",
                "set both; `slyfi config example` shows how",
            );
        }
        if self.wifi.hop.0 == Duration::ZERO {
            return wrong("[wifi] hop is 0", "use \"5m\"");
        }
        if matches!(self.tap.mtu, Auto::Given(..576)) {
            return wrong("[tap] mtu is below 576 bytes", "use \"auto\"");
        }
        Ok(())
    }

    /// Returns the directory of the key store for `role`.
    pub fn store_dir(&self, role: Role) -> PathBuf {
        self.store.path.clone().unwrap_or_else(|| default_state_dir().join(role.name()))
    }

    /// Returns the path of the control socket for `role`.
    pub fn control_path(&self, role: Role) -> PathBuf {
        let beside_the_keys = || self.store_dir(role).join("control.sock");
        self.control.path.clone().unwrap_or_else(beside_the_keys)
    }
}

/// Returns whether this process is root's, by the effective user in its status (proc(5)). The owner
/// of the directory in procfs would not do: it is root for every program with file capabilities.
pub fn is_root() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ids = status.lines().find_map(|line| line.strip_prefix("Uid:"));
    ids.and_then(|ids| ids.split_whitespace().nth(1)).is_some_and(|effective| effective == "0")
}

/// Returns where state belongs: `/var/lib/slyfi` for root (file-hierarchy(7)), the XDG state
/// directory for everyone else.
pub fn default_state_dir() -> PathBuf {
    if is_root() {
        return PathBuf::from("/var/lib/slyfi");
    }
    let from_env = |name: &str| std::env::var_os(name).filter(|v| !v.is_empty()).map(PathBuf::from);
    from_env("XDG_STATE_HOME")
        .or_else(|| from_env("HOME").map(|home| home.join(".local/state")))
        .unwrap_or_else(|| PathBuf::from("."))
        .join("slyfi")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_file_is_a_working_configuration() {
        assert_eq!(Config::parse("", "slyfi.toml"), Ok(Config::default()));
    }

    #[test]
    fn unknown_keys_are_refused_with_their_line() {
        for (text, line, key) in [
            ("[network]\nname = \"home\"\nnmae = 1\n", 3, "nmae"),
            ("user = \"x\"\ngroup = \"y\"\n", 2, "group"),
            ("\n\n[radio]\n", 3, "radio"),
        ] {
            let e = Config::parse(text, "slyfi.toml").unwrap_err();
            assert_eq!(e.kind, ErrorKind::Usage);
            assert!(
                e.cause.starts_with(&format!("slyfi.toml line {line}: unknown field `{key}`")),
                "{e}"
            );
            assert!(!e.to_string().contains('\n'));
        }
        assert!(Config::parse("[network]\nname = \"home\"\n", "slyfi.toml").is_ok());
    }

    #[test]
    fn wrong_values_are_refused_with_their_line() {
        for (text, line) in [
            ("[network]\nsuite = \"wep\"", 2),
            ("[network]\n\ninterval = \"soon\"", 3),
            ("[link]\nwindow = 70000", 2),
            ("[air]\nrate = 11", 2),
            ("[tap]\naddress = [\"10.0.0.1\"]", 2),
            ("[log]\nreveal = true", 2),
            ("[log\n", 1),
        ] {
            let e = Config::parse(text, "f").unwrap_err();
            assert!(e.cause.starts_with(&format!("f line {line}: ")), "{text:?}: {e}");
        }
    }

    #[test]
    fn contradictions_are_refused() {
        for text in [
            "[air]\nkind = \"packet\"",
            "[air]\ngroup = \"10.0.0.1:1\"",
            "[air]\npeers = [\"10.0.0.1:1\"]",
            "[network]\nname = \"\"",
            "[network]\ninterval = \"2d\"",
            "[link]\nwindow = 0",
            "[access_point]\nsiblings = [\"10.0.0.2:1\"]",
            "[access_point]\nmax_sessions = 0",
            "[tap]\nmtu = 100",
        ] {
            assert_eq!(Config::parse(text, "f").unwrap_err().kind, ErrorKind::Usage, "{text}");
        }
        assert!(Config::parse("[air]\nkind = \"packet\"\ninterface = \"veth0\"", "f").is_ok());
        assert!(
            Config::parse("[air]\npeers = [\"10.0.0.1:1\"]\nbind = \"0.0.0.0:1\"", "f").is_ok()
        );
    }

    #[test]
    fn the_control_socket_stays_beside_its_store() {
        let config = Config::parse("[store]\npath = \"/a/b\"", "f").unwrap();
        assert_eq!(config.control_path(Role::Client), Path::new("/a/b/control.sock"));
        let config = Config::parse("[store]\npath=\"/a\"\n[control]\npath=\"/c\"", "f").unwrap();
        assert_eq!(config.control_path(Role::AccessPoint), Path::new("/c"));
    }
}
