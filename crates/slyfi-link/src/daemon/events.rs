//! What the machine's events mean to people: the log, the status, and when to give up.

use super::{Daemon, Outcome};
use crate::config::Role;
use crate::error::{Error, ErrorKind, Result};
use crate::logging::{Level, Stamp};
use crate::store::{Change, PairingKey, show_id};
use crate::wifi::Cipher;
use slyfi_base::event::{NoLink, Phase, Unlinked};
use slyfi_base::{DropReason, Duration, Event, Instant, LinkId, Now};
use slyfi_linux::SyncState;
use std::collections::BTreeMap;

/// How long a link may take before the log says how far it is.
const LONG: Duration = Duration::from_secs(2);

/// How long nobody may answer before the log says what it may be.
const SILENCE: Duration = Duration::from_secs(9);

/// Where the links are, as far as events told.
#[derive(Default)]
pub(crate) struct Progress {
    /// A client's phase; `None` before the first and while it pauses.
    pub(crate) phase: Option<Phase>,
    /// Why the last try failed.
    pub(crate) trouble: Option<NoLink>,
    /// How many tries failed since the last link.
    pub(crate) failed_tries: u32,
    /// When the search began: the start, or the loss of the last link.
    pub(crate) started: Instant,
    /// Whether the log has said that it takes long.
    waiting_is_known: bool,
    /// Whether the log has said what the silence may be.
    hinted: bool,
    /// Whether the log has said that the static key may be another one.
    key_is_doubted: bool,
    /// Links that are up: their pairing and since when.
    pub(crate) links: BTreeMap<LinkId, (u32, Instant)>,
    /// Whether a link was up at any time.
    pub(crate) was_linked: bool,
    /// The machine's numbers of pairings.
    pub(crate) pairings: BTreeMap<u32, PairingKey>,
    /// What the user calls them.
    pub(crate) labels: BTreeMap<PairingKey, String>,
    /// The peer's clock minus this one's, in microseconds.
    pub(crate) clock_offset: Option<i64>,
    /// Clients whose clock is off: seconds.
    pub(crate) clients_off: BTreeMap<u32, i64>,
    /// Why the daemon ends, if it does for want of a link.
    pub(crate) failure: Option<Error>,
}

impl Progress {
    /// Returns the label of a pairing.
    pub(crate) fn label(&self, pairing: u32) -> &str {
        self.pairings.get(&pairing).and_then(|id| self.labels.get(id)).map_or("", String::as_str)
    }
}

/// Returns a phase's name, as status shows it.
pub(crate) const fn phase_name(phase: Option<Phase>) -> &'static str {
    match phase {
        None => "idle",
        Some(Phase::Probing) => "probing",
        Some(Phase::Authenticating) => "authenticating",
        Some(Phase::Associating) => "associating",
        Some(Phase::Linked) => "linked",
    }
}

const fn phase_words(phase: Phase) -> &'static str {
    match phase {
        Phase::Probing => "looking for an access point",
        Phase::Authenticating => "an access point answered; authenticating",
        Phase::Associating => "authenticated; associating",
        Phase::Linked => "linked",
    }
}

/// Says why there is no link, in words.
pub(crate) const fn why_no_link(why: NoLink) -> &'static str {
    match why {
        NoLink::NoAnswer => "no access point answered",
        NoLink::NoAuthentication => "an access point answered the probe but not the authentication",
        NoLink::Full => "the access point has no room for another link",
        NoLink::Refused => "the access point refused",
        NoLink::InviteSpent => "the invite was used before or has expired",
        NoLink::KeyNotProven => {
            "an access point answered, but the key handshake failed: most likely the passphrases differ"
        }
        _ => "the set-up failed",
    }
}

const fn why_unlinked(why: Unlinked) -> &'static str {
    match why {
        Unlinked::Left => "it took leave",
        Unlinked::Silent => "nothing was heard for too long",
        Unlinked::LossBeyondWindow => "more frames in a row were lost than the window bridges",
        Unlinked::Exhausted => "its keys are used up; a new link follows",
        Unlinked::Replaced => "a newer link took its place",
        Unlinked::Dismissed => "the access point dismissed it",
        Unlinked::Moved => "it moved to another access point",
        Unlinked::Countermeasures => "forged frames were found, and countermeasures ended it",
        _ => "it ended",
    }
}

impl Daemon {
    pub(crate) fn on_event(&mut self, now: Now, event: Event) -> Result<()> {
        match event {
            Event::Phase(phase) => self.on_phase(phase),
            Event::NoLink { why, retry_in } => return self.on_no_link(now, why, retry_in),
            Event::Linked { link, pairing } => self.on_linked(now, link, pairing),
            Event::Unlinked { link, why } => self.on_unlinked(now, link, why),
            Event::Pseudonym(mac) => return self.take_pseudonym(mac),
            Event::ClockOffset(us) => self.on_clock_offset(us),
            Event::ClientClockOff { pairing, seconds } => self.on_client_clock(pairing, seconds),
            Event::Enrolled { pairing } => self.on_enrolled(pairing),
            Event::GroupRekeyed { epoch } => debug!(self.log, "group key {epoch} is in use"),
            Event::DayTurned => return self.turn_day(now),
            Event::KeyNotProven => warn!(
                self.log,
                "a station could not prove that it has the key: most likely its passphrase differs"
            ),
            Event::ShutDown { pause } => warn!(
                self.log,
                "two forged frames within a minute (Michael): nothing is carried for {} s",
                pause.as_secs()
            ),
            Event::Roamed => info!(self.log, "moved to another access point of the network"),
            _ => {}
        }
        Ok(())
    }

    /// A phase is news only when the set-up takes long; it usually takes milliseconds.
    fn on_phase(&mut self, phase: Phase) {
        self.progress.phase = Some(phase);
        if phase == Phase::Linked {
            return;
        }
        let level = if self.progress.waiting_is_known { Level::Info } else { Level::Debug };
        self.log.log(level, format_args!("{}", phase_words(phase)));
    }

    fn on_no_link(&mut self, now: Now, why: NoLink, retry_in: Duration) -> Result<()> {
        self.progress.phase = None;
        self.progress.failed_tries += 1;
        // Silence is reported once it lasts; everything else when it happens, and once.
        let new = self.progress.trouble.replace(why) != Some(why);
        match why {
            NoLink::InviteSpent => self.drop_spent_invites(now)?,
            NoLink::NoAnswer => {}
            _ if new => warn!(self.log, "no link: {}; trying on", why_no_link(why)),
            _ => {}
        }
        debug!(self.log, "{}; next try in {} ms", why_no_link(why), retry_in.as_millis());
        Ok(())
    }

    /// A client's invite that the access point does not take any more is of no use.
    fn drop_spent_invites(&mut self, now: Now) -> Result<()> {
        warn!(self.log, "the invite was used before or has expired");
        let spent: Vec<_> = self.store.invites()?.iter().map(|i| *i.pairing.id()).collect();
        if spent.len() > 1 {
            // The event does not tell which; they expire by themselves.
            return Ok(());
        }
        let changes: Vec<_> = spent.iter().map(|id| Change::Spend(*id)).collect();
        self.store.commit(&changes)?;
        let numbers: Vec<_> = self
            .progress
            .pairings
            .iter()
            .filter(|(_, id)| spent.contains(*id))
            .map(|(index, _)| *index)
            .collect();
        for index in numbers {
            self.progress.pairings.remove(&index);
            self.machine.remove_pairing(now, index);
        }
        if self.progress.pairings.is_empty() {
            self.progress.failure = Some(Error::new(
                ErrorKind::Invite,
                "the invite was used before or has expired",
                "ask for a new one: `slyfi pair` on the access point",
            ));
            self.leave(now)?;
        }
        Ok(())
    }

    fn on_linked(&mut self, now: Now, link: LinkId, pairing: u32) {
        self.learn_number(pairing);
        self.progress.links.insert(link, (pairing, now.mono));
        self.progress.clients_off.remove(&pairing);
        self.counters.links_up += 1;
        let label = match self.machine.is_wifi() {
            true => self.setup.config.network.name.as_str(),
            false => self.progress.label(pairing),
        };
        let name = self.log.name(label.to_owned());
        match self.machine.role() {
            Role::Client => {
                let took = now.mono.saturating_since(self.progress.started).as_millis();
                info!(self.log, "linked to {name} after {took} ms");
            }
            Role::AccessPoint if self.machine.is_wifi() => {
                info!(self.log, "link {}: a station is up", link.0);
            }
            Role::AccessPoint => info!(self.log, "link {}: {name} is up", link.0),
        }
        self.progress.phase = Some(Phase::Linked);
        self.progress.trouble = None;
        self.progress.failed_tries = 0;
        self.progress.was_linked = true;
        self.progress.hinted = false;
        self.progress.waiting_is_known = false;
    }

    fn on_unlinked(&mut self, now: Now, link: LinkId, why: Unlinked) {
        self.counters.links_down += 1;
        let pairing = self.progress.links.remove(&link).map(|(pairing, _)| pairing);
        match self.machine.role() {
            Role::Client => info!(self.log, "the link is gone: {}", why_unlinked(why)),
            Role::AccessPoint => {
                let label = pairing.map_or("", |p| self.progress.label(p)).to_owned();
                let name = self.log.name(label);
                info!(self.log, "link {}: {name} is gone: {}", link.0, why_unlinked(why));
            }
        }
        if self.machine.role() == Role::Client {
            self.progress.phase = None;
            self.progress.started = now.mono;
        }
    }

    fn on_clock_offset(&mut self, us: i64) {
        let before = self.progress.clock_offset.replace(us);
        if before.is_none() {
            debug!(self.log, "this clock is {} ms behind the access point's", us / 1_000);
        }
    }

    /// A paired client was heard whose clock is outside the window: it gets no answer, so only this
    /// side can say so.
    fn on_client_clock(&mut self, pairing: u32, seconds: i64) {
        let before = self.progress.clients_off.insert(pairing, seconds);
        if before.is_some_and(|b| b.abs_diff(seconds) < 60) {
            return;
        }
        let name = self.log.name(self.progress.label(pairing).to_owned());
        let (amount, side) =
            (in_words(seconds.unsigned_abs()), if seconds < 0 { "behind" } else { "ahead" });
        warn!(
            self.log,
            "a paired client's clock ({name}) is {amount} {side}; its probes are ignored until it is set"
        );
    }

    fn on_enrolled(&mut self, pairing: u32) {
        self.learn_number(pairing);
        if let Some(id) = self.progress.pairings.get(&pairing) {
            let (name, id) = (self.progress.label(pairing).to_owned(), show_id(id));
            info!(self.log, "paired: {} (pairing {})", self.log.name(name), self.log.name(id));
        }
        if self.setup.options.pair_only {
            self.ends_with = Some(Outcome::Paired);
        }
    }

    /// Remembers which pairing the machine means by a number: it makes some itself, at enrolment and
    /// when a sibling tells of one.
    fn learn_number(&mut self, pairing: u32) {
        if let Some(id) = self.machine.pairing_id(pairing) {
            self.progress.pairings.insert(pairing, id);
        }
    }

    /// Says, once, what it may be that nobody answers.
    pub(crate) fn hint_at_silence(&mut self, now: Now) {
        let silent = now.mono.saturating_since(self.progress.started);
        let waiting = self.machine.role() == Role::Client && self.progress.links.is_empty();
        self.hint_at_another_key();
        if waiting && !self.progress.waiting_is_known && silent >= LONG {
            self.progress.waiting_is_known = true;
            let phase = self.progress.phase.unwrap_or(Phase::Probing);
            info!(self.log, "no link yet: {}", phase_words(phase));
        }
        if !waiting || self.progress.hinted || silent < SILENCE {
            return;
        }
        self.progress.hinted = true;
        let why = self.progress.trouble.unwrap_or(NoLink::NoAnswer);
        warn!(
            self.log,
            "{} for {} s: {}",
            why_no_link(why),
            silent.as_secs(),
            self.silence_hint(now)
        );
    }

    /// Says, once, that a static key may be another one: nothing proves it before data flow.
    fn hint_at_another_key(&mut self) {
        const MANY: u64 = 5;
        let is_static = matches!(self.machine.cipher(), Some(Cipher::Wep | Cipher::Sbkh));
        let refused = self.machine.drops().of(DropReason::CipherRefused);
        let none_opened = self.counters.packets_to_host == 0;
        if is_static && none_opened && refused >= MANY && !self.progress.key_is_doubted {
            self.progress.key_is_doubted = true;
            warn!(
                self.log,
                "{refused} frames came that this key does not open, and none that it does: \
                 most likely the keys differ"
            );
        }
    }

    /// Returns what it may be that nobody answers, with what this machine knows of its clock.
    fn silence_hint(&self, now: Now) -> String {
        if let Some(cipher) = self.machine.cipher() {
            return match self.progress.trouble {
                Some(NoLink::KeyNotProven) => {
                    "check the passphrase on both sides (letter case, spaces, line ends) and the \
                     network's name, which is part of the key"
                        .to_owned()
                }
                _ => format!(
                    "it is off or out of reach, or the air differs (`slyfi status`), or its name or \
                     its cipher is another one: this side looks for --name of [network] with {cipher}"
                ),
            };
        }
        let clock = Stamp(now.wall).to_string();
        let sync = match SyncState::read() {
            Ok(SyncState::Synchronized { .. }) => "synchronised",
            Ok(SyncState::Unsynchronized) => "NOT synchronised (`timedatectl` tells more)",
            Err(_) => "of unknown synchronisation",
        };
        let skew = self.allowed_skew();
        format!(
            "it is off or out of reach, or the air differs (`slyfi status`), or it has revoked the \
             pairing, or a clock is wrong: here it is {}, {sync}, and clocks may differ by {skew}",
            clock.get(..19).unwrap_or(&clock).replace('T', " ") + " UTC"
        )
    }

    /// Returns in words how far clocks may differ: k intervals of the tightest pairing.
    fn allowed_skew(&self) -> String {
        let all = self.store.pairings().unwrap_or_default();
        let skews =
            all.iter().map(|p| p.pairing.interval().as_secs() * u64::from(p.pairing.skew()));
        let network = &self.setup.config.network;
        let default = network.interval.0.as_secs() * u64::from(network.skew);
        in_words(skews.min().unwrap_or(default))
    }

    /// Returns the failure when a link was to come up by now and has not.
    pub(crate) fn no_link_in_time(&self, now: Now) -> Option<Error> {
        let options = &self.setup.options;
        if self.progress.was_linked || self.machine.role() == Role::AccessPoint {
            return None;
        }
        let waited = now.mono.saturating_since(self.progress.started);
        let late = options.timeout.is_some_and(|t| waited >= t);
        let once = options.once && self.progress.failed_tries > 0;
        if !late && !once {
            return None;
        }
        let why = why_no_link(self.progress.trouble.unwrap_or(NoLink::NoAnswer));
        let cause = format!("{why} within {} s", waited.as_secs().max(1));
        Some(Error::new(ErrorKind::NoLink, cause, self.silence_hint(now)))
    }
}

/// Returns a span for people: whole minutes from two minutes on, seconds below.
pub(crate) fn in_words(seconds: u64) -> String {
    match seconds {
        0..120 => format!("{seconds} s"),
        s => format!("{} min", (s + 30) / 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_in_units_that_people_use() {
        assert_eq!(in_words(0), "0 s");
        assert_eq!(in_words(119), "119 s");
        assert_eq!(in_words(300), "5 min");
        assert_eq!(in_words(3_600), "60 min");
    }
}
