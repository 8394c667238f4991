//! Verdicts of numbers that were made up to hold, to differ and to fail.

use super::*;
use crate::tracedge::{Creation, Latency, Millis, OnGpu};
use slyfi_pir::Sizes;
use std::sync::Arc;

fn ms(wall: f64) -> Millis {
    Millis { wall, cpu: wall }
}

fn costs(scheme: SchemeId, rows: u64, answer_ms: f64) -> Costs {
    let ntru = scheme == SchemeId::Ntru2015;
    let sizes = if ntru {
        Sizes { query: 5_660_000, answer: 1_253_786, hint: 0, rows_per_answer: 34 }
    } else {
        Sizes { query: 127_165, answer: 40_962, hint: 0, rows_per_answer: 320 }
    };
    let latency = Latency {
        connect_s: 0.1,
        head_s: 0.12,
        retrieval_s: 0.25,
        prove_s: 0.08,
        whole_s: 0.55,
        fetched_before_s: 0.18,
        hint_s: None,
        link_s: 0.2,
        up: 130_000,
        down: 45_000,
    };
    Costs {
        scheme,
        rows,
        sizes,
        prepare_s: 30.0,
        memory: 1 << 30,
        query: ms(5.0),
        extract: ms(0.3),
        answer: ms(answer_ms),
        batched: (!ntru).then(|| ms(answer_ms / 2.0)),
        directory_answer: ms(answer_ms * 1.2),
        threads: vec![(1, 1e3 / answer_ms), (2, 1.9e3 / answer_ms)],
        logins_per_s: 3e3 / answer_ms,
        latency,
        gpu: Err("no GPU on this machine".to_owned()),
    }
}

fn world(rows: u64) -> Measured {
    let creation = Creation {
        rows,
        workers: 2,
        build_s: 90.0,
        build_core_s: 170.0,
        key_sum_core_s: 40.0,
        audit_s: 25.0,
        audit_core_s: 48.0,
        row_us: 15.0,
    };
    let of = |scheme, answer| Arc::new(costs(scheme, rows, answer));
    Measured {
        creations: vec![creation],
        costs: vec![
            of(SchemeId::Ntru2015, 20_000.0),
            of(SchemeId::Lwe, 18.0),
            of(SchemeId::Hintless, 40.0),
        ],
    }
}

fn verdict(findings: &[Finding], claim: Claim) -> Verdict {
    findings.iter().find(|f| f.claim == claim).expect("a finding for the claim").verdict
}

/// The same with the hintless scheme's costs changed.
fn with(change: impl FnOnce(&mut Costs)) -> Measured {
    let mut measured = world(paper::ROWS);
    change(Arc::make_mut(&mut measured.costs[2]));
    measured
}

#[test]
fn what_costs_less_than_the_paper_is_better_and_what_costs_more_is_not_reproduced() {
    let good = world(paper::ROWS);
    assert_eq!(verdict(&creation(&good), CREATED), Verdict::Better);
    assert_eq!(verdict(&creation(&good), TABLE_SIZE), Verdict::Better);
    assert_eq!(verdict(&query(&good), QUERY_TIME), Verdict::Better);
    assert_eq!(verdict(&query(&good), ENCRYPTION), Verdict::Better);
    assert_eq!(verdict(&extraction(&good), LATENCY), Verdict::Better);
    assert_eq!(verdict(&retrieval(&good), ANSWER), Verdict::Better);
    assert_eq!(verdict(&rate(&good), EIGHT_GPUS), Verdict::Better);
    assert_eq!(verdict(&rate(&good), DOLLARS), Verdict::Better);

    let mut slow = world(paper::ROWS);
    slow.creations[0].build_s = 1_250.0;
    assert_eq!(verdict(&creation(&slow), CREATED), Verdict::Reproduced);
    slow.creations[0].build_s = 2_000.0;
    assert_eq!(verdict(&creation(&slow), CREATED), Verdict::NotReproduced);
    let slow = with(|c| c.query = ms(3_000.0));
    assert_eq!(verdict(&query(&slow), QUERY_TIME), Verdict::NotReproduced);
    let slow = with(|c| c.latency.retrieval_s = 2.0);
    assert_eq!(verdict(&extraction(&slow), LATENCY), Verdict::NotReproduced);
    let slow = with(|c| c.answer = ms(200.0));
    assert_eq!(verdict(&retrieval(&slow), ANSWER), Verdict::Reproduced);
    let slow = with(|c| c.answer = ms(500.0));
    assert_eq!(verdict(&retrieval(&slow), ANSWER), Verdict::NotReproduced);
    let slow = with(|c| c.logins_per_s = 1.0);
    assert_eq!(verdict(&rate(&slow), ONE_GPU), Verdict::NotReproduced);
    assert_eq!(verdict(&rate(&slow), DOLLARS), Verdict::NotReproduced);
}

#[test]
fn the_papers_query_size_is_not_ours_and_its_response_is() {
    let measured = world(paper::ROWS);
    assert_eq!(verdict(&query(&measured), QUERY_SIZE), Verdict::NotReproduced);
    assert_eq!(verdict(&sizes(&measured), RESPONSE), Verdict::Reproduced);
    assert_eq!(verdict(&sizes(&measured), LINK), Verdict::Reproduced);
    let mut other = measured.clone();
    Arc::make_mut(&mut other.costs[0]).sizes.answer = 700_000;
    assert_eq!(verdict(&sizes(&other), RESPONSE), Verdict::Differs);
    Arc::make_mut(&mut other.costs[0]).sizes.query = 12_600;
    assert_eq!(verdict(&query(&other), QUERY_SIZE), Verdict::Reproduced);
}

#[test]
fn audits_and_threads_are_judged_by_ratios() {
    assert_eq!(verdict(&audit(&world(paper::ROWS)), AUDIT_COST), Verdict::Differs);
    let free = with(|c| c.directory_answer = ms(1.0));
    assert_eq!(verdict(&audit(&free), AUDIT_COST), Verdict::Reproduced);
    let parallel = |both: f64| {
        let measured = with(|c| c.threads = vec![(1, 25.0), (2, both)]);
        verdict(&retrieval(&measured), PARALLEL)
    };
    assert_eq!(parallel(48.0), Verdict::Reproduced);
    assert_eq!(parallel(35.0), Verdict::Differs);
    assert_eq!(parallel(25.0), Verdict::NotReproduced);
}

#[test]
fn a_gpu_is_judged_where_there_is_one() {
    let on = |gpu| verdict(&retrieval(&with(|c| c.gpu = gpu)), ON_GPU);
    let device =
        |wall| OnGpu { device: "a GPU".to_owned(), answer: ms(wall), batched: ms(wall / 4.0) };
    assert_eq!(on(Ok(device(2.0))), Verdict::Reproduced);
    assert_eq!(on(Ok(device(90.0))), Verdict::NotReproduced);
    assert_eq!(on(Err("no GPU on this machine".to_owned())), Verdict::NotMeasured);
}

#[test]
fn smaller_tables_and_none_get_no_verdict_on_what_the_paper_has_of_ten_million_rows() {
    for measured in [world(40_000), Measured::default()] {
        let none = Verdict::NotMeasured;
        assert_eq!(verdict(&creation(&measured), CREATED), none);
        assert_eq!(verdict(&query(&measured), QUERY_TIME), none);
        assert_eq!(verdict(&extraction(&measured), LATENCY), none);
        assert_eq!(verdict(&retrieval(&measured), ANSWER), none);
        assert_eq!(verdict(&rate(&measured), EIGHT_GPUS), none);
        assert_eq!(verdict(&sizes(&measured), RESPONSE), none);
    }
    // And what they found is told nevertheless.
    assert!(creation(&world(40_000))[0].ours.contains("40000 rows"));
}
