//! Verdicts on made-up measurements, as the paper had them and otherwise.

use super::claims::{FIG13, FIG14, FIG16, FIG18, FIG20, judge};
use super::data::System::{self, Bare, Linux};
use super::data::{Delays, Instructions, Measurements, Pairing};
use super::figures::FIGURES;
use crate::plot::render;
use crate::{Claim, Experiment, Verdict};

/// The paper's orders: a bare server that sends quickly and encrypts slowly.
fn paper() -> Measurements {
    let sizes = [50, 250, 500, 750, 1000];
    let mut pairings = Vec::new();
    for server in [Bare, Linux] {
        for client in [Bare, Linux] {
            for n in sizes {
                let share = f64::from(n) / 1000.0;
                let (clear, sealing) = match server {
                    Bare => (4.0 + 5.0 * share, 4.5 + 53.0 * share),
                    Linux => (6.0 + 73.0 * share, 4.0 + 5.0 * share),
                };
                let slower = if (server, client) == (Bare, Linux) { 12.0 } else { 0.0 };
                let opening = if client == Bare { 10.0 } else { 5.0 };
                let d2 = clear + slower;
                let d3 = d2 + sealing;
                let base = 13.0 + 72.0 * share;
                let d0 = if client == Bare { base } else { base * 1.2 };
                pairings.push(Pairing {
                    server,
                    client,
                    n,
                    median: Delays { d0, d1: d0 + opening, d2, d3, d5: d3 + 0.3, e5: d3 },
                });
            }
        }
    }
    pairings.iter_mut().for_each(|p| {
        let d = &mut p.median;
        for t in [&mut d.d0, &mut d.d1, &mut d.d2, &mut d.d3, &mut d.d5, &mut d.e5] {
            *t *= 1e6;
        }
    });
    let icount = [Bare, Linux]
        .into_iter()
        .flat_map(|system| {
            sizes.map(|n| Instructions { system, n, overhead: f64::from(n), work: 1.0 })
        })
        .collect();
    Measurements {
        schema: 1,
        commit: "c0ffee".to_owned(),
        machine: "a machine".to_owned(),
        qemu: "QEMU 9".to_owned(),
        m: 1000,
        accelerator: "tcg".to_owned(),
        pairings,
        icount,
        ccm: Vec::new(),
    }
}

fn change(data: &mut Measurements, server: System, f: impl Fn(&mut Delays)) {
    data.pairings.iter_mut().filter(|p| p.server == server).for_each(|p| f(&mut p.median));
}

fn verdict(data: &Measurements, orders: &[super::claims::Order], id: &str) -> Verdict {
    let order = orders.iter().find(|o| o.claim.id == id).unwrap();
    judge(order, data).verdict
}

#[test]
fn the_papers_orders_are_reproduced_by_the_papers_orders() {
    let data = paper();
    assert_eq!(verdict(&data, FIG14, "encryption-overhead"), Verdict::Reproduced);
    assert_eq!(verdict(&data, FIG13, "bare-client-clear"), Verdict::Reproduced);
    assert_eq!(verdict(&data, FIG13, "bare-client-sealed"), Verdict::Reproduced);
    assert_eq!(verdict(&data, FIG16, "decryption-overhead"), Verdict::Reproduced);
    assert_eq!(verdict(&data, FIG20, "encryption-same"), Verdict::Reproduced);
}

#[test]
fn a_bare_server_that_encrypts_quickly_is_not_the_papers() {
    let mut data = paper();
    change(&mut data, Bare, |d| d.d3 = d.d2 + 1e6);
    assert_eq!(verdict(&data, FIG14, "encryption-overhead"), Verdict::NotReproduced);
    let order = FIG14.iter().find(|o| o.claim.id == "encryption-overhead").unwrap();
    let finding = judge(order, &data);
    assert!(
        finding.ours.contains("50/50 at 50, 250/250") && !finding.reason.is_empty(),
        "{finding:?}"
    );
    data.icount.clear();
    assert!(judge(order, &data).ours.contains("NOT IN THE MEASUREMENTS"));
}

#[test]
fn an_order_that_mostly_holds_differs_and_names_where_it_does_not() {
    let mut data = paper();
    data.pairings.iter_mut().filter(|p| p.server == Bare && p.n == 250).for_each(|p| {
        p.median.d2 = 1e9;
    });
    let order = FIG13.iter().find(|o| o.claim.id == "bare-client-clear").unwrap();
    let finding = judge(order, &data);
    assert_eq!(finding.verdict, Verdict::Differs);
    assert!(finding.ours.contains("not at 250 bytes"), "{finding:?}");
}

#[test]
fn equal_delays_are_no_order_but_satisfy_equal_or_higher() {
    let mut data = paper();
    data.pairings.iter_mut().for_each(|p| (p.median.d2, p.median.d5) = (5e6, 5e6));
    assert_eq!(verdict(&data, FIG13, "bare-client-clear"), Verdict::NotReproduced);
    assert_eq!(verdict(&data, FIG18, "linux-client-slower"), Verdict::Reproduced);
}

#[test]
fn a_missing_pairing_is_not_judged() {
    let mut data = paper();
    data.pairings.retain(|p| p.client == Bare);
    assert_eq!(verdict(&data, FIG13, "linux-client-clear"), Verdict::NotMeasured);
}

#[test]
fn every_figure_has_all_its_series_units_and_origin() {
    let data = paper();
    for figure in &FIGURES {
        let outcome = figure.outcome(&data);
        let claims: Vec<Claim> = outcome.findings.iter().map(|f| f.claim).collect();
        assert_eq!(claims, figure.claims(), "{}", figure.id());
        let (_, plot) = &outcome.figures[0];
        let svg = render(plot, &outcome.notes.join(" "));
        for word in ["payload (bytes)", "(ms)", "c0ffee", figure.source()] {
            assert!(svg.contains(word), "{}: {word}", figure.id());
        }
        let both = if figure.id() < "bare/fig17" {
            ["clear, bare", "clear, Linux"]
        } else {
            ["response time", "encryption time"]
        };
        assert!(both.iter().all(|b| svg.contains(b)), "{}", figure.id());
        assert!(outcome.tables[0].rows.len() >= 10 && !svg.contains("NaN"));
    }
}

#[test]
fn another_schema_or_an_empty_file_is_refused() {
    let text = |schema: u32, pairings: &str| {
        format!(
            "{{\"schema\": {schema}, \"commit\": \"c\", \"machine\": \"m\", \"qemu\": \"q\", \"m\": 1, \
             \"accelerator\": \"tcg\", \"pairings\": [{pairings}], \"icount\": []}}"
        )
    };
    let pairing = "{\"server\": \"bare\", \"client\": \"linux\", \"n\": 50, \"rounds\": [], \
                   \"median\": {\"d0\": 1, \"d1\": 2, \"d2\": 3, \"d3\": 4, \"d4\": 5, \"d5\": 6, \
                   \"e4\": 7, \"e5\": 8}}";
    assert_eq!(Measurements::parse(&text(1, pairing)).unwrap().pairings[0].median.e5, 8.0);
    assert!(Measurements::parse(&text(2, pairing)).unwrap_err().contains("schema"));
    assert!(Measurements::parse(&text(1, "")).unwrap_err().contains("no pairing"));
    assert!(Measurements::parse("{}").is_err());
}
