//! SBKH: state from packet to packet, retransmission, loss, resynchronisation, restart, key hop.

mod common;

use common::qos_header;
use proptest::prelude::*;
use slyfi_base::{Duration, Exhausted, LinkCipher, OpenHalf, SealHalf, Undecryptable, UnixTime};
use slyfi_ciphers::danger::rc4::Rc4;
use slyfi_ciphers::danger::sbkh::{
    BaseKeyPair, BaseKeys, Direction, Endpoint, KeySchedule, Parameters, Position, Received, Sbkh,
    SbkhOpen, SbkhSeal, Ssc,
};

const UP: [u8; 16] = [0x11; 16];
const DOWN: [u8; 16] = [0x22; 16];

fn fixed() -> BaseKeys {
    BaseKeys::Fixed(BaseKeyPair::new(UP, DOWN))
}

fn scheduled() -> BaseKeys {
    let start = UnixTime::from_secs(1_000_000);
    let duration = Duration::from_secs(3600);
    let schedule = KeySchedule::new([9; 32], [2; 6], [4; 6], start, duration);
    BaseKeys::Scheduled(schedule.unwrap())
}

fn at_hop(hop: u64) -> UnixTime {
    UnixTime::from_secs(1_000_000 + 3600 * hop + 5)
}

fn small() -> Parameters {
    Parameters::new(100, Parameters::MIN_S_OFFSET, 8).unwrap()
}

fn pair(keys: &BaseKeys, p: Parameters) -> (SbkhSeal, SbkhOpen) {
    let (seal, _) = Sbkh::new(keys.clone(), p, Direction::Uplink).split();
    let (_, open) = Sbkh::new(keys.clone(), p, Direction::Downlink).split();
    (seal, open)
}

fn seal(half: &mut SbkhSeal, payload: &[u8]) -> Vec<u8> {
    try_seal(half, payload).unwrap()
}

fn try_seal(half: &mut SbkhSeal, payload: &[u8]) -> Result<Vec<u8>, Exhausted> {
    let mut buf = vec![0; payload.len() + 8];
    buf[4..4 + payload.len()].copy_from_slice(payload);
    half.seal(&qos_header(0, 1), &mut buf, payload.len())?;
    Ok(buf)
}

fn open(half: &mut SbkhOpen, sealed: &[u8]) -> Result<Option<Vec<u8>>, Undecryptable> {
    let mut buf = sealed.to_vec();
    match half.open_packet(&qos_header(0, 1), &mut buf)? {
        Received::Payload(p) => Ok(Some(p.payload(&buf).to_vec())),
        Received::Duplicate | Received::ResyncRequest => Ok(None),
    }
}

fn payload_of(r: Result<Option<Vec<u8>>, Undecryptable>) -> Vec<u8> {
    r.unwrap().unwrap()
}

#[test]
fn the_keystream_runs_on_from_packet_to_packet_behind_the_i_offset() {
    let (mut tx, mut rx) = pair(&fixed(), Parameters::default());
    let mut stream = Rc4::new(&[&UP]);
    stream.skip(5_000);
    for n in 0..20u8 {
        let payload = vec![n; usize::from(n) * 7 + 1];
        let sealed = seal(&mut tx, &payload);
        assert_eq!(sealed[..4], [0, 0, n, 0], "SSC counts packets");
        let mut expected = payload.clone();
        expected.extend(slyfi_ciphers::crc32::crc32(&payload).to_le_bytes());
        stream.apply(&mut expected);
        assert_eq!(sealed[4..], expected);
        assert_eq!(payload_of(open(&mut rx, &sealed)), payload);
    }
}

#[test]
fn the_two_directions_have_their_own_keystreams() {
    let (mut up, mut from_down) = Sbkh::new(fixed(), small(), Direction::Uplink).split();
    let (mut down, mut from_up) = Sbkh::new(fixed(), small(), Direction::Downlink).split();
    let (a, b) = (seal(&mut up, b"same text"), seal(&mut down, b"same text"));
    assert_ne!(a, b);
    assert!(open(&mut from_down, &a).is_err(), "an echo of the own direction");
    assert_eq!(payload_of(open(&mut from_up, &a)), b"same text");
    assert_eq!(payload_of(open(&mut from_down, &b)), b"same text");
}

#[test]
fn a_retransmission_is_recognised_and_not_delivered_twice() {
    let (mut tx, mut rx) = pair(&fixed(), small());
    let first = seal(&mut tx, b"first");
    assert_eq!(payload_of(open(&mut rx, &first)), b"first");
    for _ in 0..3 {
        assert_eq!(open(&mut rx, &first), Ok(None));
    }
    let second = seal(&mut tx, b"second");
    assert_eq!(payload_of(open(&mut rx, &second)), b"second");
    assert_eq!(open(&mut rx, &first), Err(Undecryptable), "two behind is a replay");
    let mut forged = second;
    forged[5] ^= 1;
    assert_eq!(open(&mut rx, &forged), Err(Undecryptable), "a retransmission must verify too");
}

#[test]
fn a_missing_packet_is_noticed_and_the_next_epoch_heals_it() {
    let (mut tx, mut rx) = pair(&fixed(), small());
    assert_eq!(payload_of(open(&mut rx, &seal(&mut tx, b"one"))), b"one");
    seal(&mut tx, b"lost, and nobody knows how long it was");
    let third = seal(&mut tx, b"three");
    assert!(!rx.is_lost());
    assert_eq!(open(&mut rx, &third), Err(Undecryptable));
    assert!(rx.is_lost());
    tx.resynchronise().unwrap();
    assert_eq!(tx.next_ssc(), Ssc { epoch: 1, number: 0 });
    tx.resynchronise().unwrap();
    assert_eq!(tx.next_ssc().epoch, 1, "an untouched epoch is not skipped");
    assert_eq!(payload_of(open(&mut rx, &seal(&mut tx, b"four"))), b"four");
    assert!(!rx.is_lost());
}

#[test]
fn a_damaged_packet_does_not_move_the_state() {
    let (mut tx, mut rx) = pair(&fixed(), small());
    let good = seal(&mut tx, b"payload");
    for bit in 32..good.len() * 8 {
        let mut bad = good.clone();
        bad[bit / 8] ^= 1 << (bit % 8);
        assert_eq!(open(&mut rx, &bad), Err(Undecryptable));
    }
    for n in 0..good.len() {
        assert_eq!(open(&mut rx, &good[..n]), Err(Undecryptable));
    }
    assert_eq!(payload_of(open(&mut rx, &good)), b"payload");
}

#[test]
fn a_full_epoch_is_left_by_both_ends_alike() {
    let (mut tx, mut rx) = pair(&fixed(), small());
    let long = [7; 1000];
    let mut epochs = Vec::new();
    for _ in 0..9 {
        epochs.push({
            let sealed = seal(&mut tx, &long);
            assert_eq!(payload_of(open(&mut rx, &sealed)), long);
            Ssc::from_bytes([sealed[0], sealed[1], sealed[2]])
        });
    }
    let (last, all) = (epochs[8], epochs.len());
    assert_eq!((last.epoch, last.number, all), (4, 0, 9), "two packets of 1004 fit in 2308");
    assert!(try_seal(&mut tx, &[0; 2304]).is_ok());
    assert_eq!(try_seal(&mut tx, &[0; 2305]), Err(Exhausted));
}

#[test]
fn an_epoch_ends_after_4096_packets() {
    let p = Parameters::new(0, 1 << 20, 8).unwrap();
    let (mut tx, mut rx) = pair(&fixed(), p);
    for n in 0..4100u32 {
        let sealed = seal(&mut tx, &n.to_be_bytes());
        assert_eq!(payload_of(open(&mut rx, &sealed)), n.to_be_bytes());
    }
    assert_eq!(tx.next_ssc(), Ssc { epoch: 1, number: 4 });
}

#[test]
fn a_base_key_ends_with_its_last_epoch() {
    let keys = fixed();
    let p = small();
    let almost = Position { hop: 0, epoch: Ssc::LAST - 1 };
    let now = UnixTime::from_secs(0);
    let mut tx = SbkhSeal::resumed(keys.clone(), p, Direction::Uplink, almost, now).unwrap();
    tx.reserve(Position::MAX);
    assert!(try_seal(&mut tx, &[1; 2000]).is_ok());
    assert_eq!(try_seal(&mut tx, &[1; 2000]), Err(Exhausted));
    assert_eq!(tx.resynchronise(), Err(Exhausted));
    let spent = Position { hop: 0, epoch: Ssc::LAST };
    assert!(SbkhSeal::resumed(keys, p, Direction::Uplink, spent, now).is_none());
}

#[test]
fn receivers_follow_jumps_only_as_far_as_allowed() {
    for (jump, follows) in [(8, true), (9, false)] {
        let (mut tx, mut rx) = pair(&fixed(), small());
        for _ in 0..jump {
            seal(&mut tx, b"lost");
            tx.resynchronise().unwrap();
        }
        assert_eq!(tx.next_ssc().epoch, jump);
        assert_eq!(open(&mut rx, &seal(&mut tx, b"found")).is_ok(), follows);
    }
}

#[test]
fn a_restarted_sender_never_uses_keystream_again_and_needs_a_reservation() {
    let (mut tx, mut rx) = pair(&fixed(), small());
    tx.reserve(Position { hop: 0, epoch: 3 });
    let before = seal(&mut tx, b"before the restart");
    assert!(open(&mut rx, &before).is_ok());
    let stored = Position { hop: 0, epoch: 3 };
    let now = UnixTime::from_secs(0);
    let mut tx = SbkhSeal::resumed(fixed(), small(), Direction::Uplink, stored, now).unwrap();
    assert_eq!(try_seal(&mut tx, b"too early"), Err(Exhausted), "nothing is reserved yet");
    tx.reserve(Position { hop: 0, epoch: 4 });
    let after = seal(&mut tx, b"after the restart ");
    assert_eq!(Ssc::from_bytes([after[0], after[1], after[2]]).epoch, 4);
    assert_eq!(payload_of(open(&mut rx, &after)), b"after the restart ");
    tx.resynchronise().unwrap();
    assert_eq!(try_seal(&mut tx, b"beyond"), Err(Exhausted), "epoch 5 is not reserved");
}

#[test]
fn a_restarted_receiver_takes_nothing_old_and_asks() {
    let (mut tx, mut rx) = pair(&fixed(), small());
    let old: Vec<Vec<u8>> = (0..3u8).map(|n| seal(&mut tx, &[n; 5])).collect();
    for sealed in &old {
        assert!(open(&mut rx, sealed).is_ok());
    }
    let accepted = Position { epoch: rx.position().epoch, hop: 0 };
    let now = UnixTime::from_secs(0);
    let mut rx = SbkhOpen::resumed(fixed(), small(), Direction::Uplink, accepted, now);
    assert!(rx.is_lost());
    for sealed in &old {
        assert_eq!(open(&mut rx, sealed), Err(Undecryptable));
    }
    assert_eq!(open(&mut rx, &seal(&mut tx, b"goes on")), Err(Undecryptable));
    tx.resynchronise().unwrap();
    assert_eq!(payload_of(open(&mut rx, &seal(&mut tx, b"found"))), b"found");
    // Nothing of a base key's last epoch comes back either.
    let spent = Position { hop: 0, epoch: Ssc::LAST };
    let tiny = Parameters::new(0, Parameters::MIN_S_OFFSET, 8).unwrap();
    let mut rx = SbkhOpen::resumed(fixed(), tiny, Direction::Uplink, spent, now);
    for epoch in [0, 1, Ssc::LAST] {
        let [a, b, c] = Ssc { epoch, number: 0 }.to_bytes();
        assert_eq!(open(&mut rx, &[a, b, c, 0, 1, 2, 3, 4, 5]), Err(Undecryptable));
    }
}

#[test]
fn keys_hop_with_time_and_clocks_may_differ_by_one_hop() {
    let (mut tx, mut rx) = pair(&scheduled(), small());
    rx.advance_to(at_hop(0));
    for hop in 0..6u64 {
        tx.advance_to(at_hop(hop));
        let sealed = seal(&mut tx, b"hop");
        assert_eq!(u64::from(sealed[3] >> 6), hop % 4);
        assert_eq!(payload_of(open(&mut rx, &sealed)), b"hop", "hop {hop}, receiver one behind");
        assert_eq!(open(&mut rx, &sealed), Ok(None));
        rx.advance_to(at_hop(hop));
    }
    // Two ahead of the receiver's clock is not followed.
    tx.advance_to(at_hop(8));
    let early = seal(&mut tx, b"early");
    assert_eq!(open(&mut rx, &early), Err(Undecryptable));
    rx.advance_to(at_hop(8));
    assert_eq!(payload_of(open(&mut rx, &early)), b"early");
    // The sender's clock going back does not bring an old key back.
    tx.advance_to(at_hop(2));
    assert_eq!(tx.position().hop, 8);
    assert_eq!(payload_of(open(&mut rx, &seal(&mut tx, b"still 8"))), b"still 8");
}

#[test]
fn a_hop_whose_first_packets_were_lost_is_still_followed() {
    let (mut tx, mut rx) = pair(&scheduled(), small());
    tx.advance_to(at_hop(1));
    rx.advance_to(at_hop(1));
    for _ in 0..3 {
        seal(&mut tx, b"lost");
        tx.resynchronise().unwrap();
    }
    assert_eq!(payload_of(open(&mut rx, &seal(&mut tx, b"found"))), b"found");
    assert_eq!(rx.position(), Position { hop: 1, epoch: 3 });
}

#[test]
fn groups_are_refused_as_the_paper_leaves_them_to_future_work() {
    let (mut tx, _) = pair(&fixed(), small());
    let mut header = qos_header(0, 1);
    header[4] = 0xff;
    assert_eq!(tx.seal(&header, &mut [0; 100], 5), Err(Exhausted));
    assert_eq!(tx.seal(&[0; 3], &mut [0; 100], 5), Err(Exhausted));
    assert_eq!(tx.seal(&qos_header(0, 1), &mut [0; 12], 5), Err(Exhausted));
}

/// One end, the frame it keeps for retransmission, and what it has stored durably.
struct End {
    machine: Endpoint,
    kept: Vec<u8>,
    sends: Direction,
    stored_sent: Option<Position>,
    stored_accepted: Option<Position>,
}

fn end_parameters() -> Parameters {
    Parameters::new(10, Parameters::MIN_S_OFFSET, 200).unwrap()
}

impl End {
    fn new(sends: Direction) -> Self {
        let p = end_parameters();
        let seal = SbkhSeal::new(fixed(), p, sends);
        let open = SbkhOpen::new(fixed(), p, sends.other());
        let machine = Endpoint::new(seal, open);
        End { machine, kept: Vec::new(), sends, stored_sent: None, stored_accepted: None }
    }

    /// Restarts with nothing but what was stored.
    fn restart(&mut self) {
        let (p, now) = (end_parameters(), UnixTime::from_secs(0));
        let seal = match self.stored_sent {
            Some(at) => SbkhSeal::resumed(fixed(), p, self.sends, at, now).unwrap(),
            None => SbkhSeal::new(fixed(), p, self.sends),
        };
        let other = self.sends.other();
        let open = match self.stored_accepted {
            Some(at) => SbkhOpen::resumed(fixed(), p, other, at, now),
            None => SbkhOpen::new(fixed(), p, other),
        };
        self.machine = Endpoint::new(seal, open);
    }

    /// Stores the epochs that the next packet may use, before it is sealed: a request goes to the next
    /// one, and a packet that does not fit there to the one behind.
    fn store(&mut self) {
        let now = self.machine.seal_half().position();
        let ahead = Position { epoch: now.epoch + 2, ..now };
        self.stored_sent = self.stored_sent.max(Some(ahead));
        self.machine.seal_half().reserve(ahead);
    }
}

/// What befalls one transmission.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Fate {
    Arrives,
    FrameLost,
    AckLost,
    /// The frame is stopped and its acknowledgement forged.
    AckForged,
    /// The sender restarts instead.
    SenderRestarts,
    /// The receiver restarts before the frame arrives.
    ReceiverRestarts,
}

/// Who acknowledges.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Acknowledges {
    /// The card: everything that arrives.
    Everything,
    /// The receiver: what it could open.
    Opened,
}

/// Transmits what `from` keeps, up to three times; returns what `to` delivered.
fn transmit(
    from: &mut End,
    to: &mut End,
    how: Acknowledges,
    fates: &mut dyn Iterator<Item = Fate>,
) -> Option<Vec<u8>> {
    let mut delivered = None;
    for _ in 0..3 {
        let fate = fates.next().unwrap_or(Fate::Arrives);
        let mut acknowledged = fate == Fate::AckForged;
        match fate {
            Fate::SenderRestarts => {
                from.restart();
                return delivered;
            }
            Fate::ReceiverRestarts => to.restart(),
            _ => {}
        }
        if matches!(fate, Fate::Arrives | Fate::AckLost | Fate::ReceiverRestarts) {
            let mut buf = from.kept.clone();
            let received = to.machine.open(&qos_header(0, 1), &mut buf);
            let opened = received.is_ok();
            if let Ok(Received::Payload(p)) = &received {
                delivered = Some(p.payload(&buf).to_vec());
            }
            if matches!(received, Ok(Received::Payload(_) | Received::ResyncRequest)) {
                to.stored_accepted = Some(to.machine.open_half().position());
            }
            let sent = opened || how == Acknowledges::Everything;
            acknowledged = sent && fate != Fate::AckLost;
        }
        if acknowledged {
            from.machine.on_acknowledged();
            return delivered;
        }
    }
    from.machine.on_given_up().unwrap();
    delivered
}

fn send(
    from: &mut End,
    to: &mut End,
    payload: &[u8],
    how: Acknowledges,
    fates: &mut dyn Iterator<Item = Fate>,
) -> Option<Vec<u8>> {
    for is_sender in [true, false] {
        let (asker, asked) =
            if is_sender { (&mut *from, &mut *to) } else { (&mut *to, &mut *from) };
        if asker.machine.wants_to_ask() {
            asker.store();
            asker.kept = vec![0; 8];
            asker.machine.ask(&qos_header(0, 1), &mut asker.kept).unwrap();
            transmit(asker, asked, how, fates);
        }
    }
    from.store();
    from.kept = vec![0; payload.len() + 8];
    from.kept[4..4 + payload.len()].copy_from_slice(payload);
    from.machine.seal(&qos_header(0, 1), &mut from.kept, payload.len()).unwrap();
    transmit(from, to, how, fates)
}

fn fates() -> impl Strategy<Value = Vec<Fate>> {
    use Fate::*;
    let one = prop::sample::select(vec![
        Arrives,
        Arrives,
        FrameLost,
        AckLost,
        AckForged,
        SenderRestarts,
        ReceiverRestarts,
    ]);
    prop::collection::vec(one, 0..40)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn after_any_losses_forged_acknowledgements_and_restarts_both_directions_work_again(
        fates in fates(),
        ups in prop::collection::vec(any::<bool>(), 1..30),
        how in prop::sample::select(vec![Acknowledges::Everything, Acknowledges::Opened]),
    ) {
        let (mut station, mut ap) = (End::new(Direction::Uplink), End::new(Direction::Downlink));
        let mut fates = fates.into_iter();
        let (mut seen_up, mut seen_down) = (Vec::new(), Vec::new());
        for (n, up) in ups.into_iter().enumerate() {
            let payload = (n as u32).to_be_bytes();
            if up {
                seen_up.extend(send(&mut station, &mut ap, &payload, how, &mut fates));
            } else {
                seen_down.extend(send(&mut ap, &mut station, &payload, how, &mut fates));
            }
        }
        for seen in [seen_up, seen_down] {
            prop_assert!(seen.windows(2).all(|w| w[0] < w[1]), "in order and never twice: {seen:?}");
        }
        // The air is good again: within three packets each way everything arrives.
        let mut good = std::iter::repeat(Fate::Arrives);
        for _ in 0..3 {
            send(&mut station, &mut ap, b"settle", how, &mut good);
            send(&mut ap, &mut station, b"settle", how, &mut good);
        }
        let up = send(&mut station, &mut ap, b"up", how, &mut good);
        prop_assert_eq!(up.as_deref(), Some(&b"up"[..]));
        let down = send(&mut ap, &mut station, b"down", how, &mut good);
        prop_assert_eq!(down.as_deref(), Some(&b"down"[..]));
    }

    #[test]
    fn arbitrary_packets_never_panic_and_never_open(
        body in prop::collection::vec(any::<u8>(), 0..60),
        header in prop::collection::vec(any::<u8>(), 0..40),
    ) {
        let (_, mut rx) = pair(&scheduled(), small());
        rx.advance_to(at_hop(2));
        prop_assert!(rx.open(&qos_header(0, 1), &mut body.clone()).is_err());
        prop_assert!(rx.open(&header, &mut body.clone()).is_err());
    }
}
