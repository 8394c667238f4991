//! SBKH between two ends on hostile air: frames lost, kept, repeated, spoiled and invented,
//! acknowledgements lost and forged, either end restarted, clocks moved.

use crate::Choices;
use slyfi_base::{Duration, UnixTime};
use slyfi_ciphers::danger::sbkh::{
    BaseKeys, Direction, Endpoint, KeySchedule, Parameters, Position, Received, SbkhOpen, SbkhSeal,
};
use slyfi_ciphers::packet::EXT_IV;

const HEADER: [u8; 24] =
    [0x08, 0x41, 0, 0, 2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 3, 0x10, 0];
/// How long a base key pair stays, in seconds.
const TIME_DURATION: u64 = 3600;
/// The most frames that the adversary keeps.
const MAX_KEPT: usize = 64;

/// One end: what lives, and what is stored durably.
struct End {
    machine: Endpoint,
    sends: Direction,
    stored_sent: Option<Position>,
    stored_accepted: Option<Position>,
    in_flight: Vec<u8>,
    /// The number of the next payload, and of the last that the peer delivered.
    next: u32,
    delivered: Option<u32>,
}

fn keys() -> BaseKeys {
    let duration = Duration::from_secs(TIME_DURATION);
    let schedule = KeySchedule::new([9; 32], [2; 6], [4; 6], UnixTime::from_secs(0), duration);
    BaseKeys::Scheduled(schedule.expect("an hour is not zero"))
}

fn parameters() -> Parameters {
    Parameters::new(10, Parameters::MIN_S_OFFSET, 64).expect("legal sizes")
}

impl End {
    fn new(sends: Direction) -> Self {
        let machine = Endpoint::new(
            SbkhSeal::new(keys(), parameters(), sends),
            SbkhOpen::new(keys(), parameters(), sends.other()),
        );
        End {
            machine,
            sends,
            stored_sent: None,
            stored_accepted: None,
            in_flight: Vec::new(),
            next: 0,
            delivered: None,
        }
    }

    fn restart(&mut self, now: UnixTime) {
        let seal = match self.stored_sent {
            Some(at) => SbkhSeal::resumed(keys(), parameters(), self.sends, at, now),
            None => Some(SbkhSeal::new(keys(), parameters(), self.sends)),
        };
        let other = self.sends.other();
        let open = match self.stored_accepted {
            Some(at) => SbkhOpen::resumed(keys(), parameters(), other, at, now),
            None => SbkhOpen::new(keys(), parameters(), other),
        };
        self.in_flight.clear();
        if let Some(seal) = seal {
            self.machine = Endpoint::new(seal, open);
        }
    }

    /// Reserves what the next packet may use; the time may move to another base key.
    fn store(&mut self, now: UnixTime) {
        self.machine.seal_half().advance_to(now);
        self.machine.open_half().advance_to(now);
        let here = self.machine.seal_half().position();
        let due = Position { hop: keys().hop_at(now).max(here.hop), epoch: 0 };
        let ahead = Position { epoch: here.epoch.saturating_add(2), ..here };
        let ahead = if due.hop > here.hop { Position { epoch: 2, ..due } } else { ahead };
        self.stored_sent = self.stored_sent.max(Some(ahead));
        self.machine.seal_half().reserve(ahead);
    }

    /// Seals a payload, or the request that has to come first.
    fn send(&mut self, len: usize, now: UnixTime) {
        if self.machine.is_busy() {
            return;
        }
        self.store(now);
        if self.machine.wants_to_ask() {
            let mut buf = vec![0; 8];
            if self.machine.ask(&HEADER, &mut buf).is_ok() {
                self.in_flight = buf;
            }
            return;
        }
        let payload = [&self.next.to_be_bytes()[..], &vec![0x5a; len]].concat();
        let mut buf = [&[0; 4][..], &payload, &[0; 4]].concat();
        if self.machine.seal(&HEADER, &mut buf, payload.len()).is_ok() {
            self.in_flight = buf;
            self.next += 1;
        }
    }
}

/// Gives a frame to `to`; `genuine` is whether its sealer made it, and not the adversary.
fn arrive(from: &mut End, to: &mut End, frame: &[u8], genuine: bool, acknowledge: bool) {
    let mut buf = frame.to_vec();
    let received = to.machine.open(&HEADER, &mut buf);
    if let Ok(Received::Payload(_) | Received::ResyncRequest) = &received {
        to.stored_accepted = Some(to.machine.open_half().position());
    }
    if let Ok(Received::Payload(opened)) = &received {
        assert!(genuine, "an invented frame was delivered");
        let payload = opened.payload(&buf);
        let number = u32::from_be_bytes(payload[..4].try_into().expect("four bytes"));
        assert!(payload[4..].iter().all(|b| *b == 0x5a), "a payload arrived changed");
        assert!(number < from.next && from.delivered.is_none_or(|d| d < number), "again");
        from.delivered = Some(number);
    }
    if acknowledge && received.is_ok() && frame == from.in_flight.as_slice() {
        from.machine.on_acknowledged();
        from.in_flight.clear();
    }
}

/// Plays the input as a list of events.
///
/// # Panics
/// When something is delivered that was not sent, or again, or out of order, or the two ends do not
/// find each other once the air is good.
pub fn run(input: &[u8]) {
    let mut c = Choices::new(input);
    let mut ends = [End::new(Direction::Uplink), End::new(Direction::Downlink)];
    let mut kept: Vec<(usize, Vec<u8>)> = Vec::new();
    let mut now = UnixTime::from_secs(1);
    while !c.is_empty() {
        let who = usize::from(c.byte() & 1);
        let [a, b] = &mut ends;
        let (me, peer) = if who == 0 { (a, b) } else { (b, a) };
        match c.below(10) {
            0 | 1 => {
                me.send(usize::from(c.short() % 600), now);
                if !me.in_flight.is_empty() && kept.len() < MAX_KEPT {
                    kept.push((who, me.in_flight.clone()));
                }
            }
            2 | 3 => {
                let frame = me.in_flight.clone();
                if !frame.is_empty() {
                    arrive(me, peer, &frame, true, c.is());
                }
            }
            4 => {
                // A forged acknowledgement, and the frame never arrives.
                me.machine.on_acknowledged();
                me.in_flight.clear();
            }
            5 => {
                if !me.in_flight.is_empty() {
                    me.store(now);
                    let _ = me.machine.on_given_up();
                    me.in_flight.clear();
                }
            }
            6 => me.restart(now),
            7 => {
                if let Some((sender, frame)) = kept.get(c.below(kept.len().max(1))).cloned() {
                    let [a, b] = &mut ends;
                    let (from, to) = if sender == 0 { (a, b) } else { (b, a) };
                    arrive(from, to, &frame, true, false);
                }
            }
            8 => {
                // Spoiled in one bit, which the checksum sees; or invented from nothing.
                let mut frame = me.in_flight.clone();
                if frame.len() > 8 {
                    let at = 4 + usize::from(c.short()) % (frame.len() - 4);
                    frame[at] ^= 1 << (c.byte() & 7);
                } else {
                    frame = c.run().to_vec();
                    if let Some(octet) = frame.get_mut(3) {
                        *octet &= !EXT_IV;
                    }
                }
                arrive(me, peer, &frame, false, false);
            }
            _ => {
                now = UnixTime::from_secs(now.as_secs() + u64::from(c.byte()) * 30);
                me.store(now);
            }
        }
    }
    settle(&mut ends, now);
}

/// The air is good, and clocks have gone on to a fresh base key: everything arrives at once.
fn settle(ends: &mut [End; 2], now: UnixTime) {
    let now = UnixTime::from_secs(now.as_secs() + 2 * TIME_DURATION);
    for end in ends.iter_mut() {
        if end.machine.is_busy() {
            end.store(now);
            let _ = end.machine.on_given_up();
            end.in_flight.clear();
        }
        end.store(now);
    }
    let [a, b] = ends;
    for round in 0..5 {
        for up in [true, false] {
            let (me, peer) = if up { (&mut *a, &mut *b) } else { (&mut *b, &mut *a) };
            for _ in 0..2 {
                let before = me.next;
                me.send(20, now);
                let frame = me.in_flight.clone();
                assert!(!frame.is_empty(), "it cannot send");
                arrive(me, peer, &frame, true, true);
                if me.machine.is_busy() {
                    me.store(now);
                    me.machine.on_given_up().expect("a fresh base key has epochs");
                    me.in_flight.clear();
                }
                if round == 4 && me.next > before {
                    assert_eq!(me.delivered, Some(before), "the ends did not find each other");
                }
            }
        }
    }
}
