//! An operator's service in one process, and subscribers who talk to it without sockets.

#![allow(dead_code, reason = "each test uses its part")]

use std::convert::Infallible;
use std::num::NonZeroUsize;
use std::path::PathBuf;

use slyfi_base::SecureRandom;
use slyfi_tracedge::SchemeId;
use slyfi_tracedge::audit::{OwnRow, Subscription};
use slyfi_tracedge::epoch::{EpochKey, EpochSecret};
use slyfi_tracedge::files::EpochFiles;
use slyfi_tracedge::keys::{OperatorId, SecretKey};
use slyfi_tracedge::operator::{Schemes, Serving};
use slyfi_tracedge::pieces::Work;
use slyfi_tracedge::random::SeededRandom;
use slyfi_tracedge::service::api::Route;
use slyfi_tracedge::service::disk::OpenDisk;
use slyfi_tracedge::service::store::{Store, StoreError};
use slyfi_tracedge::service::{Connection, Request, Service};
use slyfi_tracedge::subscriber::{self, Seen, Transport, Which};

pub const NOW: u64 = 1_800_000_000;
pub const HOUR: u64 = 3_600;

pub struct Dir(pub PathBuf);

impl Dir {
    pub fn new(name: &str) -> Self {
        let dir = std::env::temp_dir().join(format!("slyfi-service-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&dir).unwrap();
        Dir(dir)
    }

    pub fn store(&self) -> PathBuf {
        self.0.join("operator.redb")
    }
}

impl Drop for Dir {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// What the operator's machine sees of a connection: everything but the content of what is random.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct View(pub Vec<(String, usize, u16, usize)>);

/// A connection within the process.
pub struct Direct<'a> {
    pub service: &'a Service,
    pub connection: Connection,
    pub now: u64,
    pub rng: SeededRandom,
    pub view: View,
    /// All bytes that the operator received, in their order.
    pub received: Vec<Vec<u8>>,
}

impl<'a> Direct<'a> {
    pub fn new(service: &'a Service, now: u64, rng: &mut SeededRandom) -> Self {
        let mut seed = [0; 32];
        rng.fill(&mut seed);
        let (connection, view) = (Connection::default(), View::default());
        let rng = SeededRandom::new(seed);
        Direct { service, connection, now, rng, view, received: Vec::new() }
    }
}

impl Transport for Direct<'_> {
    type Error = Infallible;

    fn call(&mut self, route: Route, body: &[u8]) -> Result<(u16, Vec<u8>), Infallible> {
        let path = route.path();
        let request = Request { method: route.method(), path: &path, body };
        let response =
            self.service.handle(&mut self.connection, request, b"one", self.now, &mut self.rng);
        self.received.push([path.as_bytes(), body].concat());
        self.view.0.push((path, body.len(), response.status, response.body.len()));
        Ok((response.status, response.body))
    }

    fn binding(&self) -> Vec<u8> {
        b"one".to_vec()
    }
}

pub struct World {
    pub dir: Dir,
    pub files: EpochFiles,
    pub service: Service,
    pub rng: SeededRandom,
}

impl World {
    pub fn new(name: &str, rows: u64) -> Self {
        let dir = Dir::new(name);
        let mut rng = SeededRandom::new([7; 32]);
        let store = Store::create(&dir.store(), rows, HOUR, &mut rng).unwrap();
        Self::of(dir, store, rng)
    }

    /// On a disk of any kind; the files of epochs are real ones.
    pub fn on(name: &str, rows: u64, disk: OpenDisk) -> Self {
        let mut rng = SeededRandom::new([7; 32]);
        let store = Store::create_on(disk, rows, HOUR, &mut rng).unwrap();
        Self::of(Dir::new(name), store, rng)
    }

    fn of(dir: Dir, store: Store, rng: SeededRandom) -> Self {
        let files = EpochFiles::new(&dir.0);
        let service = Service::new(store, NonZeroUsize::new(4).unwrap()).unwrap();
        World { dir, files, service, rng }
    }

    /// Ends the process and starts it again.
    pub fn restart(self, now: u64) -> Result<(Self, usize), StoreError> {
        let World { dir, files, service, rng } = self;
        drop(service);
        let store = Store::open(&dir.store())?;
        let service = Service::new(store, NonZeroUsize::new(4).unwrap())?;
        let failed = service.resume(&files, now, &Work::quiet())?;
        Ok((World { dir, files, service, rng }, failed.len()))
    }

    pub fn id(&self) -> OperatorId {
        self.service.keys().id()
    }

    pub fn invite(&mut self, until: u64) -> [u8; 16] {
        let rng = &mut self.rng;
        self.service.with_store(|store| store.invite(until, rng)).unwrap()
    }

    pub fn way(&mut self, now: u64) -> Direct<'_> {
        Direct::new(&self.service, now, &mut self.rng)
    }

    pub fn subscribe(&mut self) -> Subscription {
        let rng = &mut self.rng;
        let invitation = self.service.with_store(|store| store.invite(NOW + HOUR, rng)).unwrap();
        let secret = SecretKey::generate(&mut self.rng);
        let mut way = Direct::new(&self.service, NOW, &mut self.rng);
        let id = self.service.keys().id();
        subscriber::subscribe(&mut way, &id, &invitation, secret, &mut self.rng).unwrap()
    }

    /// Builds and publishes the next epoch.
    pub fn publish(&mut self, now: u64) -> EpochSecret {
        self.try_publish(now).unwrap()
    }

    pub fn try_publish(&mut self, now: u64) -> Result<EpochSecret, StoreError> {
        let (secret, serving) = self.build(now)?;
        let mapped = self.files.map(secret.epoch().number).unwrap();
        self.service.publish(serving, secret.key().clone(), Some(mapped))?;
        Ok(secret)
    }

    /// Builds the next epoch.
    pub fn build(&mut self, now: u64) -> Result<(EpochSecret, Serving), StoreError> {
        let (epoch, directory) = self.service.with_store(|store| {
            Ok::<_, StoreError>((store.next_epoch(now)?, store.directory()?))
        })?;
        let secret = EpochSecret::derive(&epoch, EpochKey::generate(&mut self.rng));
        let schemes = Schemes::both(SchemeId::Lwe);
        let serving = self
            .files
            .build(self.service.keys(), &secret, &directory, schemes, &Work::quiet())
            .unwrap();
        Ok((secret, serving))
    }

    /// A whole login: head, retrieval with audits, proof. Returns K and what the operator saw.
    pub fn login(&mut self, mine: &Subscription, seen: &mut Seen, now: u64) -> (EpochKey, View) {
        let id = self.id();
        let mut way = Direct::new(&self.service, now, &mut self.rng);
        let head = subscriber::head(&mut way, &id, seen, Which::Current, now).unwrap();
        let conclusion = subscriber::fetch(&mut way, &head, mine, 1, &mut self.rng).unwrap();
        let OwnRow::Opened(secret) = conclusion.own else { panic!("{:?}", conclusion.own) };
        assert!(conclusion.evidence.is_empty());
        let (epoch, key) = (secret.epoch().number, secret.key().clone());
        subscriber::prove(&mut way, epoch, &key, &mut self.rng).unwrap();
        (key, way.view)
    }
}
