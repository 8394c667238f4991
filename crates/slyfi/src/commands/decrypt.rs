//! `slyfi decrypt`: other people's Wi-Fi, with keys that one was given.

use super::print;
use crate::cli::DecryptArgs;
use slyfi_capture::{CaptureError, Input, Key, Options, PcapngSink, Progress, Report, Sink};
use slyfi_link::{Error, ErrorKind, Result};
use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io::{BufWriter, IsTerminal, Write, stderr, stdin, stdout};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// After this time one sees how far it is, and as often as the second says.
const PATIENCE: Duration = Duration::from_secs(2);
const REFRESH: Duration = Duration::from_millis(500);

/// Runs it.
pub fn run(args: &DecryptArgs) -> Result<()> {
    let keys = keys(args)?;
    let mut inputs = inputs(args)?;
    let mut out = args.out.as_deref().map(|path| Output::create(path, args)).transpose()?;
    let options = Options { single_pass: args.single_pass };
    let mut progress = Line::new(args.files.len());
    let run = {
        let sink: &mut dyn Sink = match &mut out {
            Some(out) => &mut out.sink,
            None => &mut (),
        };
        slyfi_capture::decrypt_inputs(&mut inputs, &keys, options, sink, &mut |p| progress.show(p))
    };
    progress.clear();
    let report = run.map_err(failed)?;
    let piped = args.out.as_deref().is_some_and(is_standard);
    if let Some(out) = out {
        out.finish()?;
    }
    show(&report, args, piped)
}

/// Prints the report; on standard error when the frames themselves went to standard output.
fn show(report: &Report, args: &DecryptArgs, piped: bool) -> Result<()> {
    let text = if args.json { format!("{}\n", report.to_json()) } else { report.to_string() };
    if piped {
        // A closed standard error leaves nobody to tell.
        let _ = stderr().write_all(text.as_bytes());
        return Ok(());
    }
    print(&text)?;
    match &args.out {
        Some(path) if !args.json => print(&format!("written to {}\n", path.display())),
        _ => Ok(()),
    }
}

fn is_standard(path: &Path) -> bool {
    path == "-"
}

fn usage(cause: impl Into<String>, mend: &str) -> Error {
    Error::new(ErrorKind::Usage, cause, mend)
}

/// Reads keys from the arguments and the key files. Neither names the key when it is wrong.
fn keys(args: &DecryptArgs) -> Result<Vec<Key>> {
    const MEND: &str = "slyfi decrypt --help shows how keys are written";
    let mut keys = Vec::new();
    for (i, text) in args.key.iter().enumerate() {
        let key = text.parse().map_err(|e| usage(format!("--key number {}: {e}", i + 1), MEND))?;
        keys.push(key);
    }
    for path in &args.keys {
        let read = if is_standard(path) {
            slyfi_capture::read_key_file(stdin().lock())
        } else {
            File::open(path).and_then(|file| {
                warn_if_readable_by_others(path, &file);
                slyfi_capture::read_key_file(file)
            })
        };
        keys.extend(read.map_err(|e| match e.kind() {
            std::io::ErrorKind::InvalidData => usage(format!("{}: {e}", path.display()), MEND),
            _ => opening(path, &e),
        })?);
    }
    if keys.is_empty() {
        let mend = "give --key KIND:VALUE, or --keys FILE, which keeps it out of the process list";
        return Err(usage("no key was given", mend));
    }
    Ok(keys)
}

fn warn_if_readable_by_others(path: &Path, file: &File) {
    let others = file.metadata().is_ok_and(|m| m.is_file() && m.permissions().mode() & 0o077 != 0);
    if others {
        let path = path.display();
        let _ = writeln!(stderr(), "slyfi: warning: others may read the keys; chmod 600 {path}");
    }
}

fn opening(path: &Path, error: &std::io::Error) -> Error {
    match error.kind() {
        std::io::ErrorKind::NotFound | std::io::ErrorKind::IsADirectory => {
            usage(format!("{}: {error}", path.display()), "give the path of a file")
        }
        _ => Error::system(path.display(), error),
    }
}

/// Opens the captures. Standard input is copied, because one pass learns the keys and one opens.
fn inputs(args: &DecryptArgs) -> Result<Vec<Input>> {
    let from_stdin = args.files.iter().chain(&args.keys).filter(|f| is_standard(f)).count();
    if from_stdin > 1 {
        return Err(usage("standard input was given twice", "give - once"));
    }
    let open = |path: &PathBuf| {
        if !is_standard(path) {
            return Input::path(path);
        }
        let name = Path::new("standard input");
        if args.single_pass {
            return Ok(Input::stream(name, stdin()));
        }
        Input::copied(name, stdin().lock())
    };
    args.files
        .iter()
        .map(|path| {
            open(path).map_err(|e| match path.to_str().map(str::parse::<Key>) {
                // Whoever forgot --key should not read the key again in an error.
                Some(Ok(_)) => usage("a key stands where a file should", "put --key before it"),
                _ => failed(e),
            })
        })
        .collect()
}

fn failed(error: CaptureError) -> Error {
    match error {
        CaptureError::Read { path, source } => opening(&path, &source),
        CaptureError::NotACapture { .. } => usage(
            error.to_string(),
            "give a capture of tcpdump, Wireshark or airodump-ng (pcap, pcapng, also in gzip)",
        ),
        CaptureError::Compressed { path, with } => {
            usage(format!("{} is compressed with {with}", path.display()), "unpack it first")
        }
        CaptureError::Write(source) => Error::system("the opened frames", &source),
        other => Error::new(ErrorKind::System, other.to_string(), ""),
    }
}

/// Where opened frames go.
struct Output {
    sink: PcapngSink<BufWriter<Box<dyn Write>>>,
    /// What is written until it is whole, and what it is called then.
    rename: Option<(Unfinished, PathBuf)>,
}

/// A file that goes away unless it is finished.
struct Unfinished(PathBuf);

impl Drop for Unfinished {
    fn drop(&mut self) {
        // After it was renamed there is nothing to remove.
        let _ = std::fs::remove_file(&self.0);
    }
}

impl Output {
    /// Opens the output, which is none of the inputs and, unless forced, no file yet.
    fn create(path: &Path, args: &DecryptArgs) -> Result<Output> {
        let to = |write: Box<dyn Write>, rename| Output {
            sink: PcapngSink::new(BufWriter::new(write)),
            rename,
        };
        if is_standard(path) {
            if stdout().is_terminal() {
                let mend = "send it to a file or a program: --out - | tshark -r -";
                return Err(usage("a capture is not for terminals", mend));
            }
            return Ok(to(Box::new(stdout()), None));
        }
        let there = std::fs::metadata(path).ok();
        if let Some(there) = &there {
            let same = |m: std::fs::Metadata| (m.dev(), m.ino()) == (there.dev(), there.ino());
            if args.files.iter().chain(&args.keys).any(|f| std::fs::metadata(f).is_ok_and(same)) {
                let cause = format!("{} is an input too", path.display());
                return Err(usage(cause, "give --out another name"));
            }
            if there.is_file() && !args.force {
                let cause = format!("{} exists already", path.display());
                return Err(usage(cause, "give --out another name, or --force to replace it"));
            }
        }
        let failed = |e: std::io::Error| match e.kind() {
            std::io::ErrorKind::NotFound => {
                usage(format!("{}: {e}", path.display()), "make its directory first")
            }
            _ => opening(path, &e),
        };
        // What was protected on the air should not be open to everybody here.
        let mut options = OpenOptions::new();
        options.write(true).mode(0o600);
        if there.is_some_and(|m| !m.is_file()) {
            return Ok(to(Box::new(options.open(path).map_err(failed)?), None));
        }
        let mut name = OsString::from(".");
        name.push(path.file_name().ok_or_else(|| usage("--out names no file", "name one"))?);
        name.push(format!(".{}.part", std::process::id()));
        let part = path.with_file_name(name);
        let file = options.create_new(true).open(&part).map_err(failed)?;
        Ok(to(Box::new(file), Some((Unfinished(part), path.to_owned()))))
    }

    fn finish(self) -> Result<()> {
        let failed = |e| Error::system("the opened frames", &e);
        self.sink.finish().and_then(|mut w| w.flush()).map_err(failed)?;
        match &self.rename {
            Some((part, path)) => std::fs::rename(&part.0, path).map_err(|e| opening(path, &e)),
            None => Ok(()),
        }
    }
}

/// One line on a terminal that says how far it is, once that takes long.
struct Line {
    files: usize,
    begun: Instant,
    last: Option<Instant>,
    on: bool,
}

impl Line {
    fn new(files: usize) -> Self {
        Line { files, begun: Instant::now(), last: None, on: stderr().is_terminal() }
    }

    fn show(&mut self, p: Progress) {
        let due = self.last.map_or(self.begun + PATIENCE, |last| last + REFRESH);
        if !self.on || Instant::now() < due {
            return;
        }
        self.last = Some(Instant::now());
        let what = if p.is_learning { "looking for keys" } else { "opening frames" };
        let (file, files, packets) = (p.file + 1, self.files, p.packets);
        let line = format!("\r\x1b[K{what}: file {file} of {files}, {packets} packets");
        let _ = stderr().write_all(line.as_bytes());
    }

    fn clear(&self) {
        if self.last.is_some() {
            let _ = stderr().write_all(b"\r\x1b[K");
        }
    }
}
