//! An operator that unmasks by what it shows to whom, or gets rid of what convicts it; and what is not
//! to be held against an honest one.

mod common;

use std::convert::Infallible;
use std::sync::Mutex;

use common::{BEGIN, World};
use slyfi_tracedge::SchemeId;
use slyfi_tracedge::audit::{OwnRow, Subscription};
use slyfi_tracedge::directory::KeyBlock;
use slyfi_tracedge::enrol::{Receipt, Request};
use slyfi_tracedge::epoch::{Epoch, EpochKey, EpochSecret};
use slyfi_tracedge::evidence::{Aids, Evidence, NotEvidence};
use slyfi_tracedge::head::{CLOCK_SKEW, Head, HeadError, SignedHead};
use slyfi_tracedge::keys::SecretKey;
use slyfi_tracedge::log::{Entry, LogError, TreeHead};
use slyfi_tracedge::merkle::Hash;
use slyfi_tracedge::operator::{Schemes, Serving, build_table};
use slyfi_tracedge::pieces::Work;
use slyfi_tracedge::random::SeededRandom;
use slyfi_tracedge::recent::{self, RECENT};
use slyfi_tracedge::service::api::Route;
use slyfi_tracedge::service::store::Store;
use slyfi_tracedge::subscriber::{self, Seen, SubscriberError, Transport, Which};
use slyfi_tracedge::table;

const ROWS: u64 = 300;
const HOUR: u64 = 3_600;

/// An operator that says what it likes, to one connection.
struct Operator {
    world: World,
    entries: Vec<Entry>,
    served: Vec<SignedHead>,
    keys: Vec<EpochKey>,
    /// What its clock says; the log is signed with that.
    time: u64,
    serving: Option<Serving>,
    /// The number of the retrieval that is not answered.
    silent: Option<usize>,
    asked: Vec<String>,
    retrievals: usize,
    at_rest: u32,
}

impl Operator {
    fn new(seed: u8) -> Self {
        Operator {
            world: World::new(ROWS, seed),
            entries: Vec::new(),
            served: Vec::new(),
            keys: Vec::new(),
            time: BEGIN + 10,
            serving: None,
            silent: None,
            asked: Vec::new(),
            retrievals: 0,
            at_rest: 0,
        }
    }

    /// A head with a table of its own, right in every row, and its K.
    fn make(&mut self, epoch: Epoch) -> (SignedHead, EpochSecret) {
        let secret = EpochSecret::derive(&epoch, EpochKey::generate(&mut self.world.rng));
        let rows = self.world.table(&secret);
        (self.serve(&secret, &rows).head().clone(), secret)
    }

    fn serve(&self, secret: &EpochSecret, rows: &[u8]) -> Serving {
        let (world, schemes) = (&self.world, Schemes::both(SchemeId::Lwe));
        let tree = table::tree(rows);
        let (keys, work) = (&world.keys, Work::quiet());
        Serving::prepare(keys, secret, &world.directory, rows, &tree, schemes, &work).unwrap()
    }

    fn log(&mut self, head: &SignedHead) {
        self.entries.push(Entry::Head(Box::new(head.head().clone())));
    }

    /// Makes, logs and serves the head of epoch `number`, as an honest operator does.
    fn publish(&mut self, number: u64) -> SignedHead {
        let (head, secret) = self.make(self.world.epoch(number));
        self.log(&head);
        self.served.push(head.clone());
        self.keys.push(secret.key().clone());
        if let Some(over) = number.checked_sub(2) {
            self.open(over, self.keys[over as usize].clone());
        }
        head
    }

    fn open(&mut self, epoch: u64, key: EpochKey) {
        self.entries.push(Entry::Opening { epoch, key });
    }

    fn leaves(&self) -> Vec<Hash> {
        self.entries.iter().map(Entry::leaf).collect()
    }

    fn tree_head(&self) -> TreeHead {
        TreeHead::sign(&self.world.keys, &self.leaves(), self.time)
    }

    fn head(&mut self, seen: &mut Seen) -> Result<SignedHead, SubscriberError<Infallible>> {
        let (operator, now) = (self.world.keys.id(), self.time);
        subscriber::head(self, &operator, seen, Which::Current, now)
    }

    /// The evidence that a subscriber comes away with, which holds for strangers too.
    fn caught(&mut self) -> Evidence {
        let Err(SubscriberError::Cheated(evidence)) = self.head(&mut Seen::default()) else {
            panic!("a cheat is taken for honest")
        };
        let evidence = Evidence::decode(&evidence.encode()).unwrap();
        let verdict = evidence.verify(&self.world.keys.id(), &Aids::default()).unwrap();
        assert!(verdict.conclusive);
        evidence
    }
}

impl Transport for Operator {
    type Error = Infallible;

    fn call(&mut self, route: Route, body: &[u8]) -> Result<(u16, Vec<u8>), Infallible> {
        self.asked.push(format!("{} {} {}", route.method(), route.path(), body.len()));
        let found = match route {
            Route::Epochs => self
                .served
                .iter()
                .flat_map(|head| [&0u64.to_le_bytes()[..], &head.encode()].concat())
                .collect(),
            Route::LogHead => self.tree_head().encode(),
            Route::LogLeaves => self.leaves().as_flattened().to_vec(),
            Route::LogRecent { size } => {
                let entries: Vec<_> =
                    recent::range(size).map(|at| self.entries[at as usize].encode()).collect();
                recent::encode(&entries)
            }
            Route::Top { .. } => self.serving.as_ref().unwrap().top().encode(),
            Route::Hint { database, .. } => {
                self.serving.as_ref().unwrap().hint(database).unwrap().to_vec()
            }
            Route::Retrieve { database, .. } => {
                self.retrievals += 1;
                if self.silent == Some(self.retrievals - 1) {
                    return Ok((503, Vec::new()));
                }
                let serving = self.serving.as_ref().unwrap();
                serving.answer(&self.world.keys, database, body).unwrap().encode()
            }
            route => panic!("a subscriber has no business with {route:?}"),
        };
        Ok((200, found))
    }

    fn binding(&self) -> Vec<u8> {
        Vec::new()
    }

    fn rest(&mut self) {
        self.at_rest += 1;
    }
}

#[test]
fn what_is_asked_for_does_not_tell_when_somebody_was_here_last() {
    let mut operator = Operator::new(1);
    let (mut early, mut late) = (Seen::default(), Seen::default());
    operator.publish(0);
    assert!(operator.head(&mut early).is_ok());
    operator.publish(1);
    operator.time += HOUR;
    assert!(operator.head(&mut late).is_ok());
    operator.publish(2);
    operator.time += HOUR;
    let mut views = Vec::new();
    for mut seen in [Seen::default(), early, late] {
        operator.asked.clear();
        assert_eq!(operator.head(&mut seen).unwrap().head().epoch.number, 2);
        assert_eq!(seen.tree_head.map(|tree_head| tree_head.size), Some(4));
        views.push(operator.asked.clone());
    }
    assert!(views.iter().all(|view| view == &views[0]), "{views:#?}");
}

#[test]
fn catches_a_head_for_each_subscriber_in_one_log() {
    let mut operator = Operator::new(2);
    let one = operator.publish(0);
    assert_eq!(operator.head(&mut Seen::default()).unwrap(), one);
    // Another K for somebody else. Both are in the log, which goes on as it should.
    let (other, _) = operator.make(operator.world.epoch(0));
    operator.log(&other);
    let evidence = operator.caught();
    assert_eq!(evidence.kind(), "two-logged");
    // It does not matter which of them is served.
    operator.served = vec![other.clone()];
    assert_eq!(operator.caught().kind(), "two-logged");
    let Evidence::TwoLogged { one, tree_head, leaves, .. } = evidence else { unreachable!() };
    let id = operator.world.keys.id();
    // The same head twice is no second one, nor is one that is not there.
    let same = Evidence::TwoLogged {
        one: one.clone(),
        other: one.clone(),
        tree_head,
        leaves: leaves.clone(),
    };
    assert!(matches!(same.verify(&id, &Aids::default()), Err(NotEvidence::ShowsNothing(_))));
    let (absent, _) = operator.make(operator.world.epoch(0));
    let other = Box::new(Entry::Head(Box::new(absent.head().clone())));
    let absent = Evidence::TwoLogged { one, other, tree_head, leaves };
    assert!(matches!(absent.verify(&id, &Aids::default()), Err(NotEvidence::ShowsNothing(_))));
}

#[test]
fn catches_epochs_of_one_time() {
    // Each group of subscribers has an epoch of its own, with a number of its own and a whole table of
    // right rows: no audit of rows notices.
    let mut operator = Operator::new(3);
    let one = operator.publish(0);
    let epoch = operator.world.epoch(0);
    let (other, _) = operator.make(Epoch { number: 1, ..epoch });
    operator.log(&other);
    operator.served.push(other.clone());
    assert_eq!(operator.caught().kind(), "two-logged");
    let both = |one: &SignedHead, other: &SignedHead| {
        let (one, other) = (Box::new(one.clone()), Box::new(other.clone()));
        Evidence::TwoHeads { one, other }
    };
    let id = operator.world.keys.id();
    assert!(both(&one, &other).verify(&id, &Aids::default()).is_ok());
    // One after the other is right, to the second.
    let (next, _) = operator.make(operator.world.epoch(1));
    let right = both(&one, &next).verify(&id, &Aids::default());
    assert!(matches!(right, Err(NotEvidence::ShowsNothing(_))), "{right:?}");
}

#[test]
fn catches_a_published_key_that_opens_nothing() {
    let mut operator = Operator::new(13);
    operator.publish(0);
    operator.publish(1);
    operator.time = BEGIN + 2 * HOUR - 10;
    let right = operator.keys[0].clone();
    operator.open(0, right);
    assert!(operator.head(&mut Seen::default()).is_ok());
    // To keep what convicts it back, an operator could publish another key.
    operator.open(0, EpochKey::from_bytes([4; 16]));
    assert_eq!(operator.caught().kind(), "two-logged");
}

#[test]
fn catches_a_table_that_ends_before_the_subscribers_row() {
    let mut operator = Operator::new(14);
    let mine = operator.world.subscription(299);
    let whole = operator.world.directory.clone();
    let rng = &mut SeededRandom::new([15; 32]);
    // Half of the rows: who does not ask is in the other half.
    operator.world.directory.truncate(150 * 32);
    let (head, _) = operator.make(operator.world.epoch(0));
    let cut = subscriber::fetch(&mut operator, &head, &mine, 1, rng);
    let Err(SubscriberError::Cheated(evidence)) = cut else { panic!("{cut:?}") };
    assert!(operator.asked.is_empty());
    let id = operator.world.keys.id();
    let read = Evidence::decode(&evidence.encode()).unwrap();
    assert!(read.verify(&id, &Aids::default()).unwrap().conclusive);
    assert!(evidence.names(&mine.receipt));
    // Nobody has that row if nobody was promised it, and whose row is there has nothing to show.
    let show = |head: &SignedHead, receipt| {
        let evidence = Evidence::NoRow { head: head.clone(), receipt };
        evidence.verify(&id, &Aids::default())
    };
    let early = Receipt::sign(&operator.world.keys, 299, mine.secret.public(), 1, BEGIN * 2);
    assert!(matches!(show(&head, early), Err(NotEvidence::ShowsNothing(_))));
    operator.world.directory = whole;
    let (head, _) = operator.make(operator.world.epoch(0));
    assert!(matches!(show(&head, mine.receipt), Err(NotEvidence::ShowsNothing(_))));
}

#[test]
fn uses_the_epoch_of_the_log_and_not_the_one_that_is_handed_out() {
    let mut operator = Operator::new(4);
    let first = operator.publish(0);
    let second = operator.publish(1);
    operator.time = BEGIN + HOUR + 10;
    // Both could be used for some minutes; which one, is not the operator's to say.
    assert_eq!(operator.head(&mut Seen::default()).unwrap(), second);
    operator.served = vec![first];
    let old = operator.head(&mut Seen::default());
    assert!(matches!(old, Err(SubscriberError::NoEpoch)), "{old:?}");
    // Nor one that others do not see.
    let (hidden, _) = operator.make(operator.world.epoch(1));
    operator.served = vec![hidden];
    let hidden = operator.head(&mut Seen::default());
    assert!(matches!(hidden, Err(SubscriberError::Log(LogError::NotIncluded))), "{hidden:?}");
}

#[test]
fn refuses_a_log_of_gaps_of_another_time_or_that_keeps_keys_back() {
    let mut operator = Operator::new(5);
    operator.publish(0);
    operator.publish(1);
    operator.time = BEGIN + 2 * HOUR - 10;
    // Epoch 0 has been over for an hour.
    let kept = operator.head(&mut Seen::default());
    assert!(matches!(kept, Err(SubscriberError::Log(LogError::Unopened))), "{kept:?}");
    operator.open(0, operator.keys[0].clone());
    assert!(operator.head(&mut Seen::default()).is_ok());
    // A state that was signed earlier hides what was logged since.
    let (id, now) = (operator.world.keys.id(), operator.time);
    let mut at = |now| {
        subscriber::head(&mut operator, &id, &mut Seen::default(), Which::Current, now).map(drop)
    };
    assert!(at(now - CLOCK_SKEW).is_ok());
    let old = at(now - CLOCK_SKEW - 1);
    assert!(matches!(old, Err(SubscriberError::Log(LogError::NotNow))), "{old:?}");
    // A number left out is a head that somebody else has.
    let epoch = operator.world.epoch(2);
    let (skipped, _) = operator.make(Epoch { number: 3, ..epoch });
    operator.log(&skipped);
    let gap = operator.head(&mut Seen::default());
    assert!(matches!(gap, Err(SubscriberError::Log(LogError::Disordered))), "{gap:?}");
}

#[test]
fn a_log_of_any_length_is_read_at_its_end() {
    let mut operator = Operator::new(6);
    let (head, _) = operator.make(operator.world.epoch(0));
    for epoch in 1_000..1_000 + 2 * RECENT {
        operator.open(epoch, EpochKey::from_bytes([2; 16]));
    }
    operator.log(&head);
    operator.served.push(head);
    assert!(operator.head(&mut Seen::default()).is_ok());
    let (leaves, size) = (operator.leaves(), operator.entries.len() as u64);
    assert_eq!(recent::range(size), size - RECENT..size);
    // Other entries than those of the log that was signed are not read.
    let entry = |at: u64| operator.entries[at as usize].encode();
    let read = |range: core::ops::Range<u64>| {
        let entries: Vec<_> = range.map(entry).collect();
        recent::Recent::decode(&recent::encode(&entries), &leaves).is_ok()
    };
    assert!(read(size - RECENT..size));
    assert!(!read(size - RECENT - 1..size));
    assert!(!read(size - RECENT - 1..size - 1));
    assert!(!read(size - RECENT + 1..size));
}

#[test]
fn a_forked_log_convicts_at_once() {
    let mut operator = Operator::new(7);
    operator.publish(0);
    let mut seen = Seen::default();
    assert!(operator.head(&mut seen).is_ok());
    let before = seen.clone();
    // Another history: the subscriber asks once, and need not ask again to have the proof.
    operator.entries.clear();
    operator.served.clear();
    operator.publish(0);
    operator.publish(1);
    let Err(SubscriberError::Cheated(evidence)) = operator.head(&mut seen) else { panic!("taken") };
    assert_eq!(evidence.kind(), "forked-log");
    assert!(evidence.verify(&operator.world.keys.id(), &Aids::default()).is_ok());
    assert_eq!(seen, before);
}

#[test]
fn refuses_matrices_of_the_operators_choice() {
    let mut operator = Operator::new(8);
    let (head, _) = operator.make(operator.world.epoch(0));
    let id = operator.world.keys.id();
    assert_eq!(head.check(&id, BEGIN, None, false), Ok(()));
    let changes: [fn(&mut Head); 2] =
        [|head| head.table.seed[0] ^= 1, |head| head.directory.seed[31] ^= 1];
    for change in changes {
        let mut chosen = head.head().clone();
        change(&mut chosen);
        let chosen = chosen.sign(&operator.world.keys);
        assert_eq!(chosen.check(&id, BEGIN, None, false), Err(HeadError::Insecure));
    }
}

#[test]
fn an_honest_operator_that_built_late_is_not_accused_of_hiding_the_head() {
    let mut operator = Operator::new(9);
    // The first epoch begins when its table is begun. Whoever asked for the log meanwhile has a state of
    // it that was signed in the epoch, and has not the head.
    let epoch = operator.world.epoch(0);
    operator.time = epoch.not_before + 60;
    let (early, leaves) = (operator.tree_head(), operator.leaves());
    let head = operator.publish(0);
    let id = operator.world.keys.id();
    let framed = Evidence::Unlogged { head: head.clone(), tree_head: early, leaves };
    let framed = framed.verify(&id, &Aids::default());
    assert!(matches!(framed, Err(NotEvidence::ShowsNothing(_))), "{framed:?}");
    // A head that is not there when its epoch is over never was.
    operator.entries.clear();
    operator.time = epoch.not_after + CLOCK_SKEW;
    let (tree_head, leaves) = (operator.tree_head(), operator.leaves());
    let hidden = Evidence::Unlogged { head, tree_head, leaves };
    assert!(hidden.verify(&id, &Aids::default()).is_ok());
}

#[test]
fn a_row_that_changed_hands_while_an_epoch_was_built_accuses_nobody() {
    let path = std::env::temp_dir().join(format!("slyfi-covert-{}.redb", std::process::id()));
    let rng = &mut SeededRandom::new([12; 32]);
    let mut store = Store::create(&path, 1, HOUR, rng).unwrap();
    let keys = store.keys().unwrap();
    let mut enrol = |store: &mut Store, now| {
        let invitation = store.invite(now, rng).unwrap();
        let secret = SecretKey::generate(rng);
        let request = Request::new(&secret, &keys.id(), &invitation, rng);
        store.enrol(&request, now, rng).unwrap()
    };
    let serve = |store: &Store, now| {
        let (epoch, directory) = (store.next_epoch(now).unwrap(), store.directory().unwrap());
        let secret = EpochSecret::derive(&epoch, EpochKey::from_bytes([3; 16]));
        let sink = Mutex::new(Vec::new());
        let tree = build_table(&keys, &secret, &directory, &sink, &Work::quiet()).unwrap();
        let (rows, schemes) = (sink.into_inner().unwrap(), Schemes::both(SchemeId::Lwe));
        let (keys, work) = (&keys, Work::quiet());
        let made = Serving::prepare(keys, &secret, &directory, &rows, &tree, schemes, &work);
        (made.unwrap().head().clone(), secret.key().clone(), directory)
    };
    let first = enrol(&mut store, BEGIN);
    let (head, key, _) = serve(&store, BEGIN);
    store.record_epoch(&head, &key).unwrap();
    // A year later his receipt has ended. The next epoch is being built when he leaves and another comes.
    let later = first.until + HOUR;
    let (head, key, directory) = serve(&store, later);
    store.revoke(0).unwrap();
    let second = enrol(&mut store, later);
    store.record_epoch(&head, &key).unwrap();
    let layout = head.head().directory_layout;
    let block = KeyBlock::prove(&layout, &directory, &layout.tree(&directory), 0);
    let block = Box::new(block);
    let framed = Evidence::WrongKey { head, receipt: second, block };
    let framed = framed.verify(&keys.id(), &Aids::default());
    assert!(matches!(framed, Err(NotEvidence::ShowsNothing(_))), "{framed:?}");
    // From the next one on the row is his, and the operator's word holds.
    let (head, _, directory) = serve(&store, later);
    assert_eq!(head.head().epoch.number, second.first_epoch);
    assert_eq!(directory, second.key.as_bytes());
    drop(store);
    std::fs::remove_file(&path).unwrap();
}

/// A subscriber of row 40 fetches and audits; every other row is wrong, also the neighbours of his.
fn fetch_among_wrong_rows(
    operator: &mut Operator,
) -> (Subscription, Result<slyfi_tracedge::audit::Conclusion, SubscriberError<Infallible>>) {
    let mine = operator.world.subscription(40);
    let (secret, other) = (operator.world.secret(0), operator.world.secret(0));
    let mut rows = operator.world.table(&other);
    rows[40 * 32..41 * 32].copy_from_slice(&secret.row(mine.secret.public()));
    operator.serving = Some(operator.serve(&secret, &rows));
    let head = operator.serving.as_ref().unwrap().head().clone();
    let mut rng = SeededRandom::new([77; 32]);
    let conclusion = subscriber::fetch(operator, &head, &mine, 1, &mut rng);
    (mine, conclusion)
}

#[test]
fn leaving_one_answer_out_does_not_save_who_signed_a_wrong_one() {
    for silent in 0..4 {
        let mut operator = Operator::new(10);
        operator.silent = Some(silent);
        let (_, conclusion) = fetch_among_wrong_rows(&mut operator);
        assert_eq!((operator.retrievals, operator.at_rest), (4, 1), "all are asked, then it rests");
        match conclusion {
            Ok(conclusion) => assert!(conclusion.convicts()),
            // Only without the own row, and so without K, can nothing be shown.
            Err(e) => assert!(matches!(e, SubscriberError::Status(503)), "{e:?}"),
        }
    }
    let convicted = (0..4).filter(|silent| {
        let mut operator = Operator::new(10);
        operator.silent = Some(*silent);
        fetch_among_wrong_rows(&mut operator).1.is_ok()
    });
    assert_eq!(convicted.count(), 3);
}

#[test]
fn evidence_that_names_the_subscriber_is_known_and_comes_last() {
    let mut operator = Operator::new(11);
    let (mine, conclusion) = fetch_among_wrong_rows(&mut operator);
    let conclusion = conclusion.unwrap();
    assert!(matches!(conclusion.own, OwnRow::Opened(_)));
    // One from the query for his own row, whose neighbours are wrong, and one from the audited row.
    let named: Vec<_> = conclusion.evidence.iter().map(|e| e.names(&mine.receipt)).collect();
    assert_eq!(named, [false, true]);
    let verify = |at: usize| {
        let hint = operator.serving.as_ref().unwrap();
        let aids =
            Aids { hint: hint.hint(slyfi_tracedge::answer::Database::Table), ..Aids::default() };
        conclusion.evidence[at].verify(&operator.world.keys.id(), &aids).is_ok()
    };
    assert!(verify(0) && verify(1));
    // The row it is about is a neighbour; the query that it holds is for his own.
    let stranger = operator.world.subscription(41);
    assert!(!conclusion.evidence[1].names(&stranger.receipt));
}
