//! `cargo xtask bench`: SlyFi beside its peers on this machine.

use crate::context::Context;
use crate::machine::Need;
use serde_json::{Value, json};
use std::path::PathBuf;
use std::process::Command;

/// What the peers link: Intel's multi-buffer library and OpenSSL.
const NEEDS: [Need; 2] = [
    Need { what: "/usr/include/intel-ipsec-mb.h", package: "libipsec-mb-dev" },
    Need { what: "/usr/include/openssl/evp.h", package: "libssl-dev" },
];

/// Runs the benchmarks and adds commit and machine to what they wrote.
///
/// # Errors
/// When they cannot be built, run or read.
pub fn run(context: &Context<'_>, json: Option<&str>, quick: bool) -> Result<bool, String> {
    if !context.workspace.has("slyfi-bench") {
        return Err("there is no crate `slyfi-bench`".into());
    }
    context.machine.ensure(&NEEDS)?;
    let file = json.map_or_else(|| context.root().join("results/bench.json"), PathBuf::from);
    if let Some(folder) = file.parent() {
        std::fs::create_dir_all(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    }
    let mut bench = context.cargo(&["run", "--release", "--package", "slyfi-bench"]);
    bench.args(["--features", "peers", "--", "--json"]).arg(&file);
    if quick {
        bench.arg("--quick");
    }
    let held = bench.status().map_err(|e| e.to_string())?.success();
    let text = std::fs::read_to_string(&file).map_err(|e| format!("{}: {e}", file.display()))?;
    let mut report: Value = serde_json::from_str(&text).map_err(|e| e.to_string())?;
    report["commit"] = json!(said(context.command("git").args(["rev-parse", "HEAD"])));
    let changed = said(context.command("git").args(["status", "--porcelain", "--", "crates"]));
    report["uncommitted_changes"] = json!(!changed.is_empty());
    report["machine"] = machine(context);
    let text = serde_json::to_string_pretty(&report).map_err(|e| e.to_string())? + "\n";
    std::fs::write(&file, text).map_err(|e| e.to_string())?;
    println!("wrote {}", file.display());
    Ok(held)
}

/// What the numbers were measured on, without the machine's name.
fn machine(context: &Context<'_>) -> Value {
    let cpu = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let field = |key: &str| {
        let line = cpu.lines().find(|l| l.starts_with(key)).and_then(|l| l.split_once(": "));
        line.map_or_else(String::new, |(_, value)| value.to_owned())
    };
    let flags = field("flags");
    let has = |flag: &str| flags.split(' ').any(|f| f == flag);
    json!({
        "processor": field("model name"),
        "logical_processors": std::thread::available_parallelism().map_or(0, usize::from),
        "aes": has("aes"), "vaes": has("vaes"), "avx512f": has("avx512f"), "gfni": has("gfni"),
        "kernel": std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default().trim(),
        "compiler": said(context.command("rustc").arg("--version")),
    })
}

fn said(command: &mut Command) -> String {
    let out = command.output().map(|done| done.stdout).unwrap_or_default();
    String::from_utf8_lossy(&out).trim().to_owned()
}
