//! What a client does, counted in instructions by valgrind's callgrind: as many whatever the index and
//! whatever the secret. A server that measures how long a subscriber takes learns neither.
//!
//! Counting sees branches that depend on what has to stay secret, not addresses and not how long one
//! instruction takes. Two faults put in on purpose, a search that stops at the wanted row and sampling
//! by rejection, show that it sees what it is for.
//!
//! `cargo test --release -p slyfi-pir --test constant_time` counts what is shipped.

mod common;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use common::{Seeded, table};
use slyfi_base::SecureRandom;
use slyfi_pir::{Preparation, SchemeId, Setup, Shape, registry};

/// Rows of the table: whole columns for either scheme, because a table's last column, if it is short,
/// makes a short block of what comes for free (`docs/pir.md`).
const ROWS: u64 = 5120;
const ROW_BYTES: u32 = 8;

/// Rows and secrets: two of a column, one far off and the last, with the same secret; and the same row
/// with other secrets.
const ASKED: [(u64, u64); 6] = [(1, 1), (0, 1), (2777, 1), (5119, 1), (1, 2), (1, 3)];

/// Where the worker finds what to do.
const WORK: &str = "SLYFI_PIR_COUNTED";

#[test]
fn lwe_clients_take_as_long_for_every_index_and_secret() {
    expect_constant(SchemeId::Lwe, "lwe");
}

#[test]
fn hintless_clients_take_as_long_for_every_index_and_secret() {
    expect_constant(SchemeId::Hintless, "hintless");
}

#[test]
fn a_search_that_stops_at_the_row_and_rejection_sampling_are_seen() {
    let Some(counts) = count(SchemeId::Lwe, "faulty", &[ASKED[0], ASKED[2], ASKED[5]]) else {
        return;
    };
    let [near, far, other] = [0, 1, 2].map(|i| counts[i]);
    assert!(far.extract > near.extract, "{} and {}", far.extract, near.extract);
    assert_ne!(other.query, near.query);
    // And nothing but what is at fault.
    assert_eq!(far.query, near.query);
    assert_eq!(other.extract, near.extract);
}

/// Instructions of the two halves of a retrieval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Counts {
    query: u64,
    extract: u64,
}

fn expect_constant(id: SchemeId, name: &str) {
    let Some(counts) = count(id, name, &ASKED) else { return };
    println!("{name}: {:?}", counts[0]);
    assert!(counts[0].query > 100_000 && counts[0].extract > 1_000, "{:?}", counts[0]);
    for (asked, counted) in ASKED.iter().zip(&counts) {
        assert_eq!(*counted, counts[0], "{name}: (index, secret) {asked:?}");
    }
}

/// Counts a retrieval for each index and secret; nothing without valgrind.
fn count(id: SchemeId, name: &str, asked: &[(u64, u64)]) -> Option<Vec<Counts>> {
    let valgrind = Command::new("valgrind").arg("--version").output().is_ok();
    assert!(valgrind || std::env::var_os("CI").is_none(), "valgrind is not installed");
    if !valgrind {
        eprintln!("skipped: valgrind is not installed");
        return None;
    }
    let dir = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("constant-time-{name}"));
    fs::create_dir_all(&dir).expect("a folder for this test");
    prepare(id, &dir, asked);
    let counts = asked.iter().map(|asked| retrieval(&dir, name, *asked)).collect();
    fs::remove_dir_all(&dir).expect("this test's folder");
    Some(counts)
}

/// What the worker needs, made where it is not slowed down: setup, hint, and the answers.
fn prepare(id: SchemeId, dir: &Path, asked: &[(u64, u64)]) {
    let shape = Shape::new(ROWS, ROW_BYTES).expect("a shape");
    let layout = match id {
        SchemeId::Lwe => 32,
        _ => registry::default_layout(id, shape).expect("a layout"),
    };
    let per_answer = registry::sizes(id, shape, layout).expect("a layout").rows_per_answer as u64;
    assert!(ROWS.is_multiple_of(per_answer), "whole columns, not of {per_answer}");
    let table = table(shape.table_bytes(), 5);
    let how = Preparation::quiet([1; 32]);
    let server = registry::prepare(id, shape, layout, &table, &how).expect("a small table");
    let write = |name: &str, bytes: &[u8]| fs::write(dir.join(name), bytes).expect("a file");
    write("setup", &server.setup().encode());
    write("hint", server.hint().unwrap_or(&[]));
    let client = registry::client(server.setup(), server.hint()).expect("its own setup");
    for (index, secret) in asked {
        // The worker makes the same query again.
        let query = client.query(*index, &mut Seeded(*secret)).expect("a row");
        let answer = server.answer(&query.bytes).expect("an honest query");
        write(&format!("answer-{index:04}-{secret:04}"), &answer);
        let at = *index as usize * ROW_BYTES as usize;
        write(&format!("row-{index:04}-{secret:04}"), &table[at..][..ROW_BYTES as usize]);
    }
}

/// Counts when the worker retrieves the row.
fn retrieval(dir: &Path, name: &str, (index, secret): (u64, u64)) -> Counts {
    let out = dir.join("counted");
    let mut command = Command::new("valgrind");
    command.args(["--tool=callgrind", "--collect-atstart=no"]);
    // A file each time that the function ends.
    command.arg(format!("--toggle-collect={COUNTED}")).arg(format!("--dump-after={COUNTED}"));
    command.arg(format!("--callgrind-out-file={}", out.display()));
    command.arg(std::env::current_exe().expect("this test"));
    command.args(["--exact", "the_worker_finds_its_row", "--test-threads=1"]);
    // All of the same length, or the stack would begin elsewhere.
    command.env(WORK, format!("{name}:{index:04}:{secret:04}:{}", dir.display()));
    let run = command.output().expect("valgrind starts");
    let said = String::from_utf8_lossy(&run.stderr);
    assert!(run.status.success(), "{said}{}", String::from_utf8_lossy(&run.stdout));
    let [query, extract] = ["1", "2"].map(|file| {
        let file = fs::read_to_string(out.with_extension(file)).expect("a file of callgrind's");
        let total = file.lines().find_map(|line| line.strip_prefix("totals: "));
        total.and_then(|total| total.trim().parse().ok()).expect("a sum in it")
    });
    Counts { query, extract }
}

#[test]
fn the_worker_finds_its_row() {
    // Without work to do there is nothing to find: the other tests call this one.
    let Ok(work) = std::env::var(WORK) else { return };
    let parts: Vec<&str> = work.splitn(4, ':').collect();
    let [name, index, secret, dir] = parts[..] else { panic!("{WORK}={work}") };
    let read = |name: &str| fs::read(Path::new(dir).join(name)).expect("what was prepared");
    let setup = Setup::decode(&read("setup")).expect("a setup");
    let hint = setup.hint.map(|_| read("hint"));
    let client = registry::client(&setup, hint.as_deref()).expect("setup and hint");
    let answer = read(&format!("answer-{index}-{secret}"));
    let (index, seed) = (index.parse().expect("an index"), secret.parse().expect("a secret"));

    let faulty = name == "faulty";
    let mut state = None;
    counted(&mut || {
        if faulty {
            let (mut draws, mut drawn) = (Seeded(seed), [255]);
            while drawn[0] >= 59 {
                draws.fill(&mut drawn);
            }
        }
        state = Some(client.query(index, &mut Seeded(seed)).expect("a row").state);
    });
    let mut found = None;
    counted(&mut || {
        let state = state.take().expect("a query was made");
        let opened = state.extract(&answer).expect("its own answer");
        if faulty {
            let _ = std::hint::black_box(opened.block().find(|(at, _)| *at == index));
        }
        found = Some(opened);
    });
    let found = found.expect("an answer was opened");
    assert_eq!(found.row(), read(&format!("row-{index:04}-{secret}")));
}

/// What callgrind calls [`counted`].
const COUNTED: &str = concat!(module_path!(), "::counted");

/// Runs what is counted.
#[inline(never)]
fn counted(step: &mut dyn FnMut()) {
    step();
    // Something behind the call, or the call would become a jump and the function never end.
    std::hint::black_box(());
}
