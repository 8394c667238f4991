//! The control socket's requests, answered inside the event loop.

use super::events::{phase_name, why_no_link};
use super::{Daemon, FIRST_CONNECTION};
use crate::config::Role;
use crate::control::{
    Answer, ClockStatus, Incoming, LinkStatus, NewInvite, ProtectionStatus, Request, Response,
    Status,
};
use crate::error::{Error, ErrorKind, Result};
use crate::metrics::{self, Gauges};
use crate::pairing;
use crate::store::show_id;
use slyfi_base::{Command, Duration, LinkId, Now};
use slyfi_linux::{Interest, OsRandom, SyncState, Token};
use std::collections::BTreeMap;

impl Daemon {
    pub(crate) fn on_listener(&mut self) -> Result<()> {
        let Some(control) = &mut self.control else { return Ok(()) };
        while let Some((id, fd)) = control.accept() {
            let token = Token(FIRST_CONNECTION + id);
            self.poll.add(fd, token, Interest::Read).map_err(super::poll_error)?;
        }
        Ok(())
    }

    pub(crate) fn on_connection(&mut self, now: Now, id: u64, writable: bool) -> Result<()> {
        let Some(control) = &mut self.control else { return Ok(()) };
        let mut done = !writable || control.write(id);
        for Incoming { connection, request } in control.read(id) {
            let response = match request.and_then(|request| self.answer(now, request)) {
                Ok(answer) => Response::Ok(answer),
                // The store's failures end the daemon: it must not go on without.
                Err(e) if e.kind == ErrorKind::Store => return Err(e),
                Err(e) => Response::Error(e.into()),
            };
            if let Some(control) = &mut self.control {
                done = control.answer(connection, &response);
            }
        }
        let interest = if done { Interest::Read } else { Interest::ReadWrite };
        if let Some(fd) = self.control.as_ref().and_then(|c| c.connection(id)) {
            let token = Token(FIRST_CONNECTION + id);
            self.poll.modify(fd, token, interest).map_err(super::poll_error)?;
        }
        Ok(())
    }

    fn answer(&mut self, now: Now, request: Request) -> Result<Answer> {
        debug!(self.log, "request: {}", name_of(&request));
        match request {
            Request::Status => Ok(Answer::Status(Box::new(self.status(now)))),
            Request::Metrics => Ok(Answer::Metrics(self.metrics(now))),
            Request::Peers => {
                let linked: Vec<_> = self.linked_pairings().collect();
                let is_linked = |id: &[u8; 8]| linked.contains(id);
                Ok(Answer::Peers(pairing::list(&self.store, now.wall, Some(&is_linked))?))
            }
            Request::Pair { label, valid_s } => {
                Ok(Answer::Invite(self.pair(now, &label, valid_s)?))
            }
            Request::Dismiss { link } => {
                self.only(Role::AccessPoint, "dismiss a member")?;
                let known = self.progress.links.contains_key(&LinkId(link));
                known.then_some(()).ok_or_else(|| {
                    let cause = format!("there is no link {link}");
                    Error::new(ErrorKind::Usage, cause, "`slyfi status` lists them")
                })?;
                self.command(now, Command::Dismiss(LinkId(link)))?;
                Ok(Answer::Done)
            }
            Request::Revoke { id } => {
                let id = pairing::find(&self.store, &id)?;
                pairing::revoke(&mut self.store, id)?;
                let known = self.progress.pairings.iter().find(|(_, of)| **of == id);
                let number = known.map(|(number, _)| *number);
                if let Some(number) = number.or_else(|| self.machine.number_of(&id)) {
                    self.machine.remove_pairing(now, number);
                    self.progress.pairings.remove(&number);
                }
                self.drain(now)?;
                info!(self.log, "revoked pairing {}", self.log.name(show_id(&id)));
                Ok(Answer::Done)
            }
            Request::Roam => {
                self.only(Role::Client, "roam")?;
                self.command(now, Command::Roam)?;
                Ok(Answer::Done)
            }
            Request::Leave => {
                self.leave(now)?;
                Ok(Answer::Done)
            }
        }
    }

    fn only(&self, role: Role, what: &str) -> Result<()> {
        if self.machine.role() == role {
            return Ok(());
        }
        let (cause, mend) = match role {
            Role::AccessPoint => {
                ("only an access point can", "ask its daemon: --role ap, or --store")
            }
            Role::Client => ("only a client can", "ask its daemon: --role client, or --store"),
        };
        Err(Error::new(ErrorKind::Usage, format!("{cause} {what}"), mend))
    }

    fn pair(&mut self, now: Now, label: &str, valid_s: u64) -> Result<NewInvite> {
        self.only(Role::AccessPoint, "invite")?;
        if let Some(cipher) = self.machine.cipher() {
            let cause = format!("a network of ordinary 802.11 ({cipher}) has no invites");
            let mend = "give the station the network's passphrase or key, or run SlyFi: leave --cipher out";
            return Err(Error::new(ErrorKind::Usage, cause, mend));
        }
        let (pairing, shown) = pairing::make_invite(
            &mut self.store,
            &self.setup.config.network,
            label,
            Duration::from_secs(valid_s),
            now.wall,
            &mut OsRandom,
        )?;
        self.add_pairing(now, label.to_owned(), pairing);
        self.drain(now)?;
        info!(self.log, "made an invite, valid for {} s", valid_s);
        Ok(NewInvite { daemon_runs: true, ..shown })
    }

    fn linked_pairings(&self) -> impl Iterator<Item = [u8; 8]> + '_ {
        let numbers = self.progress.links.values().map(|(pairing, _)| pairing);
        numbers.filter_map(|pairing| self.progress.pairings.get(pairing).copied())
    }

    fn status(&self, now: Now) -> Status {
        let progress = &self.progress;
        let is_client = self.machine.role() == Role::Client;
        let links = progress.links.iter().map(|(link, (pairing, since))| LinkStatus {
            link: link.0,
            pairing: progress.pairings.get(pairing).map(show_id),
            label: Some(progress.label(*pairing).to_owned()).filter(|l| !l.is_empty()),
            up_s: now.mono.saturating_since(*since).as_secs(),
        });
        let drops = self.machine.drops().iter().filter(|(_, n)| *n > 0);
        let clients_off = progress
            .clients_off
            .iter()
            .filter_map(|(pairing, s)| Some((show_id(progress.pairings.get(pairing)?), *s)));
        Status {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            role: self.machine.role().name().to_owned(),
            network: (!is_client).then(|| self.setup.config.network.name.clone()),
            phase: is_client.then(|| phase_name(progress.phase).to_owned()),
            trouble: progress.trouble.map(|why| why_no_link(why).to_owned()),
            uptime_s: now.mono.saturating_since(self.started).as_secs(),
            air: self.setup.air.clone(),
            interface: self.host.name().to_owned(),
            mtu: self.setup.mtu,
            protection: self.machine.cipher().map(|cipher| ProtectionStatus {
                cipher: cipher.name().to_owned(),
                broken: cipher.is_broken(),
                counters: self
                    .machine
                    .protection_counters()
                    .into_iter()
                    .map(|(name, n)| (name.to_owned(), n))
                    .collect(),
            }),
            links: links.collect(),
            clock: ClockStatus {
                offset_ms: progress.clock_offset.map(|us| us / 1_000),
                synchronized: match SyncState::read() {
                    Ok(SyncState::Synchronized { .. }) => Some(true),
                    Ok(SyncState::Unsynchronized) => Some(false),
                    Err(_) => None,
                },
                clients_off: clients_off.collect(),
            },
            drops: drops.map(|(reason, n)| (reason.name().to_owned(), n)).collect(),
            counters: self
                .counters
                .list()
                .map(|(name, _, n)| (name.to_owned(), n))
                .into_iter()
                .collect::<BTreeMap<_, _>>(),
        }
    }

    fn metrics(&self, now: Now) -> String {
        let gauges = Gauges {
            links: self.progress.links.len() as u64,
            pairings: self.progress.pairings.len() as u64,
            clock_offset_us: self.progress.clock_offset,
            uptime_s: now.mono.saturating_since(self.started).as_secs(),
        };
        let role = self.machine.role().name();
        let mut text = metrics::render(role, &self.counters, &gauges, self.machine.drops());
        if let Some(cipher) = self.machine.cipher() {
            let counters = self.machine.protection_counters();
            text.push_str(&metrics::render_protection(role, cipher.name(), &counters));
        }
        text
    }
}

/// Returns a request's name for the log, without what is in it.
fn name_of(request: &Request) -> &'static str {
    match request {
        Request::Status => "status",
        Request::Peers => "peers",
        Request::Pair { .. } => "pair",
        Request::Dismiss { .. } => "dismiss",
        Request::Revoke { .. } => "revoke",
        Request::Roam => "roam",
        Request::Leave => "leave",
        Request::Metrics => "metrics",
    }
}
