//! Rows, commitments, tables and logins against an independent implementation: `vectors/tracedge.py`
//! beside this file, Python's standard library only.

use std::sync::Mutex;

use serde_json::Value;
use slyfi_base::SecureRandom;
use slyfi_tracedge::epoch::{Epoch, EpochKey, EpochSecret};
use slyfi_tracedge::keys::{OperatorId, PublicKey, SecretKey};
use slyfi_tracedge::login::{ClientLogin, ServerLogin};
use slyfi_tracedge::pieces::Work;
use slyfi_tracedge::table;

fn vectors() -> Value {
    serde_json::from_str(include_str!("vectors/tracedge.json")).unwrap()
}

fn bytes(value: &Value) -> Vec<u8> {
    let text = value.as_str().unwrap();
    let digit = |at: usize| u8::from_str_radix(&text[at..at + 2], 16).unwrap();
    (0..text.len()).step_by(2).map(digit).collect()
}

fn array<const N: usize>(value: &Value) -> [u8; N] {
    bytes(value).try_into().unwrap()
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().unwrap().iter()
}

#[test]
fn rows_commitments_and_tables_are_the_references() {
    let vectors = vectors();
    assert_eq!(list(&vectors["epochs"]).count(), 4);
    for vector in list(&vectors["epochs"]) {
        let epoch = Epoch {
            operator: OperatorId(array(&vector["operator"])),
            number: vector["number"].as_u64().unwrap(),
            not_before: vector["not_before"].as_u64().unwrap(),
            not_after: vector["not_after"].as_u64().unwrap(),
        };
        let key = EpochKey::from_bytes(array(&vector["key"]));
        let secret = EpochSecret::derive(&epoch, key.clone());
        assert_eq!(secret.commitment(), &array(&vector["commitment"]));
        let publics: Vec<[u8; 32]> = list(&vector["publics"]).map(array).collect();
        for (i, public) in publics.iter().enumerate() {
            let row = array(&vector["rows"][i]);
            assert_eq!(secret.row(&PublicKey::decode(public).unwrap()), row);
            let owner = SecretKey::decode(&bytes(&vector["secrets"][i])).unwrap();
            assert_eq!(owner.public().as_bytes(), public);
            let opened = EpochSecret::open(&epoch, secret.commitment(), &row, &owner).unwrap();
            assert_eq!(opened.key(), &key);
            // The row of somebody else: another bit anywhere is another row.
            let other = list(&vector["rows"]).nth((i + 1) % publics.len()).map(array).unwrap();
            assert!(EpochSecret::open(&epoch, secret.commitment(), &other, &owner).is_err());
        }
        let order = list(&vector["order"]).map(|i| publics[i.as_u64().unwrap() as usize]);
        let directory = order.collect::<Vec<_>>().concat();
        let sink = Mutex::new(Vec::new());
        let vacant = PublicKey::decode(&publics[0]).unwrap();
        let tree = table::build(&secret, &directory, &vacant, &sink, &Work::quiet()).unwrap();
        assert_eq!(tree.root(), array(&vector["table_root"]));
    }
}

/// Gives one scalar, again and again: reduced modulo ℓ it is itself.
struct Fixed([u8; 32]);

impl SecureRandom for Fixed {
    fn fill(&mut self, out: &mut [u8]) {
        out.fill(0);
        out[..32].copy_from_slice(&self.0);
    }
}

#[test]
fn logins_are_the_references() {
    let vectors = vectors();
    assert_eq!(list(&vectors["logins"]).count(), 4);
    for vector in list(&vectors["logins"]) {
        let key = EpochKey::from_bytes(array(&vector["key"]));
        let binding = bytes(&vector["binding"]);
        let server = ServerLogin::begin(&mut Fixed(array(&vector["a"])));
        assert_eq!(server.share(), &array(&vector["x1"]));
        let b = &mut Fixed(array(&vector["b"]));
        let client = ClientLogin::begin(server.share(), 3, &key, b).unwrap();
        let message = *client.message();
        assert_eq!(message.share, array(&vector["x2"]));
        assert_eq!(message.proof, array(&vector["client_proof"]));
        let found = |epoch| (epoch == 3).then(|| key.clone());
        let (proof, keys) = server.finish(&message.encode(), found, &binding).unwrap();
        assert_eq!(proof, array(&vector["server_proof"]));
        assert_eq!(keys.server_to_client, array(&vector["server_to_client"]));
        assert_eq!(keys.client_to_server, array(&vector["client_to_server"]));
        assert_eq!(keys.msk[..], bytes(&vector["msk"])[..]);
        assert!(client.finish(&proof, &binding).unwrap() == keys);
    }
}
