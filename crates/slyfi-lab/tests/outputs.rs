//! What a run leaves behind, with real measurements of a quick run.

use serde_json::Value;
use slyfi_lab::measure::count::Counter;
use slyfi_lab::{Context, Kept, LabError, Provenance, Verdict, output, registry};
use std::fs;
use std::path::{Path, PathBuf};

struct TempDir(PathBuf);

impl TempDir {
    fn new(name: &str) -> Self {
        let dir = std::env::temp_dir().join(format!("slyfi-lab-{}-{name}", std::process::id()));
        fs::create_dir_all(&dir).unwrap();
        TempDir(dir)
    }
}

impl Drop for TempDir {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn run(id: &str, out: &Path, data: Option<PathBuf>) -> Result<PathBuf, LabError> {
    let mut told = 0;
    let mut progress = |_: &str| told += 1;
    let counter = Counter::Missing("this test has none".to_owned());
    let mut context = Context {
        quick: true,
        data,
        rows: None,
        out: out.to_owned(),
        counter,
        progress: &mut progress,
        kept: Kept::default(),
    };
    let experiment = registry::find(id)?[0];
    let outcome = experiment.run(&mut context)?;
    let claims: Vec<_> = outcome.findings.iter().map(|f| f.claim).collect();
    assert_eq!(claims, experiment.claims(), "{id}: every claim is judged, in order");
    let dir = output::write(out, experiment, &Provenance::here(true), &outcome)?;
    if id.starts_with("sbkh") {
        assert!(told > 0, "{id} tells what it does");
    }
    Ok(dir)
}

#[test]
fn each_figure_of_sbkh_leaves_tables_a_plot_and_a_verdict_on_every_claim() {
    let out = TempDir::new("sbkh");
    for id in ["sbkh/fig3", "sbkh/fig4"] {
        let dir = run(id, &out.0, None).unwrap();
        assert_eq!(dir, out.0.join(id.replace('/', "-")));
        let csv = fs::read_to_string(dir.join("data.csv")).unwrap();
        assert_eq!(
            csv.lines().next().unwrap(),
            "cipher,level,payload_bytes,overhead_bytes,seal_median_ns,open_median_ns,seal_least_ns,\
             open_least_ns,seal_instructions,open_instructions"
        );
        let commas = |line: &str| line.replace("\"WPA 2.0 (CCMP), ", "").replace("\"WPA 2.0, ", "");
        assert!(csv.lines().all(|l| commas(l).matches(',').count() == 9), "{csv}");
        let svg = fs::read_to_string(dir.join("time.svg")).unwrap();
        let commit = Provenance::here(true).commit;
        for word in [
            "payload (bytes)",
            "time (ns a packet)",
            "Encryption",
            "Decryption",
            "WEP",
            "WPA 1.0 (TKIP)",
            "AES tables",
            "constant-time AES",
            "SBKH",
            "QUICK RUN",
            &commit,
        ] {
            assert!(svg.contains(word), "{id}: {word}");
        }
        assert!(!dir.join("instructions.svg").exists(), "nothing is drawn that was not counted");
        let verdict = fs::read_to_string(dir.join("verdict.md")).unwrap();
        assert!(verdict.contains("INSTRUCTIONS WERE NOT COUNTED: valgrind: this test has none"));
        let result: Value =
            serde_json::from_str(&fs::read_to_string(dir.join("result.json")).unwrap()).unwrap();
        assert_eq!((&result["schema"], &result["experiment"]), (&1.into(), &id.into()));
        assert_eq!(result["provenance"]["quick"], true);
        let findings = result["findings"].as_array().unwrap();
        assert!(findings.iter().all(|f| f["verdict"] != "not_measured"), "{findings:?}");
        assert_eq!(result["tables"][0]["columns"].as_array().unwrap().len(), 10);
    }
}

#[test]
fn what_does_not_depend_on_the_machine_comes_out_the_same_everywhere() {
    let out = TempDir::new("fixed");
    let dir = run("sbkh/fig4", &out.0, None).unwrap();
    let result: Value =
        serde_json::from_str(&fs::read_to_string(dir.join("result.json")).unwrap()).unwrap();
    let overhead = result["findings"].as_array().unwrap();
    let overhead = overhead.iter().find(|f| f["claim"]["id"] == "overhead").unwrap();
    assert_eq!(overhead["verdict"], serde_json::to_value(Verdict::Reproduced).unwrap());
}

#[test]
fn figures_without_an_os_need_measurements_and_say_how_to_get_them() {
    let out = TempDir::new("bare");
    // The tests of a package run in its directory, which has no xtask.
    let error = run("bare/fig13", &out.0, None).unwrap_err();
    assert!(matches!(error, LabError::NoData { .. }), "{error}");
    assert!(error.to_string().contains("cargo xtask bare --measure"));
    let file = out.0.join("bare.json");
    let error = run("bare/fig13", &out.0, Some(file.clone())).unwrap_err();
    assert!(matches!(error, LabError::File { .. }), "{error}");
    fs::write(&file, "{\"schema\": 7}").unwrap();
    let error = run("bare/fig13", &out.0, Some(file)).unwrap_err();
    assert!(matches!(error, LabError::Data { .. }), "{error}");
}

/// Runs experiments as one run does: what one has measured the others find.
#[cfg(feature = "tracedge")]
fn run_together(ids: &str, out: &Path) -> Vec<(String, slyfi_lab::Outcome)> {
    let mut told = 0;
    let mut progress = |_: &str| told += 1;
    let mut context = Context {
        quick: true,
        data: None,
        rows: Some(10_000),
        out: out.to_owned(),
        counter: Counter::Missing("this test has none".to_owned()),
        progress: &mut progress,
        kept: Kept::default(),
    };
    let mut outcomes = Vec::new();
    for experiment in registry::find(ids).unwrap() {
        let outcome = experiment.run(&mut context).unwrap();
        let claims: Vec<_> = outcome.findings.iter().map(|f| f.claim).collect();
        assert_eq!(claims, experiment.claims(), "{}", experiment.id());
        output::write(out, experiment, &Provenance::here(true), &outcome).unwrap();
        outcomes.push((experiment.id().to_owned(), outcome));
    }
    assert!(told > 10);
    outcomes
}

#[cfg(feature = "tracedge")]
#[test]
fn all_of_tracedge_is_measured_quickly_and_small_tables_get_no_verdict_on_large_ones() {
    let out = TempDir::new("tracedge");
    let outcomes = run_together("tracedge", &out.0);
    assert_eq!(outcomes.len(), 10);
    let of = |id: &str| &outcomes.iter().find(|(of, _)| of == id).unwrap().1;
    let verdict = |id: &str, claim: &str| {
        let findings = &of(id).findings;
        findings.iter().find(|f| f.claim.id == claim).unwrap().verdict
    };
    // What the machine has no part in.
    assert_eq!(verdict("tracedge/table3", "safe"), Verdict::NotReproduced);
    assert_eq!(verdict("tracedge/table3", "growth"), Verdict::Reproduced);
    assert_eq!(verdict("tracedge/table5", "table-size"), Verdict::Better);
    assert_eq!(verdict("tracedge/detection", "caught"), Verdict::Reproduced);
    assert_eq!(verdict("tracedge/audit", "audit-cost"), Verdict::Differs);
    for (id, claim) in [
        ("tracedge/table5", "created"),
        ("tracedge/table6", "query-time"),
        ("tracedge/table7", "latency"),
        ("tracedge/table8", "answer"),
        ("tracedge/rate", "rate-eight"),
        ("tracedge/sizes", "response-size"),
    ] {
        assert_eq!(verdict(id, claim), Verdict::NotMeasured, "{id} {claim}");
    }
    // The tests of a package run in its directory, which is not the checkout's root.
    let tokens = of("tracedge/privacypass");
    assert!(tokens.notes.iter().any(|n| n.contains("TOKENS WERE NOT MEASURED")));
    let guarantees = fs::read_to_string(out.0.join("tracedge-privacypass/guarantees.csv")).unwrap();
    assert!(guarantees.contains("K is one secret for all"), "{guarantees}");
    let read = |file: &str| fs::read_to_string(out.0.join(file)).unwrap();
    for word in ["ntru-2015,NO,10000", "lwe,yes,10000", "hintless,yes,10000", "paper: Galaxy SII"] {
        assert!(read("tracedge-table6/data.csv").contains(word), "{word}");
        assert!(read("tracedge-table7/data.csv").contains(word), "{word}");
    }
    assert!(read("tracedge-table3/additions.svg").contains("noise model"));
}

/// What a login over the link takes is at least what light and the link take.
#[cfg(feature = "tracedge")]
#[test]
fn a_login_over_the_link_takes_its_round_trips() {
    let out = TempDir::new("latency");
    let outcomes = run_together("tracedge/table7", &out.0);
    let login = outcomes[0].1.tables.iter().find(|t| t.name == "login").unwrap();
    let column = |name: &str| login.columns.iter().position(|c| c.name == name).unwrap();
    for row in &login.rows {
        let seconds = |name: &str| match &row[column(name)] {
            slyfi_lab::Cell::Number(n) => *n,
            other => panic!("{name}: {other:?}"),
        };
        // Round trips of 40 ms: TCP's and TLS's; the log and the head; the retrieval; two.
        assert!(seconds("connect_s") >= 0.080, "{row:?}");
        assert!(seconds("head_s") >= 0.080, "{row:?}");
        assert!(seconds("retrieval_s") >= seconds("retrieval_link_s"), "{row:?}");
        assert!(seconds("prove_s") >= 0.080, "{row:?}");
        let parts = ["connect_s", "head_s", "retrieval_s", "prove_s"].map(seconds);
        assert!((seconds("whole_s") - parts.iter().sum::<f64>()).abs() < 1e-6);
    }
}
