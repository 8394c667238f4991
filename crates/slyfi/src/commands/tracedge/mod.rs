//! `slyfi tracedge …`: logging on without saying who one is. The protocol is docs/tracedge.md, the
//! library slyfi-tracedge; here are arguments and words.

mod audit_table;
mod complete;
mod control;
mod demo;
mod evidence;
mod gpu;
mod heads;
mod hex;
mod https;
mod invite;
mod kept;
mod operator;
mod plan;
mod proof;
mod state;
mod subscriber;

use clap::{Args, Subcommand};
use slyfi_link::{Error, ErrorKind, Result};
use std::path::PathBuf;

use crate::output::Paint;

/// `tracedge …`
#[derive(Debug, Subcommand)]
pub enum TracedgeCommand {
    /// Become an operator: keys, store and certificates in a directory.
    #[command(after_help = "\
Example, a first try on one machine:
  slyfi tracedge init --rows 1000
  slyfi tracedge serve &
  slyfi tracedge enrol ann.invite
  slyfi tracedge subscribe ann.invite
  slyfi tracedge build
  slyfi tracedge fetch && slyfi tracedge prove")]
    Init(operator::InitArgs),
    /// Write an invitation for somebody who has paid; it gets one row, once. Works while `serve` runs.
    #[command(after_help = "\
Example:
  slyfi tracedge enrol --url https://hotspots.example:8443 ann.invite")]
    Enrol(operator::EnrolArgs),
    /// Make a row vacant from the next epoch that is built. Works while `serve` runs.
    #[command(after_help = "\
Example:
  slyfi tracedge revoke 71")]
    Revoke(operator::RevokeArgs),
    /// Build the epoch that comes: a fresh K, its table, its signed head. Works while `serve` runs.
    ///
    /// The first epoch begins at once. From then on `serve` builds each next one itself, from the
    /// middle of the one before.
    #[command(after_help = "\
Example:
  slyfi tracedge build --dir slyfi-operator")]
    Build(operator::BuildArgs),
    /// Serve subscribers over HTTPS, until it is ended. It writes down nothing about them.
    #[command(after_help = "\
Example:
  slyfi tracedge serve --listen 0.0.0.0:8443")]
    Serve(operator::ServeArgs),
    /// Take a row with an operator's invitation. The secret key is made here and stays here.
    #[command(after_help = "\
Example:
  slyfi tracedge subscribe ann.invite --operator 6a3c…

Compare --operator with the id that the operator has published: the invitation says it too, but
whoever made the invitation may be somebody else.")]
    Subscribe(subscriber::SubscribeArgs),
    /// Fetch the key of this epoch or of the next one, so that the operator does not learn who did.
    #[command(after_help = "\
Exit code 5: not subscribed, or the operator was caught cheating (the evidence is saved).

Examples:
  slyfi tracedge fetch
  slyfi tracedge fetch --next --audits 4")]
    Fetch(subscriber::FetchArgs),
    /// Fetch, and check more random rows of the table: does everybody get the same key?
    #[command(after_help = "\
Example:
  slyfi tracedge audit --audits 20")]
    Audit(subscriber::AuditArgs),
    /// Log on with the key that was fetched: both sides prove that they know it.
    #[command(after_help = "\
Example:
  slyfi tracedge prove")]
    Prove(subscriber::ProveArgs),
    /// Say what this subscriber has: operator, row, keys. Asks nobody.
    #[command(after_help = "\
Example:
  slyfi tracedge status --json")]
    Status(subscriber::StatusArgs),
    /// Compare with another subscriber what the operator has shown you: is it the same for everybody?
    #[command(after_help = "\
Exit code 0: it is one log, of which one of you may have seen more. 5: the operator was caught
cheating (the evidence is saved), or has given you two different addresses.

Example: one of them
  slyfi tracedge heads --export ann.heads
and the other, who was handed that file
  slyfi tracedge heads --compare ann.heads")]
    Heads(heads::HeadsArgs),
    /// Make a proof of what did not open (`pending-N.te`), once the epoch is over and K in the log.
    ///
    /// The proof says which row is yours. A whole-table audit proves the same without it
    /// (`audit-table`).
    #[command(after_help = "\
Exit code 0: nothing waited, or it was an accident. 5: the operator was caught cheating (the evidence
is saved). 6: K is not published yet.

Example:
  slyfi tracedge complete")]
    Complete(complete::CompleteArgs),
    /// Show it: an honest operator and a cheating one, subscribers who log on, what the operators saw,
    /// and how the cheat was caught and proved.
    #[command(after_help = "\
Examples:
  slyfi tracedge demo
  slyfi tracedge demo --subscribers 20000 --out /tmp/demo
  slyfi tracedge verify-evidence slyfi-tracedge-demo/evidence.te --operator ID \\
      --table slyfi-tracedge-demo/cheat.table")]
    Demo(DemoArgs),
    /// Check every row of an epoch's table against its K, and keep proof of what is wrong.
    ///
    /// Anybody can who has the public files and K: a subscriber at once, everybody when the epoch is
    /// over and its K is in the log.
    #[command(after_help = "\
Exit code 0: all rows hold K. 5: some do not, and the evidence is saved.

Example, with the files that `slyfi tracedge demo` leaves of its cheating operator:
  cd slyfi-tracedge-demo
  slyfi tracedge audit-table --head cheat.head --table cheat.table --keys cheat.keys \\
      --key-file cheat.k --evidence wrong-row.te")]
    AuditTable(AuditTableArgs),
    /// Check a file of evidence against an operator: offline, trusting nobody.
    #[command(after_help = "\
Exit code 0: it proves that the operator cheated. 1: it proves nothing. 8: not settled, another file is
needed: the message says which. 2: it is no file of evidence.

Example:
  slyfi tracedge verify-evidence evidence.te --operator 6a3c…  --table 000000000007.table")]
    VerifyEvidence(VerifyArgs),
    /// Say what serving so many subscribers takes, from rates measured on this machine.
    #[command(after_help = "\
Example:
  slyfi tracedge plan --subscribers 1e8 --logins-per-s 500 --machine-cores 64 --machine-cost 6000")]
    Plan(PlanArgs),
}

/// Arguments of `tracedge demo`.
#[derive(Debug, Args)]
pub struct DemoArgs {
    /// How many subscribers each operator has.
    #[arg(long, default_value_t = 100_000, value_name = "N")]
    pub subscribers: u64,
    /// How many random rows a subscriber audits.
    #[arg(long, default_value_t = 4, value_name = "K")]
    pub audits: u32,
    /// Where to save the evidence and the public files that go with it.
    #[arg(long, value_name = "DIR", default_value = "slyfi-tracedge-demo")]
    pub out: PathBuf,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `tracedge audit-table`.
#[derive(Debug, Args)]
pub struct AuditTableArgs {
    /// The epoch's signed head.
    #[arg(long, value_name = "FILE")]
    pub head: PathBuf,
    /// The epoch's table.
    #[arg(long, value_name = "FILE")]
    pub table: PathBuf,
    /// The epoch's list of keys.
    #[arg(long, value_name = "FILE")]
    pub keys: PathBuf,
    /// A file with the epoch's K: 32 hexadecimal digits.
    #[arg(long, value_name = "FILE")]
    pub key_file: PathBuf,
    /// Where to save the proof, if a row is wrong.
    #[arg(long, value_name = "FILE", default_value = "evidence.te")]
    pub evidence: PathBuf,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `tracedge verify-evidence`.
#[derive(Debug, Args)]
pub struct VerifyArgs {
    /// The evidence.
    pub file: PathBuf,
    /// The operator's id, known from elsewhere: 64 hexadecimal digits.
    #[arg(long, value_name = "ID")]
    pub operator: String,
    /// The epoch's table, where the evidence needs it.
    #[arg(long, value_name = "FILE")]
    pub table: Option<PathBuf>,
    /// The epoch's list of keys, where the evidence needs it.
    #[arg(long, value_name = "FILE")]
    pub keys: Option<PathBuf>,
    /// The epoch's retrieval hint, where the evidence needs it.
    #[arg(long, value_name = "FILE")]
    pub hint: Option<PathBuf>,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `tracedge plan`.
#[derive(Debug, Args)]
pub struct PlanArgs {
    /// How many subscribers: 10000000 or 1e7.
    #[arg(long, value_name = "N", value_parser = count)]
    pub subscribers: u64,
    /// How many logins a second, each with its retrieval.
    #[arg(long, value_name = "N", value_parser = rate)]
    pub logins_per_s: f64,
    /// How many random rows a subscriber audits with each login.
    #[arg(long, default_value_t = 1, value_name = "K")]
    pub audits: u32,
    /// The length of an epoch, minutes.
    #[arg(long, default_value_t = 60, value_name = "MINUTES")]
    pub epoch_minutes: u32,
    /// How private retrieval is done.
    #[arg(long, default_value = "hintless", value_parser = ["hintless", "lwe"])]
    pub scheme: String,
    /// Cores of one machine like this one.
    #[arg(long, value_name = "N", default_value_t = 16)]
    pub machine_cores: u32,
    /// What such a machine costs, dollars.
    #[arg(long, value_name = "DOLLARS", default_value_t = 2_000.0)]
    pub machine_cost: f64,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

fn count(text: &str) -> std::result::Result<u64, String> {
    let n: f64 = text.parse().map_err(|_| format!("`{text}` is no number"))?;
    let most = 4_294_967_296.0;
    if n.fract() == 0.0 && (1.0..=most).contains(&n) {
        // Whole and far below 2^53: the conversion is exact.
        Ok(n as u64)
    } else {
        Err(format!("a table has 1 to {most} rows"))
    }
}

fn rate(text: &str) -> std::result::Result<f64, String> {
    let n: f64 = text.parse().map_err(|_| format!("`{text}` is no number"))?;
    if n.is_finite() && n > 0.0 { Ok(n) } else { Err("a rate is above zero".to_owned()) }
}

/// Runs one of them.
pub fn run(command: &TracedgeCommand, paint: Paint) -> Result<()> {
    match command {
        TracedgeCommand::Init(args) => operator::init(args, paint),
        TracedgeCommand::Enrol(args) => operator::enrol(args),
        TracedgeCommand::Revoke(args) => operator::revoke(args),
        TracedgeCommand::Build(args) => operator::build(args, paint),
        TracedgeCommand::Serve(args) => operator::serve(args),
        TracedgeCommand::Subscribe(args) => subscriber::subscribe(args, paint),
        TracedgeCommand::Fetch(args) => subscriber::fetch(args, paint),
        TracedgeCommand::Audit(args) => subscriber::audit(args, paint),
        TracedgeCommand::Prove(args) => subscriber::prove(args, paint),
        TracedgeCommand::Status(args) => subscriber::status(args),
        TracedgeCommand::Heads(args) => heads::run(args, paint),
        TracedgeCommand::Complete(args) => complete::run(args, paint),
        TracedgeCommand::Demo(args) => demo::run(args, paint),
        TracedgeCommand::VerifyEvidence(args) => evidence::verify(args, paint),
        TracedgeCommand::AuditTable(args) => audit_table::run(args, paint),
        TracedgeCommand::Plan(args) => plan::run(args, paint),
    }
}

/// A failure of the library, which says itself what is wrong.
fn failed(what: &str, e: &dyn std::fmt::Display) -> Error {
    Error::new(ErrorKind::System, format!("{what}: {e}"), "")
}

/// Unix seconds by this machine's clock.
fn now_s() -> u64 {
    slyfi_linux::Clock::new().now().wall.as_micros() / 1_000_000
}

/// Reads a file that was named on the command line.
fn read(path: &std::path::Path) -> Result<Vec<u8>> {
    std::fs::read(path).map_err(|e| {
        Error::new(ErrorKind::Usage, format!("{}: {e}", path.display()), "give another path")
    })
}

/// Bytes for people.
fn bytes(n: f64) -> String {
    match n {
        n if n < 1e3 => format!("{n:.0} B"),
        n if n < 1e6 => format!("{:.1} kB", n / 1e3),
        n if n < 1e9 => format!("{:.1} MB", n / 1e6),
        n if n < 1e12 => format!("{:.1} GB", n / 1e9),
        n => format!("{:.1} TB", n / 1e12),
    }
}
