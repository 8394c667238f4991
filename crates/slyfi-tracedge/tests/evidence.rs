//! Each kind of cheat over real retrieval, and its evidence as a stranger checks it: offline, with
//! nothing but the file and the operator's id.

mod common;

use std::sync::Mutex;

use common::{World, clients, round, server};
use slyfi_pir::SchemeId;
use slyfi_tracedge::answer::{Database, SignedAnswer};
use slyfi_tracedge::audit::{Audit, KeySum, OwnRow, WholeError};
use slyfi_tracedge::enrol::Receipt;
use slyfi_tracedge::epoch::{EpochKey, EpochSecret};
use slyfi_tracedge::evidence::{Aids, Evidence, NotEvidence, Verdict, WrongAnswer, WrongRow};
use slyfi_tracedge::head::{HeadError, SignedHead};
use slyfi_tracedge::keys::{OperatorId, SecretKey};
use slyfi_tracedge::log::{Entry, LogError, TreeHead};
use slyfi_tracedge::merkle::log;
use slyfi_tracedge::operator::{Schemes, Serving};
use slyfi_tracedge::pieces::Work;
use slyfi_tracedge::table;

const ROWS: u64 = 300;

fn serve(world: &World, secret: &EpochSecret, rows: &[u8], scheme: SchemeId) -> Serving {
    let tree = table::tree(rows);
    let (keys, schemes) = (&world.keys, Schemes::both(scheme));
    Serving::prepare(keys, secret, &world.directory, rows, &tree, schemes, &Work::quiet()).unwrap()
}

/// The head of an honest table.
fn committed(world: &World, secret: &EpochSecret) -> SignedHead {
    serve(world, secret, &world.table(secret), SchemeId::Lwe).head().clone()
}

/// Writes evidence to a file and reads it again, as a stranger does; it must not hold against
/// anybody else.
fn judge(
    evidence: &Evidence,
    operator: &OperatorId,
    aids: &Aids<'_>,
) -> Result<Verdict, NotEvidence> {
    let again = Evidence::decode(&evidence.encode()).unwrap();
    assert_eq!(again.encode(), evidence.encode());
    let stranger = OperatorId([1; 32]);
    assert_eq!(again.verify(&stranger, aids), Err(NotEvidence::AnotherOperator(*operator)));
    again.verify(operator, aids)
}

fn hint(serving: &Serving) -> Aids<'_> {
    Aids { hint: serving.hint(Database::Table), ..Aids::default() }
}

#[test]
fn a_subscriber_gets_k_and_finds_nothing_with_an_honest_operator() {
    for scheme in [SchemeId::Lwe, SchemeId::Hintless] {
        let world = &mut World::new(ROWS, 1);
        let secret = world.secret(5);
        let serving = serve(world, &secret, &world.table(&secret), scheme);
        let mine = world.subscription(123);
        let audit = Some(Audit { rows: 2, top: serving.top().clone() });
        let databases = clients(&serving);
        let conclusion =
            round(serving.head(), audit, &databases, &mine, &mut world.rng, |database, query| {
                serving.answer(&world.keys, database, query).unwrap()
            });
        let OwnRow::Opened(opened) = conclusion.own else { panic!("{:?}", conclusion.own) };
        assert_eq!(opened.key(), secret.key());
        assert!(conclusion.evidence.is_empty());
        assert!(conclusion.checked >= 3, "{}", conclusion.checked);
        // The head is what a subscriber reads from the wire.
        let head = SignedHead::decode(&serving.head().encode()).unwrap();
        assert_eq!(&head, serving.head());
    }
}

#[test]
fn a_wrong_row_that_an_audit_hits_is_proved_to_strangers() {
    for scheme in [SchemeId::Lwe, SchemeId::Hintless] {
        let world = &mut World::new(ROWS, 2);
        let (secret, other) = (world.secret(5), world.secret(5));
        let mut rows = world.table(&other);
        let mine = world.subscription(40);
        // Only his own row holds the K that is committed to.
        rows[40 * 32..41 * 32].copy_from_slice(&secret.row(mine.secret.public()));
        let serving = serve(world, &secret, &rows, scheme);
        let audit = Some(Audit { rows: 1, top: serving.top().clone() });
        let databases = clients(&serving);
        let conclusion =
            round(serving.head(), audit, &databases, &mine, &mut world.rng, |database, query| {
                serving.answer(&world.keys, database, query).unwrap()
            });
        assert!(matches!(conclusion.own, OwnRow::Opened(_)));
        let evidence = conclusion.evidence.first().expect("neighbours and random rows are wrong");
        let operator = world.keys.id();
        assert_eq!(evidence.kind(), "wrong-retrieval");
        assert_eq!(evidence.discloses(), Some(secret.epoch()));
        let verdict = judge(evidence, &operator, &hint(&serving)).unwrap();
        assert_eq!(verdict.epoch, Some(5));
        // With the table it is also sure that no decoding went wrong by accident.
        let aids = Aids { table: Some(&rows), ..hint(&serving) };
        assert!(judge(evidence, &operator, &aids).unwrap().conclusive);
        let another = world.table(&other);
        let aids = Aids { table: Some(&another), ..hint(&serving) };
        assert_eq!(judge(evidence, &operator, &aids), Err(NotEvidence::WrongAid("the table")));
        // A changed file proves nothing.
        let bytes = evidence.encode();
        let mut accepted = 0;
        for at in (0..bytes.len()).step_by(97) {
            let mut changed = bytes.clone();
            changed[at] ^= 4;
            let verdict = Evidence::decode(&changed).map(|e| e.verify(&operator, &hint(&serving)));
            accepted += usize::from(matches!(verdict, Ok(Ok(_))));
        }
        assert_eq!(accepted, 0);
    }
}

#[test]
fn selective_failure_is_proved_when_k_is_published() {
    let world = &mut World::new(ROWS, 3);
    let secret = world.secret(5);
    let mut rows = world.table(&secret);
    let victim = world.subscription(77);
    let stranger = SecretKey::generate(&mut world.rng);
    rows[77 * 32..78 * 32].copy_from_slice(&secret.row(stranger.public()));
    let serving = serve(world, &secret, &rows, SchemeId::Lwe);
    let audit = Some(Audit { rows: 1, top: serving.top().clone() });
    let databases = clients(&serving);
    let conclusion =
        round(serving.head(), audit, &databases, &victim, &mut world.rng, |database, query| {
            serving.answer(&world.keys, database, query).unwrap()
        });
    let OwnRow::Failed { pending: Some(pending), revoked: false, .. } = conclusion.own else {
        panic!("{:?}", conclusion.own)
    };
    // It waits on disk until the epoch is over.
    let stored = pending.encode_pending();
    let pending = slyfi_tracedge::evidence::WrongRetrieval::decode_pending(&stored).unwrap();
    let wrong_k = pending.clone().complete(EpochKey::from_bytes([0; 16]));
    assert!(judge(&wrong_k, &world.keys.id(), &hint(&serving)).is_err());
    let evidence = pending.complete(secret.key().clone());
    let verdict = judge(&evidence, &world.keys.id(), &hint(&serving)).unwrap();
    assert!(verdict.finding.contains("row 77"), "{verdict:?}");
}

#[test]
fn a_revoked_subscriber_is_told_so_and_accuses_nobody() {
    let world = &mut World::new(ROWS, 4);
    let victim = world.subscription(77);
    let vacant = *world.keys.vacant().public().as_bytes();
    world.directory[77 * 32..78 * 32].copy_from_slice(&vacant);
    let secret = world.secret(5);
    let serving = serve(world, &secret, &world.table(&secret), SchemeId::Lwe);
    let audit = Some(Audit { rows: 1, top: serving.top().clone() });
    let databases = clients(&serving);
    let conclusion =
        round(serving.head(), audit, &databases, &victim, &mut world.rng, |database, query| {
            serving.answer(&world.keys, database, query).unwrap()
        });
    assert!(conclusion.evidence.is_empty());
    assert!(matches!(conclusion.own, OwnRow::Failed { revoked: true, pending: None, .. }));
}

#[test]
fn a_whole_table_audit_proves_its_findings() {
    let world = &mut World::new(ROWS, 5);
    let secret = world.secret(5);
    let mut rows = world.table(&secret);
    let head = world.head(&secret, &rows).0;
    let sum = KeySum::new(&world.directory, &mut world.rng, &Work::quiet()).unwrap();
    assert_eq!(sum.check(&secret, &rows, &world.directory, &Work::quiet()), Ok(()));
    rows.copy_within(32..64, 211 * 32);
    let wrong = sum.check(&secret, &rows, &world.directory, &Work::quiet());
    assert_eq!(wrong, Err(WholeError::WrongRows(vec![211])));
    let serving = serve(world, &secret, &rows, SchemeId::Lwe);
    let proof = |head: &SignedHead, row: u64| {
        let wrong = WrongRow::prove(head, secret.key(), row, &rows, &world.directory);
        Evidence::WrongRow(Box::new(wrong.expect("the row is there")))
    };
    let none = WrongRow::prove(serving.head(), secret.key(), ROWS, &rows, &world.directory);
    assert!(none.is_none());
    let operator = world.keys.id();
    assert!(judge(&proof(serving.head(), 211), &operator, &Aids::default()).unwrap().conclusive);
    let right = judge(&proof(serving.head(), 210), &operator, &Aids::default());
    assert!(matches!(right, Err(NotEvidence::ShowsNothing(_))), "{right:?}");
    // The honest table's head does not commit to these rows.
    let head = proof(&head, 211).verify(&operator, &Aids::default());
    assert!(matches!(head, Err(NotEvidence::ShowsNothing(_))), "{head:?}");
}

#[test]
fn an_answer_from_another_table_is_proved_without_any_secret() {
    let world = &mut World::new(ROWS, 6);
    let secret = world.secret(5);
    let rows = world.table(&secret);
    let serving = serve(world, &secret, &rows, SchemeId::Lwe);
    let setup = serving.head().head().table;
    let mut garbled = rows.clone();
    garbled[..32].fill(7);
    let databases = clients(&serving);
    let query = databases.table.query(250, &mut world.rng).unwrap().bytes;
    let digest = serving.head().head().digest();
    let show = |answer: Vec<u8>| {
        let signed = SignedAnswer::sign(&world.keys, &digest, Database::Table, &query, answer);
        let (head, query) = (serving.head().clone(), query.clone());
        let wrong = WrongAnswer { head, database: Database::Table, query, signed };
        Evidence::WrongAnswer(Box::new(wrong))
    };
    let right = show(serving.answer(&world.keys, Database::Table, &query).unwrap().answer);
    let wrong = show(server(&setup, &garbled).answer(&query).unwrap());
    let aids = Aids { table: Some(&rows), ..hint(&serving) };
    let operator = world.keys.id();
    assert!(judge(&wrong, &operator, &aids).unwrap().conclusive);
    assert!(matches!(judge(&right, &operator, &aids), Err(NotEvidence::ShowsNothing(_))));
    assert!(matches!(judge(&wrong, &operator, &Aids::default()), Err(NotEvidence::Needs(_))));
}

#[test]
fn a_hint_of_another_table_is_proved() {
    let world = &mut World::new(ROWS, 7);
    let secret = world.secret(5);
    let rows = world.table(&secret);
    let honest = serve(world, &secret, &rows, SchemeId::Lwe);
    let other = world.secret(5);
    let mut head = honest.head().head().clone();
    head.table = serve(world, &other, &world.table(&other), SchemeId::Lwe).head().head().table;
    let wrong = Evidence::WrongSetup { head: head.sign(&world.keys), database: Database::Table };
    let right = Evidence::WrongSetup { head: honest.head().clone(), database: Database::Table };
    let aids = Aids { table: Some(&rows), ..Aids::default() };
    assert!(judge(&wrong, &world.keys.id(), &aids).is_ok());
    assert!(judge(&right, &world.keys.id(), &aids).is_err());
}

#[test]
fn another_key_in_the_victims_place_is_proved_by_the_receipt() {
    let world = &mut World::new(ROWS, 8);
    let victim = world.subscription(60);
    let thief = SecretKey::generate(&mut world.rng);
    world.directory[60 * 32..61 * 32].copy_from_slice(thief.public().as_bytes());
    let secret = world.secret(5);
    let serving = serve(world, &secret, &world.table(&secret), SchemeId::Lwe);
    let audit = Some(Audit { rows: 1, top: serving.top().clone() });
    let databases = clients(&serving);
    let conclusion =
        round(serving.head(), audit, &databases, &victim, &mut world.rng, |database, query| {
            serving.answer(&world.keys, database, query).unwrap()
        });
    assert!(matches!(conclusion.own, OwnRow::Failed { revoked: false, .. }));
    let [evidence] = &conclusion.evidence[..] else { panic!("{:?}", conclusion.evidence) };
    let operator = world.keys.id();
    assert_eq!(evidence.kind(), "wrong-key");
    assert!(judge(evidence, &operator, &Aids::default()).unwrap().conclusive);
    // A receipt that had ended proves nothing: the row was free to be given away.
    let Evidence::WrongKey { head, block, .. } = evidence.clone() else { unreachable!() };
    let receipt = Receipt::sign(&world.keys, 60, victim.secret.public(), 0, common::BEGIN);
    let ended = Evidence::WrongKey { head, receipt, block };
    assert!(judge(&ended, &operator, &Aids::default()).is_err());
}

#[test]
fn a_log_that_forks_hides_or_lies_is_proved() {
    let world = &mut World::new(ROWS, 9);
    let operator = world.keys.id();
    let secrets: Vec<_> = (0..4).map(|i| world.secret(i)).collect();
    let heads: Vec<_> = secrets.iter().map(|s| committed(world, s).head().clone()).collect();
    let leaves: Vec<_> =
        heads.iter().map(|head| Entry::Head(Box::new(head.clone())).leaf()).collect();
    // When epochs 0 and 1 are over, however far clocks may be apart.
    let at = |n: usize| TreeHead::sign(&world.keys, &leaves[..n], common::BEGIN + 7_500);
    // An honest log goes on.
    let (old, new) = (at(2), at(4));
    assert_eq!(new.check_after(&old, &log::consistency(&leaves, 2)), Ok(()));
    assert_eq!(new.check_includes(&heads[3], 3, &log::inclusion(&leaves, 3)), Ok(()));
    assert_eq!(old.check_after(&new, &[]), Err(LogError::OlderThanSeen));
    let same = |small, large| Evidence::ForkedLog { small, large, leaves: leaves.clone() };
    assert!(judge(&same(old, new), &operator, &Aids::default()).is_err());
    // Another history for somebody else.
    let mut rewritten = leaves.clone();
    rewritten.swap(0, 1);
    let fork = TreeHead::sign(&world.keys, &rewritten[..2], common::BEGIN + 7_200);
    let proof = log::consistency(&leaves, 2);
    assert_eq!(new.check_after(&fork, &proof), Err(LogError::NotExtended));
    let evidence = same(fork, new);
    assert!(judge(&evidence, &operator, &Aids::default()).unwrap().conclusive);
    // A head that never was in it.
    let hidden = world.secret(1);
    let hidden = committed(world, &hidden);
    let unlogged = |head| Evidence::Unlogged { head, tree_head: new, leaves: leaves.clone() };
    assert!(judge(&unlogged(hidden), &operator, &Aids::default()).is_ok());
    let logged = heads[1].clone().sign(&world.keys);
    assert!(judge(&unlogged(logged), &operator, &Aids::default()).is_err());
    // An opening that opens nothing.
    let opening = |key: &EpochKey| {
        let entry = Entry::Opening { epoch: 2, key: key.clone() };
        assert_eq!(Entry::decode(&entry.encode()), Ok(entry.clone()));
        let leaves = [leaves.clone(), vec![entry.leaf()]].concat();
        Evidence::WrongOpening {
            head: heads[2].clone().sign(&world.keys),
            tree_head: TreeHead::sign(&world.keys, &leaves, common::BEGIN + 10_000),
            index: 4,
            key: key.clone(),
            proof: log::inclusion(&leaves, 4),
        }
    };
    let lie = opening(&EpochKey::from_bytes([9; 16]));
    assert!(judge(&lie, &operator, &Aids::default()).unwrap().conclusive);
    assert!(judge(&opening(secrets[2].key()), &operator, &Aids::default()).is_err());
}

#[test]
fn an_old_epoch_is_refused_and_so_is_one_that_was_overtaken() {
    let world = &mut World::new(ROWS, 10);
    let secret = world.secret(5);
    let serving = serve(world, &secret, &world.table(&secret), SchemeId::Lwe);
    let (head, operator) = (serving.head(), world.keys.id());
    let epoch = *secret.epoch();
    let now = epoch.not_before + 10;
    assert_eq!(head.check(&operator, now, Some(5), false), Ok(()));
    assert_eq!(head.check(&operator, epoch.not_after + 299, None, false), Ok(()));
    assert_eq!(head.check(&operator, epoch.not_after + 300, None, false), Err(HeadError::Over));
    assert_eq!(head.check(&operator, now, Some(6), false), Err(HeadError::OlderThanSeen));
    assert_eq!(head.check(&operator, now - 1_000, None, false), Err(HeadError::NotYet));
    assert_eq!(head.check(&operator, now - 1_000, None, true), Ok(()));
    assert_eq!(head.check(&OperatorId([2; 32]), now, None, false), Err(HeadError::NotSigned));
}

#[test]
fn a_restarted_server_serves_what_it_had_committed_to_and_nothing_else() {
    let world = &mut World::new(ROWS, 11);
    let secret = world.secret(5);
    let sink = Mutex::new(Vec::new());
    let tree = slyfi_tracedge::operator::build_table(
        &world.keys,
        &secret,
        &world.directory,
        &sink,
        &Work::quiet(),
    )
    .unwrap();
    let rows = sink.into_inner().unwrap();
    assert_eq!(tree, table::tree(&rows));
    let serving = serve(world, &secret, &rows, SchemeId::Lwe);
    let head = serving.head().clone();
    let again = Serving::resume(head.clone(), &world.directory, &rows, &Work::quiet()).unwrap();
    let query = clients(&serving).table.query(3, &mut world.rng).unwrap().bytes;
    assert_eq!(
        again.answer(&world.keys, Database::Table, &query).unwrap(),
        serving.answer(&world.keys, Database::Table, &query).unwrap()
    );
    let mut damaged = rows.clone();
    damaged[1_000] ^= 1;
    assert!(Serving::resume(head.clone(), &world.directory, &damaged, &Work::quiet()).is_err());
    let other = World::new(ROWS, 12).directory;
    assert!(Serving::resume(head, &other, &rows, &Work::quiet()).is_err());
}
