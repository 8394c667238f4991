//! What can be put on ordinary 802.11 to protect it.

use alloc::boxed::Box;
use alloc::vec::Vec;
use slyfi_base::event::Unlinked;
use slyfi_base::{DropReason, Event, Exhausted, Instant, MacAddress, Now, Opened, Overhead};

/// Why a peer cannot be protected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unfit {
    /// It asks for, or offers, something else.
    Suites,
    /// Not now.
    Busy,
}

/// How frames to a group leave an access point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GroupDelivery {
    /// Once, to the group.
    Once,
    /// To each member, under its own key: the protection has none for groups.
    Each,
}

/// What a protection wants done, in this order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Send this EAPOL packet.
    Handshake {
        /// To whom.
        to: MacAddress,
        /// The packet, from the EAPOL version on.
        packet: Vec<u8>,
        /// Whether it goes under the keys that are in use.
        sealed: bool,
    },
    /// Send a sealed frame without payload.
    Ask(MacAddress),
    /// Data may flow to and from this peer.
    Ready(MacAddress),
    /// This peer's membership ends.
    Part {
        /// Who.
        peer: MacAddress,
        /// The reason code that it is told.
        reason: u16,
        /// What the host is told, if the link was up.
        why: Unlinked,
    },
    /// Make this durable before anything that follows ([`slyfi_base::link::RecordKind::Counter`]).
    Persist(Vec<u8>),
    /// Tell the host.
    Event(Event),
}

/// A protection of the data frames of one access point or one station, keyed by peer.
///
/// The machine calls, then takes [`Protection::poll`]'s effects until there are none. Which frames
/// need protection is the machine's business: of a private protection all data frames, and those
/// of a handshake as [`Effect::Handshake`] says.
pub trait Protection: core::fmt::Debug {
    /// Returns whether frames are protected at all: the Privacy bit.
    fn is_private(&self) -> bool;

    /// Returns the contents of the RSN element that is advertised or asked for.
    fn rsn(&self) -> Option<&[u8]>;

    /// Returns what sealing adds.
    fn overhead(&self) -> Overhead;

    /// Returns how frames to a group leave an access point: once, unless it says otherwise.
    fn group_delivery(&self) -> GroupDelivery {
        GroupDelivery::Once
    }

    /// Looks at what a peer asks for (association request) or offers (probe response).
    ///
    /// # Errors
    /// [`Unfit`]: it is not to be associated with.
    fn consider(&mut self, now: Now, peer: MacAddress, rsn: Option<&[u8]>) -> Result<(), Unfit>;

    /// An association begins.
    fn begin(&mut self, now: Now, peer: MacAddress);

    /// An association ends; its keys are forgotten.
    fn end(&mut self, now: Now, peer: MacAddress);

    /// Gets ready to seal one frame; what it wants done first is in its effects. Most want nothing.
    fn prepare(&mut self, now: Now, to: MacAddress) {
        let _ = (now, to);
    }

    /// Seals the payload at `buf[headroom..headroom + len]`; returns the sealed length.
    ///
    /// # Errors
    /// [`Exhausted`]: there is no key for this receiver, or it is spent.
    fn seal(
        &mut self,
        now: Now,
        to: MacAddress,
        header: &[u8],
        buf: &mut [u8],
        len: usize,
    ) -> Result<usize, Exhausted>;

    /// Opens the body of a protected frame in place.
    ///
    /// # Errors
    /// Why it is to be dropped.
    fn open(
        &mut self,
        now: Now,
        from: MacAddress,
        header: &[u8],
        body: &mut [u8],
    ) -> Result<Opened, DropReason>;

    /// Takes an EAPOL packet.
    ///
    /// # Errors
    /// Why it is to be dropped.
    fn handshake(
        &mut self,
        now: Now,
        from: MacAddress,
        packet: &[u8],
        sealed: bool,
    ) -> Result<(), DropReason>;

    /// Returns the next thing to do.
    fn poll(&mut self) -> Option<Effect>;

    /// Returns when [`Protection::handle_timeout`] is due; `None` for one that waits for nothing.
    fn next_timeout(&self) -> Option<Instant> {
        None
    }

    /// Tells that the instant has come.
    fn handle_timeout(&mut self, now: Now) {
        let _ = now;
    }

    /// Takes back what [`Effect::Persist`] gave out; returns whether it was understood. One that
    /// persists nothing understands nothing.
    fn restore(&mut self, now: Now, record: &[u8]) -> bool {
        let _ = (now, record);
        false
    }

    /// Returns what it counts, by stable names.
    fn counters(&self) -> Vec<(&'static str, u64)> {
        Vec::new()
    }
}

/// No protection: everything is in the clear.
#[derive(Clone, Debug, Default)]
pub struct Open {
    ready: Option<MacAddress>,
}

impl Protection for Open {
    fn is_private(&self) -> bool {
        false
    }

    fn rsn(&self) -> Option<&[u8]> {
        None
    }

    fn overhead(&self) -> Overhead {
        Overhead { headroom: 0, tailroom: 0 }
    }

    fn consider(&mut self, _: Now, _: MacAddress, _: Option<&[u8]>) -> Result<(), Unfit> {
        Ok(())
    }

    fn begin(&mut self, _: Now, peer: MacAddress) {
        self.ready = Some(peer);
    }

    fn end(&mut self, _: Now, _: MacAddress) {}

    fn seal(
        &mut self,
        _: Now,
        _: MacAddress,
        _: &[u8],
        buf: &mut [u8],
        len: usize,
    ) -> Result<usize, Exhausted> {
        if len <= buf.len() { Ok(len) } else { Err(Exhausted) }
    }

    fn open(
        &mut self,
        _: Now,
        _: MacAddress,
        _: &[u8],
        _: &mut [u8],
    ) -> Result<Opened, DropReason> {
        Err(DropReason::Unexpected)
    }

    fn handshake(&mut self, _: Now, _: MacAddress, _: &[u8], _: bool) -> Result<(), DropReason> {
        Err(DropReason::Unexpected)
    }

    fn poll(&mut self) -> Option<Effect> {
        self.ready.take().map(Effect::Ready)
    }
}

impl<P: Protection + ?Sized> Protection for Box<P> {
    fn is_private(&self) -> bool {
        (**self).is_private()
    }
    fn rsn(&self) -> Option<&[u8]> {
        (**self).rsn()
    }
    fn overhead(&self) -> Overhead {
        (**self).overhead()
    }
    fn group_delivery(&self) -> GroupDelivery {
        (**self).group_delivery()
    }
    fn consider(&mut self, now: Now, peer: MacAddress, rsn: Option<&[u8]>) -> Result<(), Unfit> {
        (**self).consider(now, peer, rsn)
    }
    fn begin(&mut self, now: Now, peer: MacAddress) {
        (**self).begin(now, peer);
    }
    fn end(&mut self, now: Now, peer: MacAddress) {
        (**self).end(now, peer);
    }
    fn prepare(&mut self, now: Now, to: MacAddress) {
        (**self).prepare(now, to);
    }
    fn seal(
        &mut self,
        now: Now,
        to: MacAddress,
        header: &[u8],
        buf: &mut [u8],
        len: usize,
    ) -> Result<usize, Exhausted> {
        (**self).seal(now, to, header, buf, len)
    }
    fn open(
        &mut self,
        now: Now,
        from: MacAddress,
        header: &[u8],
        body: &mut [u8],
    ) -> Result<Opened, DropReason> {
        (**self).open(now, from, header, body)
    }
    fn handshake(
        &mut self,
        now: Now,
        from: MacAddress,
        packet: &[u8],
        sealed: bool,
    ) -> Result<(), DropReason> {
        (**self).handshake(now, from, packet, sealed)
    }
    fn poll(&mut self) -> Option<Effect> {
        (**self).poll()
    }
    fn next_timeout(&self) -> Option<Instant> {
        (**self).next_timeout()
    }
    fn handle_timeout(&mut self, now: Now) {
        (**self).handle_timeout(now);
    }
    fn restore(&mut self, now: Now, record: &[u8]) -> bool {
        (**self).restore(now, record)
    }
    fn counters(&self) -> Vec<(&'static str, u64)> {
        (**self).counters()
    }
}
