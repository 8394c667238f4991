//! What must not be in the tree: stubs, this machine's paths, a stale lock file, dead links.

use crate::context::Context;
use crate::step::Outcome;
use std::path::Path;

/// Words that no file may contain. They are put together here so that this file passes.
const FORBIDDEN: &[(&str, &str)] = &[
    (concat!("/wo", "rk/"), "a path of one machine"),
    (concat!("/ro", "ot/"), "a path of one machine"),
    (concat!("todo", "!("), "a stub"),
    (concat!("unimplemented", "!("), "a stub"),
    (concat!("#[", "ignore"), "a test that does not run"),
    (concat!("TO", "DO"), "a mark left behind"),
    (concat!("FIX", "ME"), "a mark left behind"),
    (concat!("XX", "X"), "a mark left behind"),
];

/// Files of text that are looked at.
const TEXT: &[&str] = &["rs", "py", "sh", "md", "toml", "lua", "yml", "service", "json", "txt"];

/// The length, in lines, from which a file should be looked at again: is it still one concept?
const LONG: usize = 700;

/// Checks all of it; long files are listed, not refused.
pub fn run(context: &Context<'_>) -> Outcome {
    let mut git = context.command("git");
    git.args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"]);
    let Ok(listing) = git.output() else {
        return Outcome::Skipped("git is not here to list the project's files".into());
    };
    let listing = String::from_utf8_lossy(&listing.stdout).into_owned();
    let files: Vec<_> = listing.split('\0').filter(|f| !f.is_empty()).collect();
    let mut findings = Vec::new();
    for name in files.iter().filter(|name| is_text(name)) {
        // Deleted but not yet committed: nothing to look at.
        let Ok(text) = std::fs::read_to_string(context.root().join(name)) else { continue };
        findings.extend(words(name, &text));
        if name.ends_with(".md") {
            findings.extend(dead_links(context.root(), name, &text));
        }
        let lines = text.lines().count();
        if lines > LONG && name.ends_with(".rs") {
            println!("    long: {name} has {lines} lines");
        }
    }
    if context.machine.ci && lock_was_stale(context) {
        findings
            .push("Cargo.lock is not up to date with the manifests; commit what cargo made".into());
    }
    Outcome::of_findings(&findings)
}

/// Whether cargo had to change the lock file, which it does before this tool can run: in CI's fresh
/// clone a difference from the commit can have no other cause.
fn lock_was_stale(context: &Context<'_>) -> bool {
    let mut git = context.command("git");
    git.args(["diff", "--quiet", "HEAD", "--", "Cargo.lock"]);
    !git.status().is_ok_and(|status| status.success())
}

fn is_text(name: &str) -> bool {
    let path = Path::new(name);
    let known = path.extension().and_then(|e| e.to_str()).is_some_and(|e| TEXT.contains(&e));
    known || name == ".ci/run"
}

fn words(name: &str, text: &str) -> Vec<String> {
    let mut findings = Vec::new();
    for (number, line) in text.lines().enumerate() {
        for (word, what) in FORBIDDEN.iter().filter(|(word, _)| line.contains(word)) {
            findings.push(format!("{name}:{}: {what}: `{word}`", number + 1));
        }
    }
    findings
}

/// Links of a page to files that are not there. Links out of the project are not followed.
fn dead_links(root: &Path, name: &str, text: &str) -> Vec<String> {
    let folder = root.join(name);
    let folder = folder.parent().unwrap_or(root);
    let mut findings = Vec::new();
    for target in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
        let path = target.split('#').next().unwrap_or("");
        let outside = target.contains("://") || target.starts_with("mailto:");
        if !outside && !path.is_empty() && !path.contains(' ') && !folder.join(path).exists() {
            findings.push(format!("{name}: a link to {target}, which is not there"));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_left_behind_are_found() {
        let mark = concat!("// TO", "DO: later");
        assert_eq!(words("a.rs", &format!("fn a() {{}}\n{mark}\n")).len(), 1);
        assert!(words("a.rs", "fn a() {}\n").is_empty());
    }

    #[test]
    fn dead_links_are_found() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let page = "[a](Cargo.toml) [b](https://example.org/x) [c](#here) [d](src/main.rs#l1)";
        assert!(dead_links(root, "README.md", page).is_empty());
        assert_eq!(dead_links(root, "README.md", "[x](no/such.md)").len(), 1);
    }
}
