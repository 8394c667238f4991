//! A full disk: said plainly, nothing half-written is served, and it goes on when there is room.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::kills::{copy, examine, some, stopped_operator};
use crate::skip;
use crate::system_calls;
use crate::world::{World, json, ok};

#[test]
fn a_disk_that_is_full_at_any_write_of_a_build_is_said_to_be_full() {
    if !system_calls::available() {
        return skip("strace is not there, or may not trace");
    }
    let (dir, base, _) = stopped_operator("full");
    let (victim, log) = (dir.path("victim"), dir.path("strace"));
    let (victim_path, log, base) = (Path::new(&victim), Path::new(&log), Path::new(&base));
    let build = ["build", "--dir", &victim, "--json"];
    examine(base);
    copy(base, victim_path);
    let (_, calls) = system_calls::calls(log, &victim, &build);
    let mut said = 0;
    for (n, call) in some(calls).iter().enumerate() {
        if call.name == "unlink" {
            continue;
        }
        copy(base, victim_path);
        let out = system_calls::full_at(call, log, &build);
        let err = String::from_utf8_lossy(&out.stderr).into_owned();
        let found = examine(victim_path).len();
        if out.status.success() {
            // What fails when the store is closed is done again when it is opened.
            assert_eq!(found, 2, "{call:?}");
            continue;
        }
        said += 1;
        assert!(err.lines().count() == 1 && err.contains("No space left on device"), "{err}");
        assert!(err.contains("the disk is full: make room"), "{call:?}: {err}");
        if found == 1 && n % 4 == 0 {
            assert_eq!(json(&build)["epoch"], 1, "{call:?}");
        }
    }
    assert!(said >= 6, "{said}");
}

/// Takes all the room there is on the file system of `dir`.
fn fill(dir: &str) -> String {
    use std::io::Write;
    let path = format!("{dir}/filler");
    let mut file = fs::File::create(&path).unwrap();
    for size in [65_536, 4_096, 1] {
        while file.write_all(&vec![0; size]).is_ok() {}
    }
    path
}

/// Runs in a mount name space of its own, with a small disk at `SLYFI_SMALL_DISK`.
#[test]
fn inside_a_small_disk() {
    let Some(disk) = std::env::var_os("SLYFI_SMALL_DISK") else {
        // The outer test runs it; without a disk it has nothing to be on.
        assert!(fs::metadata("/proc/self/ns/mnt").is_ok());
        return;
    };
    let disk = disk.to_str().unwrap();
    let (operator, ann) = (format!("{disk}/operator"), format!("{disk}/ann"));
    ok(&["init", "--dir", &operator, "--rows", "300", "--scheme", "lwe"]);
    let serve = crate::world::Serve::start(&operator, 0);
    let url = serve.url();
    let invite = |name: &str| {
        let file = format!("{disk}/{name}.invite");
        ok(&["enrol", "--dir", &operator, "--url", &url, &file]);
        file
    };
    let bob = invite("bob");
    ok(&["subscribe", &invite("ann"), "--dir", &ann]);
    ok(&["build", "--dir", &operator]);
    ok(&["fetch", "--dir", &ann]);
    let filler = fill(disk);
    for (code, args) in [
        (1, &["build", "--dir", &operator][..]),
        (1, &["init", "--dir", &format!("{disk}/other"), "--rows", "300"]),
        (1, &["fetch", "--dir", &ann]),
    ] {
        let out = crate::world::tracedge(args);
        let err = String::from_utf8_lossy(&out.stderr).into_owned();
        assert!(out.status.code() >= Some(code), "{args:?} succeeded");
        assert!(err.contains("full") || err.contains("No space left"), "{args:?}: {err}");
    }
    // What is served is served still, and who was fetched for logs on.
    ok(&["prove", "--dir", &ann]);
    // Enrolling needs room perhaps; who is turned away has lost nothing. His own disk is not full.
    let elsewhere = format!("{disk}-bob");
    let out = crate::world::tracedge(&["subscribe", &bob, "--dir", &elsewhere]);
    let err = String::from_utf8_lossy(&out.stderr).into_owned();
    assert!(out.status.success() || err.contains("answered 500"), "{err}");
    fs::remove_file(filler).unwrap();
    assert_eq!(json(&["build", "--dir", &operator, "--json"])["epoch"], 1);
    if !out.status.success() {
        ok(&["subscribe", &bob, "--dir", &elsewhere]);
    }
    ok(&["fetch", "--dir", &ann]);
    ok(&["fetch", "--next", "--dir", &ann]);
}

#[test]
fn a_small_disk_runs_full_and_has_room_again() {
    let world = World::new("small", "lwe");
    let disk = world.dir.path("disk");
    fs::create_dir(&disk).unwrap();
    let me = std::env::current_exe().unwrap();
    let script = "mount -t tmpfs -o size=16m none \"$1\" && exec \"$2\" --exact \
                  full_disk::inside_a_small_disk --nocapture";
    let mut unshare = Command::new("unshare");
    unshare.args(["-U", "-r", "-m", "sh", "-c", script, "sh", &disk]).arg(me);
    let out = unshare.env("SLYFI_SMALL_DISK", &disk).output();
    let Ok(out) = out else { return skip("there is no unshare") };
    let (text, err) = (String::from_utf8_lossy(&out.stdout), String::from_utf8_lossy(&out.stderr));
    if !text.contains("running 1 test") {
        return skip(&format!("no disk can be mounted: {err}"));
    }
    assert!(out.status.success(), "{text}\n{err}");
}
