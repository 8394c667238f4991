//! How often an operator that cheats is seen: counted on real rows, beside the formulas.

use super::study::Study;
use crate::plot::{Axis, Figure, Line, Panel, Series, Style};
use crate::{Cell, Claim, Context, Finding, LabError, Outcome, Table, Verdict};
use slyfi_base::SecureRandom;
use slyfi_tracedge::epoch::{Epoch, EpochKey, EpochSecret, ROW_BYTES};
use slyfi_tracedge::keys::{OperatorKeys, SecretKey};
use slyfi_tracedge::pieces::Work;
use slyfi_tracedge::random::SeededRandom;
use slyfi_tracedge::table;
use std::sync::Mutex;

const CAUGHT: Claim = Claim {
    id: "caught",
    text: "TracEdge \"is able to detect dishonest servers attempting to identify clients\"",
    place: "§7",
};
const HALVES: Claim = Claim {
    id: "halves",
    text: "an operator that splits its subscribers is seen the likelier the more rows they audit",
    place: "§7; the formula is ours (docs/tracedge.md §12)",
};

/// The experiment.
pub static DETECTION: Study = Study {
    id: "tracedge/detection",
    title: "How often a cheating operator goes unnoticed, by the number of rows that a subscriber audits",
    source: "tracedge-2015, §7 (its formal part could not be had)",
    method: "\
A table of 240 rows is made for each class of subscribers with a K of its own, and put together as the cheat says. A \
subscriber with a random row is shown the head of a random class, opens his own row and recomputes as many random rows \
as he audits under the K he got, by the service's own code. He notices if his row does not open or a row is not what its \
key gives. Retrieval is left out: what an audit does with a row does not depend on how it came, and thousands of rounds \
have to be counted. Who checks whole retrieval, evidence included: `cargo test -p slyfi-tracedge --test detection` and \
`--test evidence`. A count agrees with a formula within five standard deviations.",
    claims: &[CAUGHT, HALVES],
    run,
};

const ROWS: usize = 240;
/// How many rows a subscriber audits.
const AUDITS: [u32; 6] = [0, 1, 2, 3, 5, 10];

/// A cheat.
struct Cheat {
    name: &'static str,
    classes: usize,
    /// The class whose K a row holds; `None`: garbage.
    class: fn(usize) -> Option<usize>,
    /// How many heads there are to be shown, one at random.
    heads: usize,
    /// How likely it is that nobody notices, for so many audits.
    formula: fn(i32) -> f64,
}

/// Σ p_j·f_j^(k+1) for n equal classes and heads.
fn equal_classes(classes: f64, audits: i32) -> f64 {
    classes.powi(-(audits + 1))
}

const CHEATS: [Cheat; 4] = [
    Cheat {
        name: "halves, two heads",
        classes: 2,
        class: |row| Some(row % 2),
        heads: 2,
        formula: |k| equal_classes(2.0, k),
    },
    Cheat {
        name: "ten groups, ten heads",
        classes: 10,
        class: |row| Some(row % 10),
        heads: 10,
        formula: |k| equal_classes(10.0, k),
    },
    Cheat {
        name: "one K per column of 8 rows, one head",
        classes: ROWS / 8,
        class: |row| Some(row / 8),
        heads: 1,
        formula: |k| (8.0 / ROWS as f64).powi(k + 1),
    },
    Cheat {
        name: "a tenth of the rows garbled",
        classes: 1,
        class: |row| (row % 10 != 0).then_some(0),
        heads: 1,
        formula: |k| 0.9f64.powi(k + 1),
    },
];

/// What was counted.
#[derive(Clone, Debug, PartialEq)]
pub struct Seen {
    /// The cheat.
    pub cheat: &'static str,
    /// Rows audited.
    pub audits: u32,
    /// Rounds.
    pub rounds: u32,
    /// The share of rounds in which nothing was noticed.
    pub unnoticed: f64,
    /// What the formula says.
    pub formula: f64,
}

impl Seen {
    /// Whether the count is within five standard deviations, and one count, of the formula.
    pub fn agrees(&self) -> bool {
        let n = f64::from(self.rounds);
        let slack = 5.0 * (self.formula * (1.0 - self.formula) / n).sqrt() + 1.0 / n;
        (self.unnoticed - self.formula).abs() <= slack
    }
}

/// Subscribers and an operator.
struct World {
    owners: Vec<SecretKey>,
    epoch: Epoch,
}

impl World {
    fn new(rng: &mut SeededRandom) -> Self {
        let operator = OperatorKeys::generate(rng).id();
        let owners = (0..ROWS).map(|_| SecretKey::generate(rng)).collect();
        World { owners, epoch: Epoch { operator, number: 1, not_before: 0, not_after: 1 } }
    }

    fn table(&self, secret: &EpochSecret) -> Result<Vec<u8>, LabError> {
        let keys: Vec<u8> =
            self.owners.iter().flat_map(|owner| *owner.public().as_bytes()).collect();
        let sink = Mutex::new(Vec::new());
        // Nobody's row is vacant, so whose key that is does not matter.
        table::build(secret, &keys, self.owners[0].public(), &sink, &Work::quiet())
            .map_err(|e| LabError::Measurement(format!("the table: {e}")))?;
        sink.into_inner().map_err(|e| LabError::Measurement(format!("the table: {e}")))
    }
}

fn count(
    world: &World,
    cheat: &Cheat,
    rounds: u32,
    rng: &mut SeededRandom,
) -> Result<Vec<Seen>, LabError> {
    let secrets: Vec<EpochSecret> = (0..cheat.classes)
        .map(|_| EpochSecret::derive(&world.epoch, EpochKey::generate(rng)))
        .collect();
    let honest = secrets.iter().map(|s| world.table(s)).collect::<Result<Vec<_>, LabError>>()?;
    let mut rows = vec![[0; ROW_BYTES]; ROWS];
    for (at, row) in rows.iter_mut().enumerate() {
        match (cheat.class)(at) {
            Some(class) => row.copy_from_slice(&honest[class][at * ROW_BYTES..][..ROW_BYTES]),
            None => rng.fill(row),
        }
    }
    let right =
        |secret: &EpochSecret, row: usize| secret.row(world.owners[row].public()) == rows[row];
    let mut all = Vec::new();
    for audits in AUDITS {
        let mut unnoticed = 0;
        for _ in 0..rounds {
            let mine = rng.below(ROWS as u64) as usize;
            let shown = &secrets[rng.below(cheat.heads as u64) as usize];
            let opened = EpochSecret::open(
                &world.epoch,
                shown.commitment(),
                &rows[mine],
                &world.owners[mine],
            );
            let Ok(opened) = opened else { continue };
            if (0..audits).all(|_| right(&opened, rng.below(ROWS as u64) as usize)) {
                unnoticed += 1;
            }
        }
        all.push(Seen {
            cheat: cheat.name,
            audits,
            rounds,
            unnoticed: f64::from(unnoticed) / f64::from(rounds),
            formula: (cheat.formula)(audits as i32),
        });
    }
    Ok(all)
}

fn run(context: &mut Context<'_>) -> Result<Outcome, LabError> {
    let rounds = if context.quick { 200 } else { 4_000 };
    let rng = &mut SeededRandom::new([0xd7; 32]);
    let world = World::new(rng);
    let mut all = Vec::new();
    for cheat in &CHEATS {
        (context.progress)(&format!("tracedge/detection: {}", cheat.name));
        all.extend(count(&world, cheat, rounds, rng)?);
    }
    let mut table = Table::new(
        "data",
        &[
            ("cheat", ""),
            ("audits", "rows"),
            ("rounds", ""),
            ("unnoticed", "share of rounds"),
            ("formula", "probability"),
        ],
    );
    for seen in &all {
        table.push(vec![
            seen.cheat.into(),
            Cell::Count(u64::from(seen.audits)),
            Cell::Count(u64::from(seen.rounds)),
            // Three digits behind the point would make the small ones zero.
            Cell::Text(format!("{:.6}", seen.unnoticed)),
            Cell::Text(format!("{:.3e}", seen.formula)),
        ]);
    }
    Ok(Outcome {
        tables: vec![table],
        figures: vec![("unnoticed".to_owned(), figure(&all))],
        findings: judge(&all),
        notes: Vec::new(),
    })
}

fn figure(all: &[Seen]) -> Figure {
    let of = |pick: fn(&Seen) -> f64, line| {
        CHEATS.iter().enumerate().map(move |(look, cheat)| {
            let points = all.iter().filter(|s| s.cheat == cheat.name);
            let points = points.map(|s| (f64::from(s.audits), pick(s)));
            Series {
                name: cheat.name.to_owned(),
                style: Style { look, line },
                points: points.collect(),
            }
        })
    };
    let panel = |title: &str, series: Vec<Series>| Panel {
        title: title.to_owned(),
        x: Axis::linear("rows audited", ""),
        y: Axis::linear("unnoticed", "share"),
        series,
    };
    Figure {
        title: "Cheating operators that go unnoticed".to_owned(),
        panels: vec![
            panel("Counted", of(|s| s.unnoticed, Line::Solid).collect()),
            panel("Formula", of(|s| s.formula, Line::Dashed).collect()),
        ],
    }
}

/// Holds the claims against what was counted.
pub fn judge(all: &[Seen]) -> Vec<Finding> {
    let off: Vec<String> = all
        .iter()
        .filter(|seen| !seen.agrees())
        .map(|s| {
            format!("{} at k = {}: {:.4}, not {:.4}", s.cheat, s.audits, s.unnoticed, s.formula)
        })
        .collect();
    let halves = |audits| {
        all.iter().find(|s| s.cheat == CHEATS[0].name && s.audits == audits).map(|s| s.unnoticed)
    };
    let caught = if all.is_empty() {
        Finding::new(CAUGHT, Verdict::NotMeasured, "", "nothing was counted")
    } else if off.is_empty() {
        let ours = format!(
            "{} cheats, up to {} audited rows: every count agrees with its formula",
            CHEATS.len(),
            AUDITS[AUDITS.len() - 1]
        );
        let reason = "sampling sees partitions quickly and rare damage slowly: for that there is the audit of \
                      the whole table (tracedge/audit)";
        Finding::new(CAUGHT, Verdict::Reproduced, ours, reason)
    } else {
        Finding::new(CAUGHT, Verdict::NotReproduced, off.join("; "), "the formulas do not hold")
    };
    let split = match (halves(0), halves(3), halves(10)) {
        (Some(none), Some(three), Some(ten)) => {
            let verdict = if none > 0.3 && three < 0.2 && ten < 0.02 {
                Verdict::Reproduced
            } else {
                Verdict::NotReproduced
            };
            let ours = format!(
                "halves: unnoticed {none:.3} without an audit, {three:.3} with 3, {ten:.4} with 10"
            );
            Finding::new(HALVES, verdict, ours, "")
        }
        _ => Finding::new(HALVES, Verdict::NotMeasured, "", "nothing was counted"),
    };
    vec![caught, split]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(audits: u32, unnoticed: f64) -> Seen {
        let formula = equal_classes(2.0, audits as i32);
        Seen { cheat: CHEATS[0].name, audits, rounds: 4_000, unnoticed, formula }
    }

    #[test]
    fn counts_like_the_formula_reproduce_and_others_do_not() {
        let good: Vec<Seen> =
            AUDITS.iter().map(|k| seen(*k, equal_classes(2.0, *k as i32) + 0.001)).collect();
        assert!(judge(&good).iter().all(|f| f.verdict == Verdict::Reproduced));
        let blind: Vec<Seen> = AUDITS.iter().map(|k| seen(*k, 0.5)).collect();
        assert!(judge(&blind).iter().all(|f| f.verdict == Verdict::NotReproduced));
        assert!(judge(&[]).iter().all(|f| f.verdict == Verdict::NotMeasured));
    }
}
