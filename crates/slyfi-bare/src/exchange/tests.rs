use super::*;
use core::cell::RefCell;
use slyfi_base::SecureRandom;
use std::collections::VecDeque;
use std::rc::Rc;
use std::vec;
use std::vec::Vec;

/// Random enough for tests, and different for each end.
struct Numbers(u8);

impl SecureRandom for Numbers {
    fn fill(&mut self, out: &mut [u8]) {
        for byte in out {
            self.0 = self.0.wrapping_mul(5).wrapping_add(3);
            *byte = self.0;
        }
    }
}

struct Ticks(u64);

impl Clock for Ticks {
    fn nanos(&mut self) -> u64 {
        self.0 += 10;
        self.0
    }
}

fn settings(size: usize, burst: u32) -> Settings {
    let key = Redacted::new(Zeroizing::new([7; 16]));
    Settings { size, burst, run: 3, key, patience: Duration::from_secs(2) }
}

type Queue = Rc<RefCell<VecDeque<Vec<u8>>>>;

/// One end of a wire between two threads' worth of code: nothing to take means that nothing comes.
struct End {
    mine: Queue,
    theirs: Queue,
    /// What is done to everything sent.
    fault: fn(usize, &mut Vec<Vec<u8>>),
    sent: usize,
}

impl Datagrams for End {
    type Error = ();

    fn send(&mut self, len: usize, fill: impl FnOnce(&mut [u8])) -> Result<(), ()> {
        let mut datagram = vec![0; len];
        fill(&mut datagram);
        let mut all = vec![datagram];
        (self.fault)(self.sent, &mut all);
        self.sent += 1;
        self.theirs.borrow_mut().extend(all);
        Ok(())
    }

    fn receive(&mut self, buf: &mut [u8], _: Duration) -> Result<Option<usize>, ()> {
        let Some(datagram) = self.mine.borrow_mut().pop_front() else { return Ok(None) };
        buf[..datagram.len()].copy_from_slice(&datagram);
        Ok(Some(datagram.len()))
    }

    fn waited_nanos(&self) -> u64 {
        0
    }

    fn answer_sender(&mut self) {}

    fn flush(&mut self) -> Result<(), ()> {
        Ok(())
    }
}

type Served = Result<ServerTimes, Failure<std::io::ErrorKind>>;
type Received = Result<ClientTimes, Failure<std::io::ErrorKind>>;

/// Over a channel, as both ends wait for each other.
struct Channel {
    tx: std::sync::mpsc::Sender<Vec<u8>>,
    rx: std::sync::mpsc::Receiver<Vec<u8>>,
    fault: fn(usize, &mut Vec<Vec<u8>>),
    sent: usize,
}

impl Datagrams for Channel {
    type Error = std::io::ErrorKind;

    fn send(&mut self, len: usize, fill: impl FnOnce(&mut [u8])) -> Result<(), Self::Error> {
        let mut datagram = vec![0; len];
        fill(&mut datagram);
        let mut all = vec![datagram];
        (self.fault)(self.sent, &mut all);
        self.sent += 1;
        for datagram in all {
            // A peer that has given up takes nothing any more.
            let _ = self.tx.send(datagram);
        }
        Ok(())
    }

    fn receive(&mut self, buf: &mut [u8], _: Duration) -> Result<Option<usize>, Self::Error> {
        match self.rx.recv_timeout(std::time::Duration::from_millis(200)) {
            Ok(datagram) => {
                let len = datagram.len().min(buf.len());
                buf[..len].copy_from_slice(&datagram[..len]);
                Ok(Some(len))
            }
            Err(_) => Ok(None),
        }
    }

    fn waited_nanos(&self) -> u64 {
        0
    }

    fn answer_sender(&mut self) {}

    fn flush(&mut self) -> Result<(), Self::Error> {
        Ok(())
    }
}

fn both(
    server: Settings,
    client: Settings,
    fault: fn(usize, &mut Vec<Vec<u8>>),
) -> (Served, Received) {
    let (to_server, from_client) = std::sync::mpsc::channel();
    let (to_client, from_server) = std::sync::mpsc::channel();
    let mut a = Channel { tx: to_client, rx: from_client, fault, sent: 0 };
    let mut b = Channel { tx: to_server, rx: from_server, fault: |_, _| (), sent: 0 };
    std::thread::scope(|s| {
        let served = s.spawn(move || serve(&mut a, &mut Ticks(0), &mut Numbers(1), &server));
        let received = request(&mut b, &mut Ticks(0), &mut Numbers(2), &client);
        (served.join().unwrap(), received)
    })
}

#[test]
fn both_bursts_arrive_whole_at_every_size() {
    for size in [MIN_SIZE, 50, 250, 500, 750, 1000, MAX_SIZE] {
        let (served, received) = both(settings(size, 20), settings(size, 20), |_, _| ());
        let (served, received) = (served.unwrap(), received.unwrap());
        assert_eq!((served.refused, received.refused), (0, 0));
        // One look at the clock between begin and end of the server; one for each message at the
        // client and one at its end.
        assert_eq!((served.clear_ns, served.sealed_ns), (10, 10));
        assert_eq!((received.clear_ns, received.sealed_ns), (200, 200));
    }
}

#[test]
fn a_wrong_key_fails_at_the_server_which_says_so() {
    let mut wrong = settings(50, 5);
    wrong.key = Redacted::new(Zeroizing::new([8; 16]));
    let (served, received) = both(settings(50, 5), wrong, |_, _| ());
    assert!(matches!(served, Err(Failure::NotVerified { refused: 1.. })), "{served:?}");
    assert_eq!(received, Err(Failure::NoPeer));
}

#[test]
fn one_wrong_bit_in_a_sealed_message_makes_the_burst_incomplete() {
    let flip = |sent: usize, all: &mut Vec<Vec<u8>>| {
        if sent == 5 + 2 {
            all[0][20] ^= 1;
        }
    };
    let (served, received) = both(settings(50, 5), settings(50, 5), flip);
    assert!(served.is_ok());
    // Those behind it come with other numbers than the one that is due.
    assert_eq!(received, Err(Failure::Lost { received: 2, refused: 3 }));
}

#[test]
fn a_lost_message_is_no_result() {
    let lose = |sent: usize, all: &mut Vec<Vec<u8>>| {
        if sent == 2 {
            all.clear();
        }
    };
    let (_, received) = both(settings(50, 5), settings(50, 5), lose);
    assert_eq!(received, Err(Failure::Lost { received: 2, refused: 2 }));
}

#[test]
fn messages_that_come_twice_and_junk_between_them_are_refused_and_do_no_harm() {
    let junk = |_: usize, all: &mut Vec<Vec<u8>>| {
        let copy = all[0].clone();
        all.extend([copy, vec![], vec![0xa5; 71], vec![0; MAX_SIZE + SEALED_OVERHEAD + 1]]);
    };
    let (served, received) = both(settings(50, 5), settings(50, 5), junk);
    assert!(served.is_ok());
    assert!(received.unwrap().refused >= 4 * 4 + 4 * 4);
}

#[test]
fn nobody_there_is_said() {
    let queue = Queue::default();
    let mut end = End { mine: queue, theirs: Queue::default(), fault: |_, _| (), sent: 0 };
    let (mut clock, mut rng) = (Ticks(0), Numbers(1));
    let received = request(&mut end, &mut clock, &mut rng, &settings(50, 5));
    assert_eq!(received, Err(Failure::NoPeer));
    assert_eq!(end.sent, 2, "asked anew each second of two");
    let served = serve(&mut end, &mut clock, &mut rng, &settings(50, 5));
    assert_eq!(served, Err(Failure::NoPeer));
}

#[test]
fn a_burst_of_another_run_or_of_the_other_direction_does_not_open() {
    let (here, mut there) = (settings(50, 5), settings(50, 5));
    there.run += 1;
    let template = Template::new(&here);
    let salt = [9; 8];
    let sealed = |run: &Run, template: &Template, direction| {
        let mut out = vec![0; 50 + SEALED_OVERHEAD];
        Sealer::new(direction, &mut Numbers(4)).seal(run, template, Packet::Numbered(0), &mut out);
        out
    };
    let open = |mut message: Vec<u8>| {
        let run = Run::answering(&here, salt);
        Opener::new(Direction::Down).open(&run, &template, &mut message)
    };
    let good = sealed(&Run::answering(&here, salt), &template, Direction::Down);
    assert_eq!(open(good), Ok(Packet::Numbered(0)));
    for (run, direction) in [
        (Run::answering(&here, salt), Direction::Up),
        (Run::answering(&here, [8; 8]), Direction::Down),
        (Run::new(&here), Direction::Down),
        (Run::answering(&there, salt), Direction::Down),
    ] {
        assert_eq!(open(sealed(&run, &template, direction)), Err(Refused));
    }
    let other = sealed(&Run::answering(&here, salt), &Template::new(&there), Direction::Down);
    assert_eq!(open(other), Err(Refused), "verified, but of another run");
}

#[test]
fn a_seal_is_opened_once() {
    let here = settings(50, 5);
    let (template, run) = (Template::new(&here), Run::new(&here));
    let mut message = vec![0; 50 + SEALED_OVERHEAD];
    let mut sealer = Sealer::new(Direction::Up, &mut Numbers(4));
    sealer.seal(&run, &template, Packet::Request, &mut message);
    let mut opener = Opener::new(Direction::Up);
    let copy = message.clone();
    assert_eq!(opener.open(&run, &template, &mut message), Ok(Packet::Request));
    assert_eq!(opener.salt(), Some(sealer.salt()));
    assert_eq!(opener.open(&run, &template, &mut copy.clone()), Err(Refused));
    sealer.seal(&run, &template, Packet::Request, &mut message);
    assert_eq!(opener.open(&run, &template, &mut message), Ok(Packet::Request));
}

#[test]
fn reports_are_json() {
    let settings = settings(50, 5);
    let report = |outcome| {
        let report: Report<'_, ()> =
            Report { system: "bare", aes: "AES-NI", settings: &settings, outcome };
        serde_json::from_str::<serde_json::Value>(&std::format!("{report}")).unwrap()
    };
    let times =
        ServerTimes { clear_ns: 1, sealed_ns: 2, clear_wait_ns: 0, sealed_wait_ns: 0, refused: 0 };
    let served = report(Outcome::Served(times));
    assert_eq!((served["n"].as_u64(), served["d3"].as_u64()), (Some(50), Some(2)));
    for failure in [
        Failure::Network(()),
        Failure::NoPeer,
        Failure::NotVerified { refused: 1 },
        Failure::Lost { received: 1, refused: 2 },
    ] {
        assert!(report(Outcome::Failed(failure))["failure"].is_string());
    }
}

#[test]
fn measuring_opens_what_it_sealed() {
    let cost = Cost::measure(&mut Ticks(0), &mut Numbers(1), &settings(50, 1));
    assert_eq!(cost, Cost { size: 50, seal_ns: 0, open_ns: 0 });
}
