//! `slyfi lab` as a user meets it.

use serde_json::Value;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output};

struct TempDir(PathBuf);

impl TempDir {
    fn new(name: &str) -> Self {
        let dir = std::env::temp_dir().join(format!("slyfi-lab-cli-{}-{name}", std::process::id()));
        fs::create_dir_all(&dir).unwrap();
        TempDir(dir)
    }

    fn path(&self) -> &str {
        self.0.to_str().unwrap()
    }
}

impl Drop for TempDir {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn lab(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_slyfi")).arg("lab").args(args).output().unwrap()
}

fn ok(args: &[&str]) -> String {
    let out = lab(args);
    assert!(out.status.success(), "{args:?}: {}", String::from_utf8_lossy(&out.stderr));
    String::from_utf8(out.stdout).unwrap()
}

fn fails(args: &[&str]) -> String {
    let out = lab(args);
    let err = String::from_utf8(out.stderr).unwrap();
    assert_eq!(out.status.code(), Some(2), "{args:?}: {err}");
    assert!(out.stdout.is_empty(), "{args:?} printed something");
    err
}

#[test]
fn the_experiments_are_listed_with_what_their_papers_claim() {
    let listed = ok(&["list"]);
    for id in ["sbkh/fig3", "sbkh/fig4", "bare/fig13", "bare/fig20"] {
        assert!(listed.contains(id), "{listed}");
    }
    let all: Value = serde_json::from_str(&ok(&["list", "--json"])).unwrap();
    assert_eq!(all.as_array().unwrap().len(), listed.lines().count());
    assert!(all[0]["claims"][0]["text"].as_str().unwrap().contains("SBKH"));
}

#[test]
fn a_quick_run_measures_counts_and_can_be_shown_again() {
    let dir = TempDir::new("run");
    let json = ok(&["run", "sbkh/fig3", "--quick", "--json", "--out", dir.path()]);
    let run: Value = serde_json::from_str(&json).unwrap();
    let result = &run[0];
    assert_eq!(result["experiment"], "sbkh/fig3");
    let valgrind = Command::new("valgrind").arg("--version").output().is_ok();
    assert!(valgrind || std::env::var_os("CI").is_none(), "valgrind is not installed");
    let rows = result["tables"][0]["rows"].as_array().unwrap();
    let counted = |row: &Value| row[8].as_f64().is_some_and(|n| n > 50.0);
    assert_eq!(rows.iter().all(counted), valgrind, "{result}");
    let told = result["notes"].to_string().contains("INSTRUCTIONS WERE NOT COUNTED");
    assert_eq!(told, !valgrind);
    if valgrind {
        let svg = fs::read_to_string(dir.0.join("sbkh-fig3/instructions.svg")).unwrap();
        assert!(svg.contains("instructions (a packet)") && svg.contains("SBKH"));
        // More bytes, more instructions: WEP's core at 16 and at 200 bytes.
        let wep = |bytes: u64| {
            let is = |row: &&Value| row[0] == "WEP" && row[1] == "core" && row[2] == bytes;
            rows.iter().find(is).unwrap()[8].as_f64().unwrap()
        };
        assert!(wep(200) > wep(16) + 500.0, "{} {}", wep(16), wep(200));
    }
    let shown = ok(&["show", "sbkh/fig3", "--out", dir.path()]);
    for word in ["QUICK", "about 75% more efficient", "§V", "reproduced"] {
        assert!(shown.contains(word), "{word} is not in:\n{shown}");
    }
    let again: Value =
        serde_json::from_str(&ok(&["show", "sbkh", "--json", "--out", dir.path()])).unwrap();
    assert_eq!(again, run);
}

#[test]
fn mistakes_name_what_mends_them() {
    let dir = TempDir::new("wrong");
    assert!(fails(&["run", "sbkh/fig5"]).contains("slyfi lab list"));
    assert!(fails(&["show", "all", "--out", dir.path()]).contains("slyfi lab run all"));
    let missing = dir.0.join("none.json");
    let args = ["run", "bare", "--out", dir.path(), "--data", missing.to_str().unwrap()];
    assert!(fails(&args).contains("none.json"));
    assert!(fails(&["run"]).contains("--help"));
}
