//! Where a measurement was taken.

use std::process::Command;

use serde::Serialize;

/// The processor and what the kernels make of it.
#[derive(Debug, Serialize)]
pub struct Machine {
    /// Model name.
    pub cpu: String,
    /// Instruction set flags that matter here.
    pub flags: Vec<String>,
    /// The AES backend in use.
    pub backend: String,
}

/// Prefixes of the flags that the kernels or their peers look at.
const FLAGS: [&str; 8] = ["aes", "avx", "bmi", "gfni", "pclmulqdq", "sha_ni", "vaes", "vpclmulqdq"];

impl Machine {
    /// This machine.
    pub fn this() -> Self {
        let cpuinfo = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let field = |name: &str| {
            let line = cpuinfo.lines().find(|line| line.starts_with(name));
            line.and_then(|line| line.split_once(':')).map_or("", |(_, value)| value.trim())
        };
        let flags = field("flags").split_whitespace();
        Self {
            cpu: match field("model name") {
                "" => std::env::consts::ARCH.to_owned(),
                name => name.to_owned(),
            },
            flags: flags
                .filter(|flag| FLAGS.iter().any(|prefix| flag.starts_with(prefix)))
                .map(str::to_owned)
                .collect(),
            backend: slyfi_aes::backend().to_string(),
        }
    }
}

/// The commit of the working tree, with a mark if it has been changed since; `unknown` outside of a
/// checkout.
pub fn commit() -> String {
    let git = Command::new("git").args(["describe", "--always", "--dirty", "--abbrev=12"]).output();
    match git {
        Ok(output) if output.status.success() => {
            String::from_utf8_lossy(&output.stdout).trim().to_owned()
        }
        _ => "unknown".to_owned(),
    }
}
