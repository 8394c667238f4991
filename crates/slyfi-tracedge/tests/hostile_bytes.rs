//! Nothing that comes from outside panics, whatever it is: random bytes, and real encodings with a few
//! bytes changed.

mod common;

use common::World;
use proptest::prelude::*;
use slyfi_tracedge::answer::SignedAnswer;
use slyfi_tracedge::enrol::{Receipt, Request};
use slyfi_tracedge::evidence::{Aids, Evidence, WrongRetrieval};
use slyfi_tracedge::head::{Head, SignedHead};
use slyfi_tracedge::keys::{OperatorKeys, Possession, PublicKey, SecretKey};
use slyfi_tracedge::log::{Entry, TreeHead};
use slyfi_tracedge::login::ClientProof;
use slyfi_tracedge::operator::{Schemes, Serving};
use slyfi_tracedge::pieces::Work;
use slyfi_tracedge::{SchemeId, table};

/// Gives `bytes` to everything that reads; returns how many took them.
fn read_all(bytes: &[u8], operator: &OperatorKeys) -> usize {
    let id = operator.id();
    let key: [u8; 32] = core::array::from_fn(|i| bytes.get(i).copied().unwrap_or(0));
    [
        Head::decode(bytes).is_ok(),
        SignedHead::decode(bytes).is_ok(),
        TreeHead::decode(bytes).is_ok(),
        Entry::decode(bytes).is_ok(),
        Receipt::decode(bytes).is_ok(),
        Request::decode(bytes, &id).is_ok(),
        ClientProof::decode(bytes).is_ok(),
        SecretKey::decode(bytes).is_ok(),
        OperatorKeys::decode(bytes).is_ok(),
        WrongRetrieval::decode_pending(bytes).is_ok(),
        SignedAnswer::decode(bytes).is_ok_and(|a| a.encode() == bytes),
        Evidence::decode(bytes).is_ok_and(|e| e.verify(&id, &Aids::default()).is_ok()),
        PublicKey::decode(&key)
            .is_ok_and(|key| Possession::from_bytes([0; 64]).verify(&key, &id, &[0; 16])),
    ]
    .into_iter()
    .filter(|took| *took)
    .count()
}

/// One real encoding of each kind.
fn real() -> (OperatorKeys, Vec<Vec<u8>>) {
    let world = &mut World::new(120, 20);
    let (one, other) = (world.secret(5), world.secret(5));
    let rows = world.table(&one);
    let serve = |secret| {
        let (tree, schemes) = (table::tree(&rows), Schemes::both(SchemeId::Lwe));
        let (keys, work) = (&world.keys, Work::quiet());
        Serving::prepare(keys, secret, &world.directory, &rows, &tree, schemes, &work).unwrap()
    };
    let (one, other) = (serve(&one).head().clone(), serve(&other).head().clone());
    let entry = Entry::Head(Box::new(one.head().clone()));
    let leaves = vec![entry.leaf()];
    let tree_head = TreeHead::sign(&world.keys, &leaves, 7);
    let fork = TreeHead::sign(&world.keys, &[[1; 32]], 8);
    let forked = Evidence::ForkedLog { small: fork, large: tree_head, leaves: leaves.clone() };
    let mine = world.subscription(3);
    let request = Request::new(&mine.secret, &world.keys.id(), &[4; 16], &mut world.rng);
    let heads = Evidence::TwoHeads { one: Box::new(one.clone()), other: Box::new(other) };
    let encodings = vec![
        one.encode(),
        tree_head.encode(),
        entry.encode(),
        mine.receipt.encode(),
        request.encode(),
        forked.encode(),
        heads.encode(),
    ];
    let keys = OperatorKeys::decode(&*world.keys.encode()).unwrap();
    (keys, encodings)
}

#[test]
fn what_is_real_is_taken_and_what_was_changed_is_not() {
    let (operator, encodings) = real();
    for bytes in &encodings {
        assert!(read_all(bytes, &operator) >= 1);
        for at in (0..bytes.len()).step_by(13) {
            let mut changed = bytes.clone();
            changed[at] ^= 0x10;
            // An entry of the log is not signed by itself, and any bytes may be an answer.
            let unsigned = Entry::decode(&changed).is_ok() || bytes.len() == Head::LEN + 1;
            let took = read_all(&changed, &operator);
            assert!(unsigned || took <= 1, "byte {at} of {} bytes: {took}", bytes.len());
        }
        for len in 0..bytes.len().min(400) {
            let _ = read_all(&bytes[..len], &operator);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn random_bytes_panic_nowhere(bytes in proptest::collection::vec(any::<u8>(), 0..800)) {
        let operator = OperatorKeys::generate(&mut slyfi_tracedge::random::SeededRandom::new([1; 32]));
        let _ = read_all(&bytes, &operator);
    }

    #[test]
    fn evidence_of_random_content_panics_nowhere(
        kind in 0u8..12,
        bytes in proptest::collection::vec(any::<u8>(), 0..2_000),
    ) {
        let operator = OperatorKeys::generate(&mut slyfi_tracedge::random::SeededRandom::new([1; 32]));
        let file = [&b"TEevid1\0"[..], &[kind], &bytes].concat();
        prop_assert!(Evidence::decode(&file).is_err());
        let _ = read_all(&file, &operator);
    }
}
