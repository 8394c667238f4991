//! How much work an answer is must not depend on which row was asked for: instructions, counted.
//!
//! A clock would see less, and noise besides. The test runs itself under valgrind, with a query for a
//! given row, and compares the counts.

mod common;

use std::process::Command;

use common::service::{NOW, World};
use slyfi_base::SecureRandom;
use slyfi_tracedge::answer::Database;
use slyfi_tracedge::head::SignedHead;
use slyfi_tracedge::random::SeededRandom;
use slyfi_tracedge::service::api::{Response, Route};
use slyfi_tracedge::service::{Connection, Request, Service};
use slyfi_tracedge::subscriber::Transport;

const ROWS: u64 = 200;

/// What is counted: all that the service does for a query.
#[inline(never)]
fn answer_counted(service: &Service, path: &str, body: &[u8]) -> Response {
    let request = Request { method: "POST", path, body };
    let mut rng = SeededRandom::new([1; 32]);
    service.handle(&mut Connection::default(), request, b"", NOW, &mut rng)
}

/// A service that looks the row up first, as one would that knew which it is.
#[inline(never)]
fn leaky_answer_counted(service: &Service, path: &str, body: &[u8], index: u64) -> Response {
    let mut sum = 0u64;
    for row in 0..index {
        sum = std::hint::black_box(sum.wrapping_mul(31).wrapping_add(row));
    }
    let request = Request { method: "POST", path, body };
    let mut rng = SeededRandom::new([1; 32]);
    service.handle(&mut Connection::default(), request, &sum.to_le_bytes(), NOW, &mut rng)
}

/// Queries for `index`, the same randomness for every index.
fn queries(service: &Service, database: Database, index: u64, count: u32) -> Vec<Vec<u8>> {
    let mut way = common::service::Direct::new(service, NOW, &mut SeededRandom::new([3; 32]));
    let (_, epochs) = way.call(Route::Epochs, &[]).unwrap();
    let head = SignedHead::decode(&epochs[8..]).unwrap();
    let setup = database.setup(head.head());
    let hint = setup.hint.map(|_| way.call(Route::Hint { epoch: 0, database }, &[]).unwrap().1);
    let client = slyfi_pir::registry::client(setup, hint.as_deref()).unwrap();
    let mut rng = SeededRandom::new([4; 32]);
    (0..count).map(|_| client.query(index, &mut rng).unwrap().bytes).collect()
}

/// Queries as the environment says; without it one for row 0. They are answered.
#[test]
fn queries_are_answered() {
    let var = |name: &str| std::env::var(name).unwrap_or_default();
    let index = var("SLYFI_COUNT_INDEX").parse().unwrap_or(0);
    let count = var("SLYFI_COUNT_QUERIES").parse().unwrap_or(1);
    let database = match var("SLYFI_COUNT_DATABASE").as_str() {
        "directory" => Database::Directory,
        _ => Database::Table,
    };
    let mut world = World::new(&format!("count-{index}"), ROWS);
    world.publish(NOW);
    let path = Route::Retrieve { epoch: 0, database }.path();
    for body in queries(&world.service, database, index, count) {
        let response = match var("SLYFI_COUNT_LEAKY").as_str() {
            "" => answer_counted(&world.service, &path, &body),
            _ => leaky_answer_counted(&world.service, &path, &body, index),
        };
        assert_eq!(response.status, 200);
    }
}

/// How many answers are counted together: signing takes a few instructions more or less, by chance.
const ANSWERS: u64 = 64;

/// Instructions of an answer, on average, without the C library's: what its heap does depends on what
/// other threads did before.
fn count(database: &str, index: u64, leaky: bool) -> f64 {
    let me = std::env::current_exe().unwrap();
    let name = format!("slyfi-answers-{}-{database}-{index}-{leaky}", std::process::id());
    let profile = std::env::temp_dir().join(name);
    let mut valgrind = Command::new("valgrind");
    valgrind.args(["--tool=callgrind", "--collect-atstart=no"]);
    valgrind.arg(format!("--callgrind-out-file={}", profile.display()));
    valgrind.args(["--toggle-collect=*answer_counted*"]).arg(me);
    valgrind.args(["--exact", "queries_are_answered", "--test-threads=1"]);
    valgrind.env("SLYFI_COUNT_INDEX", index.to_string()).env("SLYFI_COUNT_DATABASE", database);
    valgrind.env("SLYFI_COUNT_QUERIES", ANSWERS.to_string());
    valgrind.env("SLYFI_COUNT_LEAKY", if leaky { "1" } else { "" });
    let out = valgrind.output().unwrap();
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    let mut annotate = Command::new("callgrind_annotate");
    annotate.args(["--auto=no", "--threshold=100", "--show-percs=no"]).arg(&profile);
    let out = annotate.output().unwrap();
    let text = String::from_utf8_lossy(&out.stdout).into_owned();
    std::fs::remove_file(&profile).unwrap();
    // A function a line: its own instructions, with commas, then where it is.
    let rows = text.lines().filter(|line| line.contains(':') && !line.contains("/libc.so"));
    let own = rows.filter_map(|line| {
        let (number, _) = line.trim_start().split_once("  ")?;
        number.replace(',', "").parse::<u64>().ok()
    });
    own.sum::<u64>() as f64 / ANSWERS as f64
}

#[test]
fn an_answer_takes_as_many_instructions_whichever_row_was_asked_for() {
    if Command::new("valgrind").arg("--version").output().is_err() {
        assert!(std::env::var_os("CI").is_none(), "valgrind must be there in CI");
        eprintln!("SKIPPED: valgrind is not there");
        return;
    }
    // Signing varies by some 80 instructions from one answer to another, the mean of 64 by 10.
    const CHANCE: f64 = 60.0;
    let mut first = 0.0;
    for (database, indices) in [("directory", &[0, 3][..]), ("table", &[0, 99, ROWS - 1])] {
        let counts: Vec<_> = indices.iter().map(|index| count(database, *index, false)).collect();
        println!("{database}: {counts:?}");
        assert!(counts[0] > 100_000.0, "{database}: too few to be an answer: {counts:?}");
        assert!(counts.iter().all(|n| (n - counts[0]).abs() < CHANCE), "{database}: {counts:?}");
        first = counts[0];
    }
    let leaky = count("table", ROWS - 1, true);
    println!("leaky: {leaky}");
    assert!(leaky - first > CHANCE, "a service that leaks is not flagged: {first} {leaky}");
}

#[test]
fn queries_for_different_rows_differ_only_in_what_looks_random() {
    // Per byte of a query: the means over 200 queries for one row and for another, which must not be
    // further apart than chance has it (Welch's t). A query that says its row at any byte is flagged.
    let mut world = World::new("looks", ROWS);
    world.publish(NOW);
    let mut way = world.way(NOW);
    let (_, epochs) = way.call(Route::Epochs, &[]).unwrap();
    let head = SignedHead::decode(&epochs[8..]).unwrap();
    let setup = Database::Table.setup(head.head());
    let hint = setup.hint.map(|_| {
        let route = Route::Hint { epoch: 0, database: Database::Table };
        way.call(route, &[]).unwrap().1
    });
    let client = slyfi_pir::registry::client(setup, hint.as_deref()).unwrap();
    let mut rng = SeededRandom::new([5; 32]);
    let mut sample = |index: u64, leaky: bool| -> Vec<Vec<u8>> {
        let mut one = || {
            let mut bytes = client.query(index, &mut rng).unwrap().bytes;
            if leaky {
                // One bit of one byte, half of the time.
                let at = bytes.len() / 2;
                bytes[at] = (bytes[at] & 0x7f) | ((index as u8 & 1) << 7 & rng.below(256) as u8);
            }
            bytes
        };
        (0..200).map(|_| one()).collect()
    };
    let (one, other) = (sample(0, false), sample(ROWS - 1, false));
    let worst = worst_t(&one, &other);
    println!("{} bytes, |t| at most {worst:.2}", one[0].len());
    // 6.5 standard deviations: once in 10^10 for each of some thousand bytes.
    assert!(worst < 6.5, "{worst}");
    let (one, other) = (sample(0, true), sample(ROWS - 1, true));
    assert!(worst_t(&one, &other) > 6.5, "one bit that tells the row was not flagged");
}

/// The largest |t| over all positions.
fn worst_t(one: &[Vec<u8>], other: &[Vec<u8>]) -> f64 {
    let moments = |sample: &[Vec<u8>], at: usize| {
        let n = sample.len() as f64;
        let mean = sample.iter().map(|s| f64::from(s[at])).sum::<f64>() / n;
        let square = |s: &Vec<u8>| (f64::from(s[at]) - mean).powi(2);
        let variance = sample.iter().map(square).sum::<f64>() / (n - 1.0);
        (mean, variance / n)
    };
    assert_eq!(one[0].len(), other[0].len());
    let t = |at: usize| {
        let ((a, va), (b, vb)) = (moments(one, at), moments(other, at));
        // Positions that never vary are alike or they tell everything.
        match va + vb {
            0.0 if a == b => 0.0,
            spread => (a - b).abs() / spread.sqrt(),
        }
    };
    (0..one[0].len()).map(t).fold(0.0, f64::max)
}
