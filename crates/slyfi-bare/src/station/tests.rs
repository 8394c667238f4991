use super::*;
use slyfi_base::{Capabilities, Duration, RadioChange, RxMeta, TxMeta, UnixTime};
use slyfi_core::ap::{ApConfig, ApLink};
use slyfi_core::invite::Invite;
use slyfi_core::pairing::NetworkName;
use slyfi_core::suite::Suite;
use std::cell::RefCell;
use std::rc::Rc;

/// Random enough for tests.
struct Numbers(u64);

impl SecureRandom for Numbers {
    fn fill(&mut self, out: &mut [u8]) {
        for byte in out {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            *byte = (self.0 >> 56) as u8;
        }
    }
}

type Frames = Rc<RefCell<VecDeque<Vec<u8>>>>;

/// One end of an air between two.
struct Air {
    rx: Frames,
    tx: Frames,
    room: usize,
    max_frame: usize,
}

impl Radio for Air {
    type Error = ();
    fn capabilities(&self) -> Capabilities {
        let max_frame = self.max_frame;
        Capabilities { max_frame, injects: true, sets_channel: false, keeps_order: true }
    }
    fn initialize(&mut self, _: Instant, _: &RadioConfig) -> Result<(), ()> {
        Ok(())
    }
    fn reset(&mut self, _: Instant) -> Result<(), ()> {
        Ok(())
    }
    fn configure(&mut self, _: Instant, _: RadioChange) -> Result<(), ()> {
        Err(())
    }
    fn read(&mut self, _: Instant, buf: &mut [u8]) -> Result<Option<(RxMeta, usize)>, ()> {
        let Some(frame) = self.rx.borrow_mut().pop_front() else { return Ok(None) };
        buf[..frame.len()].copy_from_slice(&frame);
        Ok(Some((RxMeta::default(), frame.len())))
    }
    fn write(&mut self, _: Instant, _: TxMeta, frame: &[u8]) -> Result<bool, ()> {
        let fits = self.tx.borrow().len() < self.room;
        if fits {
            self.tx.borrow_mut().push_back(frame.to_vec());
        }
        Ok(fits)
    }
}

const WALL: UnixTime = UnixTime::from_secs(1_800_000_000);
const AP_MAC: MacAddress = MacAddress([2, 0, 0, 0, 0, 1]);
const MAC: MacAddress = MacAddress([2, 0, 0, 0, 0, 2]);

fn at(us: u64) -> Now {
    Now { mono: Instant::from_micros(us), wall: WALL + Duration::from_micros(us) }
}

/// A station and an access point on one air, turned a millisecond at a time.
struct Scene {
    ap: ApLink<Numbers>,
    station: Station<Air, Numbers>,
    to_ap: Frames,
    to_station: Frames,
    notices: Vec<Notice>,
    delivered: Vec<Vec<u8>>,
    now_us: u64,
}

impl Scene {
    fn new(room: usize) -> Self {
        let name = NetworkName::new(b"bare").unwrap();
        let life = Duration::from_secs(600);
        let invite = Invite::new(Suite::AEAD, name, WALL, life, &mut Numbers(1)).unwrap();
        let max_frame = 1488;
        let max_body = max_frame - carrier::HEADER_LEN;
        let config = ApConfig { max_body, ..ApConfig::default() };
        let mut ap = ApLink::new(config, AP_MAC, Numbers(2), at(0));
        ap.add_pairing(at(0), invite.pairing()).unwrap();
        let (to_ap, to_station) = (Frames::default(), Frames::default());
        let air = Air { rx: Rc::clone(&to_station), tx: Rc::clone(&to_ap), room, max_frame };
        let station = Station::new(air, invite.pairing(), MAC, Numbers(3), at(0)).unwrap();
        let (notices, delivered) = (Vec::new(), Vec::new());
        Scene { ap, station, to_ap, to_station, notices, delivered, now_us: 0 }
    }

    fn run(&mut self, ms: u64) {
        for _ in 0..ms {
            self.now_us += 1000;
            let now = at(self.now_us);
            let notices = &mut self.notices;
            self.station.turn(now, &mut |notice| notices.push(notice)).unwrap();
            loop {
                let Some(mut frame) = self.to_ap.borrow_mut().pop_front() else { break };
                self.ap.handle_frame(now, RxMeta::default(), &mut frame);
                self.drain_ap();
            }
            self.ap.handle_timeout(now);
            self.drain_ap();
        }
    }

    fn drain_ap(&mut self) {
        let mut buf = vec![0; 4096];
        loop {
            match self.ap.poll_output(&mut buf) {
                Output::Transmit(_, frame) => {
                    self.to_station.borrow_mut().push_back(frame.to_vec());
                }
                Output::Deliver(packet) => self.delivered.push(packet.to_vec()),
                Output::Timeout(_) => return,
                _ => {}
            }
        }
    }

    fn packet(&self, to: MacAddress, from: MacAddress, text: &[u8]) -> Vec<u8> {
        [&to.0[..], &from.0, &[0x88, 0xb6], text].concat()
    }

    fn pseudonym(&self) -> Option<MacAddress> {
        self.notices.iter().rev().find_map(|notice| match notice {
            Notice::Event(Event::Pseudonym(mac)) => Some(*mac),
            _ => None,
        })
    }
}

#[test]
fn an_invite_becomes_a_link_that_carries_packets_both_ways() {
    let mut scene = Scene::new(64);
    scene.run(2_000);
    assert!(scene.station.is_linked());
    assert!(scene.notices.contains(&Notice::PairedUntilPowerOff));
    let own = scene.pseudonym().unwrap_or(MAC);
    scene.station.send(scene.packet(AP_MAC, own, b"up"));
    let down = scene.packet(own, AP_MAC, b"down");
    scene.ap.handle_packet(at(scene.now_us), &down).unwrap();
    scene.drain_ap();
    scene.run(200);
    assert!(scene.delivered.contains(&scene.packet(AP_MAC, own, b"up")), "{:?}", scene.delivered);
    assert_eq!(scene.station.receive(), Some(down));
    let counters = scene.station.counters();
    assert_eq!((counters.packets_sent, counters.packets_received), (1, 1));
    assert_eq!((counters.frames_lost, counters.packets_dropped), (0, 0));
}

#[test]
fn a_radio_without_room_loses_frames_that_are_counted_and_nothing_waits_for_ever() {
    let mut scene = Scene::new(0);
    scene.run(2_000);
    assert!(!scene.station.is_linked());
    assert!(scene.station.counters().frames_lost > 0);
    for _ in 0..QUEUE + 2 {
        scene.station.send(vec![0; 60]);
    }
    assert!(!scene.station.can_send());
    assert_eq!(scene.station.counters().packets_dropped, 2);
    scene.run(1);
    assert_eq!(scene.station.counters().packets_dropped, 2 + QUEUE as u64, "not linked: dropped");
}

#[test]
fn an_air_too_narrow_for_a_set_up_is_refused() {
    let air = |max_frame| Air { rx: Frames::default(), tx: Frames::default(), room: 1, max_frame };
    let name = NetworkName::new(b"bare").unwrap();
    let life = Duration::from_secs(600);
    let invite = Invite::new(Suite::AEAD, name, WALL, life, &mut Numbers(1)).unwrap();
    let start = |max_frame| {
        Station::new(air(max_frame), invite.pairing(), MAC, Numbers(3), at(0)).map(|_| ())
    };
    assert_eq!(start(carrier::HEADER_LEN + MIN_MAX_BODY), Ok(()));
    assert_eq!(start(carrier::HEADER_LEN + MIN_MAX_BODY - 1), Err(StationError::FramesTooShort));
}
