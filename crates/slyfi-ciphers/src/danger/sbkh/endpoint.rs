//! Both halves of one end, and the rules by which two ends find each other again: what
//! `tests/spin/sbkh.pml` models.

use super::{Received, SbkhOpen, SbkhSeal};
use slyfi_base::{Exhausted, SealHalf, Undecryptable};

/// One end of a pair.
///
/// ```text
///   packet given up (no acknowledgement)  -> own direction goes to the next epoch
///   synchronicity lost, or restarted      -> a packet without payload asks the peer, until it is
///                                            acknowledged or the other direction is found again
///   a request arrives                     -> own direction goes to the next epoch
/// ```
#[derive(Clone, Debug)]
pub struct Endpoint {
    seal: SbkhSeal,
    open: SbkhOpen,
    /// The request that stands for the present loss was acknowledged.
    asked: bool,
    in_flight: Option<InFlight>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum InFlight {
    Payload,
    Request,
}

impl Endpoint {
    /// Puts the halves together.
    pub const fn new(seal: SbkhSeal, open: SbkhOpen) -> Self {
        Endpoint { seal, open, asked: false, in_flight: None }
    }

    /// Returns the sending half.
    pub const fn seal_half(&mut self) -> &mut SbkhSeal {
        &mut self.seal
    }

    /// Returns the receiving half.
    pub const fn open_half(&mut self) -> &mut SbkhOpen {
        &mut self.open
    }

    /// Returns whether a request for resynchronisation should be sent next.
    pub const fn wants_to_ask(&self) -> bool {
        self.open.is_lost() && !self.asked && self.in_flight.is_none()
    }

    /// Returns whether a packet waits for its acknowledgement.
    pub const fn is_busy(&self) -> bool {
        self.in_flight.is_some()
    }

    /// Seals a payload of at least one byte (one packet at a time: stop and wait, as 802.11 does).
    ///
    /// # Errors
    /// [`Exhausted`] as [`SbkhSeal`], and for an empty payload or while a packet is in flight.
    pub fn seal(&mut self, header: &[u8], buf: &mut [u8], len: usize) -> Result<usize, Exhausted> {
        if len == 0 || self.in_flight.is_some() {
            return Err(Exhausted);
        }
        let sealed = self.seal.seal(header, buf, len)?;
        self.in_flight = Some(InFlight::Payload);
        Ok(sealed)
    }

    /// Seals a request for resynchronisation, at the front of an epoch: whatever the peer has missed
    /// of this direction, it can open that. (Cards acknowledge what they cannot open; two ends that
    /// had both lost each other would otherwise ask in vain for ever.)
    ///
    /// # Errors
    /// As [`Endpoint::seal`], and when the base key has no epoch left.
    pub fn ask(&mut self, header: &[u8], buf: &mut [u8]) -> Result<usize, Exhausted> {
        if self.in_flight.is_some() {
            return Err(Exhausted);
        }
        self.seal.resynchronise()?;
        let sealed = self.seal.seal(header, buf, 0)?;
        self.in_flight = Some(InFlight::Request);
        Ok(sealed)
    }

    /// The packet in flight was acknowledged.
    ///
    /// # Security
    /// An 802.11 acknowledgement proves nothing about who sent it.
    pub fn on_acknowledged(&mut self) {
        if self.in_flight.take() == Some(InFlight::Request) {
            self.asked = true;
        }
    }

    /// The packet in flight was given up after its last retransmission.
    ///
    /// # Errors
    /// [`Exhausted`] when the base key has no epoch left.
    pub fn on_given_up(&mut self) -> Result<(), Exhausted> {
        self.in_flight = None;
        self.seal.resynchronise()
    }

    /// Opens a packet. Everything that comes back is to be acknowledged.
    ///
    /// # Errors
    /// [`Undecryptable`]; see [`Endpoint::wants_to_ask`] then.
    pub fn open(&mut self, header: &[u8], buf: &mut [u8]) -> Result<Received, Undecryptable> {
        let received = self.open.open_packet(header, buf);
        if received.is_err() || !self.open.is_lost() {
            // The peer has not heard the request (its acknowledgement was somebody else's), or the
            // loss is over: the next one is asked about anew.
            self.asked = false;
        }
        if self.open.take_request() {
            // Without an epoch left the peer finds this end again at the next hop.
            let _ = self.seal.resynchronise();
        }
        received
    }
}
