//! TracEdge's service among several clients and a hostile way between them and it: whatever they send,
//! logins are for those who know K, honest ones succeed, and no honest operator is accused.

mod client;
mod requests;

use crate::Choices;
use crate::memory::{alone, within};
use crate::seeded::Seeded;
use crate::tracedge_service::client::{Client, Way};
use slyfi_base::SecureRandom;
use slyfi_tracedge::SchemeId;
use slyfi_tracedge::audit::{OwnRow, Subscription};
use slyfi_tracedge::epoch::{EpochKey, EpochSecret};
use slyfi_tracedge::files::EpochFiles;
use slyfi_tracedge::keys::{OperatorId, SecretKey};
use slyfi_tracedge::operator::Schemes;
use slyfi_tracedge::pieces::Work;
use slyfi_tracedge::service::api::Response;
use slyfi_tracedge::service::store::Store;
use slyfi_tracedge::service::{Connection, Request, Service};
use slyfi_tracedge::subscriber::{self, Seen, Which};
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::Ordering;

const BEGIN: u64 = 1_800_000_000;
const HOUR: u64 = 3_600;
const ROWS: u64 = 600;
const CLIENTS: usize = 3;
/// How long a login may take, seconds (docs/tracedge.md §9).
const DEADLINE: u64 = 10;
/// How far clocks may be apart, seconds (docs/tracedge.md §5).
const SKEW: u64 = 300;
/// After so many enrolments or epochs everything is made anew.
const MOST_ENROLLED: u64 = 300;
const MOST_EPOCHS: u64 = 100;

/// The most that a request may make the service allocate, beside what it sends.
const MOST: usize = 32 << 20;

/// The operator's machine. It outlives a scenario, because making it takes its time; what a scenario
/// checks does not depend on what came before.
struct World {
    folder: PathBuf,
    files: EpochFiles,
    service: Service,
    rng: Seeded,
    mine: Subscription,
    enrolled: u64,
    /// The epochs that are served, the newest last.
    secrets: Vec<EpochSecret>,
    /// Seconds; it goes on from scenario to scenario, because an operator's clock does not go back.
    now: u64,
}

static WORLD: Mutex<Option<World>> = Mutex::new(None);

impl World {
    fn new() -> Self {
        // In memory where there is such a place: every enrolment is made durable.
        let place = PathBuf::from("/dev/shm");
        let place = if place.is_dir() { place } else { std::env::temp_dir() };
        let folder = place.join(format!("slyfi-fuzz-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).expect("a folder of our own");
        let mut rng = Seeded(5);
        let store = Store::create(&folder.join("operator"), ROWS, HOUR, &mut rng);
        let answering = NonZeroUsize::new(2).expect("two");
        let service = Service::new(store.expect("a new store"), answering).expect("a new store");
        let id = service.keys().id();
        let secret = SecretKey::generate(&mut rng);
        let invitation = service.with_store(|store| store.invite(BEGIN + HOUR, &mut rng));
        let mut connection = Connection::default();
        let mut way = Way::honest(&service, &mut connection, BEGIN, Seeded(1));
        let invitation = invitation.expect("a store that works");
        let mine = subscriber::subscribe(&mut way, &id, &invitation, secret, &mut rng);
        let mut world = World {
            files: EpochFiles::new(&folder),
            mine: mine.expect("an invitation"),
            folder,
            service,
            rng,
            enrolled: 1,
            secrets: Vec::new(),
            now: BEGIN,
        };
        world.publish();
        world.publish();
        world
    }

    fn id(&self) -> OperatorId {
        self.service.keys().id()
    }

    /// Builds and publishes the epoch that comes next.
    fn publish(&mut self) {
        std::fs::create_dir_all(&self.folder).expect("a folder of our own");
        let now = self.now;
        let (epoch, directory) = self.service.with_store(|store| {
            (store.next_epoch(now).expect("a store"), store.directory().expect("a store"))
        });
        let secret = EpochSecret::derive(&epoch, EpochKey::generate(&mut self.rng));
        let (keys, schemes) = (self.service.keys(), Schemes::both(SchemeId::Lwe));
        let built = self.files.build(keys, &secret, &directory, schemes, &Work::quiet());
        let mapped = self.files.map(epoch.number).expect("files that were built");
        let key = secret.key().clone();
        self.service.publish(built.expect("a small table"), key, Some(mapped)).expect("a store");
        self.secrets.push(secret);
        // What is open and mapped stays; nothing is left behind by a process that ends.
        std::fs::remove_dir_all(&self.folder).expect("a folder of our own");
    }

    /// The K of `epoch`, if the service should take it at `now`.
    fn key(&self, epoch: u64, now: u64) -> Option<&EpochKey> {
        let secret = self.secrets.iter().find(|s| s.epoch().number == epoch)?;
        let begun = now + SKEW >= secret.epoch().not_before;
        begun.then(|| secret.key())
    }

    /// The last second that a scenario may see.
    fn end(&self) -> u64 {
        self.secrets.last().map_or(BEGIN, |secret| secret.epoch().not_after - HOUR / 4)
    }

    /// The newest epoch is now, the one after it is made, the one before it is over or nearly so.
    fn turn(&mut self) {
        let newest = self.secrets.last().map_or(BEGIN, |secret| secret.epoch().not_before);
        self.now = self.now.max(newest);
        self.publish();
        self.retire(self.now);
    }

    /// What a server does now and then: epochs that are over are served no more.
    fn retire(&mut self, now: u64) {
        let over = |secret: &EpochSecret| now >= secret.epoch().not_after + SKEW;
        if self.secrets.iter().any(over) {
            self.service.retire(now).expect("a store");
            self.secrets.retain(|secret| !over(secret));
        }
    }

    /// Randomness that no other scenario has.
    fn fresh(&mut self) -> Seeded {
        let mut seed = [0; 8];
        self.rng.fill(&mut seed);
        Seeded(u64::from_le_bytes(seed))
    }

    fn is_used_up(&self) -> bool {
        let epochs = self.secrets.last().map_or(0, |secret| secret.epoch().number);
        self.enrolled >= MOST_ENROLLED || epochs >= MOST_EPOCHS
    }
}

/// Plays the scenario that `input` describes.
///
/// # Panics
/// When an invariant does not hold.
pub fn run(input: &[u8]) {
    let _alone = alone();
    // A scenario that panicked left no world behind.
    let mut place = WORLD.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let mut world = place.take().filter(|w| !w.is_used_up()).unwrap_or_else(World::new);
    let mut c = Choices::new(input);
    let options = c.byte();
    if options & 0x0f == 0x0f || world.now + HOUR / 2 > world.end() {
        world.turn();
    }
    let mut scene = Scene {
        clients: (0..CLIENTS).map(|n| Client::new(n as u64)).collect(),
        now: world.now,
        counted: counted(&world.service),
        world: &mut world,
    };
    while !c.is_empty() {
        scene.act(&mut c);
    }
    scene.check_counters();
    world.now = scene.now;
    end(&world, options & 0x10 != 0);
    *place = Some(world);
}

/// Somebody honest comes: he gets K, whatever went before, and logs on.
fn end(world: &World, fetches: bool) {
    let (id, now, mut seen) = (world.id(), world.now, Seen::default());
    let mut connection = Connection::default();
    let mut rng = Seeded(now);
    let mut way = Way::honest(&world.service, &mut connection, now, Seeded(9));
    let head = subscriber::head(&mut way, &id, &mut seen, Which::Current, now);
    let head = head.expect("an honest operator's head");
    let epoch = head.head().epoch.number;
    let key = world.key(epoch, now).expect("an epoch that has begun");
    if fetches {
        let fetched = subscriber::fetch(&mut way, &head, &world.mine, 1, &mut rng);
        let fetched = fetched.expect("an honest operator's answers");
        assert!(fetched.evidence.is_empty(), "honest, and accused");
        let OwnRow::Opened(secret) = fetched.own else { panic!("{:?}", fetched.own) };
        assert_eq!(secret.key(), key);
    }
    assert!(subscriber::prove(&mut way, epoch, key, &mut rng).is_ok(), "an honest login fails");
}

/// Answers, logins, refusals, junk, turned away.
fn counted(service: &Service) -> [u64; 5] {
    let c = service.counters();
    [&c.answers, &c.logins, &c.refused, &c.junk, &c.busy].map(|n| n.load(Ordering::Relaxed))
}

/// One scenario.
struct Scene<'a> {
    world: &'a mut World,
    clients: Vec<Client>,
    now: u64,
    /// What the service should have counted.
    counted: [u64; 5],
}

impl Scene<'_> {
    /// Sends a request, and checks what holds of every response.
    fn send(&mut self, client: usize, method: &str, path: &str, body: &[u8]) -> Response {
        let Client { connection, rng, binding, .. } = &mut self.clients[client];
        let request = Request { method, path, body };
        let service = &self.world.service;
        // A query is unpacked, an epoch's files and hints are copied.
        let response = within(MOST + 16 * body.len(), || {
            service.handle(connection, request, &binding[..], self.now, rng)
        });
        let Response { status, body: answer } = &response;
        assert!([200, 400, 403, 404].contains(status), "{method} {path}: {status}");
        assert!(*status == 200 || answer.is_empty(), "a refusal says more than that");
        self.counted[3] += u64::from(matches!(status, 400 | 404));
        response
    }

    fn check_counters(&self) {
        assert_eq!(counted(&self.world.service), self.counted, "counts something else");
    }
}
