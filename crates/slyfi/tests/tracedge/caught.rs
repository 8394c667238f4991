//! Operators that cheat, over HTTPS, and what subscribers make of it: exit codes, files of evidence, and
//! a judge without a network.

use std::fs;

use serde_json::Value;
use slyfi_linux::OsRandom;
use slyfi_tracedge::answer::{Database, SignedAnswer};
use slyfi_tracedge::epoch::{EpochKey, EpochSecret};
use slyfi_tracedge::keys::SecretKey;
use slyfi_tracedge::service::api::{Response, Route};
use slyfi_tracedge::{Preparation, SchemeId, registry};

use crate::cheat::Operator;
use crate::world::{TempDir, fails, json, json_with, ok, tracedge};

/// Sets its clock to when the epoch is over, and publishes K.
fn end_epoch(operator: &Operator) {
    operator.set_ahead(3_600 + 400);
    operator.service().retire(operator.now()).unwrap();
}

/// What a message says about where the proof is: the command that judges it.
fn judge(message: &str) -> Vec<String> {
    let command = message.split("slyfi tracedge ").nth(1).unwrap();
    command.split_whitespace().map(str::to_owned).collect()
}

#[test]
fn who_answers_from_two_tables_is_caught_by_whoever_fetches_or_audits() {
    let operator = Operator::new("split");
    let id = operator.id();
    let ann = operator.subscribe("ann");
    let (secret, directory) = operator.next_epoch();
    let rows = operator.table(&secret, &directory);
    // The same subscribers, another K: who gets which of them is known by it.
    let other = EpochSecret::derive(secret.epoch(), EpochKey::generate(&mut OsRandom));
    let split = operator.table(&other, &directory);
    let serving = operator.serving(&secret, &directory, &rows, SchemeId::Hintless);
    let head = serving.head().head().clone();
    let setup = Database::Table.setup(&head);
    let how = Preparation::quiet(setup.seed);
    let second = registry::prepare(setup.scheme, setup.shape, setup.layout, &split, &how).unwrap();
    operator.service().publish(serving, secret.key().clone(), None).unwrap();
    // Every second query of the table is answered from the other one, and signed.
    let (asked, digest) = (Route::Retrieve { epoch: 0, database: Database::Table }, head.digest());
    let mut count = 0;
    operator.tamper(move |service, request, response| {
        if Route::parse(request.method, request.path) != Some(asked) {
            return response;
        }
        count += 1;
        if count % 2 == 0 {
            return response;
        }
        let answer = second.answer(request.body).unwrap();
        let keys = service.keys();
        let signed = SignedAnswer::sign(keys, &digest, Database::Table, request.body, answer);
        Response::ok(signed.encode())
    });
    // Whether his own row is among those depends on the order, which is drawn anew each time.
    let pending = format!("{ann}/pending-0.te");
    let mut caught = None;
    for n in 0..40 {
        let command = if n % 2 == 0 { "fetch" } else { "audit" };
        let message = fails(5, &[command, "--dir", &ann, "--audits", "4"]);
        if message.contains("the operator was caught cheating") {
            caught = Some(message);
        } else {
            assert!(message.contains("holds no key that fits"), "{message}");
            assert!(message.contains("slyfi tracedge complete"), "{message}");
        }
        if caught.is_some() && fs::exists(&pending).unwrap() {
            break;
        }
    }
    let caught = caught.expect("four audits, half of them wrong");
    // Too early: K is not published, and nothing is lost by asking.
    let early = fails(6, &["complete", "--dir", &ann]);
    assert!(early.contains("K of epoch 0 is not in the log"), "{early}");
    assert!(early.contains("try again in"), "{early}");
    end_epoch(&operator);
    let completed = fails(5, &["complete", "--dir", &ann]);
    assert!(completed.contains("the operator was caught cheating"), "{completed}");
    assert!(!fs::exists(&pending).unwrap());
    assert!(ok(&["complete", "--dir", &ann]).contains("nothing waits"));

    // The judge has the files, the id and no network.
    let table = operator.dir().path("table");
    fs::write(&table, &rows).unwrap();
    let kept = operator.close();
    for message in [&caught, &completed] {
        let command = judge(message);
        let words: Vec<_> = command.iter().map(String::as_str).collect();
        assert_eq!((words[0], words[3]), ("verify-evidence", id.as_str()), "{message}");
        // An accident of decoding is not ruled out: that is neither proved nor refuted.
        let verdict = json_with(8, &[&words[..], &["--json"]].concat());
        assert_eq!((&verdict["kind"], &verdict["epoch"]), (&"wrong-retrieval".into(), &0.into()));
        assert_eq!(verdict["conclusive"], false);
        let open = tracedge(&words);
        let (said, told) = (String::from_utf8(open.stdout).unwrap(), open.stderr);
        assert!(said.starts_with("not settled") && !said.contains("proved"), "{said}");
        let told = String::from_utf8(told).unwrap();
        assert!(told.contains("--table with the epoch's table settles it"), "{told}");
        assert!(ok(&[&words[..], &["--table", &table]].concat()).starts_with("proved"));
        let verdict = json(&[&words[..], &["--table", &table, "--json"]].concat());
        assert_eq!(verdict["conclusive"], true, "{verdict}");
        let stranger = "1".repeat(64);
        let wrong = fails(1, &["verify-evidence", words[1], "--operator", &stranger]);
        assert!(wrong.contains("about another operator"), "{wrong}");
    }
    drop(kept);
}

#[test]
fn a_row_that_fits_somebody_else_becomes_a_proof_when_k_is_published() {
    let operator = Operator::new("garbled");
    let (ann, bob) = (operator.subscribe("ann"), operator.subscribe("bob"));
    let (secret, directory) = operator.next_epoch();
    let mut rows = operator.table(&secret, &directory);
    let row = json(&["status", "--dir", &ann, "--json"])["row"].as_u64().unwrap() as usize;
    let stranger = SecretKey::generate(&mut OsRandom);
    rows[row * 32..(row + 1) * 32].copy_from_slice(&secret.row(stranger.public()));
    // With a hint, which is gone with the epoch.
    operator.publish(&secret, &directory, &rows, SchemeId::Lwe);
    // Honest towards the other: who is not the victim sees nothing, unless an audit hits the row.
    let other = tracedge(&["fetch", "--dir", &bob]);
    assert!(matches!(other.status.code(), Some(0 | 5)));
    operator.seen();
    let failed = fails(5, &["fetch", "--dir", &ann]);
    assert!(failed.contains("holds no key that fits"), "{failed}");
    // What was asked for is what everybody asks for: nothing tells that something was found.
    let (requests, _) = operator.seen();
    let hints = requests.iter().filter(|head| head.contains("/hint ")).count();
    assert_eq!(hints, 2, "{requests:?}");
    end_epoch(&operator);
    operator.seen();
    let completed = fails(5, &["complete", "--dir", &ann, "--json"]);
    let command = judge(&completed);
    // K comes with what everybody reads: no request tells that somebody looks for it.
    let (requests, _) = operator.seen();
    let asked: Vec<_> = requests.iter().filter_map(|head| head.split(' ').nth(1)).collect();
    assert_eq!(asked, ["/v1/log/head", "/v1/log/leaves", "/v1/log/recent/2", "/v1/epochs"]);
    assert!(command.contains(&"--hint".to_owned()), "{completed}");
    drop(operator.close());
}

#[test]
fn who_proves_an_epoch_long_past_is_told_what_that_tells() {
    let operator = Operator::new("past");
    let ann = operator.subscribe("ann");
    let (secret, directory) = operator.next_epoch();
    let other = EpochSecret::derive(secret.epoch(), EpochKey::generate(&mut OsRandom));
    let rows = operator.table(&other, &directory);
    operator.publish(&secret, &directory, &rows, SchemeId::Lwe);
    // Nothing to find with random rows but her own, which waits for K.
    while !fs::exists(format!("{ann}/pending-0.te")).unwrap() {
        fails(5, &["fetch", "--dir", &ann]);
    }
    // 32 epochs are 64 entries, the end of the log that everybody reads.
    for epochs in 1..=34 {
        operator.set_ahead(epochs * 4_100);
        operator.service().retire(operator.now()).unwrap();
        if epochs < 34 {
            operator.build(SchemeId::Lwe);
        }
    }
    operator.seen();
    let out = tracedge(&["complete", "--dir", &ann]);
    let told = String::from_utf8(out.stderr).unwrap();
    assert_eq!(out.status.code(), Some(5), "{told}");
    let (warning, error) = told.trim_end().split_once('\n').unwrap();
    assert!(warning.starts_with("slyfi: warning: K of epoch 0 is no longer among"), "{warning}");
    assert!(
        warning.contains("tells the operator") && warning.contains("did not open"),
        "{warning}"
    );
    assert!(error.contains("the operator was caught cheating"), "{error}");
    let (requests, _) = operator.seen();
    let entries = requests.iter().filter(|head| head.contains("/v1/log/entry/")).count();
    assert_eq!(entries, 4, "what is before the end, whole: {requests:?}");
}

#[test]
fn a_table_without_the_promised_row_is_proof_at_once() {
    let operator = Operator::new("norow");
    let id = operator.id();
    let row = |dir: &str| json(&["status", "--dir", dir, "--json"])["row"].as_u64().unwrap();
    // Rows are drawn: whoever has the last of them.
    let all = ["ann", "bob", "carol"].map(|name| operator.subscribe(name));
    let victim = all.iter().max_by_key(|dir| row(dir)).unwrap();
    let (secret, mut directory) = operator.next_epoch();
    directory.truncate(row(victim) as usize * 32);
    let rows = operator.table(&secret, &directory);
    operator.publish(&secret, &directory, &rows, SchemeId::Lwe);
    for command in ["fetch", "audit"] {
        let caught = fails(5, &[command, "--dir", victim]);
        let command = judge(&caught);
        let words: Vec<_> = command.iter().map(String::as_str).collect();
        assert_eq!((words[0], words[3]), ("verify-evidence", id.as_str()), "{caught}");
        assert!(words[1].ends_with("evidence-no-row-names-me.te"), "{caught}");
        let verdict = json(&[&words[..], &["--json"]].concat());
        assert_eq!((&verdict["kind"], &verdict["conclusive"]), (&"no-row".into(), &true.into()));
        fs::remove_file(words[1]).unwrap();
    }
}

#[test]
fn evidence_with_a_hint_is_judged_with_it_and_not_without() {
    let operator = Operator::new("hint");
    let id = operator.id();
    let ann = operator.subscribe("ann");
    let (secret, directory) = operator.next_epoch();
    let other = EpochSecret::derive(secret.epoch(), EpochKey::generate(&mut OsRandom));
    let mut rows = operator.table(&other, &directory);
    // Her own row is as it should be, and nobody else's.
    let row = json(&["status", "--dir", &ann, "--json"])["row"].as_u64().unwrap() as usize;
    let right = operator.table(&secret, &directory);
    rows[row * 32..(row + 1) * 32].copy_from_slice(&right[row * 32..(row + 1) * 32]);
    operator.publish(&secret, &directory, &rows, SchemeId::Lwe);
    let caught = fails(5, &["audit", "--dir", &ann, "--audits", "2"]);
    let command = judge(&caught);
    let words: Vec<_> = command.iter().map(String::as_str).collect();
    assert_eq!((words[3], words[4]), (id.as_str(), "--hint"), "{caught}");
    assert_eq!(json_with(8, &[&words[..], &["--json"]].concat())["kind"], "wrong-retrieval");
    let without = fails(8, &words[..4]);
    assert!(without.contains("cannot be checked without"), "{without}");
    assert!(without.contains("give --table, --keys or --hint"), "{without}");
    // Another file than the epoch's settles nothing either.
    let table = operator.dir().path("table");
    fs::write(&table, &right).unwrap();
    let other = fails(8, &[&words[..], &["--table", &table]].concat());
    assert!(other.contains("the table is not what the head commits to"), "{other}");
    fs::write(&table, &rows).unwrap();
    ok(&[&words[..], &["--table", &table]].concat());
    let cut = operator.dir().path("cut.te");
    fs::write(&cut, &fs::read(words[1]).unwrap()[..200]).unwrap();
    fails(2, &["verify-evidence", &cut, "--operator", &id]);
}

/// Lets a subscriber ask another operator from now on.
fn turn_to(subscriber: &str, operator: &Operator) {
    let path = format!("{subscriber}/subscription.json");
    let mut state: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    state["url"] = format!("https://127.0.0.1:{}", operator.port).into();
    let new = format!("{path}.new");
    fs::write(&new, state.to_string()).unwrap();
    fs::rename(new, path).unwrap();
}

#[test]
fn two_subscribers_compare_what_they_were_shown() {
    let operator = Operator::new("heads");
    let (ann, bob, carol) =
        (operator.subscribe("ann"), operator.subscribe("bob"), operator.subscribe("carol"));
    operator.build(SchemeId::Lwe);
    let file = operator.dir().path("ann.heads");
    let none = fails(6, &["heads", "--dir", &carol, "--export", &file]);
    assert!(none.contains("shown this subscriber nothing yet; slyfi tracedge fetch"), "{none}");
    for dir in [&ann, &bob] {
        ok(&["fetch", "--dir", dir]);
    }
    ok(&["heads", "--dir", &ann, "--export", &file]);
    let compare = |dir: &str| json(&["heads", "--dir", dir, "--compare", &file, "--json"]);
    // Of tree heads of one state only the times of signing differ.
    let same = compare(&bob);
    assert_eq!((&same["outcome"], &same["epochs_in_common"]), (&"equal".into(), &1.into()));
    // One has seen more.
    operator.build(SchemeId::Lwe);
    ok(&["fetch", "--next", "--dir", &bob]);
    let more = compare(&bob);
    assert_eq!(more["outcome"], "consistent");
    assert_eq!((&more["mine"], &more["theirs"]), (&2.into(), &1.into()));
    ok(&["heads", "--dir", &bob, "--export", &file]);
    let less = compare(&ann);
    assert_eq!(less["outcome"], "consistent");
    assert_eq!((&less["mine"], &less["theirs"]), (&1.into(), &2.into()));
    // The same log at two addresses is one that tells its subscribers apart.
    let good: Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
    for (name, other) in [("url", "https://127.0.0.2:1"), ("authority", "another")] {
        let mut changed = good.clone();
        changed[name] = other.into();
        fs::write(&file, changed.to_string()).unwrap();
        let told = fails(5, &["heads", "--dir", &ann, "--compare", &file]);
        assert!(told.contains("another address or authority"), "{told}");
        assert!(told.contains("ask the operator why"), "{told}");
    }
    fs::write(&file, good.to_string()).unwrap();
    assert_eq!(compare(&ann)["outcome"], "consistent");
    // What is no such file, or was changed, or is about somebody else.
    let mut changed = good.clone();
    let head = changed["tree_head"].as_str().unwrap().replace("0", "1");
    changed["tree_head"] = head.into();
    for wrong in [changed.to_string(), "{}".to_owned(), good.to_string()[..50].to_owned()] {
        fs::write(&file, wrong).unwrap();
        let refused = fails(2, &["heads", "--dir", &ann, "--compare", &file]);
        assert!(refused.contains("heads --export"), "{refused}");
    }
    let another = Operator::new("heads2");
    let dave = another.subscribe("dave");
    another.build(SchemeId::Lwe);
    ok(&["fetch", "--dir", &dave]);
    ok(&["heads", "--dir", &dave, "--export", &file]);
    let refused = fails(2, &["heads", "--dir", &ann, "--compare", &file]);
    assert!(refused.contains("about another operator"), "{refused}");
}

#[test]
fn an_operator_with_two_logs_is_caught_when_two_subscribers_compare() {
    let operator = Operator::new("fork");
    let (ann, bob) = (operator.subscribe("ann"), operator.subscribe("bob"));
    let (id, port) = (operator.id(), operator.port);
    let one = operator.close();
    let two = TempDir::new("fork2");
    fs::create_dir(two.path("operator")).unwrap();
    for entry in fs::read_dir(one.path("operator")).unwrap() {
        let name = entry.unwrap().file_name();
        let name = format!("operator/{}", name.to_str().unwrap());
        fs::copy(one.path(&name), two.path(&name)).unwrap();
    }
    let (first, second) = (Operator::run(one, port), Operator::run(two, 0));
    turn_to(&bob, &second);
    first.build(SchemeId::Lwe);
    second.build(SchemeId::Lwe);
    for dir in [&ann, &bob] {
        ok(&["fetch", "--dir", dir]);
    }
    let file = first.dir().path("ann.heads");
    ok(&["heads", "--dir", &ann, "--export", &file]);
    let verdict = |message: &str| {
        let command = judge(message);
        let words: Vec<_> = command.iter().map(String::as_str).collect();
        assert_eq!(words[3], id);
        json(&[&words[..], &["--json"]].concat())
    };
    let caught = fails(5, &["heads", "--dir", &bob, "--compare", &file]);
    assert!(caught.contains("the operator was caught cheating"), "{caught}");
    assert_eq!(verdict(&caught)["kind"], "two-heads");
    // Without the heads the logs tell: as long, and different; then one longer than the other.
    let mut shown: Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
    shown["heads"] = Value::Array(Vec::new());
    fs::write(&file, shown.to_string()).unwrap();
    for longer in [false, true] {
        if longer {
            second.build(SchemeId::Lwe);
            ok(&["fetch", "--next", "--dir", &bob]);
        }
        let caught = fails(5, &["heads", "--dir", &bob, "--compare", &file]);
        assert_eq!(verdict(&caught)["kind"], "forked-log", "{caught}");
    }
    // Who comes back to the other log is told at once, and has proof when that is as long.
    turn_to(&bob, &first);
    let caught = fails(5, &["fetch", "--dir", &bob]);
    assert!(caught.contains("log") || caught.contains("contradicts"), "{caught}");
    first.build(SchemeId::Lwe);
    let caught = fails(5, &["fetch", "--dir", &bob]);
    assert!(caught.contains("the operator contradicts itself"), "{caught}");
    assert_eq!(verdict(&caught)["kind"], "forked-log");
}
