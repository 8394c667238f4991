//! Table 3: what a modulus bears, and what it does to security.

use super::paper;
use super::study::Study;
use crate::plot::{Axis, Figure, Line, Panel, Series, Style};
use crate::{Cell, Claim, Context, Finding, LabError, Outcome, Table, Verdict};
use slyfi_pir::danger::ntru_2015::{N, least_additions};
use slyfi_pir::security::primal_usvp;
use slyfi_tracedge::random::SeededRandom;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Of NTRU's three secret polynomials and g: the standard deviation of what one addition puts on a
/// coefficient, 3·√(terms of r · share of g that is not zero): r is a product of 18 and 16 ones and
/// minus ones and a sum with 10, g has 291 of 439.
const NOISE: f64 = 42.16;
/// From q ≈ 0.004·n^2.484 on NTRU is "overstretched" (Ducas and van Woerden, ASIACRYPT 2021).
const OVERSTRETCHED: f64 = 0.004;
const OVERSTRETCHED_POWER: f64 = 2.484;
/// An addition takes about so many seconds; how many repetitions fit is reckoned with this.
const ADDITION_S: f64 = 6e-6;
/// And a key.
const KEY_S: f64 = 3e-3;

const GROWTH: Claim = Claim {
    id: "growth",
    text: "each doubling of q bears about four times the additions: from 250 at 2^13 to 2.21e7 at 2^21",
    place: "Table 3",
};
const LEAST: Claim = Claim {
    id: "least",
    text: "the least numbers of additions before a failure in 10^8 repetitions",
    place: "Table 3",
};
const ENOUGH: Claim = Claim {
    id: "enough",
    text: "q = 2^21 bears the additions of a table of 10^7 clients",
    place: "§6, Table 2",
};
const SAFE: Claim = Claim {
    id: "safe",
    text: "the modulus of APR2011_439_FAST may be chosen by the additions that it bears",
    place: "§6, Tables 2 and 3",
};

/// The experiment.
pub static TABLE3: Study = Study {
    id: "tracedge/table3",
    title: "The modulus of ntru-2015: additions before decryption fails, and the security that is left",
    source: "tracedge-2015, Table 3",
    method: "\
E(0) is added to E(1) under a fresh key until the sum does not decrypt to 1, and again with another key; the least number \
counts, as in the paper, of as many repetitions as fit into some seconds for each q (the paper: 10^8, which would take \
years here). From 2^19 on (with --quick from 2^16 on) a repetition takes longer than that, and only as many additions are made as fit: none of them \
failed is all that is said. `model_least` is what Gaussian noise of standard deviation 42.2 for each addition and coefficient \
gives for the same number of repetitions, `model_least_1e8` for the paper's. Security is the primal attack's block size \
(uSVP, 2016 estimate) against N = 439 and ternary secrets, and its Core-SVP cost; hybrid and overstretched-NTRU attacks \
only make it less. It is an estimate to compare parameters with.",
    claims: &[GROWTH, LEAST, ENOUGH, SAFE],
    run,
};

/// What a modulus bears.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Borne {
    /// log₂ of the modulus.
    pub log2_q: u32,
    /// How often it was tried.
    pub repetitions: u64,
    /// The least number of additions before a failure, if one failed.
    pub least: Option<u64>,
    /// The most additions that were tried.
    pub limit: u64,
}

/// z of P(|Gaussian| > z·σ) = `p`, for small p: bisection on the tail's expansion.
fn deviations(p: f64) -> f64 {
    let tail = |z: f64| {
        (2.0 / std::f64::consts::PI).sqrt() * (-z * z / 2.0).exp() / z * (1.0 - 1.0 / (z * z))
    };
    let (mut low, mut high) = (1.8, 40.0);
    for _ in 0..80 {
        let middle = (low + high) / 2.0;
        if tail(middle) > p { low = middle } else { high = middle }
    }
    low
}

/// The least number of additions before a failure that the noise gives in so many repetitions, as likely
/// more as less.
fn model(log2_q: u32, repetitions: f64) -> f64 {
    let z = deviations(std::f64::consts::LN_2 / (N as f64 * repetitions));
    (f64::from(log2_q - 1).exp2() / (NOISE * z)).powi(2)
}

/// Repetitions and limit for a modulus, when there are so many seconds.
fn plan(log2_q: u32, seconds: f64) -> (u64, u64) {
    let typical = model(log2_q, 1.0);
    let affordable = seconds / ADDITION_S;
    if affordable < 0.7 * typical {
        return (1, affordable as u64);
    }
    let repetitions = (seconds / (typical * ADDITION_S + KEY_S)).clamp(1.0, 20_000.0);
    (repetitions as u64, (typical * 50.0) as u64)
}

fn measure(seconds: f64, say: &mut dyn FnMut(&str)) -> Vec<Borne> {
    let moduli: Vec<u32> = paper::TABLE3.iter().map(|(log2_q, _)| *log2_q).collect();
    let workers = std::thread::available_parallelism().map_or(1, usize::from).min(moduli.len());
    let (next, found) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let (tell, told) = std::sync::mpsc::channel();
    std::thread::scope(|scope| {
        for _ in 0..workers {
            let (tell, next, found, moduli) = (tell.clone(), &next, &found, &moduli);
            scope.spawn(move || {
                while let Some(&log2_q) = moduli.get(next.fetch_add(1, Ordering::Relaxed)) {
                    // Whoever listens does so until all have ended.
                    let _ = tell.send(log2_q);
                    let (repetitions, limit) = plan(log2_q, seconds);
                    let rng = &mut SeededRandom::new([log2_q as u8; 32]);
                    let least = least_additions(log2_q, repetitions, limit, rng).least;
                    let borne = Borne { log2_q, repetitions, least, limit };
                    found.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push(borne);
                }
            });
        }
        drop(tell);
        for log2_q in told {
            say(&format!("tracedge/table3: additions modulo 2^{log2_q}"));
        }
    });
    let mut found = found.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    found.sort_by_key(|borne| borne.log2_q);
    found
}

/// Additions of one answer's first iteration, 10⁷ rows of 32 bytes: rows of the square times bits.
fn additions_needed() -> f64 {
    (paper::ROWS as f64).sqrt().ceil() * 32.0 * 8.0
}

fn block_size(log2_q: u32) -> (u32, f64) {
    // f and g are both secret: N samples, a third each of −1, 0 and 1.
    let hardness = primal_usvp(N as u32, f64::from(log2_q), (2f64 / 3.0).sqrt(), N as u32);
    (hardness.block_size, hardness.core_svp_log2)
}

fn run(context: &mut Context<'_>) -> Result<Outcome, LabError> {
    let measured = measure(if context.quick { 0.1 } else { 6.0 }, context.progress);
    let mut table = Table::new(
        "data",
        &[
            ("log2_q", ""),
            ("repetitions", ""),
            ("additions_tried_at_most", ""),
            ("least_additions", ""),
            ("model_least", ""),
            ("model_least_1e8", "of 10^8 repetitions"),
            ("paper_least_1e8", "of 10^8 repetitions"),
            ("block_size", ""),
            ("core_svp_log2", "log2 of operations"),
            ("times_overstretched", "q over the point from which NTRU is overstretched"),
        ],
    );
    let overstretched = OVERSTRETCHED * (N as f64).powf(OVERSTRETCHED_POWER);
    for (borne, (log2_q, paper)) in measured.iter().zip(paper::TABLE3) {
        let (block_size, core_svp) = block_size(log2_q);
        table.push(vec![
            Cell::Count(u64::from(log2_q)),
            Cell::Count(borne.repetitions),
            Cell::Count(borne.limit),
            borne.least.map_or(Cell::Missing, Cell::Count),
            Cell::Number(model(log2_q, borne.repetitions as f64)),
            Cell::Number(model(log2_q, paper::TABLE3_REPETITIONS)),
            Cell::Number(paper),
            Cell::Count(u64::from(block_size)),
            Cell::Number(core_svp),
            Cell::Number(f64::from(log2_q).exp2() / overstretched),
        ]);
    }
    Ok(Outcome {
        tables: vec![table],
        figures: vec![("additions".to_owned(), figure(&measured))],
        findings: judge(&measured),
        notes: vec!["NTRU-2015 IS NOT SECURE: for the paper's tables only".to_owned()],
    })
}

fn figure(measured: &[Borne]) -> Figure {
    let series = |name: &str, look, line, points| Series {
        name: name.to_owned(),
        style: Style { look, line },
        points,
    };
    let ours = measured.iter().filter_map(|b| Some((f64::from(b.log2_q), b.least? as f64)));
    let paper = paper::TABLE3.map(|(q, least)| (f64::from(q), least));
    let modelled = paper::TABLE3.map(|(q, _)| (f64::from(q), model(q, paper::TABLE3_REPETITIONS)));
    let strength = paper::TABLE3.map(|(q, _)| (f64::from(q), f64::from(block_size(q).0)));
    let axis = || Axis::linear("log2 of q", "");
    Figure {
        title:
            "Additions before decryption fails, and what the modulus costs (tracedge-2015, Table 3)"
                .to_owned(),
        panels: vec![
            Panel {
                title: "Additions".to_owned(),
                x: axis(),
                y: Axis::decades("additions", "least"),
                series: vec![
                    series("ours, few repetitions", 0, Line::Solid, ours.collect()),
                    series("noise model, 10^8", 1, Line::Dashed, modelled.to_vec()),
                    series("paper, 10^8", 2, Line::None, paper.to_vec()),
                    series("block size (uSVP)", 3, Line::Solid, Vec::new()),
                ],
            },
            Panel {
                title: "Lattice".to_owned(),
                x: axis(),
                y: Axis::linear("block size", "uSVP"),
                series: vec![
                    series("ours, few repetitions", 0, Line::Solid, Vec::new()),
                    series("noise model, 10^8", 1, Line::Dashed, Vec::new()),
                    series("paper, 10^8", 2, Line::None, Vec::new()),
                    series("block size (uSVP)", 3, Line::Solid, strength.to_vec()),
                ],
            },
        ],
    }
}

/// Holds the paper's claims against what was measured.
pub fn judge(measured: &[Borne]) -> Vec<Finding> {
    vec![growth(measured), least(measured), enough(), safe()]
}

fn growth(measured: &[Borne]) -> Finding {
    // Below 2^13 a few additions are few.
    let failed: Vec<(f64, f64)> = measured
        .iter()
        .filter(|b| b.log2_q >= 13 && b.repetitions >= 3)
        .filter_map(|b| Some((f64::from(b.log2_q), b.least? as f64)))
        .collect();
    let (Some(first), Some(last)) = (failed.first(), failed.last()) else {
        return Finding::new(GROWTH, Verdict::NotMeasured, "", "nothing failed");
    };
    if last.0 <= first.0 {
        return Finding::new(GROWTH, Verdict::NotMeasured, "", "only one modulus failed");
    }
    let times = (last.1 / first.1).powf(1.0 / (last.0 - first.0));
    let verdict = match times {
        3.0..=5.5 => Verdict::Reproduced,
        2.0..=8.0 => Verdict::Differs,
        _ => Verdict::NotReproduced,
    };
    let ours = format!(
        "{times:.1} times for each doubling, from {} at 2^{} to {} at 2^{}",
        first.1, first.0, last.1, last.0
    );
    Finding::new(GROWTH, verdict, ours, "noise grows with the root of the number of additions")
}

fn least(measured: &[Borne]) -> Finding {
    // First whether the model is that of what was measured, then what it says of 10^8.
    let mut off = Vec::new();
    let mut checked = 0;
    for borne in measured.iter().filter(|b| b.log2_q >= 12) {
        let Some(least) = borne.least else { continue };
        let ratio = least as f64 / model(borne.log2_q, borne.repetitions as f64);
        checked += 1;
        if !(0.4..2.5).contains(&ratio) {
            off.push(format!("2^{}: {ratio:.1} times the model", borne.log2_q));
        }
    }
    if checked == 0 {
        return Finding::new(LEAST, Verdict::NotMeasured, "", "nothing failed");
    }
    if !off.is_empty() {
        let why = "the noise is not what the model says";
        return Finding::new(LEAST, Verdict::NotReproduced, off.join("; "), why);
    }
    let ratios = paper::TABLE3.map(|(q, paper)| (q, model(q, paper::TABLE3_REPETITIONS) / paper));
    let far: Vec<String> = ratios
        .iter()
        .filter(|(_, ratio)| !(1.0 / 3.0..3.0).contains(ratio))
        .map(|(q, ratio)| format!("2^{q}: {ratio:.1} times the paper's"))
        .collect();
    let near = paper::TABLE3.len() - far.len();
    let ours = format!(
        "measured with few repetitions, within 2.5 times of a noise model at {checked} moduli; for 10^8 the model \
         gives {near} of {} within a factor of three{}{}",
        paper::TABLE3.len(),
        if far.is_empty() { "" } else { ", but at " },
        far.join(", ")
    );
    let verdict = if near >= 10 { Verdict::Reproduced } else { Verdict::Differs };
    let reason =
        "10^8 repetitions were not made; at 2^11 a handful of additions is no Gaussian sum";
    Finding::new(LEAST, verdict, ours, reason)
}

fn enough() -> Finding {
    let needed = additions_needed();
    let borne = model(21, paper::TABLE3_REPETITIONS);
    let ours = format!(
        "an answer makes at most {needed:.1e} additions to a coefficient; the model gives 2^21 {borne:.1e} before \
         one of 10^8 fails"
    );
    let verdict = if borne > needed { Verdict::Reproduced } else { Verdict::NotReproduced };
    Finding::new(ENOUGH, verdict, ours, "2^20 would have done")
}

fn safe() -> Finding {
    let ((before, before_cost), (after, after_cost)) = (block_size(11), block_size(21));
    let ours = format!(
        "block size {before} at q = 2^11, {after} at 2^21; Core-SVP 2^{before_cost:.0} and 2^{after_cost:.0}"
    );
    let reason = "additions cost security: lattice reduction of this size is a workstation's work, and q is far \
                  into the range in which NTRU is overstretched. And no q helps with these blinding polynomials: the \
                  coefficients of a ciphertext add up to its message (a test of slyfi-pir reads the index so)";
    let verdict = if after_cost < 80.0 { Verdict::NotReproduced } else { Verdict::Reproduced };
    Finding::new(SAFE, verdict, ours, reason)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(of: &[Finding], claim: Claim) -> Verdict {
        of.iter().find(|f| f.claim == claim).unwrap().verdict
    }

    fn borne(log2_q: u32, least: u64) -> Borne {
        Borne { log2_q, repetitions: 20, least: Some(least), limit: 1 << 40 }
    }

    #[test]
    fn tails_are_those_of_the_tables() {
        // P(|x| > 3σ) = 0.0027, 5σ: 5.733e-7, 6σ: 1.973e-9.
        for (p, z) in [(0.0027, 3.0), (5.733e-7, 5.0), (1.973e-9, 6.0)] {
            assert!((deviations(p) - z).abs() < 0.03, "{p}: {}", deviations(p));
        }
    }

    #[test]
    fn numbers_like_the_models_reproduce_and_others_do_not() {
        let good: Vec<Borne> = (11..=17).map(|q| borne(q, model(q, 20.0) as u64)).collect();
        let judged = judge(&good);
        assert_eq!(verdict(&judged, GROWTH), Verdict::Reproduced);
        assert_eq!(verdict(&judged, LEAST), Verdict::Reproduced);
        assert_eq!(verdict(&judged, ENOUGH), Verdict::Reproduced);
        assert_eq!(verdict(&judged, SAFE), Verdict::NotReproduced);
        let linear: Vec<Borne> = (11..=17).map(|q| borne(q, 200 << (q - 11))).collect();
        let judged = judge(&linear);
        assert_eq!(verdict(&judged, GROWTH), Verdict::Differs);
        assert_eq!(verdict(&judged, LEAST), Verdict::NotReproduced);
        let nothing = [Borne { least: None, ..borne(21, 0) }];
        let judged = judge(&nothing);
        assert_eq!(verdict(&judged, GROWTH), Verdict::NotMeasured);
        assert_eq!(verdict(&judged, LEAST), Verdict::NotMeasured);
    }

    #[test]
    fn a_plan_keeps_to_its_seconds() {
        for seconds in [0.1, 6.0] {
            for log2_q in 11..=21 {
                let (repetitions, limit) = plan(log2_q, seconds);
                let typical = model(log2_q, 1.0).min(limit as f64);
                assert!(repetitions as f64 * typical * ADDITION_S <= 1.5 * seconds, "{log2_q}");
                assert!(repetitions > 0 && limit > 0);
            }
        }
    }
}
