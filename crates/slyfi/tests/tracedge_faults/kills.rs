//! `kill -9` at every step: what comes back is whole.

use std::fs;
use std::num::NonZeroUsize;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use slyfi_tracedge::files::EpochFiles;
use slyfi_tracedge::log::{self, Entry};
use slyfi_tracedge::pieces::Work;
use slyfi_tracedge::service::Service;
use slyfi_tracedge::service::store::Store;

use crate::system_calls::{self, Call};
use crate::world::{Serve, TempDir, World, json, ok, tracedge};
use crate::{full, skip};

pub fn now_s() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs()
}

/// Copies what is in an operator's directory.
pub fn copy(from: &Path, to: &Path) {
    let _ = fs::remove_dir_all(to);
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        if entry.file_type().unwrap().is_file() {
            fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
        }
    }
}

/// Opens what a killed operator left, as a restart does. Returns the keys of its epochs.
pub fn examine(dir: &Path) -> Vec<[u8; 16]> {
    let store = Store::open(&dir.join("operator.redb")).unwrap();
    let epochs = store.epochs().unwrap();
    let heads = store.leaves().unwrap().len();
    assert_eq!(heads, epochs.len(), "the log has the epochs and nothing else");
    for (number, recorded) in epochs.iter().enumerate() {
        let head = recorded.head.head();
        assert_eq!(head.epoch.number, number as u64);
        assert!(log::opens(&head.epoch, &head.commitment, &recorded.key), "another K");
        let entry = store.log_entry(recorded.entry).unwrap().unwrap();
        assert_eq!(Entry::decode(&entry), Ok(Entry::Head(Box::new(head.clone()))));
    }
    assert_eq!(store.subscribed().unwrap(), 1);
    let service = Service::new(store, NonZeroUsize::MIN).unwrap();
    let failed = service.resume(&EpochFiles::new(dir), now_s(), &Work::quiet()).unwrap();
    assert!(failed.is_empty(), "tables are whole: {failed:?}");
    epochs.iter().map(|recorded| *recorded.key.as_bytes()).collect()
}

/// An operator with one subscriber and one epoch, that does not run; the subscriber's directory.
pub fn stopped_operator(name: &str) -> (TempDir, String, String) {
    let mut world = World::new(name, "lwe");
    let ann = world.subscribe("ann");
    world.build();
    ok(&["fetch", "--dir", &ann]);
    world.serve.kill();
    let World { dir, operator, .. } = world;
    (dir, operator, ann)
}

/// Of many cases those there is time for: all that order what is on the disk, every third of the rest.
pub fn some(calls: Vec<Call>) -> Vec<Call> {
    let orders = |call: &Call| ["fsync", "fdatasync", "rename"].contains(&call.name.as_str());
    let every = |(n, call): &(usize, Call)| full() || orders(call) || n % 3 == 0;
    calls.into_iter().enumerate().filter(every).map(|(_, call)| call).collect()
}

#[test]
fn killed_at_any_change_of_the_disk_a_build_leaves_the_old_or_the_new_epoch() {
    if !system_calls::available() {
        return skip("strace is not there, or may not trace");
    }
    let (dir, base, ann) = stopped_operator("kills");
    let (victim, log) = (dir.path("victim"), dir.path("strace"));
    let (victim_path, log, base) = (Path::new(&victim), Path::new(&log), Path::new(&base));
    let build = ["build", "--dir", &victim, "--json"];
    // Opening it mends what the kill left, so that all copies begin alike.
    let before = examine(base);
    copy(base, victim_path);
    let (lines, calls) = system_calls::calls(log, &victim, &build);
    let after = examine(victim_path);
    assert_eq!((before.len(), after.len(), after[0]), (1, 2, before[0]));
    let names = ["write", "pwrite64", "fsync", "fdatasync", "rename"];
    assert!(names.iter().all(|name| calls.iter().any(|call| call.name == *name)), "{calls:?}");
    ordered(&lines, &victim);
    let (mut old, mut new) = (0, 0);
    let mut keys = vec![after[1]];
    for (n, call) in some(calls).iter().enumerate() {
        copy(base, victim_path);
        let out = system_calls::killed_at(call, log, &build);
        assert!(!out.status.success(), "{call:?} was not reached");
        let found = examine(victim_path);
        assert_eq!(found[0], before[0], "{call:?}");
        *(if found.len() == 1 { &mut old } else { &mut new }) += 1;
        if let Some(key) = found.get(1) {
            assert!(!keys.contains(key), "a K was used twice");
            keys.push(*key);
        } else if n % 4 == 0 {
            // The next build succeeds whatever lies about, and takes it away.
            assert_eq!(json(&build)["epoch"], 1, "{call:?}");
            let found = examine(victim_path);
            assert!(found.len() == 2 && !keys.contains(&found[1]), "{call:?}");
            keys.push(found[1]);
            let names = fs::read_dir(victim_path).unwrap().map(|e| e.unwrap().file_name());
            let left: Vec<_> = names.filter(|n| n.to_string_lossy().ends_with(".new")).collect();
            assert!(left.is_empty(), "{call:?}: {left:?}");
        }
    }
    assert!(old > 0 && new > 0, "{old} {new}");
    // The subscriber has his row in what was left last.
    let port = url_port(&ann);
    let _serve = Serve::start(&victim, port);
    ok(&["fetch", "--dir", &ann]);
    ok(&["prove", "--dir", &ann]);
}

/// That each thing is safe before what relies on it: no kill shows this, a cut of the power would.
fn ordered(lines: &[String], dir: &str) {
    let first = |parts: &[&str]| {
        let all = |line: &&String| parts.iter().all(|part| line.contains(part));
        let at = lines.iter().position(|line| all(&line));
        at.unwrap_or_else(|| panic!("no {parts:?} in:\n{}", lines.join("\n")))
    };
    let last = |parts: &[&str]| {
        lines.iter().rposition(|line| parts.iter().all(|part| line.contains(part))).unwrap()
    };
    let dir_synced = |after: usize| {
        let synced = |line: &String| line.contains("fsync(") && line.contains(&format!("<{dir}>"));
        after + lines[after..].iter().position(synced).expect("the directory is synced")
    };
    let mut safe = 0;
    for file in ["000000000001.keys", "000000000001.table"] {
        let new = format!("{file}.new");
        let written = last(&["write", &new]);
        let synced = first(&["fsync(", &new]);
        let renamed = first(&["rename(", &new]);
        assert!(written < synced && synced < renamed, "{file}: {written} {synced} {renamed}");
        safe = dir_synced(renamed).max(safe);
    }
    // The record of the epoch is the last thing that the store writes before it is closed.
    let recorded = last(&["fdatasync(", "operator.redb"]);
    assert!(safe < recorded, "{safe} {recorded}");
}

fn url_port(subscriber: &str) -> u16 {
    let state = fs::read(format!("{subscriber}/subscription.json")).unwrap();
    let state: serde_json::Value = serde_json::from_slice(&state).unwrap();
    state["url"].as_str().unwrap().rsplit_once(':').unwrap().1.parse().unwrap()
}

#[test]
fn killed_while_it_answers_and_while_it_switches_epochs_it_comes_back() {
    let mut world = World::new("answering", "lwe");
    let ann = world.subscribe("ann");
    world.build();
    ok(&["fetch", "--dir", &ann]);
    let port = world.serve.port;
    let (mut cut, mut through) = (0, 0);
    for round in 0..if full() { 40 } else { 6 } {
        let spawn = |args: &[&str]| {
            let mut command = Command::new(env!("CARGO_BIN_EXE_slyfi"));
            command.arg("tracedge").args(args).stdout(Stdio::null()).stderr(Stdio::piped());
            command.spawn().unwrap()
        };
        let fetch = spawn(&["fetch", "--dir", &ann, "--audits", "4"]);
        let build = spawn(&["build", "--dir", &world.operator]);
        std::thread::sleep(Duration::from_millis(40 * round));
        world.serve.kill();
        let (fetch, build) = (fetch.wait_with_output().unwrap(), build.wait_with_output().unwrap());
        *(if fetch.status.success() { &mut through } else { &mut cut }) += 1;
        for out in [fetch, build] {
            let err = String::from_utf8_lossy(&out.stderr).into_owned();
            let one = err.lines().count() == 1 && err.starts_with("slyfi: error: ");
            assert!(out.status.success() || one, "{err}");
        }
        world.serve = Serve::start(&world.operator, port);
        // The same row, the same log, and an epoch that is whole.
        ok(&["fetch", "--dir", &ann]);
        ok(&["prove", "--dir", &ann]);
    }
    assert!(cut + through >= 6 && cut > 0, "{cut} {through}");
    let status = json(&["status", "--dir", &ann, "--json"]);
    assert_eq!(status["current"], 0);
}

#[test]
fn an_operator_who_was_killed_while_beginning_begins_again() {
    if !system_calls::available() {
        return skip("strace is not there, or may not trace");
    }
    let dir = TempDir::new("beginning");
    let log = dir.path("strace");
    let log = Path::new(&log);
    let init = |name: &str| {
        let args = ["init", "--dir", &dir.path(name), "--rows", "20"].map(str::to_owned);
        args.to_vec()
    };
    let whole = init("whole");
    let whole: Vec<&str> = whole.iter().map(String::as_str).collect();
    let (_, calls) = system_calls::calls(log, &dir.path("whole"), &whole);
    for (n, call) in some(calls).iter().enumerate() {
        let (name, args) = (dir.path(&n.to_string()), init(&n.to_string()));
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        assert!(!system_calls::killed_at(call, log, &args).status.success(), "{call:?}");
        let again = tracedge(&args);
        let err = String::from_utf8_lossy(&again.stderr).into_owned();
        assert!(again.status.success() || err.contains("there is an operator"), "{call:?}: {err}");
        // Either way it is one with which all else works.
        let invited = ok(&["enrol", "--dir", &name]);
        assert!(invited.contains("\"invitation\""), "{call:?}: {invited}");
    }
}

#[test]
fn a_subscriber_who_was_killed_while_subscribing_has_one_row() {
    if !system_calls::available() {
        return skip("strace is not there, or may not trace");
    }
    let world = World::new("subscribing", "lwe");
    let log = world.dir.path("strace");
    let log = Path::new(&log);
    let dir = world.dir.path("first");
    let (_, calls) =
        system_calls::calls(log, &dir, &["subscribe", &world.invite("first"), "--dir", &dir]);
    assert!(calls.len() > 3, "{calls:?}");
    for (n, call) in calls.iter().enumerate() {
        let (invite, dir) = (world.invite(&format!("{n}")), world.dir.path(&format!("{n}")));
        let args = ["subscribe", &invite, "--dir", &dir, "--json"];
        let out = system_calls::killed_at(call, log, &args);
        assert!(!out.status.success(), "{call:?} was not reached");
        // He asks again, with the same invitation, in the same directory.
        let again = tracedge(&args);
        let has = Path::new(&dir).join("subscription.json").exists();
        let err = String::from_utf8_lossy(&again.stderr).into_owned();
        assert!(has, "{call:?}: {err}");
        assert!(again.status.success() || err.contains("has a subscription already"), "{err}");
    }
    let built = world.build();
    assert_eq!(built["subscribed"], calls.len() as u64 + 1, "a row each, and no more");
}
