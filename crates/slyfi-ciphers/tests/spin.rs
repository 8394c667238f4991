//! Model-checks the resynchronisation of SBKH with SPIN: `tests/spin/sbkh.pml` at the root.
//!
//! The model's rules are those of `slyfi_ciphers::danger::sbkh::Endpoint`. Each claim is checked on
//! every path of a bounded adversary; each twin takes one rule away and must fail, which shows that the
//! claims can fail.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// What SPIN found.
#[derive(Debug, PartialEq, Eq)]
enum Verdict {
    Holds,
    /// The assertion that some path violates.
    Violated(String),
}

fn skip(why: &str) {
    assert!(std::env::var_os("CI").is_none(), "{why}");
    eprintln!("SKIPPED: {why}");
}

fn has(tool: &str, argument: &str) -> bool {
    Command::new(tool)
        .arg(argument)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|s| s.success())
}

/// Generates, compiles and runs the verifier; `None` when the tools are not there.
fn check(name: &str, definitions: &[&str]) -> Option<Verdict> {
    if !has("spin", "-V") || !has("gcc", "--version") {
        skip("the model checker `spin` or `gcc` is not installed");
        return None;
    }
    let model: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../tests/spin/sbkh.pml")
        .canonicalize()
        .unwrap();
    let folder = std::env::temp_dir().join(format!("slyfi-spin-{}-{name}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let run = |program: &str, arguments: &[&str]| {
        let output = Command::new(program).args(arguments).current_dir(&folder).output().unwrap();
        (output.status.success(), String::from_utf8_lossy(&output.stdout).into_owned())
    };
    let mut generate = vec!["-a"];
    generate.extend(definitions);
    let model = model.display().to_string();
    generate.push(&model);
    let (ok, text) = run("spin", &generate);
    assert!(ok, "{text}");
    let compile = ["-O1", "-w", "-DSAFETY", "-DCOLLAPSE", "-DNOREDUCE", "-o", "pan", "pan.c"];
    let (ok, text) = run("gcc", &compile);
    assert!(ok, "{text}");
    let pan = folder.join("pan").display().to_string();
    let (_, text) = run(&pan, &["-m200000", "-w22"]);
    std::fs::remove_dir_all(&folder).unwrap();
    assert!(text.contains("Full statespace search"), "the search was not complete:\n{text}");
    assert!(!text.contains("max search depth too small"), "{text}");
    if text.contains("errors: 0") {
        let stored = text.lines().find(|l| l.contains("states, stored")).unwrap_or_default();
        eprintln!("{name}: {}", stored.trim());
        return Some(Verdict::Holds);
    }
    let violated = text.lines().find(|l| l.starts_with("pan:1:")).unwrap_or(&text);
    Some(Verdict::Violated(violated.to_string()))
}

fn holds(name: &str, definitions: &[&str]) {
    if let Some(verdict) = check(name, definitions) {
        assert_eq!(verdict, Verdict::Holds, "{name}");
    }
}

fn fails(name: &str, definitions: &[&str], assertion: &str) {
    match check(name, definitions) {
        Some(Verdict::Violated(text)) => assert!(text.contains(assertion), "{name}: {text}"),
        Some(Verdict::Holds) => panic!("{name} should fail"),
        None => {}
    }
}

#[test]
fn both_ends_are_synchronous_again_after_losses_and_forged_acknowledgements() {
    holds("losses", &["-DTROUBLE=2", "-DREBOOTS=0", "-DREPLAYS=1"]);
}

#[test]
fn the_same_holds_when_cards_acknowledge_what_does_not_open() {
    let long_epochs =
        ["-DCAPACITY=40", "-DTROUBLE=2", "-DREBOOTS=0", "-DREPLAYS=0", "-DHARDWARE_ACK"];
    holds("hardware", &long_epochs);
    // Without requests the two ends never find each other again inside an epoch.
    fails("no-request", &[&long_epochs[..], &["-DNO_REQUEST"]].concat(), "taken[");
}

#[test]
fn the_same_holds_when_either_end_restarts() {
    holds("two-restarts", &["-DDATA=1", "-DTROUBLE=0", "-DREBOOTS=2", "-DREPLAYS=1"]);
    holds("restart", &["-DDATA=1", "-DTROUBLE=1", "-DREBOOTS=1", "-DREPLAYS=1"]);
    holds(
        "restart-hardware",
        &["-DDATA=1", "-DTROUBLE=1", "-DREBOOTS=1", "-DREPLAYS=1", "-DHARDWARE_ACK"],
    );
}

#[test]
fn a_sender_that_forgets_its_epoch_uses_keystream_twice() {
    let twin = ["-DTROUBLE=1", "-DREBOOTS=1", "-DREPLAYS=0", "-DFORGETFUL_SENDER"];
    fails("forgetful-sender", &twin, "high_used");
}

#[test]
fn a_receiver_that_forgets_its_epoch_takes_replays() {
    let twin = ["-DTROUBLE=1", "-DREBOOTS=1", "-DREPLAYS=1", "-DFORGETFUL_RECEIVER"];
    fails("forgetful-receiver", &twin, ">taken[");
}

#[test]
fn invented_counters_only_cost_epochs() {
    holds(
        "forgeries",
        &[
            "-DDATA=1",
            "-DTROUBLE=1",
            "-DREBOOTS=0",
            "-DREPLAYS=0",
            "-DFORGERIES=2",
            "-DHARDWARE_ACK",
        ],
    );
}
