//! Running a program with its output in a log, a time limit and a sign of life.

use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// How a program ended.
pub struct Finished {
    /// Whether it ended by itself with status 0.
    pub ok: bool,
    /// What it printed, standard output and error together.
    pub output: String,
}

/// How often a long step says that it lives.
const HEARTBEAT: Duration = Duration::from_secs(60);

/// Runs `command` to its end or to `limit`, whichever comes first; appends its output to `log`.
///
/// # Errors
/// When the program or the log cannot be opened.
pub fn run(command: &mut Command, log: &Path, limit: Duration) -> Result<Finished, String> {
    let name = describe(command);
    let problem = |e: std::io::Error| format!("`{name}`: {e}");
    let mut file = open(log).map_err(|e| format!("{}: {e}", log.display()))?;
    writeln!(file, "$ {name}").map_err(problem)?;
    let start_of_output = file.seek(SeekFrom::End(0)).map_err(problem)?;
    command
        .stdin(Stdio::null())
        .stdout(file.try_clone().map_err(problem)?)
        .stderr(file.try_clone().map_err(problem)?);
    let mut child = command.spawn().map_err(problem)?;
    let start = Instant::now();
    let mut next_sign = HEARTBEAT;
    let status = loop {
        if let Some(status) = child.try_wait().map_err(problem)? {
            break Some(status);
        }
        let elapsed = start.elapsed();
        if elapsed > limit {
            // With all that it started: cargo is the parent of what really runs.
            let pids = descendants(child.id()).into_iter().map(|pid| pid.to_string());
            let _ = Command::new("kill").arg("-KILL").args(pids).status();
            child.kill().map_err(problem)?;
            child.wait().map_err(problem)?;
            writeln!(file, "xtask: stopped after {} s", limit.as_secs()).map_err(problem)?;
            break None;
        }
        if elapsed > next_sign {
            println!("    … {} s: {name}", elapsed.as_secs());
            next_sign += HEARTBEAT;
        }
        std::thread::sleep(Duration::from_millis(30));
    };
    file.seek(SeekFrom::Start(start_of_output)).map_err(problem)?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes).map_err(problem)?;
    let output = String::from_utf8_lossy(&bytes).into_owned();
    Ok(Finished { ok: status.is_some_and(|s| s.success()), output })
}

/// The processes that descend from `root`, from what procfs says now.
///
/// They stay in this tool's process group, so that an interrupt from the terminal reaches them.
fn descendants(root: u32) -> Vec<u32> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let parents: Vec<(u32, u32)> = entries
        .filter_map(|e| e.file_name().to_str()?.parse().ok())
        .filter_map(|pid: u32| {
            // proc(5): `pid (name) state ppid …`, where the name may hold anything, `)` too.
            let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
            let ppid = stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()?;
            Some((pid, ppid))
        })
        .collect();
    let mut found = vec![root];
    let mut next = 0;
    while let Some(&parent) = found.get(next) {
        found.extend(parents.iter().filter(|(_, ppid)| *ppid == parent).map(|(pid, _)| *pid));
        next += 1;
    }
    found.split_off(1)
}

fn open(log: &Path) -> std::io::Result<File> {
    if let Some(folder) = log.parent() {
        std::fs::create_dir_all(folder)?;
    }
    OpenOptions::new().create(true).append(true).read(true).open(log)
}

/// The command as one would type it.
fn describe(command: &Command) -> String {
    let program = Path::new(command.get_program());
    let name = program.file_name().unwrap_or(command.get_program());
    let words = std::iter::once(name).chain(command.get_args());
    let words: Vec<_> = words.map(|w| w.to_string_lossy()).collect();
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn log(name: &str) -> std::path::PathBuf {
        std::env::temp_dir().join(format!("slyfi-xtask-{}-{name}", std::process::id()))
    }

    #[test]
    fn keeps_output_and_status_of_each_run_apart() {
        let log = log("status");
        let long = Duration::from_secs(20);
        let good = run(Command::new("sh").args(["-c", "echo one"]), &log, long).unwrap();
        let bad = run(Command::new("sh").args(["-c", "echo two >&2; false"]), &log, long).unwrap();
        let _ = std::fs::remove_file(&log);
        assert!(good.ok && good.output == "one\n");
        assert!(!bad.ok && bad.output == "two\n");
    }

    #[test]
    fn stops_a_program_that_runs_too_long() {
        let log = log("limit");
        let mut command = Command::new("sh");
        command.args(["-c", "sleep 61.7 & echo $!; wait"]);
        let run = run(&mut command, &log, Duration::from_millis(200)).unwrap();
        let _ = std::fs::remove_file(&log);
        assert!(!run.ok);
        let child = run.output.lines().next().unwrap();
        let still = std::fs::read_to_string(format!("/proc/{child}/cmdline")).unwrap_or_default();
        assert!(!still.contains("61.7"), "what it started lives on");
    }
}
