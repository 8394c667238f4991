//! `slyfi ap` and `slyfi join`: from arguments to a running daemon.

use crate::cli::{DaemonArgs, JoinArgs};
use slyfi_link::config::{Config, Role};
use slyfi_link::daemon::{self, Options, Outcome};
use slyfi_link::logging::Logger;
use slyfi_link::store::{Missing, Store};
use slyfi_link::{Error, ErrorKind, Result, pairing};
use slyfi_linux::Clock;

/// Runs an access point.
pub fn access_point(args: &DaemonArgs) -> Result<()> {
    let config = args.to_config()?;
    pairing::network_name(&config.network.name)?;
    let store = Store::open(&config.store_dir(Role::AccessPoint), Missing::Create)?;
    run(Role::AccessPoint, config, options(args)?, store)
}

/// Runs a client.
pub fn join(args: &JoinArgs) -> Result<()> {
    let config = args.daemon.to_config()?;
    let mut options = options(&args.daemon)?;
    options.once = args.once;
    options.timeout = args.timeout.map(|t| t.0);
    options.pair_only = args.pair_only;
    if args.url.is_some() && config.wifi.cipher.is_some() {
        let cause = "an invite is for SlyFi, but the configuration sets [wifi] cipher";
        return Err(Error::new(ErrorKind::Usage, cause, "leave the one or the other out"));
    }
    let wall = Clock::with_offset(options.clock_offset_us).now().wall;
    let dir = config.store_dir(Role::Client);
    let store = match &args.url {
        // Ordinary 802.11 has no pairings; the store keeps what must not be used twice.
        None if config.wifi.cipher.is_some() => Store::open(&dir, Missing::Create)?,
        Some(url) => {
            // A wrong URL must not leave an empty store behind.
            pairing::read_invite(url, wall)?;
            let mut store = Store::open(&dir, Missing::Create)?;
            pairing::accept_invite(&mut store, url, wall)?;
            store
        }
        None => {
            let mut store = Store::open(&dir, Missing::Refuse)?;
            store.prune(wall)?;
            if store.pairings()?.is_empty() && store.invites()?.is_empty() {
                return Err(Error::new(
                    ErrorKind::Invite,
                    "this client is paired with no network",
                    "make an invite with `slyfi pair` on the access point, then `slyfi join URL` here",
                ));
            }
            store
        }
    };
    run(Role::Client, config, options, store)
}

fn run(role: Role, config: Config, options: Options, store: Store) -> Result<()> {
    let log = Logger::stderr(config.log.level, config.log.reveal);
    match daemon::open(role, config, options, store, log)?.run()? {
        Outcome::Left | Outcome::Paired => Ok(()),
    }
}

fn options(args: &DaemonArgs) -> Result<Options> {
    let clock_offset_us = args.clock_offset.checked_mul(1_000_000).ok_or_else(|| {
        let mend = "give a number of seconds that a clock can be off";
        Error::new(ErrorKind::Usage, "--clock-offset is out of range", mend)
    })?;
    Ok(Options {
        clock_offset_us,
        key_log: args.key_log.clone(),
        pcap: args.pcap.clone(),
        ..Options::default()
    })
}
