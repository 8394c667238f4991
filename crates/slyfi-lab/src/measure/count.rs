//! Instructions: this program runs again under valgrind's callgrind, which counts what it executes in
//! one function and writes a file each time that function ends.
//!
//! Counts do not depend on what else the machine does and are equal from run to run. Valgrind has no
//! AVX-512, so the kernels that it counts are the AES-NI ones.

use super::Workload;
use crate::LabError;
use crate::scratch::Scratch;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What counts instructions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Counter {
    /// Valgrind, running this program with these arguments before the experiment's name.
    Valgrind {
        /// The program, which must call [`count_all`] with these arguments.
        program: PathBuf,
        /// What makes it do so.
        arguments: Vec<String>,
    },
    /// Nothing does; why.
    Missing(String),
}

impl Counter {
    /// Looks for valgrind.
    pub fn find(program: PathBuf, arguments: Vec<String>) -> Self {
        match Command::new("valgrind").arg("--version").output() {
            Ok(out) if out.status.success() => Counter::Valgrind { program, arguments },
            Ok(out) => Counter::Missing(format!("valgrind does not run: {}", out.status)),
            Err(e) => Counter::Missing(format!("valgrind is not installed ({e})")),
        }
    }

    /// Counts every workload of an experiment, in the order in which the worker runs them.
    ///
    /// # Errors
    /// [`LabError::Program`] with the reason, [`LabError::File`] when its files cannot be read.
    pub fn count(
        &self,
        experiment: &str,
        quick: bool,
        expected: usize,
    ) -> Result<Vec<u64>, LabError> {
        let (program, arguments) = match self {
            Counter::Valgrind { program, arguments } => (program, arguments),
            Counter::Missing(why) => return Err(failed(why.clone())),
        };
        let dir = Scratch::new()?;
        let out = dir.path().join("out");
        let mut command = Command::new("valgrind");
        command.args(["--quiet", "--tool=callgrind", "--collect-atstart=no"]);
        command.arg(format!("--toggle-collect={REGION}"));
        command.arg(format!("--dump-after={REGION}"));
        command.arg(format!("--callgrind-out-file={}", out.display()));
        command.arg(program).args(arguments).arg(experiment);
        if quick {
            command.arg("--quick");
        }
        let run = command.output().map_err(|e| failed(e.to_string()))?;
        if !run.status.success() {
            let said = String::from_utf8_lossy(&run.stderr).trim().replace('\n', " ");
            return Err(failed(format!("{}: {said}", run.status)));
        }
        let counts = (1..=expected)
            .map(|i| read_total(&out.with_extension(i.to_string())))
            .collect::<Result<Vec<_>, _>>()?;
        if counts.contains(&0) {
            return Err(failed("a region counted nothing; is the program stripped?".to_owned()));
        }
        Ok(counts)
    }
}

fn failed(what: String) -> LabError {
    LabError::Program { name: "valgrind", what }
}

/// Runs every workload once where callgrind looks. What the worker process does.
pub fn count_all(workloads: &mut [Box<dyn Workload>]) {
    for workload in workloads {
        workload.prepare();
        counted_region(workload.as_mut());
    }
}

/// Its name as valgrind knows it. `--dump-after` takes no pattern beside another option's.
const REGION: &str = concat!(module_path!(), "::counted_region");

/// The function whose instructions are counted, found by its name.
#[inline(never)]
fn counted_region(workload: &mut dyn Workload) {
    workload.run();
    // Something behind the call, or the call would become a jump and the function never end.
    std::hint::black_box(workload.operations());
}

/// Reads the sum of a callgrind file (its format, version 1: the line `summary:` or `totals:`).
fn read_total(path: &Path) -> Result<u64, LabError> {
    let text = std::fs::read_to_string(path).map_err(|e| match e.kind() {
        std::io::ErrorKind::NotFound => {
            failed("it did not find the counted function; is the program stripped?".to_owned())
        }
        _ => LabError::File { path: path.to_owned(), source: e },
    })?;
    total(&text).ok_or_else(|| LabError::Data {
        path: path.to_owned(),
        what: "no sum in this callgrind file".to_owned(),
    })
}

fn total(text: &str) -> Option<u64> {
    let find = |name| text.lines().find_map(|line| line.strip_prefix(name));
    find("totals:").or_else(|| find("summary:"))?.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sum_is_found_and_its_absence_noticed() {
        assert_eq!(total("version: 1\nevents: Ir\nsummary: 17\nfn=(1)\ntotals: 18 2\n"), Some(18));
        assert_eq!(total("version: 1\nsummary: 17\n"), Some(17));
        assert_eq!(total("version: 1\n"), None);
        assert_eq!(total("totals: many\n"), None);
    }

    #[test]
    fn without_valgrind_nothing_is_counted_and_the_reason_is_kept() {
        let counter = Counter::Missing("not here".to_owned());
        assert!(counter.count("x", true, 1).unwrap_err().to_string().contains("not here"));
    }
}
