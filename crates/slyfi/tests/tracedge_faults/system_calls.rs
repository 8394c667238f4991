//! Faults at chosen system calls, by strace.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

/// Everything that changes what is on the disk.
const CHANGES: &str = "write,pwrite64,ftruncate,fallocate,fsync,fdatasync,rename,unlink";

/// One system call of a command: the `count`th of its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    pub name: String,
    pub count: usize,
}

/// Runs `slyfi tracedge …` and writes its changes of the disk to `log`.
fn traced(log: &Path, expression: &[&str], args: &[&str]) -> Output {
    let mut strace = Command::new("strace");
    strace.args(["-f", "-qq", "-y", "-e", &format!("trace={CHANGES}"), "-e", "signal=none", "-o"]);
    strace.arg(log).args(expression).arg(env!("CARGO_BIN_EXE_slyfi")).arg("tracedge").args(args);
    strace.output().unwrap()
}

/// Whether strace is there and may trace.
pub fn available() -> bool {
    Command::new("strace").args(["-o", "/dev/null", "true"]).status().is_ok_and(|s| s.success())
}

/// The lines of a run without a fault, and its calls. `only` is part of the paths that count.
pub fn calls(log: &Path, only: &str, args: &[&str]) -> (Vec<String>, Vec<Call>) {
    let out = traced(log, &[], args);
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    let text = fs::read_to_string(log).unwrap();
    let lines: Vec<String> = text.lines().map(str::to_owned).collect();
    // strace counts for each thread by itself.
    let mut counts = BTreeMap::<(&str, &str), usize>::new();
    let mut found = Vec::new();
    for line in &lines {
        let Some((thread, rest)) = line.split_once(' ') else { continue };
        let rest = rest.trim_start();
        let Some((name, arguments)) = rest.split_once('(') else { continue };
        let count = counts.entry((thread, name)).or_default();
        *count += 1;
        let call = Call { name: name.to_owned(), count: *count };
        if arguments.contains(only) && !found.contains(&call) {
            found.push(call);
        }
    }
    (lines, found)
}

/// Kills the command when it enters `call`.
pub fn killed_at(call: &Call, log: &Path, args: &[&str]) -> Output {
    let fault = format!("inject={}:signal=KILL:when={}", call.name, call.count);
    traced(log, &["-e", &fault], args)
}

/// Lets `call` fail as on a full disk.
pub fn full_at(call: &Call, log: &Path, args: &[&str]) -> Output {
    let fault = format!("inject={}:error=ENOSPC:when={}", call.name, call.count);
    traced(log, &["-e", &fault], args)
}
