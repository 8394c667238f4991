//! An access point that says what it likes under its keys, against a client: the client comes to
//! rest, holds a bounded amount, and leaves when its host says so.

use crate::Choices;
use crate::forge::{Keyed, any_mac, open_tryst, seal_tryst};
use crate::host::{Host, Said};
use crate::hostile_member::emitted;
use crate::network::{self, PACKETS, START, Seeded, client_config, client_mac, ethernet, start};
use slyfi_base::{Command, Duration, MacAddress, UnixTime};
use slyfi_core::agreement;
use slyfi_core::client::ClientLink;
use slyfi_core::keys::Key256;
use slyfi_core::pairing::{Direction, Kind, Pairing};
use slyfi_core::shroud::DirectionSecret;
use slyfi_core::tryst::Class;
use slyfi_wire::message::{
    AssocStatus, AuthStatus, Control, GroupKey, GroupMessage, RequestId, TrystMessage,
};

const ID: [u8; 8] = [7; 8];

/// The most addresses of a client: three pairings of the widest skew, two sessions, two epochs.
const MOST_ADDRESSES: usize = 3 * 2 * 33 + 4 * 58;

struct Hostile {
    pairing: Pairing,
    rng: Seeded,
    client: Host<ClientLink<Seeded>>,
    probe: Option<RequestId>,
    authentication: Option<(RequestId, Vec<u8>)>,
    sessions: Vec<Keyed>,
    group: Keyed,
    group_secret: Vec<u8>,
}

/// Plays the scenario that `input` describes.
///
/// # Panics
/// When an invariant does not hold.
pub fn run(input: &[u8]) {
    let mut c = Choices::new(input);
    let suite = network::suite(c.below(3));
    let invite = Kind::Invite { expires: START + Duration::from_secs(1_000) };
    let kind = if c.below(4) == 0 { invite } else { Kind::Member };
    let pairing = network::pairing(suite, 1, kind);
    let config = client_config(c.byte());
    let client = network::client(config, &pairing, 1, 11, start());
    let secret = DirectionSecret::new(suite, Key256::new([0x6b; 32]));
    let mut hostile = Hostile {
        pairing,
        rng: Seeded(77),
        client: Host::new(client, start(), true),
        probe: None,
        authentication: None,
        sessions: Vec::new(),
        group: Keyed::new(&secret, &secret),
        group_secret: [&[suite.to_byte()][..], secret.as_bytes()].concat(),
    };
    hostile.command(Command::Connect);
    if c.is() {
        hostile.answer_probe();
        hostile.answer_authentication(None);
        hostile.accept(1, 1, true);
        assert!(hostile.client.link.is_linked(), "whoever has the keys can link");
    }
    while !c.is_empty() {
        hostile.act(&mut c);
        let addresses = hostile.client.link.live_addresses();
        assert!(addresses <= MOST_ADDRESSES, "{addresses} addresses");
        let linked = hostile.client.link.is_linked();
        assert_eq!(linked, hostile.client.is_up(), "what the machine is, it said");
    }
    hostile.command(Command::Leave);
    for _ in 0..20 {
        hostile.pass(Duration::from_secs(1));
    }
    assert!(!hostile.client.is_up() && !hostile.client.link.is_linked(), "it has left");
    assert_eq!(hostile.client.link.free_packets(), PACKETS as usize, "packets leaked");
    assert!(hostile.client.link.live_addresses() <= 3 * 2 * 33, "addresses leaked");
}

impl Hostile {
    fn absorb(&mut self, said: Said) {
        let wall = self.client.now.wall;
        for frame in said.frames {
            self.sessions.iter_mut().for_each(|s| s.hear(&frame));
            let Some((_, payload)) = open_tryst(&self.pairing, Direction::Up, wall, &frame) else {
                continue;
            };
            match TrystMessage::parse(&payload) {
                Ok(TrystMessage::ProbeRequest { request, .. }) => self.probe = Some(request),
                Ok(TrystMessage::AuthRequest { request, agreement, .. }) => {
                    self.authentication = Some((request, agreement.to_vec()));
                }
                _ => panic!("a client sends requests"),
            }
        }
    }

    fn bring(&mut self, frame: Option<Vec<u8>>) {
        if let Some(frame) = frame {
            let said = self.client.frame(&frame);
            self.absorb(said);
        }
    }

    fn command(&mut self, command: Command) {
        let (_, said) = self.client.command(command);
        self.absorb(said);
    }

    fn pass(&mut self, d: Duration) {
        let said = self.client.pass(d);
        self.absorb(said);
    }

    fn tryst(&mut self, class: Class, payload: &[u8]) {
        let wall = self.client.now.wall;
        let sealed =
            seal_tryst(&self.pairing, Direction::Down, class, wall, payload, &mut self.rng);
        self.bring(sealed);
    }

    fn answer_probe(&mut self) {
        let time = self.client.now.wall.as_micros();
        let request = self.probe.unwrap_or_default();
        let message = TrystMessage::ProbeResponse { request, time, access_point: ID, load: 0 };
        self.tryst(Class::Probe, &emitted(&message));
    }

    /// Answers the last authentication, with the right half of the agreement or another.
    fn answer_authentication(&mut self, other: Option<(AuthStatus, &[u8])>) {
        let Some((request, theirs)) = self.authentication.clone() else { return };
        let Ok((secrets, ours)) = agreement::answer(self.pairing.suite(), &theirs, &mut self.rng)
        else {
            panic!("a client's half is usable");
        };
        if other.is_none() {
            self.sessions.push(Keyed::new(&secrets.down, &secrets.up));
        }
        if self.sessions.len() > 3 {
            self.sessions.remove(0);
        }
        let (status, agreement) = other.unwrap_or((AuthStatus::Accepted, &ours));
        let message = TrystMessage::AuthResponse {
            request,
            time: self.client.now.wall.as_micros(),
            access_point: ID,
            status,
            agreement,
        };
        self.tryst(Class::Authentication, &emitted(&message));
    }

    fn control(&mut self, control: &Control<'_>) {
        let frame = self.sessions.last_mut().and_then(|s| s.control(control));
        self.bring(frame);
    }

    fn accept(&mut self, epoch: u32, next: u64, roaming: bool) {
        let secret = self.group_secret.clone();
        self.control(&Control::AssocResponse {
            status: AssocStatus::Accepted,
            pseudonym: client_mac(1),
            access_point: network::AP_MAC,
            mtu: 1_500,
            group: GroupKey { epoch, next, secret: &secret },
            since: self.client.now.wall.as_secs(),
            roaming,
        });
    }

    fn act(&mut self, c: &mut Choices<'_>) {
        match c.below(20) {
            0 => self.answer_probe(),
            1 => self.answer_authentication(None),
            2 => {
                let status =
                    [AuthStatus::Accepted, AuthStatus::Full, AuthStatus::InviteSpent][c.below(3)];
                self.answer_authentication(Some((status, c.run())));
            }
            3 => self.accept(c.word(), edge(c), c.is()),
            4 => {
                let (pseudonym, access_point) = (any_mac(c), any_mac(c));
                let (epoch, next) = (c.word(), edge(c));
                self.control(&Control::AssocResponse {
                    status: [AssocStatus::Accepted, AssocStatus::Full, AssocStatus::EnrolOnly]
                        [c.below(3)],
                    pseudonym,
                    access_point,
                    mtu: c.short(),
                    group: GroupKey { epoch, next, secret: c.run() },
                    since: c.long(),
                    roaming: c.is(),
                });
            }
            5 => {
                let mut secret = self.group_secret.clone();
                if c.is() {
                    secret[1] ^= c.byte() % 4;
                }
                let key = GroupKey { epoch: c.word() % 4, next: edge(c), secret: &secret };
                self.control(&Control::Rekey(key));
            }
            6 => self.control(&Control::Rekey(GroupKey {
                epoch: c.word(),
                next: c.long(),
                secret: c.run(),
            })),
            7 | 8 => self.broadcast(c),
            9 => self.enrol(c),
            10 => {
                let (class, payload) = (Class::ALL[c.below(2)], c.run());
                self.tryst(class, payload);
            }
            11 => self.pass(Duration::from_millis(c.short().into())),
            12 => self.pass(self.client.wait().unwrap_or(Duration::from_secs(1))),
            13 => {
                // Some weeks at most: each day costs hashes, and many days only cost time here.
                let wall = START.shifted(i64::from(c.word() as i32) * 1_000);
                let wall = if c.below(8) == 0 { UnixTime::from_micros(c.long()) } else { wall };
                let said = self.client.set_wall(wall);
                self.absorb(said);
            }
            14 => {
                let packet = ethernet(any_mac(c), client_mac(1), c.short(), c.run());
                let (_, said) = self.client.packet(&packet);
                self.absorb(said);
            }
            15 => {
                let address = [10, 0, 0, c.byte()];
                let commands = [
                    Command::Connect,
                    Command::Leave,
                    Command::Roam,
                    Command::Bind(address.into()),
                    Command::Unbind(address.into()),
                ];
                self.command(commands[c.below(5)]);
            }
            _ => {
                let last = self.sessions.len().saturating_sub(1);
                let at = last - c.below(8) % (last + 1);
                let frame = self.sessions.get_mut(at).and_then(|s| s.any_message(c));
                self.bring(frame);
            }
        }
    }

    /// A broadcast under the group key that was told, at any number.
    fn broadcast(&mut self, c: &mut Choices<'_>) {
        if c.is() {
            self.group.sender.skip_to(edge(c));
        }
        let message = match c.below(3) {
            0 => GroupMessage::Time { time: c.long() },
            1 => GroupMessage::Data {
                destination: any_mac(c),
                source: MacAddress(c.array()),
                ether_type: c.short(),
                payload: c.run(),
            },
            _ => {
                let frame = self.group.seal(c.run());
                return self.bring(frame);
            }
        };
        let mut bytes = vec![0; message.buffer_len()];
        message.emit(&mut bytes).expect("an exact buffer");
        let frame = self.group.seal(&bytes);
        self.bring(frame);
    }

    fn enrol(&mut self, c: &mut Choices<'_>) {
        let bytes = if c.is() {
            let p = network::pairing(network::suite(c.below(3)), 2 + c.byte() % 4, Kind::Member);
            let mut bytes = p.encode().to_vec();
            let at = c.below(bytes.len());
            bytes[at] ^= c.byte() & c.byte();
            bytes
        } else {
            c.run().to_vec()
        };
        self.control(&Control::EnrolResponse { pairing: &bytes });
    }
}

/// A number that lies where arithmetic has its edges.
fn edge(c: &mut Choices<'_>) -> u64 {
    let near = u64::from(c.byte());
    match c.below(8) {
        0 => u64::MAX - near,
        1 => (1 << 29) - 60 + near,
        2 => (1 << 32) - 60 + near,
        3 => c.long(),
        _ => near,
    }
}
