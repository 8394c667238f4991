//! What `cargo metadata` says about the workspace.

use crate::context::cargo;
use serde_json::Value;
use std::path::PathBuf;
use std::process::Command;

/// The workspace: its packages and where things are.
pub struct Workspace {
    /// The repository's root.
    pub root: PathBuf,
    /// The target folder.
    pub target: PathBuf,
    /// Every package of the dependency graph, the workspace's own first.
    pub packages: Vec<Package>,
}

/// One package of the dependency graph.
pub struct Package {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// Whether it is one of the workspace.
    pub member: bool,
    /// Where it comes from; `None` for a path.
    pub source: Option<String>,
    /// Its licence expression.
    pub license: Option<String>,
    /// Its manifest.
    pub manifest: PathBuf,
    /// What it asks for.
    pub dependencies: Vec<Dependency>,
    /// Names of its binary targets.
    pub binaries: Vec<String>,
}

/// One dependency as the manifest states it.
pub struct Dependency {
    /// The package's name.
    pub name: String,
    /// Only for tests, examples and benchmarks.
    pub dev: bool,
}

impl Workspace {
    /// Reads the workspace of `manifest`, or the one around the current folder.
    ///
    /// # Errors
    /// What cargo said.
    pub fn load(manifest: Option<&str>) -> Result<Self, String> {
        let mut command = Command::new(cargo());
        command.args(["metadata", "--format-version", "1", "--quiet"]);
        if let Some(path) = manifest {
            command.args(["--manifest-path", path]);
        }
        let done = command.output().map_err(|e| format!("cargo metadata: {e}"))?;
        if !done.status.success() {
            return Err(String::from_utf8_lossy(&done.stderr).trim().to_owned());
        }
        let json = serde_json::from_slice(&done.stdout).map_err(|e| e.to_string())?;
        Self::from_json(&json).ok_or_else(|| "cargo metadata printed something unknown".into())
    }

    fn from_json(json: &Value) -> Option<Self> {
        let members: Vec<_> =
            json["workspace_members"].as_array()?.iter().filter_map(Value::as_str).collect();
        let mut packages = Vec::new();
        for p in json["packages"].as_array()? {
            packages.push(Package::from_json(p, &members)?);
        }
        packages.sort_by(|a, b| (!a.member, &a.name).cmp(&(!b.member, &b.name)));
        Some(Workspace {
            root: json["workspace_root"].as_str()?.into(),
            target: json["target_directory"].as_str()?.into(),
            packages,
        })
    }

    /// The workspace's own packages.
    pub fn members(&self) -> impl Iterator<Item = &Package> {
        self.packages.iter().filter(|p| p.member)
    }

    /// Whether the workspace has a package of this name.
    pub fn has(&self, name: &str) -> bool {
        self.members().any(|p| p.name == name)
    }
}

impl Package {
    fn from_json(p: &Value, members: &[&str]) -> Option<Self> {
        let text = |key: &str| p[key].as_str().map(str::to_owned);
        let dependencies = p["dependencies"].as_array()?.iter().filter_map(|d| {
            let name = d["name"].as_str()?.to_owned();
            Some(Dependency { name, dev: d["kind"].as_str() == Some("dev") })
        });
        let binaries = p["targets"].as_array()?.iter().filter_map(|t| {
            let is_bin = t["kind"].as_array()?.iter().any(|k| k == "bin");
            if is_bin { t["name"].as_str().map(str::to_owned) } else { None }
        });
        Some(Package {
            name: text("name")?,
            version: text("version")?,
            member: members.contains(&p["id"].as_str()?),
            source: text("source"),
            license: text("license"),
            manifest: text("manifest_path")?.into(),
            dependencies: dependencies.collect(),
            binaries: binaries.collect(),
        })
    }
}
