//! Operators that cheat in every way, and how often a subscriber notices: counts against the
//! formulas of docs/tracedge.md §12.

mod common;

use common::{Clear, World, round};
use slyfi_base::SecureRandom;
use slyfi_tracedge::answer::{Database, SignedAnswer};
use slyfi_tracedge::audit::{Audit, OwnRow};
use slyfi_tracedge::directory::DirectoryLayout;
use slyfi_tracedge::epoch::EpochSecret;
use slyfi_tracedge::evidence::{Aids, Evidence};
use slyfi_tracedge::random::SeededRandom;

/// Rounds of each kind and number of audits; `SLYFI_FULL=1` takes ten times as many.
fn rounds() -> u32 {
    if std::env::var_os("SLYFI_FULL").is_some() { 4_000 } else { 400 }
}

/// A cheat: what each row holds, which head is shown, and which table a query is answered from.
struct Cheat<'a> {
    name: &'a str,
    /// One for each class.
    secrets: Vec<EpochSecret>,
    /// The class of a row; `None`: garbage.
    class: &'a dyn Fn(u64) -> Option<usize>,
    /// The class whose head is shown, drawn anew for each subscriber.
    shown: &'a dyn Fn(&mut dyn SecureRandom) -> usize,
    /// Whether every query is answered from the table of a class drawn anew, all rows of it.
    per_query: bool,
    rows_per_answer: u64,
}

/// What came of the rounds.
struct Count {
    /// His own row opened, and nothing was wrong with what he audited.
    unnoticed: f64,
    evidence: Vec<Evidence>,
}

fn count(world: &mut World, cheat: &Cheat<'_>, audits: u32) -> Count {
    let honest: Vec<_> = cheat.secrets.iter().map(|s| world.table(s)).collect();
    let mut table = honest[0].clone();
    for row in 0..world.rows() {
        let place = row as usize * 32..(row as usize + 1) * 32;
        match (cheat.class)(row) {
            Some(class) => table[place.clone()].copy_from_slice(&honest[class][place]),
            None => world.rng.fill(&mut table[place]),
        }
    }
    let heads: Vec<_> = cheat.secrets.iter().map(|s| world.head(s, &table)).collect();
    let layout = DirectoryLayout::for_rows(world.rows());
    let entries = layout.database(&world.directory, &layout.tree(&world.directory));
    let (mut unnoticed, mut evidence) = (0, Vec::new());
    for _ in 0..rounds() {
        let mut rng = fork(&mut world.rng);
        let somebody = world.anybody();
        let mine = world.subscription(somebody);
        let (head, top) = &heads[(cheat.shown)(&mut rng)];
        let databases = Clear::databases(head, cheat.rows_per_answer);
        let clear =
            |database: Database, block| Clear { setup: *database.setup(head.head()), block };
        let mut operators_coin = fork(&mut world.rng);
        let audit = (audits > 0).then(|| Audit { rows: audits, top: top.clone() });
        let conclusion = round(head, audit, &databases, &mine, &mut rng, |database, query| {
            let answer = match database {
                Database::Table if cheat.per_query => {
                    let from = operators_coin.below(honest.len() as u64) as usize;
                    clear(database, cheat.rows_per_answer).answer(&honest[from], query)
                }
                Database::Table => clear(database, cheat.rows_per_answer).answer(&table, query),
                Database::Directory => clear(database, 1).answer(&entries, query),
            };
            SignedAnswer::sign(&world.keys, &head.head().digest(), database, query, answer)
        });
        let opened = matches!(conclusion.own, OwnRow::Opened(_));
        if opened && conclusion.evidence.is_empty() {
            unnoticed += 1;
        }
        // An audit that finds something can always show it.
        if opened {
            evidence.extend(conclusion.evidence);
        }
    }
    // Whoever compares heads has proof at once.
    if let [(one, _), (other, _), ..] = &heads[..] {
        let proof =
            Evidence::TwoHeads { one: Box::new(one.clone()), other: Box::new(other.clone()) };
        assert!(proof.verify(&world.keys.id(), &Aids::default()).unwrap().conclusive);
    }
    Count { unnoticed: f64::from(unnoticed) / f64::from(rounds()), evidence }
}

/// A generator of its own.
fn fork(rng: &mut SeededRandom) -> SeededRandom {
    let mut seed = [0; 32];
    rng.fill(&mut seed);
    SeededRandom::new(seed)
}

/// Holds a count against a probability: five standard deviations and one count of slack, which a
/// right formula leaves once in a million times, and the seeds are fixed.
fn holds(what: &str, audits: u32, seen: f64, formula: f64) {
    let n = f64::from(rounds());
    let slack = 5.0 * (formula * (1.0 - formula) / n).sqrt() + 1.0 / n;
    println!("{what:<28} k = {audits:<2} unnoticed {seen:.4}, formula {formula:.4} ± {slack:.4}");
    assert!((seen - formula).abs() <= slack, "{what}, k = {audits}: {seen} is not {formula}");
}

#[test]
fn an_honest_operator_is_never_accused() {
    let world = &mut World::new(200, 1);
    let secrets = vec![world.secret(5)];
    let cheat = Cheat {
        name: "honest",
        secrets,
        class: &|_| Some(0),
        shown: &|_| 0,
        per_query: false,
        rows_per_answer: 4,
    };
    for audits in [0, 3] {
        let count = count(world, &cheat, audits);
        assert_eq!((count.unnoticed, count.evidence.len()), (1.0, 0), "{}", cheat.name);
    }
}

#[test]
fn halves_are_told_apart_with_probability_two_to_the_minus_k() {
    let world = &mut World::new(200, 2);
    let secrets = vec![world.secret(5), world.secret(5)];
    let cheat = Cheat {
        name: "halves, two heads",
        secrets,
        class: &|row| Some(usize::from(row >= 100)),
        shown: &|rng| rng.below(2) as usize,
        per_query: false,
        rows_per_answer: 1,
    };
    for audits in [0, 1, 2, 4] {
        let count = count(world, &cheat, audits);
        // Σ p_j·f_j^(k+1) with p = f = 1/2.
        holds(cheat.name, audits, count.unnoticed, 0.5f64.powi(audits as i32 + 1));
        assert_eq!(audits == 0, count.evidence.is_empty(), "a mismatch is kept as evidence");
    }
}

#[test]
fn a_key_for_one_victim_is_found_by_the_victims_first_audit() {
    let world = &mut World::new(200, 3);
    let secrets = vec![world.secret(5), world.secret(5)];
    let cheat = Cheat {
        name: "one victim",
        secrets,
        class: &|row| Some(usize::from(row == 17)),
        // The operator guesses right that the victim asks, and everybody else is hit too.
        shown: &|_| 1,
        per_query: false,
        rows_per_answer: 1,
    };
    let victim: f64 = 1.0 / 200.0;
    for audits in [0, 1] {
        let count = count(world, &cheat, audits);
        // Subscribers are 180 of the 200 rows, so the victim asks once in 180 times.
        let formula = 1.0 / 180.0 * victim.powi(audits as i32);
        holds(cheat.name, audits, count.unnoticed, formula);
    }
}

#[test]
fn one_k_per_column_fools_neighbours_and_not_random_rows() {
    let world = &mut World::new(200, 4);
    let secrets: Vec<_> = (0..25).map(|_| world.secret(5)).collect();
    let cheat = Cheat {
        name: "one K per column",
        secrets,
        // Eight rows come in one answer, and they agree.
        class: &|row| Some(row as usize / 8),
        shown: &|_| 3,
        per_query: false,
        rows_per_answer: 8,
    };
    // Rows 24..32, of which 29 is vacant: 7 of 180 subscribers are in the shown head's column.
    let inside = 7.0 / 180.0;
    for audits in [0, 1, 2] {
        let count = count(world, &cheat, audits);
        let formula = inside * (8.0f64 / 200.0).powi(audits as i32);
        holds(cheat.name, audits, count.unnoticed, formula);
    }
}

#[test]
fn another_table_for_each_query_is_seen_as_often_as_two_classes() {
    let world = &mut World::new(100, 5);
    let secrets = vec![world.secret(5), world.secret(5)];
    let cheat = Cheat {
        name: "a table per query",
        secrets,
        class: &|_| Some(0),
        shown: &|_| 0,
        per_query: true,
        rows_per_answer: 1,
    };
    for audits in [0, 1, 3] {
        let count = count(world, &cheat, audits);
        holds(cheat.name, audits, count.unnoticed, 0.5f64.powi(audits as i32 + 1));
    }
}

#[test]
fn garbled_rows_are_seen_by_their_owners_and_sometimes_by_others() {
    let world = &mut World::new(200, 6);
    let secrets = vec![world.secret(5)];
    let cheat = Cheat {
        name: "selective failure",
        secrets,
        class: &|row| (row % 4 != 0).then_some(0),
        shown: &|_| 0,
        per_query: false,
        rows_per_answer: 1,
    };
    // Of the subscribers, rows 0..200 without every tenth: rows divisible by four are 50, none of
    // them ends in 9.
    let own = 130.0 / 180.0;
    for audits in [0, 1, 4] {
        let count = count(world, &cheat, audits);
        holds(cheat.name, audits, count.unnoticed, own * 0.75f64.powi(audits as i32));
    }
}
