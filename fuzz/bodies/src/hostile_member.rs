//! A paired client that says what it likes under its keys, against an access point with an honest
//! member: the honest link stands, nothing on it is lost or forged, and what the hostile one can
//! hold is bounded.

use crate::Choices;
use crate::forge::{Keyed, open_tryst, seal_tryst};
use crate::network::{Seeded, client_mac, most_addresses};
use crate::world::{Setting, World, everybody_leaves};
use slyfi_base::{Command, Duration};
use slyfi_core::agreement::Offer;
use slyfi_core::pairing::{Direction, Pairing};
use slyfi_core::tryst::Class;
use slyfi_wire::message::{AccessPointId, Control, TrystMessage};

/// Packet buffers of the access point: more than one member may ever hold.
const PACKETS: u32 = 512;

/// The most buffers that one member can hold: waiting, in flight, come early, and broadcasts.
const MOST_HELD: usize = 64 + 48 + 64 + 64 + 32;

struct Hostile {
    pairing: Pairing,
    rng: Seeded,
    access_point: AccessPointId,
    sessions: Vec<Keyed>,
    /// How much of the air has been heard.
    heard: usize,
    /// Sealed, and to be brought together.
    pending: Vec<Vec<u8>>,
}

/// Plays the scenario that `input` describes.
///
/// # Panics
/// When an invariant does not hold.
pub fn run(input: &[u8]) {
    let mut c = Choices::new(input);
    let setting = Setting { clients: 1, others: 1, packets: PACKETS, is_watched: true };
    let mut world = World::with(&mut c, setting);
    world.command(1, Command::Connect);
    assert!(world.run(Duration::from_secs(5), World::is_linked), "an undisturbed link comes up");
    let mut hostile = Hostile {
        pairing: world.pairings[1].clone(),
        rng: Seeded(99),
        access_point: [0; 8],
        sessions: Vec::new(),
        heard: 0,
        pending: Vec::new(),
    };
    hostile.authenticate(&mut world);
    assert_eq!(hostile.sessions.len(), 1, "a paired client gets a session");
    if c.is() {
        hostile.associate(&mut world);
    }
    while !c.is_empty() {
        hostile.act(&mut c, &mut world);
        settle(&mut world);
        let sessions = world.ap.link.sessions().count();
        // Each has the one that serves, and may have one that waits for its association.
        assert!(sessions <= 4, "{sessions} sessions of two clients");
        assert!(world.ap.link.live_addresses() <= most_addresses(2, 2, sessions));
        let held = PACKETS as usize - world.ap.link.free_packets();
        assert!(held <= MOST_HELD + 64, "{held} buffers are held");
        assert!(world.clients[0].link.is_linked(), "the honest client is unlinked");
    }
    world.run(Duration::from_secs(2), |_| false);
    assert!(world.owed.is_empty(), "of the honest link {:?} were lost", world.owed);
    assert!(world.clients[0].link.is_linked(), "the honest client is unlinked");
    everybody_leaves(&mut world);
}

/// The honest client has a good air.
fn settle(world: &mut World) {
    for round in 0.. {
        assert!(round < 2_000, "the air never comes to rest");
        if world.flying.is_empty() {
            break;
        }
        let (to, frame) = world.flying.remove(0);
        world.deliver(to, &frame);
    }
}

impl Hostile {
    fn bring(&mut self, world: &mut World, frame: Option<Vec<u8>>) {
        if let Some(frame) = frame {
            let said = world.ap.frame(&frame);
            world.absorb(0, said);
        }
        self.listen(world);
    }

    fn listen(&mut self, world: &World) {
        let air = world.air.log.get(self.heard..).unwrap_or(&[]);
        for (from, frame) in air {
            if *from == 0 {
                self.sessions.iter_mut().for_each(|s| s.hear(frame));
            }
        }
        self.heard = world.air.log.len();
    }

    fn tryst(&mut self, world: &mut World, class: Class, payload: &[u8]) {
        let wall = world.ap.now.wall;
        let frame = seal_tryst(&self.pairing, Direction::Up, class, wall, payload, &mut self.rng);
        self.bring(world, frame);
    }

    /// What the access point has answered since `from`, newest first.
    fn answers(&self, world: &World, from: usize) -> Vec<(Class, Vec<u8>)> {
        let wall = world.ap.now.wall;
        let air = world.air.log.get(from..).unwrap_or(&[]);
        let open =
            |(_, frame): &(usize, Vec<u8>)| open_tryst(&self.pairing, Direction::Down, wall, frame);
        air.iter().rev().filter_map(open).collect()
    }

    /// Probes and authenticates as an honest client would.
    fn authenticate(&mut self, world: &mut World) {
        let from = world.air.log.len();
        let mut request = [0; 8];
        slyfi_base::SecureRandom::fill(&mut self.rng, &mut request);
        let time = world.ap.now.wall.as_micros();
        self.tryst(world, Class::Probe, &emitted(&TrystMessage::ProbeRequest { request, time }));
        world.pass(Duration::from_millis(12));
        settle(world);
        for (_, payload) in self.answers(world, from) {
            if let Ok(TrystMessage::ProbeResponse { access_point, .. }) =
                TrystMessage::parse(&payload)
            {
                self.access_point = access_point;
            }
        }
        let offer = Offer::new(self.pairing.suite(), &mut self.rng);
        let message = TrystMessage::AuthRequest {
            request,
            time,
            access_point: self.access_point,
            agreement: offer.request_bytes(),
        };
        self.tryst(world, Class::Authentication, &emitted(&message));
        world.pass(Duration::from_millis(12));
        settle(world);
        for (_, payload) in self.answers(world, from) {
            if let Ok(TrystMessage::AuthResponse { agreement, .. }) = TrystMessage::parse(&payload)
            {
                if let Ok(secrets) = offer.finish(agreement) {
                    self.sessions.push(Keyed::new(&secrets.up, &secrets.down));
                }
                break;
            }
        }
        if self.sessions.len() > 3 {
            self.sessions.remove(0);
        }
    }

    fn associate(&mut self, world: &mut World) {
        let request = Control::AssocRequest { pseudonym: client_mac(2), mtu: 1_400 };
        let frame = self.sessions.last_mut().and_then(|s| s.control(&request));
        self.bring(world, frame);
        settle(world);
    }

    fn act(&mut self, c: &mut Choices<'_>, world: &mut World) {
        match c.below(16) {
            0 => world.pass(Duration::from_millis(u64::from(c.byte()) * 4)),
            1 => world.pass(world.wait().min(Duration::from_secs(1))),
            2 => {
                world.send(1, 0, 14 + usize::from(c.byte()) * 5);
            }
            3 => {
                world.send(0, 1, 14 + usize::from(c.byte()) * 5);
            }
            4 => {
                let class = Class::ALL[c.below(2)];
                let payload = any_tryst(c, self.access_point);
                self.tryst(world, class, &payload);
            }
            5 if c.below(4) == 0 => self.authenticate(world),
            6 => self.associate(world),
            7 => {
                // All that is pending, and what is on its way, at once.
                let at = c.below(self.pending.len() + 1);
                let flying = std::mem::take(&mut world.flying);
                let (mine, others): (Vec<_>, Vec<_>) = flying.into_iter().partition(|f| f.0 == 0);
                world.flying = others;
                let mut batch = std::mem::take(&mut self.pending);
                batch.splice(at..at, mine.into_iter().map(|(_, frame)| frame));
                world.deliver_batch(&batch);
                self.listen(world);
            }
            8 => {
                // As a batch would need it: packets of the honest client that wait in the air.
                let (_, said) = world.clients[0].command(Command::Bind([10, 0, 0, 9].into()));
                world.absorb(1, said);
                let class = Class::Authentication;
                let payload = any_tryst(c, self.access_point);
                let wall = world.ap.now.wall;
                let sealed =
                    seal_tryst(&self.pairing, Direction::Up, class, wall, &payload, &mut self.rng);
                self.pending.extend(sealed);
            }
            choice => {
                let last = self.sessions.len().saturating_sub(1);
                let at = last - c.below(8) % (last + 1);
                let times = if c.below(8) == 0 { usize::from(c.byte()) } else { 1 };
                let Some(session) = self.sessions.get_mut(at) else { return };
                let mut again = c.clone();
                for _ in 0..times {
                    again = c.clone();
                    let Some(frame) = session.any_message(&mut again) else { continue };
                    if choice == 15 && self.pending.len() < 32 {
                        self.pending.push(frame);
                    } else {
                        let said = world.ap.frame(&frame);
                        world.absorb(0, said);
                    }
                }
                *c = again;
                self.listen(world);
            }
        }
    }
}

/// A Tryst message of either side, or any bytes.
fn any_tryst(c: &mut Choices<'_>, access_point: AccessPointId) -> Vec<u8> {
    let (request, time) = (c.array(), c.long());
    let access_point = if c.below(4) == 0 { c.array() } else { access_point };
    let agreement = if c.is() { vec![c.byte(); 64] } else { c.run().to_vec() };
    let message = match c.below(4) {
        0 => TrystMessage::ProbeRequest { request, time },
        1 => TrystMessage::ProbeResponse { request, time, access_point, load: c.byte() },
        2 => TrystMessage::AuthRequest { request, time, access_point, agreement: &agreement },
        _ => return c.run().to_vec(),
    };
    emitted(&message)
}

pub(crate) fn emitted(message: &TrystMessage<'_>) -> Vec<u8> {
    let mut out = vec![0; message.buffer_len()];
    message.emit(&mut out).expect("an exact buffer");
    out
}
