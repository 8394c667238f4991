//! The receiving half.

use super::stream::Stream;
use super::{BaseKeys, Direction, Parameters, Position, Ssc};
use crate::danger::wep::{HEADER_LEN, ICV_LEN, open_stream};
use crate::packet::{EXT_IV, protected_whole};
use slyfi_base::{OpenHalf, Opened, Undecryptable, UnixTime};

/// What a packet that verified was.
#[derive(Debug, PartialEq, Eq)]
#[must_use]
pub enum Received {
    /// A new payload.
    Payload(Opened),
    /// The last packet again: acknowledge it again, deliver nothing.
    Duplicate,
    /// A new packet without payload: the peer asks for resynchronisation of the other direction.
    ResyncRequest,
}

/// Opens packets in order, recognises the last one's retransmission, follows the sender to later
/// epochs and hops, and knows when it has lost the sender.
#[derive(Clone, Debug)]
pub struct SbkhOpen {
    keys: BaseKeys,
    parameters: Parameters,
    direction: Direction,
    stream: Stream,
    /// Where the last accepted packet began.
    last: Option<Stream>,
    due: u32,
    lost: bool,
    request: bool,
}

impl SbkhOpen {
    /// A first start: no packet was ever accepted under these keys.
    pub fn new(keys: BaseKeys, parameters: Parameters, direction: Direction) -> Self {
        let stream = Stream::begin(&keys, parameters, direction, Position::default());
        Self::with(keys, parameters, direction, stream, 0, false)
    }

    /// A restart at `now`, when packets up to `accepted` (an epoch) may have been accepted: it takes
    /// only later epochs, so nothing old is taken twice, and knows that it has lost the sender.
    pub fn resumed(
        keys: BaseKeys,
        parameters: Parameters,
        direction: Direction,
        accepted: Position,
        now: UnixTime,
    ) -> Self {
        let due = keys.hop_at(now).max(accepted.hop);
        // The epoch behind the last of a base key does not exist, so nothing of that key matches.
        let at = Position { hop: accepted.hop, epoch: accepted.epoch.saturating_add(1) };
        let stream = Stream::begin(&keys, parameters, direction, at);
        Self::with(keys, parameters, direction, stream, due, true)
    }

    const fn with(
        keys: BaseKeys,
        parameters: Parameters,
        direction: Direction,
        stream: Stream,
        due: u32,
        lost: bool,
    ) -> Self {
        SbkhOpen { keys, parameters, direction, stream, last: None, due, lost, request: false }
    }

    /// Returns the epoch of the packet it waits for; the host stores the accepted ones durably.
    pub const fn position(&self) -> Position {
        self.stream.position()
    }

    /// Returns whether state synchronicity is lost: a packet came that cannot be the next one, or the
    /// node was restarted. A packet of a later epoch restores it.
    pub const fn is_lost(&self) -> bool {
        self.lost
    }

    /// Returns whether the peer has asked for resynchronisation since the last call; the host then
    /// calls [`super::SbkhSeal::resynchronise`] on its sending half.
    pub const fn take_request(&mut self) -> bool {
        core::mem::replace(&mut self.request, false)
    }

    /// Tells the time, which bounds the base keys that can be on the air: the one due, the one before
    /// it and the one after it.
    pub fn advance_to(&mut self, now: UnixTime) {
        self.due = self.keys.hop_at(now).max(self.due);
    }

    /// Opens a packet in place.
    ///
    /// # Errors
    /// [`Undecryptable`] when it is not the next one, its retransmission, or the first of a later
    /// epoch within reach, or when its ICV is wrong. The state moves only behind a right ICV.
    pub fn open_packet(
        &mut self,
        header: &[u8],
        buf: &mut [u8],
    ) -> Result<Received, Undecryptable> {
        protected_whole(header)?;
        let (front, rest) = buf.split_first_chunk_mut::<HEADER_LEN>().ok_or(Undecryptable)?;
        let [a, b, c, octet] = *front;
        if octet & EXT_IV != 0 || rest.len() < ICV_LEN {
            return Err(Undecryptable);
        }
        let ssc = Ssc::from_bytes([a, b, c]);
        let hop = self.hop(octet >> 6).ok_or(Undecryptable)?;
        if let Some(last) = self.last.as_ref().filter(|l| l.hop == hop && l.next == ssc) {
            open_stream(last.clone().advance(rest.len()), rest)?;
            return Ok(Received::Duplicate);
        }
        let mut before = self.stream_for(hop, ssc)?;
        if !before.fits(self.parameters, rest.len()) {
            return Err(Undecryptable);
        }
        let start = before.clone();
        let len = open_stream(before.advance(rest.len()), rest)?;
        (self.stream, self.last, self.lost) = (before, Some(start), false);
        if len == 0 {
            self.request = true;
            return Ok(Received::ResyncRequest);
        }
        Ok(Received::Payload(Opened::mint(HEADER_LEN, len)))
    }

    /// The hop that two bits stand for: near the one due, and not before the present one.
    fn hop(&self, low: u8) -> Option<u32> {
        let near = self.due.max(self.stream.hop);
        let candidates = [Some(near), near.checked_sub(1), near.checked_add(1)];
        candidates
            .into_iter()
            .flatten()
            .find(|h| *h as u8 & 3 == low && *h >= self.stream.hop && self.keys.has(*h))
    }

    /// The stream at the front of a packet of this SSC, if the sender can be there.
    fn stream_for(&mut self, hop: u32, ssc: Ssc) -> Result<Stream, Undecryptable> {
        if hop == self.stream.hop {
            if ssc == self.stream.next {
                return Ok(self.stream.clone());
            }
            if ssc < self.stream.next {
                return Err(Undecryptable);
            }
        }
        // Behind this point the packet claims to be later than the next: the first of an epoch can be
        // found, any other only shows that packets are missing whose lengths nobody knows.
        let from = if hop == self.stream.hop { self.stream.next.epoch } else { 0 };
        if ssc.number != 0 {
            self.lost = true;
            return Err(Undecryptable);
        }
        if ssc.epoch - from > self.parameters.max_jump() {
            return Err(Undecryptable);
        }
        if hop == self.stream.hop {
            let mut stream = self.stream.clone();
            stream.jump(self.parameters, ssc.epoch);
            return Ok(stream);
        }
        let at = Position { hop, epoch: ssc.epoch };
        Ok(Stream::begin(&self.keys, self.parameters, self.direction, at))
    }
}

impl OpenHalf for SbkhOpen {
    /// Only new payloads come out; duplicates and requests are [`Undecryptable`] here. Ask
    /// [`SbkhOpen::is_lost`] and [`SbkhOpen::take_request`] after each packet.
    fn open(&mut self, header: &[u8], buf: &mut [u8]) -> Result<Opened, Undecryptable> {
        match self.open_packet(header, buf)? {
            Received::Payload(opened) => Ok(opened),
            Received::Duplicate | Received::ResyncRequest => Err(Undecryptable),
        }
    }
}
