//! What a run leaves behind, with real measurements of a quick run.

use serde_json::Value;
use slyfi_lab::measure::count::Counter;
use slyfi_lab::{Context, LabError, Provenance, Verdict, output, registry};
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
    let mut context =
        Context { quick: true, data, out: out.to_owned(), counter, progress: &mut progress };
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
