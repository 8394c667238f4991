//! `cargo xtask bench`: SlyFi beside its peers on this machine.

use crate::context::Context;
use crate::machine::Need;
use std::path::PathBuf;

/// What the peers link: Intel's multi-buffer library and OpenSSL.
const NEEDS: [Need; 2] = [
    Need { what: "/usr/include/intel-ipsec-mb.h", package: "libipsec-mb-dev" },
    Need { what: "/usr/include/openssl/evp.h", package: "libssl-dev" },
];

/// Runs the benchmarks, which write commit, machine and numbers to `json`.
///
/// # Errors
/// When they cannot be built or run.
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
    let done = bench.status().map_err(|e| e.to_string())?.success();
    if done {
        println!("wrote {}", file.display());
    }
    Ok(done)
}
