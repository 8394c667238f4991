//! The arguments of every command.

use clap::{Args, Parser, Subcommand, ValueEnum};
use slyfi_link::config::values::{Auto, BitRate, HostAddress, Span, suite};
use slyfi_link::config::{AirKind, Config, Role};
use slyfi_link::logging::{Level, Reveal};
use slyfi_link::wifi::Cipher;
use slyfi_link::{Error, ErrorKind};
use std::net::SocketAddr;
use std::path::PathBuf;

const EXIT_CODES: &str = "\
Exit codes: 0 done, 1 system error, 2 arguments or configuration, 3 rights, 4 key store, 5 invite, \
6 no link, 7 no daemon.

Examples:
  slyfi demo                               see it work, without hardware or rights
  sudo slyfi ap --name home --tap-address 10.83.0.1/24
  sudo slyfi pair --label laptop           on the access point: one URL and its QR code
  sudo slyfi join 'SLYFI://JOIN/…' --tap-address 10.83.0.2/24";

const DECRYPT_HELP: &str = "\
Keys:
  wep:HEX                    WEP-40 or WEP-104
  wpa-pwd:PASSPHRASE:SSID    a network's passphrase; %3a for a colon, %25 for a per cent sign
  wpa-pwd:PASSPHRASE         the same for every network whose name the capture shows
  wpa-psk:HEX                a PMK: of a passphrase, SAE, OWE or EAP
  msk:HEX                    an EAP master session key
  tk:HEX                     a temporal or group key, for captures without handshake

What stands on a command line is in the process list and in the shell's history. --keys FILE keeps
it out of both: one key a line, # begins a comment.

Examples:
  slyfi decrypt home.pcapng --keys home.keys --out open.pcapng
  slyfi decrypt day1.pcap day2.pcap --key 'wpa-pwd:correct horse:my network' --json
  slyfi decrypt home.pcapng --keys home.keys --out - | tshark -r -
  tcpdump -i wlan0mon -w - | slyfi decrypt - --keys home.keys --out open.pcapng";

/// A wireless link without identifiers: nobody who listens can tell who is talking, to whom, or
/// whether two frames belong together.
#[derive(Debug, Parser)]
#[command(name = "slyfi", version, after_help = EXIT_CODES, max_term_width = 100)]
pub struct Cli {
    /// When to use colours.
    #[arg(long, global = true, value_enum, default_value_t = Color::Auto, value_name = "WHEN")]
    pub color: Color,
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// When to use colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Color {
    /// On a terminal, unless NO_COLOR is set.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run an access point.
    #[command(after_help = "\
Examples:
  sudo slyfi ap --name home --tap-address 10.83.0.1/24
  sudo slyfi ap --air packet --interface wlan0mon --config /etc/slyfi/ap.toml

Ordinary 802.11 on the same air, for comparison:
  sudo slyfi ap --cipher ccmp --name home --passphrase-file /etc/slyfi/passphrase
  (umask 077; openssl rand -hex 13 > wep.key)
  sudo slyfi ap --cipher wep --name home --key-file wep.key")]
    Ap(DaemonArgs),
    /// Link to a network and keep the link up.
    #[command(after_help = "\
Examples:
  sudo slyfi join 'SLYFI://JOIN/…' --tap-address 10.83.0.2/24     the first time
  sudo slyfi join                                                 from then on
  slyfi join --once --timeout 20                                  for scripts: exit code 6 without a link
  sudo slyfi join --cipher ccmp --name home --passphrase-file -   ordinary 802.11; the passphrase from standard input")]
    Join(JoinArgs),
    /// Make an invite on the access point: a URL and its QR code, for one device.
    #[command(after_help = "\
Examples:
  sudo slyfi pair --label laptop
  sudo slyfi pair --valid 1h --json")]
    Pair(PairArgs),
    /// Show what a running daemon is doing.
    Status(QueryArgs),
    /// List pairings and open invites.
    Peers(QueryArgs),
    /// Forget a pairing or an invite for good; its link ends.
    Revoke(RevokeArgs),
    /// End a member's link (access point); it may come back.
    Dismiss(DismissArgs),
    /// Look for a better access point of the network and move there (client).
    Roam(TargetArgs),
    /// Tell a running daemon to take leave and end.
    Leave(TargetArgs),
    /// Print a running daemon's counters as Prometheus text.
    Metrics(TargetArgs),
    /// Show or check configurations.
    #[command(subcommand)]
    Config(ConfigCommand),
    /// Watch an access point, three clients and an eavesdropper: ordinary 802.11, then SlyFi.
    Demo(DemoArgs),
    /// Open captured Wi-Fi frames with keys that you have.
    #[command(after_help = DECRYPT_HELP)]
    Decrypt(DecryptArgs),
    /// Repeat the papers' experiments on this machine.
    #[command(
        subcommand,
        after_help = "\
Examples:
  slyfi lab list
  slyfi lab run sbkh/fig3 --quick          in seconds, to see that it works
  slyfi lab run sbkh --out results/lab     both figures of a paper
  slyfi lab run bare --data bare.json      figures of measurements that were taken before
  slyfi lab show sbkh/fig3"
    )]
    Lab(LabCommand),
    /// Check files of test vectors.
    #[command(subcommand, hide = true)]
    Vectors(VectorsCommand),
    /// Log on to a hotspot without saying who one is, and catch an operator that tries to find out.
    #[cfg(feature = "tracedge")]
    #[command(subcommand)]
    Tracedge(crate::commands::tracedge::TracedgeCommand),
}

/// Arguments of `ap`, and of `join` besides its own.
#[derive(Debug, Args)]
pub struct DaemonArgs {
    /// Configuration file; flags win over it.
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// The network's name.
    #[arg(long)]
    pub name: Option<String>,
    /// Cryptography of new pairings: aead, aead-256, aead-mlkem, aead-256-mlkem or 2008.
    #[arg(long)]
    pub suite: Option<String>,
    /// Run ordinary 802.11 instead of SlyFi, protected by: ccmp, ccmp-256, gcmp, gcmp-256; or, for
    /// comparison, tkip (broken), wep (broken), sbkh (broken), open (nothing).
    #[arg(long)]
    pub cipher: Option<Cipher>,
    /// With tkip, ccmp, gcmp: a file with the passphrase, - for standard input [env: SLYFI_PASSPHRASE].
    #[arg(long, value_name = "FILE", requires = "cipher")]
    pub passphrase_file: Option<PathBuf>,
    /// With wep, sbkh: a file with the key in hexadecimal digits, - for standard input [env:
    /// SLYFI_KEY].
    #[arg(long, value_name = "FILE", requires = "cipher")]
    pub key_file: Option<PathBuf>,
    /// How frames travel: udp or packet.
    #[arg(long, value_name = "KIND")]
    pub air: Option<AirKind>,
    /// The interface of the air.
    #[arg(long, value_name = "NAME")]
    pub interface: Option<String>,
    /// Multicast group and port of a udp air.
    #[arg(long, value_name = "ADDR:PORT")]
    pub group: Option<SocketAddr>,
    /// Another node of a udp air without multicast; may be repeated.
    #[arg(long, value_name = "ADDR:PORT")]
    pub peer: Vec<SocketAddr>,
    /// Local address of a udp air with peers.
    #[arg(long, value_name = "ADDR:PORT")]
    pub bind: Option<SocketAddr>,
    /// The one bit rate of all frames, in Mb/s.
    #[arg(long, value_name = "MBPS")]
    pub rate: Option<BitRate>,
    /// The TAP interface.
    #[arg(long, value_name = "NAME")]
    pub tap: Option<String>,
    /// An address with prefix length for the TAP interface; may be repeated.
    #[arg(long, value_name = "ADDR/LEN")]
    pub tap_address: Vec<HostAddress>,
    /// The TAP interface's MTU: auto, or bytes.
    #[arg(long, value_name = "BYTES")]
    pub mtu: Option<Auto<u16>>,
    /// Directory of the key store.
    #[arg(long, value_name = "DIR")]
    pub store: Option<PathBuf>,
    /// The control socket.
    #[arg(long, value_name = "PATH")]
    pub control: Option<PathBuf>,
    /// Keep only this user's rights after start-up.
    #[arg(long)]
    pub user: Option<String>,
    /// How much to log: error, warn, info, debug or trace.
    #[arg(long, value_name = "LEVEL")]
    pub log: Option<Level>,
    /// Show private values in the log: names, addresses, or all.
    #[arg(long, value_name = "WHAT", num_args = 0..=1, require_equals = true, default_missing_value = "all")]
    pub reveal: Option<Reveal>,
    /// Write session keys to a file, for debugging: whoever has it can read everything.
    #[arg(long, value_name = "FILE")]
    pub key_log: Option<PathBuf>,
    /// Write the frames sent and received to a pcapng file.
    #[arg(long, value_name = "FILE")]
    pub pcap: Option<PathBuf>,
    /// Add this to the clock: for tests, and for machines whose clock cannot be set.
    #[arg(long, value_name = "SECONDS", allow_hyphen_values = true, default_value_t = 0)]
    pub clock_offset: i64,
}

/// Arguments of `join`.
#[derive(Debug, Args)]
pub struct JoinArgs {
    /// The invite, the first time: what `slyfi pair` printed.
    #[arg(conflicts_with = "cipher")]
    pub url: Option<String>,
    /// Give up after the first try without a link (exit code 6).
    #[arg(long)]
    pub once: bool,
    /// Give up when there is no link after this time (exit code 6).
    #[arg(long, value_name = "TIME")]
    pub timeout: Option<Span>,
    /// End as soon as the pairing is made; needs an invite.
    #[arg(long, requires = "url")]
    pub pair_only: bool,
    /// What every daemon takes.
    #[command(flatten)]
    pub daemon: DaemonArgs,
}

/// Which daemon, or which store.
#[derive(Debug, Args)]
pub struct TargetArgs {
    /// The daemon's configuration file.
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// The daemon's key store.
    #[arg(long, value_name = "DIR")]
    pub store: Option<PathBuf>,
    /// The daemon's control socket.
    #[arg(long, value_name = "PATH")]
    pub control: Option<PathBuf>,
    /// Which of this machine's daemons, when there are two.
    #[arg(long, value_enum)]
    pub role: Option<RoleArg>,
}

/// A role, as an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum RoleArg {
    /// The access point.
    Ap,
    /// The client.
    Client,
}

impl From<RoleArg> for Role {
    fn from(role: RoleArg) -> Role {
        match role {
            RoleArg::Ap => Role::AccessPoint,
            RoleArg::Client => Role::Client,
        }
    }
}

/// Arguments of commands that show something.
#[derive(Debug, Args)]
pub struct QueryArgs {
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
    /// Which daemon.
    #[command(flatten)]
    pub target: TargetArgs,
}

/// Arguments of `pair`.
#[derive(Debug, Args)]
pub struct PairArgs {
    /// What to call the device that will join.
    #[arg(long, default_value = "", hide_default_value = true)]
    pub label: String,
    /// How long the invite can be used, at most 7d.
    #[arg(long, value_name = "TIME", default_value = "10m")]
    pub valid: Span,
    /// Leave the QR code out.
    #[arg(long)]
    pub no_qr: bool,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
    /// The network's name, when no daemon runs.
    #[arg(long)]
    pub name: Option<String>,
    /// The access point.
    #[command(flatten)]
    pub target: TargetArgs,
}

/// Arguments of `revoke`.
#[derive(Debug, Args)]
pub struct RevokeArgs {
    /// The id that `slyfi peers` shows, or enough of its first digits.
    pub id: String,
    /// Which daemon.
    #[command(flatten)]
    pub target: TargetArgs,
}

/// Arguments of `dismiss`.
#[derive(Debug, Args)]
pub struct DismissArgs {
    /// The link's number in `slyfi status`.
    pub link: u32,
    /// Which daemon.
    #[command(flatten)]
    pub target: TargetArgs,
}

/// `config …`
#[derive(Debug, Subcommand)]
pub enum ConfigCommand {
    /// Print a configuration with every key, its default and its cost.
    Example,
    /// Print the reference of all keys as it is in docs/manual.md.
    #[command(hide = true)]
    Reference,
    /// Check a configuration file.
    Check {
        /// The file.
        file: PathBuf,
    },
}

/// Arguments of `demo`.
#[derive(Debug, Args)]
pub struct DemoArgs {
    /// Where to save the two captures.
    #[arg(long, value_name = "DIR", default_value = "slyfi-demo")]
    pub out: PathBuf,
    /// Everything random follows from this: equal seeds, equal runs.
    #[arg(long, default_value_t = 2008)]
    pub seed: u64,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `decrypt`.
#[derive(Debug, Args)]
pub struct DecryptArgs {
    /// Captures (pcap, pcapng), in order; - is standard input.
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// A key; may be repeated.
    #[arg(long, value_name = "KIND:VALUE")]
    pub key: Vec<String>,
    /// A file of keys, one a line; may be repeated; - is standard input.
    #[arg(long, value_name = "FILE")]
    pub keys: Vec<PathBuf>,
    /// Write the opened frames here, as pcapng; - is standard output, and the report goes to standard
    /// error then.
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Replace the file that --out names, if it exists.
    #[arg(long, requires = "out")]
    pub force: bool,
    /// Read everything once: keys serve only frames after their handshake.
    #[arg(long)]
    pub single_pass: bool,
    /// Print the report as JSON.
    #[arg(long)]
    pub json: bool,
}

/// `lab …`
#[derive(Debug, Subcommand)]
pub enum LabCommand {
    /// List the experiments.
    List {
        /// Print JSON, with what each paper claims.
        #[arg(long)]
        json: bool,
    },
    /// Run experiments; write tables, plots and verdicts.
    Run(LabRunArgs),
    /// Show the verdicts of a run that was written.
    Show {
        /// An experiment (sbkh/fig3), a paper (sbkh) or all.
        #[arg(default_value = "all")]
        id: String,
        /// Where it was written.
        #[arg(long, value_name = "DIR", default_value = "slyfi-lab")]
        out: PathBuf,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Run an experiment's workloads once, for the counter of instructions.
    #[command(hide = true)]
    Count {
        /// The experiment.
        id: String,
        /// The sizes of a quick run.
        #[arg(long)]
        quick: bool,
    },
}

/// Arguments of `lab run`.
#[derive(Debug, Args)]
pub struct LabRunArgs {
    /// Experiments (sbkh/fig3), papers (sbkh) or all.
    #[arg(required = true)]
    pub id: Vec<String>,
    /// Where to write.
    #[arg(long, value_name = "DIR", default_value = "slyfi-lab")]
    pub out: PathBuf,
    /// Fewer sizes and rounds: seconds, and nothing to quote.
    #[arg(long)]
    pub quick: bool,
    /// Measurements that were taken before, for experiments that take them from a file.
    #[arg(long, value_name = "FILE")]
    pub data: Option<PathBuf>,
    /// Tables of no more rows than this, where there are tables of subscribers (else up to 10^7, which
    /// takes minutes and some 3 GiB of memory).
    #[arg(long, value_name = "N")]
    pub rows: Option<u64>,
    /// Print the results as JSON.
    #[arg(long)]
    pub json: bool,
}

/// `vectors …`
#[derive(Debug, Subcommand)]
pub enum VectorsCommand {
    /// Compare a file of test vectors with this program.
    Check {
        /// The file.
        file: PathBuf,
    },
}

impl DaemonArgs {
    /// Reads the configuration file and writes the flags over it.
    pub fn to_config(&self) -> Result<Config, Error> {
        let mut c = read_config(self.config.as_deref())?;
        set(&mut c.network.name, &self.name);
        if let Some(name) = &self.suite {
            let wrong = |e| Error::new(ErrorKind::Usage, e, "give another --suite");
            c.network.suite = suite(name).map_err(wrong)?;
        }
        set_some(&mut c.wifi.cipher, &self.cipher);
        set_some(&mut c.wifi.passphrase_file, &self.passphrase_file);
        set_some(&mut c.wifi.key_file, &self.key_file);
        set(&mut c.air.kind, &self.air);
        set_some(&mut c.air.interface, &self.interface);
        set(&mut c.air.group, &self.group);
        set_some(&mut c.air.bind, &self.bind);
        if !self.peer.is_empty() {
            c.air.peers.clone_from(&self.peer);
        }
        set(&mut c.air.rate, &self.rate);
        set(&mut c.tap.name, &self.tap);
        if !self.tap_address.is_empty() {
            c.tap.address.clone_from(&self.tap_address);
        }
        set(&mut c.tap.mtu, &self.mtu);
        set_some(&mut c.store.path, &self.store);
        set_some(&mut c.control.path, &self.control);
        set_some(&mut c.user, &self.user);
        set(&mut c.log.level, &self.log);
        set(&mut c.log.reveal, &self.reveal);
        c.check()?;
        Ok(c)
    }
}

impl TargetArgs {
    /// Returns the configuration that tells where store and socket are.
    pub fn to_config(&self) -> Result<Config, Error> {
        let mut c = read_config(self.config.as_deref())?;
        set_some(&mut c.store.path, &self.store);
        set_some(&mut c.control.path, &self.control);
        Ok(c)
    }

    /// Returns the roles whose daemon may be meant.
    pub fn roles(&self) -> &'static [Role] {
        match self.role {
            Some(RoleArg::Ap) => &[Role::AccessPoint],
            Some(RoleArg::Client) => &[Role::Client],
            None => &[Role::AccessPoint, Role::Client],
        }
    }
}

fn read_config(path: Option<&std::path::Path>) -> Result<Config, Error> {
    path.map_or_else(|| Ok(Config::default()), Config::read)
}

fn set<T: Clone>(to: &mut T, from: &Option<T>) {
    if let Some(value) = from {
        to.clone_from(value);
    }
}

fn set_some<T: Clone>(to: &mut Option<T>, from: &Option<T>) {
    if from.is_some() {
        to.clone_from(from);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    fn daemon(args: &[&str]) -> DaemonArgs {
        let cli = Cli::try_parse_from([&["slyfi", "ap"], args].concat()).unwrap();
        match cli.command {
            Command::Ap(args) => args,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn the_arguments_are_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn flags_win_over_defaults_and_nothing_else_changes() {
        assert_eq!(daemon(&[]).to_config(), Ok(Config::default()));
        let args = ["--name", "home", "--air", "packet", "--interface", "veth0", "--rate", "54"];
        let config = daemon(&args).to_config().unwrap();
        assert_eq!(config.network.name, "home");
        assert_eq!(config.air.interface.as_deref(), Some("veth0"));
        assert_eq!(config.tap, Config::default().tap);
    }

    #[test]
    fn flags_are_checked_together() {
        let e = daemon(&["--air", "packet"]).to_config().unwrap_err();
        assert_eq!(e.kind, ErrorKind::Usage);
        assert!(daemon(&["--suite", "wep"]).to_config().is_err());
    }

    #[test]
    fn ciphers_are_named_and_secrets_are_not_on_the_command_line() {
        let args = ["--cipher", "gcmp-256", "--passphrase-file", "-"];
        let config = daemon(&args).to_config().unwrap();
        assert_eq!(config.wifi.cipher, Some(Cipher::Gcmp256));
        assert_eq!(config.wifi.passphrase_file.as_deref(), Some(std::path::Path::new("-")));
        let refused = |args: &[&str]| Cli::try_parse_from([&["slyfi"], args].concat()).is_err();
        assert!(refused(&["ap", "--cipher", "wpa9"]));
        assert!(refused(&["ap", "--passphrase-file", "x"]), "without a cipher it means nothing");
        assert!(refused(&["ap", "--cipher", "ccmp", "--passphrase", "x"]));
        assert!(refused(&["join", "SLYFI://JOIN/x", "--cipher", "ccmp"]));
    }

    #[test]
    fn reveal_without_a_value_is_all() {
        assert_eq!(daemon(&["--reveal"]).reveal, Some(Reveal::All));
        assert_eq!(daemon(&["--reveal=names"]).reveal, Some(Reveal::Names));
        assert_eq!(daemon(&[]).reveal, None);
        assert_eq!(daemon(&["--clock-offset", "-3600"]).clock_offset, -3600);
    }
}
