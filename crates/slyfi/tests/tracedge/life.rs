//! From an invitation to a login and out again, between processes.

use std::fs;

use serde_json::Value;

use crate::world::{Serve, World, fails, json, ok};

#[test]
fn from_an_invitation_to_a_login_and_out_again() {
    let mut world = World::new("life", "hintless");
    let (ann, bob) = (world.subscribe("ann"), world.subscribe("bob"));
    let early = fails(6, &["fetch", "--dir", &ann]);
    assert!(early.contains("no epoch") && early.contains("try later"), "{early}");
    let unready = fails(6, &["prove", "--dir", &ann]);
    assert!(unready.contains("no key of this epoch; slyfi tracedge fetch"), "{unready}");

    let built = world.build();
    assert_eq!((&built["epoch"], &built["subscribed"]), (&0.into(), &2.into()));
    let fetched = json(&["fetch", "--dir", &ann, "--json"]);
    assert_eq!(fetched["epoch"], 0);
    assert!(fetched["rows_checked"].as_u64().unwrap() >= 2, "{fetched}");
    assert_eq!(json(&["prove", "--dir", &ann, "--json"])["epoch"], 0);
    let audited = json(&["audit", "--dir", &bob, "--audits", "3", "--json"]);
    assert!(audited["rows_checked"].as_u64().unwrap() >= 4, "{audited}");
    let status = json(&["status", "--dir", &ann, "--json"]);
    assert_eq!((&status["current"], &status["seen_epoch"]), (&0.into(), &0.into()));

    // Who comes now has to wait: the next epoch may be under way, so the receipt is from the one after.
    // Who leaves is out with the next epoch.
    let carol = world.subscribe("carol");
    let waits = fails(5, &["fetch", "--dir", &carol]);
    assert!(waits.contains("the subscription begins with epoch 2"), "{waits}");
    let none = fails(6, &["fetch", "--next", "--dir", &bob]);
    assert!(none.contains("has not built the next epoch"), "{none}");
    let row = status["row"].to_string();
    let revoked = ok(&["revoke", "--dir", &world.operator, &row]);
    assert!(revoked.contains("from epoch 1 on"), "{revoked}");
    fails(2, &["revoke", "--dir", &world.operator, &row]);
    assert_eq!(world.build()["epoch"], 1);
    let twice = fails(2, &["build", "--dir", &world.operator, "--json"]);
    assert!(twice.contains("epoch 1 is built"), "{twice}");
    for dir in [&bob, &carol] {
        assert_eq!(json(&["fetch", "--next", "--dir", dir, "--json"])["epoch"], 1);
    }
    let refused = fails(5, &["fetch", "--next", "--dir", &ann]);
    assert!(refused.contains("not subscribed in epoch 1"), "{refused}");

    // Killed at any moment, it serves the same again.
    let port = world.serve.port;
    world.serve.kill();
    fails(6, &["fetch", "--dir", &bob]);
    world.serve = Serve::start(&world.operator, port);
    ok(&["fetch", "--dir", &bob]);
    ok(&["prove", "--dir", &bob]);
}

#[test]
fn refuses_another_operators_certificate_and_id() {
    let world = World::new("pin", "lwe");
    let another = world.dir.path("another");
    ok(&["init", "--dir", &another, "--rows", "10"]);
    let (file, dir) = (world.invite("ann"), world.dir.path("ann"));
    let good: Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
    let mut wrong = good.clone();
    wrong["authority"] = fs::read_to_string(format!("{another}/authority.pem")).unwrap().into();
    let forged = world.dir.path("forged.invite");
    fs::write(&forged, wrong.to_string()).unwrap();
    let refused = fails(6, &["subscribe", &forged, "--dir", &dir]);
    assert!(refused.contains("does not prove that it is the operator"), "{refused}");
    let id = "0".repeat(64);
    let refused = fails(5, &["subscribe", &file, "--operator", &id, "--dir", &dir]);
    assert!(refused.contains("of another operator"), "{refused}");
    let id = good["operator"].as_str().unwrap();
    ok(&["subscribe", &file, "--operator", id, "--dir", &dir]);
    // It got its row once.
    let spent = fails(5, &["subscribe", &file, "--dir", &world.dir.path("bob")]);
    assert!(spent.contains("spent"), "{spent}");
    // A second directory cannot be made of the first.
    fails(2, &["subscribe", &file, "--dir", &dir]);
    fails(2, &["init", "--dir", &world.operator]);
}
