//! The access point's side of the handshakes (IEEE 802.11-2020 §12.7.6, §12.7.7).

use super::eapol::{EapolKey, KeyInfo, Message};
use super::kde::MAX_KEY_DATA;
use super::message::{Packet, Parts, Refusal, compose, key_data, read, verify};
use super::profile::OwnElement;
use super::ptk::Exchange;
use super::{GroupKey, KeyBytes, Profile, Ptk};
use slyfi_base::{Duration, Instant, SecureRandom};
use zeroize::Zeroize;

/// How long the first transmission of a message waits for its answer; each further one waits twice
/// as long as the one before (dot11RSNAConfigPairwiseUpdateTimeOut: 100 ms).
const FIRST_WAIT: Duration = Duration::from_millis(100);

/// How often a message is sent (dot11RSNAConfigPairwiseUpdateCount is 3; lost answers of slow
/// stations are worth one more).
const TRIES: u8 = 5;

/// What an accepted message of the station means.
#[derive(Debug, PartialEq, Eq)]
#[must_use]
pub enum Progress {
    /// The handshake goes on; see [`Authenticator::poll`].
    Going,
    /// The 4-way handshake is complete: put this pairwise key in use, numbers from 1.
    Keyed(KeyBytes),
    /// The station has the group key that was sent last.
    GroupConfirmed,
    /// The station reports a Michael failure of its own (§12.5.2.4.2).
    MichaelFailure,
}

/// Why a handshake was given up. The association ends (reason 15 or 16).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GivenUp {
    /// No answer came.
    Silence,
    /// Answers came that another key had proven: most likely another passphrase.
    WrongKey,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Awaits {
    Nothing,
    M2,
    M4,
    Group2,
}

/// An access point's handshakes with one station, over one association.
///
/// One mutation, then [`Authenticator::poll`] until it is empty. Messages are sent again by
/// [`Authenticator::handle_timeout`], each time under a replay counter of its own.
#[derive(Debug)]
pub struct Authenticator {
    profile: Profile,
    pmk: KeyBytes,
    authenticator: [u8; 6],
    supplicant: [u8; 6],
    own: OwnElement,
    asked: OwnElement,
    anonce: [u8; 32],
    ptk: Option<Ptk>,
    awaits: Awaits,
    /// The replay counter of the last message sent.
    counter: u64,
    /// The replay counter of the first transmission of the present message.
    first: u64,
    tries: u8,
    until: Option<Instant>,
    unverified: bool,
    /// The station's own requests are numbered by itself.
    requests: u64,
    outgoing: Option<Packet>,
}

impl Authenticator {
    /// An access point at which a station has associated. `asked` is the element of its association
    /// request.
    pub fn new(
        profile: Profile,
        pmk: KeyBytes,
        authenticator: [u8; 6],
        supplicant: [u8; 6],
        asked: OwnElement,
    ) -> Self {
        Authenticator {
            profile,
            pmk,
            authenticator,
            supplicant,
            own: profile.into(),
            asked,
            anonce: [0; 32],
            ptk: None,
            awaits: Awaits::Nothing,
            counter: 0,
            first: 0,
            tries: 0,
            until: None,
            unverified: false,
            requests: 0,
            outgoing: None,
        }
    }

    /// Begins a 4-way handshake: the first of the association, or a new one for new keys.
    pub fn begin(&mut self, now: Instant, rng: &mut dyn SecureRandom) {
        rng.fill(&mut self.anonce);
        self.unverified = false;
        self.expect(Awaits::M2);
        self.send_m1(now, rng);
    }

    /// Begins a group key handshake. `false` when there is no pairwise key yet to do it under, or a
    /// 4-way handshake is under way (whose message 3 brings a group key itself).
    pub fn send_group(
        &mut self,
        now: Instant,
        group: &GroupKey,
        rng: &mut dyn SecureRandom,
    ) -> bool {
        if self.ptk.is_none() || matches!(self.awaits, Awaits::M2 | Awaits::M4) {
            return false;
        }
        self.unverified = false;
        self.expect(Awaits::Group2);
        self.send_group1(now, group, rng);
        true
    }

    /// Takes an EAPOL packet of the station. `group` is the group key in use.
    ///
    /// # Errors
    /// [`Refusal`]: it has no effect.
    pub fn handle(
        &mut self,
        now: Instant,
        packet: &[u8],
        group: &GroupKey,
        rng: &mut dyn SecureRandom,
    ) -> Result<Progress, Refusal> {
        let frame = read(self.profile, packet)?;
        match (frame.message(), self.awaits) {
            (Some(Message::Request), _) => self.on_request(&frame),
            (Some(Message::M2), Awaits::M2) => self.on_m2(now, &frame, group, rng),
            (Some(Message::M4), Awaits::M4) => {
                self.check_answer(&frame)?;
                self.settle();
                let ptk = self.ptk.as_ref().ok_or(Refusal::Unexpected)?;
                Ok(Progress::Keyed(ptk.tk.clone()))
            }
            (Some(Message::Group2), Awaits::Group2) => {
                self.check_answer(&frame)?;
                self.settle();
                Ok(Progress::GroupConfirmed)
            }
            _ => Err(Refusal::Unexpected),
        }
    }

    /// Sends the present message again, or gives up. `group` is the key it would carry.
    ///
    /// # Errors
    /// [`GivenUp`] after the last try; the machine is of no further use then.
    pub fn handle_timeout(
        &mut self,
        now: Instant,
        group: &GroupKey,
        rng: &mut dyn SecureRandom,
    ) -> Result<(), GivenUp> {
        if self.until.is_none_or(|until| now < until) {
            return Ok(());
        }
        if self.tries >= TRIES {
            self.settle();
            return Err(if self.unverified { GivenUp::WrongKey } else { GivenUp::Silence });
        }
        match self.awaits {
            Awaits::Nothing => self.settle(),
            Awaits::M2 => self.send_m1(now, rng),
            Awaits::M4 => self.send_m3(now, group, rng),
            Awaits::Group2 => self.send_group1(now, group, rng),
        }
        Ok(())
    }

    /// Returns when [`Authenticator::handle_timeout`] is due.
    pub const fn next_timeout(&self) -> Option<Instant> {
        self.until
    }

    /// Returns the message to be sent now, once.
    pub const fn poll(&mut self) -> Option<Packet> {
        self.outgoing.take()
    }

    /// Returns whether a handshake is under way.
    pub fn is_busy(&self) -> bool {
        self.awaits != Awaits::Nothing
    }

    fn expect(&mut self, awaits: Awaits) {
        (self.awaits, self.tries, self.first) = (awaits, 0, self.counter + 1);
    }

    fn settle(&mut self) {
        (self.awaits, self.until, self.outgoing) = (Awaits::Nothing, None, None);
    }

    /// Answers to every transmission of the present message count: the station may have heard one and
    /// not another.
    fn is_current(&self, frame: &EapolKey<'_>) -> bool {
        (self.first..=self.counter).contains(&frame.replay_counter)
    }

    fn check_answer(&mut self, frame: &EapolKey<'_>) -> Result<(), Refusal> {
        if !self.is_current(frame) {
            return Err(Refusal::Replayed);
        }
        let ptk = self.ptk.as_ref().ok_or(Refusal::Unexpected)?;
        verify(self.profile, ptk, frame).inspect_err(|_| self.unverified = true)
    }

    fn on_m2(
        &mut self,
        now: Instant,
        frame: &EapolKey<'_>,
        group: &GroupKey,
        rng: &mut dyn SecureRandom,
    ) -> Result<Progress, Refusal> {
        if !self.is_current(frame) {
            return Err(Refusal::Replayed);
        }
        let exchange = Exchange {
            authenticator: self.authenticator,
            supplicant: self.supplicant,
            anonce: &self.anonce,
            snonce: frame.nonce,
        };
        let tk_len = self.profile.cipher().key_len();
        let ptk = Ptk::derive(self.profile.suite(), self.pmk.as_bytes(), &exchange, tk_len);
        verify(self.profile, &ptk, frame).inspect_err(|_| self.unverified = true)?;
        if !self.asked.is_in(frame.data) {
            return Err(Refusal::OtherElement);
        }
        self.ptk = Some(ptk);
        self.expect(Awaits::M4);
        self.send_m3(now, group, rng);
        Ok(Progress::Going)
    }

    fn on_request(&mut self, frame: &EapolKey<'_>) -> Result<Progress, Refusal> {
        let ptk = self.ptk.as_ref().ok_or(Refusal::Unexpected)?;
        if frame.replay_counter <= self.requests {
            return Err(Refusal::Replayed);
        }
        verify(self.profile, ptk, frame)?;
        self.requests = frame.replay_counter;
        if frame.info.has(KeyInfo::ERROR) {
            Ok(Progress::MichaelFailure)
        } else {
            // A wish for new keys: nothing here makes one, and nothing has to follow it.
            Err(Refusal::Unexpected)
        }
    }

    fn send_m1(&mut self, now: Instant, rng: &mut dyn SecureRandom) {
        let parts = Parts {
            info: KeyInfo::PAIRWISE | KeyInfo::ACK,
            nonce: self.anonce,
            key_length: self.key_length(),
            ..Parts::default()
        };
        self.send(now, None, parts, rng);
    }

    fn send_m3(&mut self, now: Instant, group: &GroupKey, rng: &mut dyn SecureRandom) {
        let mut data = [0; MAX_KEY_DATA];
        let parts = Parts {
            info: KeyInfo::PAIRWISE
                | KeyInfo::INSTALL
                | KeyInfo::ACK
                | KeyInfo::MIC
                | KeyInfo::SECURE
                | KeyInfo::ENCRYPTED,
            nonce: self.anonce,
            rsc: group.rsc(),
            key_length: self.key_length(),
            data: key_data(self.own.as_bytes(), group, &mut data).unwrap_or(&[]),
            ..Parts::default()
        };
        let ptk = self.ptk.clone();
        self.send(now, ptk.as_ref(), parts, rng);
        data.zeroize();
    }

    fn send_group1(&mut self, now: Instant, group: &GroupKey, rng: &mut dyn SecureRandom) {
        let mut data = [0; MAX_KEY_DATA];
        let info = KeyInfo::ACK | KeyInfo::MIC | KeyInfo::SECURE | KeyInfo::ENCRYPTED;
        let data_of_key = key_data(&[], group, &mut data).unwrap_or(&[]);
        let parts = Parts { info, rsc: group.rsc(), data: data_of_key, ..Parts::default() };
        let ptk = self.ptk.clone();
        self.send(now, ptk.as_ref(), parts, rng);
        data.zeroize();
    }

    fn send(
        &mut self,
        now: Instant,
        ptk: Option<&Ptk>,
        parts: Parts<'_>,
        rng: &mut dyn SecureRandom,
    ) {
        self.counter += 1;
        let parts = Parts { replay_counter: self.counter, ..parts };
        self.outgoing = compose(self.profile, ptk, &parts, rng);
        self.until = Some(now + FIRST_WAIT.saturating_mul(1 << self.tries));
        self.tries += 1;
    }

    const fn key_length(&self) -> u16 {
        // At most 32.
        self.profile.cipher().key_len() as u16
    }
}
