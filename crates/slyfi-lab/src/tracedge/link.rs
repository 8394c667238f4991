//! A link of so many bits a second and so much delay, within this process, for real exchanges in real
//! time.
//!
//! What is sent is cut into segments. When each leaves and arrives is computed as it is sent: the link
//! carries one segment at a time at its rate, every segment takes the delay, and no more are under way
//! than TCP's slow start allows (ten at first, RFC 6928; one more for each that is acknowledged, RFC
//! 5681 §3.1). The reader gets the bytes when they have arrived, not before. Nothing is lost, queues
//! have no end, and the two directions do not disturb each other.
//!
//! It needs neither root nor network name spaces, which `tc netem` does.

use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Payload of a TCP segment in a packet of 1500 bytes, with time stamps.
const SEGMENT: usize = 1448;
/// IPv4 and TCP headers with time stamps.
const HEADERS: usize = 20 + 32;
/// Segments that may be under way before anything was acknowledged (RFC 6928).
const INITIAL_WINDOW: usize = 10;

/// What a link is like.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LinkShape {
    /// Bits a second, headers of IP and TCP included.
    pub bits_per_s: f64,
    /// From one end to the other.
    pub delay: Duration,
}

impl LinkShape {
    /// tracedge-2015 §6.2's 10 Mb/s, with 20 ms to either side.
    pub const HOTSPOT: LinkShape = LinkShape { bits_per_s: 10e6, delay: Duration::from_millis(20) };

    /// There and back.
    pub fn round_trip(&self) -> Duration {
        2 * self.delay
    }

    /// How long the link itself is busy with so many bytes of payload.
    pub fn transfer(&self, bytes: u64) -> Duration {
        let headers = bytes.div_ceil(SEGMENT as u64) * HEADERS as u64;
        Duration::from_secs_f64((bytes + headers) as f64 * 8.0 / self.bits_per_s)
    }

    /// Opens a connection: waits for SYN and its acknowledgement, and returns the two ends.
    pub fn connect(self) -> (End, End) {
        std::thread::sleep(self.round_trip());
        let (up, down) = (Arc::new(Direction::default()), Arc::new(Direction::default()));
        let client = End { shape: self, sends: Arc::clone(&up), hears: Arc::clone(&down) };
        (client, End { shape: self, sends: down, hears: up })
    }
}

/// One direction of a connection.
#[derive(Default)]
struct Direction {
    state: Mutex<State>,
    sent: Condvar,
}

#[derive(Default)]
struct State {
    /// Bytes and when they are there.
    under_way: VecDeque<(Instant, Vec<u8>)>,
    /// When segments will be acknowledged, and their lengths.
    unacknowledged: VecDeque<(Instant, usize)>,
    in_flight: usize,
    /// By how much the window has grown.
    grown: usize,
    /// When the link has carried everything that was sent so far.
    free: Option<Instant>,
    bytes: u64,
    closed: bool,
}

impl State {
    /// When the segment that is sent now arrives.
    fn schedule(&mut self, shape: &LinkShape, now: Instant, length: usize) -> Instant {
        let mut leaves = self.free.map_or(now, |free| free.max(now));
        while let Some((acknowledged, of)) = self.unacknowledged.front().copied() {
            let room = self.in_flight + length <= INITIAL_WINDOW * SEGMENT + self.grown;
            if room && acknowledged > leaves {
                break;
            }
            leaves = leaves.max(acknowledged);
            self.in_flight -= of;
            self.grown += of;
            self.unacknowledged.pop_front();
        }
        let carried = leaves + shape.transfer(length as u64);
        let arrives = carried + shape.delay;
        self.free = Some(carried);
        self.unacknowledged.push_back((arrives + shape.delay, length));
        self.in_flight += length;
        arrives
    }
}

impl Direction {
    fn state(&self) -> MutexGuard<'_, State> {
        // A thread that died in here was measuring; what is in the queue is whole.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One end of a connection. What is written goes on its way at once; the other end is told when this
/// one is dropped.
pub struct End {
    shape: LinkShape,
    sends: Arc<Direction>,
    hears: Arc<Direction>,
}

impl End {
    /// Bytes of payload sent from here and received here.
    pub fn carried(&self) -> (u64, u64) {
        (self.sends.state().bytes, self.hears.state().bytes)
    }
}

impl Write for End {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut state = self.sends.state();
        let now = Instant::now();
        for segment in bytes.chunks(SEGMENT) {
            let arrives = state.schedule(&self.shape, now, segment.len());
            state.under_way.push_back((arrives, segment.to_vec()));
            state.bytes += segment.len() as u64;
        }
        self.sends.sent.notify_all();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Read for End {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let mut state = self.hears.state();
        loop {
            let wait = match state.under_way.front() {
                Some((arrives, _)) => arrives.saturating_duration_since(Instant::now()),
                None if state.closed => return Ok(0),
                None => Duration::MAX,
            };
            if wait.is_zero() {
                break;
            }
            let waited = if wait == Duration::MAX {
                self.hears.sent.wait(state).unwrap_or_else(PoisonError::into_inner)
            } else {
                let waited = self.hears.sent.wait_timeout(state, wait);
                waited.unwrap_or_else(PoisonError::into_inner).0
            };
            state = waited;
        }
        // There is a segment: the loop has ended.
        let Some((arrived, mut segment)) = state.under_way.pop_front() else { return Ok(0) };
        let length = segment.len().min(out.len());
        out[..length].copy_from_slice(&segment[..length]);
        if length < segment.len() {
            let rest = segment.split_off(length);
            state.under_way.push_front((arrived, rest));
        }
        Ok(length)
    }
}

impl Drop for End {
    fn drop(&mut self) {
        self.sends.state().closed = true;
        self.sends.sent.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// When the last of so many bytes, sent at once, arrives.
    fn arrival(shape: LinkShape, bytes: usize) -> f64 {
        let (mut state, now) = (State::default(), Instant::now());
        let last = (0..bytes).step_by(SEGMENT).map(|at| {
            let length = SEGMENT.min(bytes - at);
            state.schedule(&shape, now, length)
        });
        last.last().map_or(0.0, |at| (at - now).as_secs_f64())
    }

    const FAST: LinkShape = LinkShape { bits_per_s: 1e12, delay: Duration::from_millis(20) };

    #[test]
    fn the_first_window_takes_one_delay_and_the_second_a_round_trip_more() {
        assert!((arrival(FAST, 10 * SEGMENT) - 0.020).abs() < 1e-4);
        // 10 + 20 + 40 segments: slow start doubles each round trip.
        assert!((arrival(FAST, 30 * SEGMENT) - 0.060).abs() < 1e-4);
        assert!((arrival(FAST, 70 * SEGMENT) - 0.100).abs() < 1e-4);
        assert!((arrival(FAST, 71 * SEGMENT) - 0.140).abs() < 1e-4);
    }

    #[test]
    fn much_data_takes_as_long_as_the_rate_says() {
        let shape = LinkShape::HOTSPOT;
        let bytes = 1_250_000;
        let busy = shape.transfer(bytes as u64).as_secs_f64();
        assert!((busy - 1.036).abs() < 0.002, "{busy}: 1.25 MB and its headers at 10 Mb/s");
        let took = arrival(shape, bytes);
        // Slow start leaves the link idle for less than two round trips.
        assert!(took > busy + 0.020 && took < busy + 0.100, "{took}");
    }

    #[test]
    fn bytes_come_in_order_no_earlier_than_they_can_and_an_end_is_told() {
        let shape = LinkShape { bits_per_s: 8e6, delay: Duration::from_millis(5) };
        let sent: Vec<u8> = (0..20_000u32).map(|i| (i * 7 % 251) as u8).collect();
        let begun = Instant::now();
        let (mut client, mut server) = shape.connect();
        assert!(begun.elapsed() >= Duration::from_millis(10), "SYN goes there and back");
        let begun = Instant::now();
        client.write_all(&sent).unwrap();
        assert_eq!(client.carried(), (20_000, 0));
        drop(client);
        let mut heard = Vec::new();
        server.read_to_end(&mut heard).unwrap();
        assert!(heard == sent);
        assert!(begun.elapsed() >= shape.transfer(20_000) + shape.delay);
    }
}
