//! `slyfi tracedge init`, `enrol`, `revoke`, `build`, `serve`: the operator's side.

use std::io::Write;
use std::net::{SocketAddr, TcpListener};
use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use clap::Args;
use serde::{Deserialize, Serialize};
use slyfi_link::{Error, ErrorKind, Result};
use slyfi_linux::{Clock, Interest, OsRandom, Poll, Signals, Token, Waker};
use slyfi_tracedge::SchemeId;
use slyfi_tracedge::epoch::{Epoch, EpochKey, EpochSecret};
use slyfi_tracedge::files::{EpochFiles, write_whole};
use slyfi_tracedge::head::CLOCK_SKEW;
use slyfi_tracedge::operator::{PublishError, Schemes};
use slyfi_tracedge::pieces::Work;
use slyfi_tracedge::service::Service;
use slyfi_tracedge::service::store::{Store, StoreError};
use tokio::sync::watch;

use super::control::{self, Answer, Order};
use super::gpu;
use super::https::{self, Certificates};
use super::invite::Invite;
use super::{failed, hex, now_s, read};
use crate::commands::{print, print_json};
use crate::output::{Paint, span};

/// How often `serve` looks at the clock: is an epoch over or due?
const LOOK: Duration = Duration::from_secs(1);
/// When it tries again what failed, seconds.
const AGAIN: u64 = 20;

/// Which operator.
#[derive(Debug, Args)]
pub struct OperatorArgs {
    /// The operator's directory: keys, store, tables.
    #[arg(long, value_name = "DIR", default_value = "slyfi-operator")]
    pub dir: PathBuf,
}

/// Arguments of `tracedge init`.
#[derive(Debug, Args)]
pub struct InitArgs {
    #[command(flatten)]
    operator: OperatorArgs,
    /// How many rows the table has: the most subscribers there can be.
    #[arg(long, value_name = "N", value_parser = super::count, default_value = "100000")]
    rows: u64,
    /// The length of an epoch, minutes: how long a revoked subscriber still gets in. 10 at least.
    #[arg(long, default_value_t = 60, value_name = "MINUTES", value_parser = clap::value_parser!(u32).range(10..))]
    epoch_minutes: u32,
    /// A name or address by which subscribers reach the operator; may be given more than once.
    #[arg(long, value_name = "NAME", default_values = ["localhost", "127.0.0.1"])]
    host: Vec<String>,
    /// The port of the service.
    #[arg(long, default_value_t = 8443)]
    port: u16,
    /// How private retrieval is done: hintless, or lwe (cheaper answers, but clients fetch a large hint).
    #[arg(long, default_value = "hintless", value_parser = ["hintless", "lwe"])]
    scheme: String,
}

/// Arguments of `tracedge enrol`.
#[derive(Debug, Args)]
pub struct EnrolArgs {
    #[command(flatten)]
    operator: OperatorArgs,
    /// Where subscribers reach the service, if it is not what `init` was told.
    #[arg(long, value_name = "URL")]
    url: Option<String>,
    /// For how many hours the invitation is good.
    #[arg(long, default_value_t = 168, value_name = "HOURS")]
    valid_hours: u32,
    /// The file to write: whoever has it can take the row. - is standard output.
    #[arg(value_name = "FILE", default_value = "-")]
    out: PathBuf,
}

/// Arguments of `tracedge revoke`.
#[derive(Debug, Args)]
pub struct RevokeArgs {
    #[command(flatten)]
    operator: OperatorArgs,
    /// Which row.
    #[arg(value_name = "ROW")]
    row: u64,
}

/// Arguments of `tracedge build`.
#[derive(Debug, Args)]
pub struct BuildArgs {
    #[command(flatten)]
    operator: OperatorArgs,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// Arguments of `tracedge serve`.
#[derive(Debug, Args)]
pub struct ServeArgs {
    #[command(flatten)]
    operator: OperatorArgs,
    /// Where to listen, if not at the port of `init` on all addresses.
    #[arg(long, value_name = "ADDRESS:PORT")]
    listen: Option<SocketAddr>,
    /// How many connections to attend to at a time.
    #[arg(long, default_value_t = 256, value_name = "N")]
    connections: usize,
    /// Have a graphics processor compute the retrieval: the fastest, or the one with NAME in its name.
    #[arg(long, value_name = "NAME", num_args = 0..=1, default_missing_value = "")]
    gpu: Option<String>,
}

/// What `init` was told and the store does not hold.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Settings {
    operator: String,
    url: String,
    port: u16,
    scheme: String,
}

impl Settings {
    fn read(dir: &Path) -> Result<Self> {
        let path = dir.join("operator.json");
        let bytes = std::fs::read(&path).map_err(|e| {
            let cause = format!("{}: {e}", path.display());
            Error::new(ErrorKind::Store, cause, "make an operator: slyfi tracedge init")
        })?;
        serde_json::from_slice(&bytes)
            .map_err(|e| Error::new(ErrorKind::Store, format!("{}: {e}", path.display()), ""))
    }
}

fn store_failed(e: StoreError) -> Error {
    match e {
        StoreError::Refused(why) => Error::new(ErrorKind::Usage, why, ""),
        e => Error::new(ErrorKind::Store, e.to_string(), e.mend()),
    }
}

fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    write_whole(path, |file| file.write_all(bytes)).map_err(|e| Error::system(path.display(), &e))
}

/// `slyfi tracedge init`
pub fn init(args: &InitArgs, paint: Paint) -> Result<()> {
    let dir = &args.operator.dir;
    // First whatever can be refused; then the store, which does not overwrite another.
    let certificates = Certificates::generate(&args.host, now_s())?;
    let host = args.host.first().map_or("localhost", String::as_str);
    let host = if host.contains(':') { format!("[{host}]") } else { host.to_owned() };
    let url = format!("https://{host}:{}", args.port);
    https::client::check_url(&url)?;
    std::fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(dir)
        .map_err(|e| Error::system(dir.display(), &e))?;
    let path = dir.join("operator.redb");
    if path.exists() {
        let cause = format!("there is an operator in {} already", dir.display());
        return Err(Error::new(ErrorKind::Usage, cause, "name another directory with --dir"));
    }
    // The store gets its name last: with it there is an operator, and whole. What an `init` that was
    // stopped left, nobody has seen.
    let unfinished = dir.join("operator.redb.new");
    match std::fs::remove_file(&unfinished) {
        Err(e) if e.kind() != std::io::ErrorKind::NotFound => {
            return Err(Error::system(unfinished.display(), &e));
        }
        _ => (),
    }
    let epoch_s = u64::from(args.epoch_minutes) * 60;
    let store = Store::create(&unfinished, args.rows, epoch_s, &mut OsRandom);
    let store = store.map_err(store_failed)?;
    let id = store.keys().map_err(store_failed)?.id();
    drop(store);
    let settings =
        Settings { operator: id.to_string(), url, port: args.port, scheme: args.scheme.clone() };
    let json = serde_json::to_vec_pretty(&settings).map_err(|e| failed("settings", &e))?;
    for (name, bytes) in [
        ("operator.json", &json[..]),
        ("authority.pem", certificates.authority.as_bytes()),
        ("authority.key", certificates.authority_key.as_bytes()),
        ("server.pem", certificates.server.as_bytes()),
        ("server.key", certificates.server_key.as_bytes()),
    ] {
        write(&dir.join(name), bytes)?;
    }
    std::fs::rename(&unfinished, &path)
        .and_then(|()| std::fs::File::open(dir)?.sync_all())
        .map_err(|e| Error::system(path.display(), &e))?;
    print(&format!(
        "{} {id}\n  {} rows, epochs of {} min, {}\n  publish the id where subscribers can check it; \
         next: slyfi tracedge serve --dir {}\n",
        paint.good("operator"),
        args.rows,
        args.epoch_minutes,
        settings.url,
        dir.display(),
    ))
}

/// An operator whose store this process holds.
struct Operator {
    service: Arc<Service>,
    files: EpochFiles,
    scheme: SchemeId,
    building: Mutex<()>,
    /// When the next epoch is over or due, Unix seconds: until then there is nothing to look at.
    due: AtomicU64,
    /// Set when the process is to end.
    ending: AtomicBool,
}

fn workers() -> NonZeroUsize {
    std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN)
}

impl Operator {
    fn open(dir: &Path, gpu: Option<&str>) -> Result<Self> {
        let settings = Settings::read(dir)?;
        let scheme = SchemeId::from_name(&settings.scheme).ok_or_else(|| {
            let cause = format!("operator.json: there is no scheme `{}`", settings.scheme);
            Error::new(ErrorKind::Store, cause, "hintless and lwe are there")
        })?;
        let store = Store::open(&dir.join("operator.redb")).map_err(store_failed)?;
        let service = Service::new(store, workers()).map_err(store_failed)?;
        let service = gpu::equip(service, gpu)?;
        Ok(Operator {
            service: Arc::new(service),
            files: EpochFiles::new(dir),
            scheme,
            building: Mutex::new(()),
            due: AtomicU64::new(0),
            ending: AtomicBool::new(false),
        })
    }

    /// Goes on with `work` until the process is to end.
    fn while_serving<T>(&self, work: impl FnOnce(&Work<'_>) -> T) -> T {
        let progress = |_| match self.ending.load(Ordering::Acquire) {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        };
        work(&Work { workers: workers(), progress: &progress })
    }

    fn last(&self) -> Result<Option<Epoch>> {
        let epochs = self.service.with_store(|store| store.epochs()).map_err(store_failed)?;
        Ok(epochs.last().map(|recorded| recorded.head.head().epoch))
    }

    fn carry_out(&self, order: &Order) -> Result<Answer> {
        match order {
            Order::Invite { valid_s } => {
                let until = now_s().saturating_add(*valid_s);
                let made = self.service.with_store(|store| store.invite(until, &mut OsRandom));
                let invitation = hex::encode(&made.map_err(store_failed)?);
                Ok(Answer::Invited { invitation, until })
            }
            Order::Revoke { row } => {
                self.service.with_store(|store| store.revoke(*row)).map_err(store_failed)?;
                let from_epoch = self.last()?.map_or(0, |epoch| epoch.number + 1);
                Ok(Answer::Revoked { from_epoch })
            }
            Order::Build => self.build(),
        }
    }

    /// Builds, records and serves the epoch that comes.
    fn build(&self) -> Result<Answer> {
        let _one = self.building.lock().unwrap_or_else(PoisonError::into_inner);
        self.service.watch_clock(Clock::new().now()).map_err(store_failed)?;
        let now = now_s();
        if let Some(next) = self.last()?.filter(|epoch| epoch.not_before > now) {
            let cause = format!(
                "epoch {} is built, and begins in {}",
                next.number,
                span(next.not_before - now)
            );
            return Err(Error::new(ErrorKind::Usage, cause, "build the one after it then"));
        }
        let read = |store: &mut Store| {
            Ok((store.next_epoch(now)?, store.directory()?, store.subscribed()?))
        };
        let (epoch, directory, subscribed) = self.service.with_store(read).map_err(store_failed)?;
        let secret = EpochSecret::derive(&epoch, EpochKey::generate(&mut OsRandom));
        let broken = |e: PublishError| {
            Error::new(ErrorKind::System, format!("building the epoch: {e}"), e.mend())
        };
        let keys = self.service.keys();
        let schemes = Schemes::both(self.scheme);
        let serving = self
            .while_serving(|work| self.files.build(keys, &secret, &directory, schemes, work))
            .map_err(broken)?;
        let mapped = self.files.map(epoch.number).map_err(|e| broken(PublishError::Table(e)))?;
        // A head that is logged when its epoch is over is proof of one that was kept out of the log.
        if now_s() >= epoch.not_after {
            let cause = "building the epoch took longer than the epoch";
            return Err(Error::new(ErrorKind::System, cause, "make an operator of longer epochs"));
        }
        self.service.publish(serving, secret.key().clone(), Some(mapped)).map_err(store_failed)?;
        let kept = self.service.with_store(|store| store.epochs()).map_err(store_failed)?;
        let kept: Vec<_> = kept
            .iter()
            .map(|recorded| recorded.head.head().epoch)
            .filter(|epoch| now < epoch.not_after.saturating_add(CLOCK_SKEW))
            .map(|epoch| epoch.number)
            .collect();
        // The epoch is there; what could not be removed now will be after the next one.
        if let Err(e) = self.files.sweep(|epoch| kept.contains(&epoch)) {
            say(&format!("old tables could not be removed: {e}"));
        }
        // There is more to come than was known.
        self.due.store(0, Ordering::Release);
        let Epoch { number: epoch, not_before, not_after, .. } = epoch;
        Ok(Answer::Built { epoch, not_before, not_after, subscribed })
    }

    /// Ends what is over and builds what is due: the next epoch from the middle of the present one.
    fn look(&self) -> Result<()> {
        self.service.watch_clock(Clock::new().now()).map_err(store_failed)?;
        let now = now_s();
        if now < self.due.load(Ordering::Acquire) {
            return Ok(());
        }
        let Some(last) = self.last()? else { return Ok(()) };
        self.due.store(now + AGAIN, Ordering::Release);
        // First what needs no room on the disk.
        self.service.retire(now).map_err(store_failed)?;
        if now >= middle(&last) {
            self.build()?;
        }
        self.due.store(self.next_due(now)?, Ordering::Release);
        Ok(())
    }

    /// When there is something to end or to build next.
    fn next_due(&self, now: u64) -> Result<u64> {
        let epochs = self.service.with_store(|store| store.epochs()).map_err(store_failed)?;
        let epochs: Vec<_> = epochs.iter().map(|recorded| recorded.head.head().epoch).collect();
        let over = epochs.iter().map(|epoch| epoch.not_after.saturating_add(CLOCK_SKEW));
        let over = over.filter(|over| *over > now).min();
        let build = epochs.last().map(middle);
        Ok(over.into_iter().chain(build).min().unwrap_or(0))
    }
}

/// When the epoch after this one is built.
fn middle(epoch: &Epoch) -> u64 {
    epoch.not_after - (epoch.not_after - epoch.not_before) / 2
}

/// Has an order carried out: by the `serve` that runs, or here.
fn ordered(dir: &Path, order: &Order) -> Result<Answer> {
    match control::ask(dir, order)? {
        Some(answer) => answer.into_result(),
        None => Operator::open(dir, None)?.carry_out(order),
    }
}

fn strange() -> Error {
    let mend = "use the slyfi command that `serve` was started with";
    Error::new(ErrorKind::NoDaemon, "`serve` answered something else", mend)
}

/// `slyfi tracedge enrol`
pub fn enrol(args: &EnrolArgs) -> Result<()> {
    let dir = &args.operator.dir;
    let settings = Settings::read(dir)?;
    let (operator, url) = (settings.operator, args.url.clone().unwrap_or(settings.url));
    https::client::check_url(&url)?;
    let authority = String::from_utf8(read(&dir.join("authority.pem"))?)
        .map_err(|e| failed("authority.pem", &e))?;
    let order = Order::Invite { valid_s: u64::from(args.valid_hours) * 3_600 };
    let Answer::Invited { invitation, until } = ordered(dir, &order)? else {
        return Err(strange());
    };
    let invite = Invite { url, operator, authority, invitation, until };
    if args.out.as_os_str() == "-" {
        return print_json(&invite);
    }
    let json = serde_json::to_vec_pretty(&invite).map_err(|e| failed("the invitation", &e))?;
    write(&args.out, &json)
}

/// `slyfi tracedge revoke`
pub fn revoke(args: &RevokeArgs) -> Result<()> {
    let Answer::Revoked { from_epoch } =
        ordered(&args.operator.dir, &Order::Revoke { row: args.row })?
    else {
        return Err(strange());
    };
    print(&format!("row {} is vacant from epoch {from_epoch} on\n", args.row))
}

#[derive(Serialize)]
struct Built {
    epoch: u64,
    not_before: u64,
    not_after: u64,
    subscribed: u64,
}

/// `slyfi tracedge build`
pub fn build(args: &BuildArgs, paint: Paint) -> Result<()> {
    if !args.json {
        print("building; a table of 10 million rows takes minutes …\n")?;
    }
    let Answer::Built { epoch, not_before, not_after, subscribed } =
        ordered(&args.operator.dir, &Order::Build)?
    else {
        return Err(strange());
    };
    if args.json {
        return print_json(&Built { epoch, not_before, not_after, subscribed });
    }
    let begins = match not_before.saturating_sub(now_s()) {
        0 => "now".to_owned(),
        wait => format!("in {}", span(wait)),
    };
    print(&format!(
        "{} {epoch}: {subscribed} subscribers, begins {begins}, for {}\n",
        paint.good("epoch"),
        span(not_after - not_before),
    ))
}

/// `slyfi tracedge serve`
pub fn serve(args: &ServeArgs) -> Result<()> {
    let dir = &args.operator.dir;
    let settings = Settings::read(dir)?;
    let config =
        https::server_config(&read(&dir.join("server.pem"))?, &read(&dir.join("server.key"))?)?;
    let operator = Operator::open(dir, args.gpu.as_deref())?;
    let control = control::listen(dir)?;
    let address = args.listen.unwrap_or_else(|| SocketAddr::from(([0; 16], settings.port)));
    let listener = TcpListener::bind(address).map_err(|e| Error::system(address, &e))?;
    let address = listener.local_addr().map_err(|e| Error::system(address, &e))?;
    let signals = Signals::catch().map_err(|e| Error::system("signals", &e))?;
    let (bell, stop) = (Waker::new(), watch::Sender::new(false));
    let bell = bell.map_err(|e| Error::system("signals", &e))?;
    let resumed =
        operator.while_serving(|work| operator.service.resume(&operator.files, now_s(), work));
    for (epoch, why) in resumed.map_err(store_failed)? {
        say(&format!("epoch {epoch} is not served: {why}"));
    }
    print(&format!("serving operator {} at {address}\n", settings.operator))?;
    if operator.last()?.is_none() {
        print("no epoch yet: enrol subscribers, then `slyfi tracedge build`\n")?;
    }
    let served = std::thread::scope(|scope| {
        let ending = &operator.ending;
        scope.spawn(|| control::run(&control, ending, |order| operator.carry_out(order)));
        scope.spawn(|| {
            let mut faults = gpu::Faults::default();
            while !ending.load(Ordering::Acquire) {
                let mut wait = LOOK;
                if let Err(e) = operator.look()
                    && !ending.load(Ordering::Acquire)
                {
                    say(&e.to_string());
                    wait = Duration::from_secs(AGAIN);
                }
                for fault in faults.news(&operator.service) {
                    say(&fault);
                }
                rest(wait, &bell);
            }
        });
        scope.spawn(|| {
            until_told(&signals, &bell);
            ending.store(true, Ordering::Release);
            stop.send_replace(true);
        });
        let service = Arc::clone(&operator.service);
        let most = args.connections;
        let served = https::server::run(service, listener, config, most, stop.subscribe());
        ending.store(true, Ordering::Release);
        bell.wake();
        control::end(dir);
        served
    });
    served.map_err(|e| Error::system(address, &e))
}

/// Waits for so long, or until the bell rings.
fn rest(how_long: Duration, bell: &Waker) {
    let wait = || {
        let mut poll = Poll::new()?;
        poll.add(bell, Token(0), Interest::Read)?;
        let now = Clock::new().now().mono;
        poll.wait(now, Some(now + slyfi_base::Duration::from_secs(how_long.as_secs())))?;
        std::io::Result::Ok(())
    };
    if wait().is_err() {
        std::thread::park_timeout(how_long);
    }
}

/// Waits until a signal says that the process is to end, or the bell rings.
fn until_told(signals: &Signals, bell: &Waker) {
    let wait = || {
        let mut poll = Poll::new()?;
        poll.add(signals, Token(0), Interest::Read)?;
        poll.add(bell, Token(1), Interest::Read)?;
        loop {
            if !poll.wait(Clock::new().now().mono, None)?.is_empty() {
                return std::io::Result::Ok(());
            }
        }
    };
    if let Err(e) = wait() {
        say(&format!("signals: {e}"));
    }
}

/// Tells the operator, who may have closed standard error.
fn say(what: &str) {
    let _ = writeln!(std::io::stderr(), "slyfi: {what}");
}
