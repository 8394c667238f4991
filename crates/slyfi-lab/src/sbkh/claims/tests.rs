//! Verdicts on made-up costs, as the paper would like them and otherwise.

use super::super::costs::{Point, RekeyCost};
use super::super::workloads::{Level, Operation};
use super::*;

/// Costs with a fixed part for each packet and one for each byte, as the paper would like them.
fn paper() -> Vec<(Cipher, f64, f64)> {
    vec![
        (Cipher::Wep, 275.0, 1.0),
        (Cipher::Wpa1, 400.0, 1.3),
        (Cipher::Wpa2Tables, 100.0, 3.2),
        (Cipher::Sbkh, 4.0, 1.0),
    ]
}

fn costs(model: &[(Cipher, f64, f64)], sizes: &[usize]) -> Costs {
    let mut points = Vec::new();
    for &(cipher, fixed, byte) in model {
        for &payload in sizes {
            for operation in [Operation::Seal, Operation::Open] {
                let nanos = fixed + byte * payload as f64;
                let instructions = Some(nanos * 3.0);
                let level = Level::Core;
                let least_nanos = nanos;
                points.push(Point {
                    cipher,
                    level,
                    operation,
                    payload,
                    nanos,
                    least_nanos,
                    instructions,
                });
            }
        }
    }
    let rc4 = RekeyCost { ksa: (270.0, None), prga_byte: (1.0, None), rekey: (5_270.0, None) };
    Costs { points, rc4, uncounted: None }
}

const SMALL: [usize; 7] = [16, 48, 80, 96, 112, 160, 200];

fn verdict(findings: &[Finding], claim: Claim) -> Verdict {
    findings.iter().find(|f| f.claim == claim).unwrap().verdict
}

#[test]
fn what_the_paper_would_have_measured_is_reproduced() {
    let found = small(&costs(&paper(), &SMALL));
    for claim in [CHEAPEST, OVER_WEP, CROSSING, KSA, REKEY] {
        let f = found.iter().find(|f| f.claim == claim).unwrap();
        assert_eq!(f.verdict, Verdict::Reproduced, "{f:?}");
    }
    // The paper contradicts itself here: both sentences cannot hold.
    assert_eq!(verdict(&found, UNDER_250), Verdict::Differs);
    assert_eq!(verdict(&large(&costs(&paper(), &[16, 2048])), OVERHEAD), Verdict::Reproduced);
}

#[test]
fn a_dearer_sbkh_is_not_reproduced() {
    let mut model = paper();
    model[3] = (Cipher::Sbkh, 280.0, 1.0);
    let found = small(&costs(&model, &SMALL));
    assert_eq!(verdict(&found, CHEAPEST), Verdict::NotReproduced);
    assert_eq!(verdict(&found, OVER_WEP), Verdict::NotReproduced);
}

#[test]
fn fast_aes_makes_the_claim_differ_and_is_named() {
    let mut model = paper();
    model.push((Cipher::Wpa2Hardware, 20.0, 0.6));
    let found = small(&costs(&model, &SMALL));
    let f = found.iter().find(|f| f.claim == CHEAPEST).unwrap();
    assert_eq!(f.verdict, Verdict::Differs);
    assert!(f.ours.contains("AES instructions beats it"), "{f:?}");
}

#[test]
fn a_saving_that_shrinks_with_size_differs_over_the_whole_range() {
    let found = large(&costs(&paper(), &[16, 64, 256, 1024, 2048]));
    assert_eq!(verdict(&found, OVER_WEP_LARGE), Verdict::Differs);
}

#[test]
fn a_receiver_that_keeps_states_is_named_with_its_cost() {
    let mut c = costs(&paper(), &SMALL);
    let whole = costs(&[(Cipher::Wep, 275.0, 1.0), (Cipher::Sbkh, 400.0, 1.0)], &SMALL);
    c.points.extend(whole.points.into_iter().map(|p| Point { level: Level::Whole, ..p }));
    let found = small(&c);
    let f = found.iter().find(|f| f.claim == CHEAPEST).unwrap();
    assert!(f.reason.contains("no longer below WEP's"), "{f:?}");
}

#[test]
fn crossings_elsewhere_differ_and_none_is_not_reproduced() {
    for (fixed, byte, want) in [(20.0, 2.4, Verdict::Differs), (300.0, 3.0, Verdict::NotReproduced)]
    {
        let mut model = paper();
        model[2] = (Cipher::Wpa2Tables, fixed, byte);
        assert_eq!(verdict(&small(&costs(&model, &SMALL)), CROSSING), want);
    }
}

#[test]
fn dear_rekeying_and_an_odd_ksa_are_noticed() {
    let mut c = costs(&paper(), &SMALL);
    c.rc4.rekey.0 = 9e6;
    c.rc4.ksa.0 = 900.0;
    assert_eq!(verdict(&small(&c), REKEY), Verdict::NotReproduced);
    assert_eq!(verdict(&small(&c), KSA), Verdict::NotReproduced);
}

#[test]
fn what_was_not_measured_is_not_judged() {
    let without: Vec<_> = paper().into_iter().filter(|m| m.0 != Cipher::Wpa2Tables).collect();
    let found = small(&costs(&without, &SMALL));
    assert_eq!(verdict(&found, CROSSING), Verdict::NotMeasured);
    assert_eq!(verdict(&found, CHEAPEST), Verdict::NotMeasured);
}
