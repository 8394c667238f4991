//! rustfmt, clippy and rustdoc.

use crate::context::Context;
use crate::options::Tier;
use crate::step::Outcome;

/// Checks the format of every file.
pub fn fmt(context: &Context<'_>) -> Outcome {
    check(context, "fmt", &["fmt", "--all", "--", "--check", "--color=never"], &[])
}

/// Runs clippy on all targets: in the quick tier of what differs from the last commit only.
pub fn clippy(context: &Context<'_>) -> Outcome {
    let mut args = vec!["clippy", "--all-targets"];
    let changed;
    if context.options.tier == Tier::Quick {
        changed = changed_packages(context);
        if changed.is_empty() {
            return Outcome::Skipped("no crate differs from the last commit".into());
        }
        for name in &changed {
            args.extend(["--package", name]);
        }
    } else {
        args.push("--workspace");
    }
    args.extend(["--", "-D", "warnings"]);
    check(context, "clippy", &args, &[])
}

/// Builds the documentation of the workspace.
pub fn docs(context: &Context<'_>) -> Outcome {
    let args = ["doc", "--workspace", "--no-deps", "--document-private-items"];
    // Private items are read by developers, who may follow links that the public pages cannot.
    let flags = "-D warnings -A rustdoc::private_intra_doc_links";
    check(context, "docs", &args, &[("RUSTDOCFLAGS", flags)])
}

fn check(context: &Context<'_>, step: &str, args: &[&str], env: &[(&str, &str)]) -> Outcome {
    let mut command = context.cargo(args);
    command.envs(env.iter().copied());
    Outcome::of_check(match context.run(step, &mut command, 1800) {
        Ok(done) if done.ok => Ok(()),
        Ok(_) => Err(format!("`cargo {}` has something to say", args.join(" "))),
        Err(why) => Err(why),
    })
}

/// Members of the workspace with a file that git calls changed or new.
fn changed_packages(context: &Context<'_>) -> Vec<String> {
    let mut git = context.command("git");
    git.args(["status", "--porcelain", "--untracked-files=all", "--no-renames"]);
    let text = git.output().map(|done| done.stdout).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let files: Vec<_> = text.lines().filter_map(|l| l.get(3..)).collect();
    let root = context.root();
    let of_package = |folder: &std::path::Path| {
        let folder = folder.strip_prefix(root).unwrap_or(folder);
        files.iter().any(|f| std::path::Path::new(f).starts_with(folder))
    };
    context
        .workspace
        .members()
        .filter(|p| p.manifest.parent().is_some_and(of_package))
        .map(|p| p.name.clone())
        .collect()
}
