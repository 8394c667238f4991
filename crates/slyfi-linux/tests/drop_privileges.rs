//! Giving rights up, in child processes with one thread: so this test has its own `main`, and not
//! libtest's, which runs tests in threads.
//!
//! The parent starts itself again with the name of a case; the child does the case and says by its
//! exit status whether all of it held.

use slyfi_base::SecureRandom;
use slyfi_linux::{DropError, OsRandom, Target, drop_privileges};
use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, ExitCode};

const UNPRIVILEGED_CASES: [(&str, fn()); 3] = [
    ("starting_unprivileged_needs_nothing_and_ends_the_same", unprivileged_start),
    ("refuses_while_other_threads_run", refuses_with_threads),
    ("an_unprivileged_start_cannot_have_a_chroot", chroot_needs_root),
];

const ROOT_CASES: [(&str, fn()); 5] = [
    ("root_becomes_nobody_and_cannot_go_back", root_becomes_nobody),
    ("nothing_started_afterwards_gains_rights", exec_gains_nothing),
    ("root_under_another_name_is_refused", root_again_is_refused),
    ("a_user_that_does_not_exist_is_refused", no_such_user),
    ("a_chroot_holds_and_must_be_roots", chroot_holds),
];

fn main() -> ExitCode {
    let cases = UNPRIVILEGED_CASES.iter().chain(&ROOT_CASES);
    if let Some(name) = std::env::var_os("SLYFI_DROP_CASE") {
        let (_, case) = cases.clone().find(|(n, _)| name == *n).expect("a case of this name");
        case();
        return ExitCode::SUCCESS;
    }
    // SAFETY: no pointers are passed, and it cannot fail.
    let is_root = unsafe { libc::geteuid() } == 0;
    let mut failed = 0;
    for (name, _) in cases {
        let needs_root = ROOT_CASES.iter().any(|(n, _)| n == name);
        if needs_root && !is_root {
            eprintln!("SKIPPED: {name}: needs root");
            failed += usize::from(std::env::var_os("CI").is_some());
            continue;
        }
        let mut child = Command::new(std::env::current_exe().expect("the path of this test"));
        let dir = TemporaryDirectory::new();
        child.env("SLYFI_DROP_CASE", name).env("SLYFI_DROP_DIR", &dir.0);
        // In a chroot there is no /proc, without which the sanitizer's search for leaks fails.
        child.env("ASAN_OPTIONS", "detect_leaks=0");
        if !needs_root && is_root {
            // The child is loaded before the user changes, so that the file may be anywhere.
            child.env("SLYFI_DROP_AS", "65534");
        }
        let ok = child.status().expect("start of the child").success();
        println!("test {name} ... {}", if ok { "ok" } else { "FAILED" });
        failed += usize::from(!ok);
    }
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Makes the child the unprivileged process that an ordinary user starts.
fn leave_root_the_plain_way() {
    if let Some(id) = std::env::var_os("SLYFI_DROP_AS") {
        let id: libc::uid_t = id.to_str().and_then(|t| t.parse().ok()).expect("a user number");
        // SAFETY: no pointers but a null list of length zero are passed.
        let codes = unsafe {
            [
                libc::setgroups(0, std::ptr::null()),
                libc::setresgid(id, id, id),
                libc::setresuid(id, id, id),
            ]
        };
        assert_eq!(codes, [0; 3]);
    }
}

/// One line of `/proc/self/status`.
fn status(key: &str) -> String {
    let all = fs::read_to_string("/proc/self/status").expect("/proc/self/status");
    let line = all.lines().find_map(|l| l.strip_prefix(key)?.strip_prefix(':'));
    line.unwrap_or_else(|| panic!("no {key} in the status")).trim().to_owned()
}

fn assert_no_rights() {
    for set in ["CapInh", "CapPrm", "CapEff", "CapAmb"] {
        assert_eq!(status(set), "0000000000000000", "{set}");
    }
    assert_eq!(status("NoNewPrivs"), "1");
    // Not dumpable: the process's own memory file belongs to root now.
    // SAFETY: no pointers are passed.
    if unsafe { libc::geteuid() } != 0 {
        let memory = fs::File::open("/proc/self/mem").map(drop);
        assert_eq!(memory.unwrap_err().kind(), ErrorKind::PermissionDenied);
    }
}

fn unprivileged_start() {
    leave_root_the_plain_way();
    assert_eq!(status("NoNewPrivs"), "0");
    // SAFETY: no pointers are passed.
    let before = unsafe { libc::geteuid() };
    drop_privileges(&Target::default()).unwrap();
    // SAFETY: no pointers are passed.
    assert_eq!(unsafe { libc::geteuid() }, before, "the user stays");
    assert_no_rights();
    drop_privileges(&Target::default()).expect("twice is no error");
}

fn refuses_with_threads() {
    leave_root_the_plain_way();
    let (keep, stop) = std::sync::mpsc::channel::<()>();
    let thread = std::thread::spawn(move || stop.recv());
    let refused = drop_privileges(&Target::default());
    assert!(matches!(refused, Err(DropError::Threads { threads: 2 })), "{refused:?}");
    assert_eq!(status("NoNewPrivs"), "0", "and did nothing");
    drop(keep);
    assert!(thread.join().unwrap().is_err());
}

fn chroot_needs_root() {
    leave_root_the_plain_way();
    let target = Target { chroot: Some(PathBuf::from("/")), ..Target::default() };
    assert!(matches!(drop_privileges(&target), Err(DropError::ChrootNeedsRoot)));
}

fn root_becomes_nobody() {
    assert_ne!(status("CapEff"), "0000000000000000");
    drop_privileges(&Target::default()).unwrap();
    assert_no_rights();
    assert_eq!(status("CapBnd"), "0000000000000000");
    assert_eq!(status("Groups"), "");
    for ids in [status("Uid"), status("Gid")] {
        let mut ids = ids.split_whitespace();
        let first = ids.next().unwrap();
        assert_ne!(first, "0");
        assert!(ids.all(|id| id == first), "real, effective, saved and file system's");
    }
    // SAFETY: no pointers are passed.
    assert_eq!(unsafe { libc::setuid(0) }, -1);
    let tap = slyfi_linux::Tap::open(&slyfi_linux::TapConfig::default());
    assert!(tap.is_err(), "no interfaces any more");
    let shadow = fs::read("/etc/shadow").map(drop);
    assert!(shadow.is_err(), "no files of root's any more");
}

fn exec_gains_nothing() {
    drop_privileges(&Target::default()).unwrap();
    let error = Command::new("/bin/sh")
        .args(["-c", "grep -q '^CapPrm:.*0000000000000000$' /proc/self/status && exit 0; exit 1"])
        .exec();
    panic!("exec: {error}");
}

fn root_again_is_refused() {
    let target = Target { user: "root".to_owned(), chroot: None };
    assert!(matches!(drop_privileges(&target), Err(DropError::RootAgain { .. })));
}

fn no_such_user() {
    for user in ["no-such-user-here", "", "a\0b"] {
        let target = Target { user: user.to_owned(), chroot: None };
        assert!(matches!(drop_privileges(&target), Err(DropError::NoSuchUser { .. })), "{user:?}");
    }
}

fn chroot_holds() {
    let dir = PathBuf::from(std::env::var_os("SLYFI_DROP_DIR").expect("a directory to use"));
    let target = Target { chroot: Some(dir.clone()), ..Target::default() };
    fs::set_permissions(&dir, fs::Permissions::from_mode(0o777)).unwrap();
    let loose = drop_privileges(&target);
    assert!(matches!(loose, Err(DropError::UnsafeChroot { .. })), "{loose:?}");
    fs::set_permissions(&dir, fs::Permissions::from_mode(0o755)).unwrap();
    fs::write(dir.join("inside"), b"").unwrap();
    drop_privileges(&target).unwrap();
    let seen: Vec<_> = fs::read_dir("/").unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(seen, ["inside"], "nothing else in sight");
    assert!(fs::write("/new", b"").is_err(), "and nothing to be changed");
}

/// A directory for one case, gone with it.
struct TemporaryDirectory(PathBuf);

impl TemporaryDirectory {
    fn new() -> Self {
        let name = format!("slyfi-drop-{:016x}", OsRandom.below(u64::MAX));
        let dir = std::env::temp_dir().join(name);
        fs::create_dir(&dir).expect("a directory among the temporary files");
        TemporaryDirectory(dir)
    }
}

impl Drop for TemporaryDirectory {
    fn drop(&mut self) {
        if let Err(e) = fs::remove_dir_all(&self.0) {
            eprintln!("{}: {e}", self.0.display());
        }
    }
}
