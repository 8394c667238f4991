//! The test vectors: independent references, the committed files and the program, each against the
//! others.

use crate::context::Context;
use crate::machine::Need;
use crate::step::Outcome;
use crate::steps::system::reference_packages;
use crate::tally::Tally;
use serde_json::Value;
use std::path::{Path, PathBuf};

/// Other seeds that the references are run with.
const SEEDS: [u64; 3] = [1, 77, 4_294_967_295];

/// For each `vectors/NAME_reference.py` and its `NAME.json`: the reference reproduces the file from
/// the file's seed; the program accepts the file and what the reference makes of other seeds, and
/// refuses a file with one digit changed.
pub fn run(context: &Context<'_>) -> Outcome {
    let folder = context.root().join("vectors");
    let mut references: Vec<_> = std::fs::read_dir(&folder)
        .map(|entries| entries.flatten().map(|e| e.path()).filter(|p| is_reference(p)).collect())
        .unwrap_or_default();
    references.sort();
    if references.is_empty() {
        return Outcome::Skipped("vectors/ holds no reference".into());
    }
    let python = Need { what: "python3", package: "python3" };
    if let Err(why) = context.machine.ensure(&[python]) {
        return Outcome::Skipped(why);
    }
    let packages = match reference_packages(context, "vectors") {
        Ok(path) => path,
        Err(why) => return Outcome::Skipped(why),
    };
    let program = match context.release_binary("vectors") {
        Ok(program) => program,
        Err(why) => return Outcome::Failed(why),
    };
    let bench = Bench { context, packages, program };
    let mut tally = Tally::default();
    let mut findings = Vec::new();
    for reference in &references {
        for (claim, result) in bench.check(reference) {
            match result {
                Ok(()) => tally += Tally::one_passed(),
                Err(why) => findings.push(format!("{claim}: {why}")),
            }
        }
    }
    if findings.is_empty() { Outcome::Ran(tally) } else { Outcome::of_findings(&findings) }
}

fn is_reference(path: &Path) -> bool {
    path.file_name().and_then(|n| n.to_str()).is_some_and(|n| n.ends_with("_reference.py"))
}

struct Bench<'c> {
    context: &'c Context<'c>,
    packages: PathBuf,
    program: PathBuf,
}

impl Bench<'_> {
    fn check(&self, reference: &Path) -> Vec<(String, Result<(), String>)> {
        let name = reference.to_string_lossy().replace("_reference.py", "");
        let short = Path::new(&name).file_name().unwrap_or_default().to_string_lossy().into_owned();
        let committed = match std::fs::read_to_string(format!("{name}.json")) {
            Ok(text) => text,
            Err(e) => return vec![(short, Err(format!("its .json: {e}")))],
        };
        let mut results = vec![
            (
                format!("{short}: the reference makes the committed file"),
                self.same(reference, &committed),
            ),
            (format!("{short}: the program accepts it"), self.verdict(&committed, true)),
            (
                format!("{short}: the program refuses one changed digit"),
                one_digit_changed(&committed)
                    .ok_or_else(|| "nothing to change".to_owned())
                    .and_then(|text| self.verdict(&text, false)),
            ),
        ];
        for seed in SEEDS {
            let made = self.make(reference, seed).and_then(|text| self.verdict(&text, true));
            results.push((format!("{short}: the program accepts seed {seed}"), made));
        }
        results
    }

    fn make(&self, reference: &Path, seed: u64) -> Result<String, String> {
        let mut python = self.context.command("python3");
        python.arg(reference).arg(seed.to_string()).env("PYTHONPATH", &self.packages);
        let done = python.output().map_err(|e| e.to_string())?;
        if done.status.success() {
            String::from_utf8(done.stdout).map_err(|e| e.to_string())
        } else {
            Err(String::from_utf8_lossy(&done.stderr).trim().to_owned())
        }
    }

    fn same(&self, reference: &Path, committed: &str) -> Result<(), String> {
        let expected: Value = serde_json::from_str(committed).map_err(|e| e.to_string())?;
        let seed = expected["seed"].as_u64().ok_or("the file names no seed")?;
        let make = || -> Result<Value, String> {
            serde_json::from_str(&self.make(reference, seed)?).map_err(|e| e.to_string())
        };
        if agrees(&expected, &make()?, &make()?) { Ok(()) } else { Err("they differ".into()) }
    }

    fn verdict(&self, vectors: &str, good: bool) -> Result<(), String> {
        let file = self.context.cache("vectors.json");
        std::fs::create_dir_all(self.context.cache("")).map_err(|e| e.to_string())?;
        std::fs::write(&file, vectors).map_err(|e| e.to_string())?;
        let mut check = self.context.command(&self.program.to_string_lossy());
        check.args(["vectors", "check"]).arg(&file);
        let done = self.context.run("vectors", &mut check, 120)?;
        match (done.ok, good) {
            (true, true) | (false, false) => Ok(()),
            (true, false) => Err("it was accepted".into()),
            (false, true) => Err(done.output.lines().last().unwrap_or("refused").to_owned()),
        }
    }
}

/// Whether `expected` is what a reference makes: equal wherever two of its runs are.
///
/// ML-KEM's encapsulation takes no seed, so some values differ from run to run; the program's
/// verdict is what checks those.
fn agrees(expected: &Value, one: &Value, other: &Value) -> bool {
    match (expected, one, other) {
        (Value::Object(e), Value::Object(a), Value::Object(b)) => {
            let null = Value::Null;
            e.len() == a.len()
                && a.iter().all(|(key, a)| {
                    agrees(e.get(key).unwrap_or(&null), a, b.get(key).unwrap_or(&null))
                })
        }
        (Value::Array(e), Value::Array(a), Value::Array(b)) => {
            e.len() == a.len()
                && a.len() == b.len()
                && e.iter().zip(a).zip(b).all(|((e, a), b)| agrees(e, a, b))
        }
        (Value::String(e), Value::String(a), Value::String(b)) if a != b => e.len() == a.len(),
        _ => one == other && expected == one,
    }
}

/// Changes one digit of the last long hexadecimal string.
fn one_digit_changed(json: &str) -> Option<String> {
    let is_hex = |s: &str| s.len() >= 32 && s.bytes().all(|b| b.is_ascii_hexdigit());
    let last = json.split('"').rfind(|s| is_hex(s))?;
    let at = json.rfind(last)?;
    let digit = if last.starts_with('0') { "1" } else { "0" };
    Some(format!("{}{digit}{}", &json[..at], &json[at + 1..]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_two_runs_agree_on_must_be_in_the_file() {
        let file = json!({"a": ["11", 2], "random": "77"});
        let run = |random: &str| json!({"a": ["11", 2], "random": random});
        assert!(agrees(&file, &run("55"), &run("66")));
        assert!(!agrees(&file, &run("66"), &run("66")));
        assert!(!agrees(&json!({"a": ["12", 2], "random": "77"}), &run("55"), &run("66")));
        assert!(!agrees(&json!({"a": ["11"], "random": "77"}), &run("55"), &run("66")));
        assert!(!agrees(&json!({"a": ["11", 2]}), &run("55"), &run("66")));
        assert!(!agrees(&json!({"a": ["11", 2], "random": "7"}), &run("55"), &run("66")));
    }

    #[test]
    fn changes_exactly_one_digit() {
        let json = format!("{{\"a\": \"{}\", \"b\": \"xyz\"}}", "4f".repeat(16));
        let other = one_digit_changed(&json).unwrap();
        assert_eq!(json.len(), other.len());
        assert_eq!(json.bytes().zip(other.bytes()).filter(|(a, b)| a != b).count(), 1);
        assert_eq!(one_digit_changed("{\"a\": 1}"), None);
    }
}
