//! What clients do.

use super::client::Way;
use super::{DEADLINE, HOUR, Scene};
use crate::Choices;
use crate::honest::sha256;
use crate::seeded::Seeded;
use crate::spoil::spoil;
use slyfi_tracedge::answer::{Database, SignedAnswer};
use slyfi_tracedge::audit::OwnRow;
use slyfi_tracedge::enrol::{Receipt, Request as EnrolRequest};
use slyfi_tracedge::epoch::EpochKey;
use slyfi_tracedge::head::SignedHead;
use slyfi_tracedge::keys::SecretKey;
use slyfi_tracedge::log::TreeHead;
use slyfi_tracedge::login::ClientLogin;
use slyfi_tracedge::merkle::{Hash, log};
use slyfi_tracedge::registry;
use slyfi_tracedge::service::Connection;
use slyfi_tracedge::service::api::Route;
use slyfi_tracedge::subscriber::{self, Seen, SubscriberError, Which};

impl Scene<'_> {
    /// One thing that somebody does.
    pub(super) fn act(&mut self, c: &mut Choices<'_>) {
        let client = c.below(self.clients.len());
        match c.below(14) {
            0 => self.raw(client, c),
            1 => self.odd_numbers(client, c),
            2 | 3 => self.begin(client),
            4 | 5 => self.finish(client, c),
            6 => self.finish_again(client, c),
            7 => self.retrieve(client, c),
            8 => self.enrol(client, c),
            9 => self.log(client, c),
            10 => {
                self.now = self.world.end().min(self.now + u64::from(c.byte()));
                self.world.retire(self.now);
            }
            // A connection is closed, and another opened.
            11 => {
                self.clients[client].connection = Connection::default();
                self.clients[client].begun = None;
            }
            12 => self.hostile_way(c),
            _ => {
                let path = ["/v1/epochs", "/v1/log/head", "/v1/log/leaves"][c.below(3)];
                assert_eq!(self.send(client, "GET", path, c.run()).status, 200);
            }
        }
    }

    fn post(&mut self, client: usize, route: Route, body: &[u8]) -> (u16, Vec<u8>) {
        let response = self.send(client, route.method(), &route.path(), body);
        (response.status, response.body)
    }

    /// Any method, any path, any body.
    fn raw(&mut self, client: usize, c: &mut Choices<'_>) {
        let method = ["GET", "POST", "PUT"][c.below(3)];
        let path = String::from_utf8_lossy(c.run()).into_owned();
        let longest = self.world.service.longest_body(method, &path);
        assert!(longest < 1 << 20, "takes {longest} bytes of anybody");
        let body = c.run();
        // The counters of what it may have hit upon.
        let route = Route::parse(method, &path);
        let status = self.send(client, method, &path, body).status;
        match route {
            None => assert_eq!(status, 404),
            Some(Route::LoginBegin) => self.clients[client].begun = None,
            Some(Route::LoginFinish) => {
                assert_eq!(status, 403, "a login was guessed");
                self.counted[2] += 1;
                self.clients[client].begun = None;
            }
            Some(Route::Retrieve { .. }) => self.counted[0] += u64::from(status == 200),
            Some(_) => {}
        }
    }

    /// Routes with numbers of anything.
    fn odd_numbers(&mut self, client: usize, c: &mut Choices<'_>) {
        let mut number = || match c.byte() {
            255 => c.long(),
            n => u64::from(n % 8),
        };
        let (one, other) = (number(), number());
        let database = if c.is() { Database::Table } else { Database::Directory };
        let route = match c.below(8) {
            0 => Route::LogInclusion { index: one, size: other },
            1 => Route::LogConsistency { old: one, size: other },
            2 => Route::LogEntry { index: one },
            3 => Route::Top { epoch: one },
            4 => Route::Hint { epoch: one, database },
            5 => Route::Whole { epoch: one, database },
            6 => Route::LogRecent { size: one },
            _ => Route::Retrieve { epoch: one, database },
        };
        let (status, _) = self.post(client, route, c.run());
        assert!(!matches!(route, Route::Retrieve { .. }) || status != 200, "a query was guessed");
    }

    fn begin(&mut self, client: usize) {
        let (status, share) = self.post(client, Route::LoginBegin, &[]);
        assert_eq!(status, 200);
        let share = share.try_into().expect("a share has 32 bytes");
        self.clients[client].begun = Some((share, self.now));
    }

    /// The second half of a login: with K of some epoch, or with another key, sometimes changed.
    fn finish(&mut self, client: usize, c: &mut Choices<'_>) {
        let (now, epochs) = (self.now, self.world.secrets.len());
        let epoch = match c.byte() {
            255 => c.long(),
            n => self.world.secrets[usize::from(n) % epochs].epoch().number,
        };
        let right = self.world.key(epoch, now).cloned();
        let knows = c.byte() % 4 != 1;
        let key = right.clone().filter(|_| knows);
        let key = key.unwrap_or_else(|| EpochKey::from_bytes([c.byte(); 16]));
        let begun = self.clients[client].begun.take();
        // Without a share of this connection's he takes another's.
        let others = self.clients.iter().filter_map(|other| other.begun);
        let share = begun.or_else(|| others.last()).map(|(share, _)| share);
        let Some(share) = share else { return };
        let rng = &mut self.world.fresh();
        let login = ClientLogin::begin(&share, epoch, &key, rng).expect("an honest share");
        let honest = login.message().encode().to_vec();
        let mut message = honest.clone();
        if c.byte() % 4 == 1 {
            spoil(&mut message, c, &self.clients[0].proofs);
        }
        let good = knows
            && right.is_some()
            && message == honest
            && begun.is_some_and(|(_, at)| now <= at + DEADLINE);
        let (status, proof) = self.post(client, Route::LoginFinish, &message);
        assert_eq!(status, if good { 200 } else { 403 }, "good: {good}");
        self.counted[if good { 1 } else { 2 }] += 1;
        if good {
            let binding = self.clients[client].binding.clone();
            assert!(login.finish(&proof, &binding).is_ok(), "the service does not prove K");
        }
        self.clients[client].proofs.push(message);
    }

    /// A proof that was sent before, by this client or another.
    fn finish_again(&mut self, client: usize, c: &mut Choices<'_>) {
        let proofs = &self.clients[c.below(self.clients.len())].proofs;
        let Some(message) = proofs.get(c.below(proofs.len())).cloned() else { return };
        let (status, _) = self.post(client, Route::LoginFinish, &message);
        assert_eq!(status, 403, "a proof serves twice");
        self.counted[2] += 1;
        self.clients[client].begun = None;
    }

    /// A query, honest or not.
    fn retrieve(&mut self, client: usize, c: &mut Choices<'_>) {
        let secret = &self.world.secrets[c.below(self.world.secrets.len())];
        let epoch = secret.epoch().number;
        let database = if c.is() { Database::Table } else { Database::Directory };
        let head = self.head_of(client, epoch);
        let (setup, digest) = (*database.setup(head.head()), head.head().digest());
        let sizes = setup.sizes().expect("a setup that is served");
        let route = Route::Retrieve { epoch, database };
        let longest = self.world.service.longest_body("POST", &route.path());
        assert_eq!(longest, sizes.query);
        let mut query = c.run().to_vec();
        if c.is() {
            // Of the right length and form.
            query.resize(sizes.query, c.byte());
            query[..2].copy_from_slice(&[1, setup.scheme.code()]);
        }
        let (status, body) = self.post(client, route, &query);
        assert!(matches!(status, 200 | 400), "{status}");
        self.counted[0] += u64::from(status == 200);
        if status == 200 {
            let signed = SignedAnswer::decode(&body).expect("a signed answer");
            let (id, hash) = (self.world.id(), sha256(&query));
            assert!(signed.is_signed_by(&id, &digest, database, &hash));
            assert_eq!(signed.answer.len(), sizes.answer);
            assert_eq!(query.len(), sizes.query, "a query of another length is answered");
        }
    }

    fn head_of(&mut self, client: usize, epoch: u64) -> SignedHead {
        let (status, heads) = self.post(client, Route::Epochs, &[]);
        assert_eq!((status, heads.len() % (8 + SignedHead::LEN)), (200, 0));
        let heads = heads.chunks(8 + SignedHead::LEN);
        let mut heads = heads.map(|bytes| SignedHead::decode(&bytes[8..]).expect("its own head"));
        heads.find(|head| head.head().epoch.number == epoch).expect("an epoch that is served")
    }

    /// Somebody with an invitation takes a row, or tries to without.
    fn enrol(&mut self, client: usize, c: &mut Choices<'_>) {
        let rng = &mut self.world.fresh();
        let id = self.world.id();
        let lasts = u64::from(c.byte() % 4);
        let until = self.now + lasts;
        let invitation = self.world.service.with_store(|store| store.invite(until, rng));
        let invitation = invitation.expect("a store that works");
        let (mut wait, secret) = (0, SecretKey::generate(rng));
        if c.byte() % 4 == 1 {
            wait = u64::from(c.byte() % 4);
        }
        self.now += wait;
        let honest = EnrolRequest::new(&secret, &id, &invitation, rng).encode();
        let mut body = honest.clone();
        if c.byte() % 4 == 1 {
            spoil(&mut body, c, &[]);
        }
        let good = body == honest && wait <= lasts;
        let (status, receipt) = self.post(client, Route::Enrol, &body);
        assert_eq!(status == 200, good, "{status}");
        self.world.enrolled += u64::from(good);
        let row = good.then(|| {
            let receipt = Receipt::decode(&receipt).expect("a signed receipt");
            assert_eq!((receipt.operator, receipt.key), (id, *secret.public()));
            receipt.index
        });
        // Again, as who got no answer would: if anything, the same row.
        let (status, receipt) = self.post(client, Route::Enrol, &body);
        if status == 200 {
            let again = Receipt::decode(&receipt).expect("a signed receipt");
            assert_eq!((Some(again.index), again.key), (row, *secret.public()));
        }
        // The same invitation for another key.
        let other = SecretKey::generate(rng);
        let body = EnrolRequest::new(&other, &id, &invitation, rng).encode();
        let free = !good && wait <= lasts;
        let (status, _) = self.post(client, Route::Enrol, &body);
        assert_eq!(status == 200, free, "an invitation serves once: {status}");
        self.world.enrolled += u64::from(free);
    }

    /// The log and its proofs, as whoever watches it asks for them.
    fn log(&mut self, client: usize, c: &mut Choices<'_>) {
        let (status, tree_head) = self.post(client, Route::LogHead, &[]);
        let tree_head = TreeHead::decode(&tree_head).expect("its own tree head");
        assert_eq!((status, tree_head.time), (200, self.now));
        let size = tree_head.size;
        let (_, leaves) = self.post(client, Route::LogLeaves, &[]);
        let leaves: Vec<Hash> = leaves.as_chunks().0.to_vec();
        assert_eq!((leaves.len() as u64, log::root(&leaves)), (size, tree_head.root));
        let index = u64::from(c.byte()) % size;
        let old = 1 + u64::from(c.byte()) % size;
        let (status, proof) = self.post(client, Route::LogInclusion { index, size }, &[]);
        let proof: Vec<Hash> = proof.as_chunks().0.to_vec();
        let leaf = leaves[index as usize];
        assert!(status == 200 && log::includes(&tree_head.root, size, index, leaf, &proof));
        let (status, proof) = self.post(client, Route::LogConsistency { old, size }, &[]);
        let proof: Vec<Hash> = proof.as_chunks().0.to_vec();
        let before = log::root(&leaves[..old as usize]);
        assert!(status == 200 && log::extends(old, &before, size, &tree_head.root, &proof));
    }

    /// A subscriber whose way to the operator is hostile: he gets what is right, or nothing.
    fn hostile_way(&mut self, c: &mut Choices<'_>) {
        let (now, id) = (self.now, self.world.id());
        let mut seen = Seen::default();
        let what = c.below(4);
        let which = if c.is() { Which::Next } else { Which::Current };
        let (rng, way_rng) = (&mut self.world.fresh(), self.world.fresh());
        let mut connection = Connection::default();
        let world = &*self.world;
        let mut way = Way::honest(&world.service, &mut connection, now, way_rng).hostile(c);
        if what == 0 {
            let begun = world.secrets.iter().rfind(|s| s.epoch().not_before <= now);
            let begun = begun.expect("an epoch that has begun");
            let (epoch, key) = (begun.epoch().number, begun.key());
            let proved = subscriber::prove(&mut way, epoch, key, rng);
            assert!(proved.is_ok() || way.changed, "an honest login fails");
        } else {
            let before = seen.clone();
            match subscriber::head(&mut way, &id, &mut seen, which, now) {
                Err(why) => {
                    assert!(way.changed, "an honest operator's head is refused: {why:?}");
                    let accused = matches!(why, SubscriberError::Cheated(_));
                    assert!(!accused, "honest, and accused");
                    assert_eq!(seen, before, "refused, and remembered");
                }
                Ok(head) => {
                    let known = |s: &&slyfi_tracedge::epoch::EpochSecret| {
                        s.epoch() == &head.head().epoch && s.commitment() == &head.head().commitment
                    };
                    let secret = world.secrets.iter().find(known).expect("a head of its own");
                    assert!(head.head().epoch.not_before < now + 3 * HOUR);
                    if what == 1 {
                        fetch(&mut way, &head, secret.key(), world, rng);
                    }
                }
            }
        }
        let Way { junk, answers, logins, refused, .. } = way;
        for (counted, more) in self.counted.iter_mut().zip([answers, logins, refused, junk, 0]) {
            *counted += more;
        }
    }
}

/// Retrieves K over the hostile way.
fn fetch(
    way: &mut Way<'_, '_>,
    head: &SignedHead,
    key: &EpochKey,
    world: &super::World,
    rng: &mut Seeded,
) {
    let Ok(fetched) = subscriber::fetch(way, head, &world.mine, 1, rng) else {
        assert!(way.changed, "an honest operator's answers are refused");
        return;
    };
    assert!(fetched.evidence.is_empty(), "honest, and accused");
    let OwnRow::Opened(secret) = fetched.own else { panic!("{:?}", fetched.own) };
    assert_eq!(secret.key(), key, "another K");
    assert!(registry::client(&head.head().table, None).is_err(), "this scheme has a hint");
}
