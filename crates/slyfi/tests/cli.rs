//! The program as a user meets it: what it prints, how it fails, with which exit code.

use serde_json::Value;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::atomic::{AtomicU32, Ordering};

/// A directory of its own for a test, removed at the end.
struct TempDir(PathBuf);

impl TempDir {
    fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let n = COUNT.fetch_add(1, Ordering::Relaxed);
        let dir = std::env::temp_dir().join(format!("slyfi-cli-{}-{n}", std::process::id()));
        fs::create_dir_all(&dir).unwrap();
        TempDir(dir)
    }

    fn join(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for TempDir {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn slyfi(args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_slyfi"));
    // No state of the user who runs the tests, and no colours of their terminal.
    command.env_remove("NO_COLOR").env("XDG_STATE_HOME", "/nonexistent").args(args);
    command.output().unwrap()
}

fn ok(args: &[&str]) -> String {
    let out = slyfi(args);
    let err = String::from_utf8_lossy(&out.stderr).into_owned();
    assert!(out.status.success(), "{args:?}: {err}");
    String::from_utf8(out.stdout).unwrap()
}

/// Runs what must fail: returns its one line.
fn fails(code: i32, args: &[&str]) -> String {
    let out = slyfi(args);
    let err = String::from_utf8(out.stderr).unwrap();
    assert_eq!(out.status.code(), Some(code), "{args:?}: {err}");
    assert!(out.stdout.is_empty(), "{args:?} printed something");
    let line = err.strip_suffix('\n').unwrap_or(&err);
    assert!(line.starts_with("slyfi: error: ") && !line.contains('\n'), "{args:?}: {err}");
    line.to_owned()
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

fn pair(store: &str, more: &[&str]) -> Value {
    let out = ok(&[&["pair", "--json", "--store", store], more].concat());
    serde_json::from_str(&out).unwrap()
}

#[test]
fn ordinary_80211_says_what_secret_it_lacks_before_it_needs_rights() {
    let dir = TempDir::new();
    let (store, secret) = (dir.join("store"), dir.join("secret"));
    let run = |cipher: &str, more: &[&str]| {
        fails(2, &[&["ap", "--cipher", cipher, "--store", text(&store)], more].concat())
    };
    assert!(run("ccmp", &[]).contains("--passphrase-file"));
    assert!(run("wep", &[]).contains("--key-file"));
    fs::write(&secret, "correct horse\n").unwrap();
    fs::set_permissions(&secret, fs::Permissions::from_mode(0o644)).unwrap();
    assert!(run("gcmp", &["--passphrase-file", text(&secret)]).contains("chmod 600"));
    fs::set_permissions(&secret, fs::Permissions::from_mode(0o600)).unwrap();
    let line = run("sbkh", &["--key-file", text(&secret)]);
    assert!(line.contains("64 hexadecimal digits") && !line.contains("horse"), "{line}");
    fails(2, &["join", "SLYFI://JOIN/x", "--cipher", "open"]);
}

#[test]
fn wrong_arguments_are_one_line_and_exit_code_2() {
    assert!(fails(2, &["joinn"]).contains("'join'"));
    fails(2, &[]);
    fails(2, &["join", "--timeout", "soon"]);
    fails(2, &["ap", "--air", "sea"]);
    fails(2, &["ap", "--air", "packet"]);
    fails(2, &["join", "--pair-only"]);
    fails(2, &["pair", "--store", "/nonexistent", "--role", "king"]);
    assert!(ok(&["--help"]).contains("Exit codes"));
    assert!(ok(&["join", "--help"]).contains("Examples"));
    assert!(!ok(&["--help"]).contains("vectors"));
}

#[test]
fn an_unknown_key_is_named_with_its_line() {
    let dir = TempDir::new();
    let file = dir.join("ap.toml");
    fs::write(&file, "[network]\nname = \"home\"\nnmae = \"hoem\"\n").unwrap();
    for args in [&["config", "check", text(&file)][..], &["ap", "--config", text(&file)]] {
        let line = fails(2, args);
        assert!(line.contains("ap.toml line 3") && line.contains("`nmae`"), "{line}");
    }
    fs::write(&file, ok(&["config", "example"])).unwrap();
    assert!(ok(&["config", "check", text(&file)]).contains("no mistakes"));
    assert!(fails(2, &["ap", "--config", text(&dir.join("none"))]).contains("none"));
}

#[test]
fn an_invite_is_shown_with_its_url_its_qr_code_and_what_comes_next() {
    let dir = TempDir::new();
    let store = dir.join("ap");
    let name = ["--name", "Tern Cottage", "--label", "laptop"];
    let shown = ok(&[&["pair", "--store", text(&store)], &name[..]].concat());
    for word in ["SLYFI://JOIN/", "Tern Cottage", "laptop", "10 min", "▀", "slyfi ap", "slyfi join"]
    {
        assert!(shown.contains(word), "{word} is not in:\n{shown}");
    }
    let plain = ok(&[&["pair", "--store", text(&store), "--no-qr"], &name[..]].concat());
    assert!(!plain.contains('▀'));
    let invite = pair(text(&store), &name);
    assert_eq!(invite["network"], "Tern Cottage");
    assert_eq!(invite["daemon_runs"], false);
    let peers: Value =
        serde_json::from_str(&ok(&["peers", "--json", "--store", text(&store)])).unwrap();
    assert_eq!(peers["invites"].as_array().unwrap().len(), 3);
    let id = invite["id"].as_str().unwrap();
    ok(&["revoke", &id[..8], "--store", text(&store)]);
    fails(2, &["revoke", &id[..8], "--store", text(&store)]);
    assert!(!ok(&["peers", "--store", text(&store)]).contains(id));
}

#[test]
fn wrong_invites_are_exit_code_5_and_make_no_store() {
    let dir = TempDir::new();
    let (ap, client) = (dir.join("ap"), dir.join("client"));
    let url = pair(text(&ap), &[])["url"].as_str().unwrap().to_owned();
    let brief = pair(text(&ap), &["--valid", "1s"])["url"].as_str().unwrap().to_owned();
    std::thread::sleep(std::time::Duration::from_millis(2100));
    let cut = &url[..url.len() - 4];
    for (url, word) in
        [("https://example.org/", "not an invite"), (cut, "damaged"), (&brief[..], "expired")]
    {
        let line = fails(5, &["join", url, "--store", text(&client)]);
        assert!(line.contains(word) && line.contains("; "), "{line}");
        assert!(!client.exists());
    }
    // Nothing to join at all.
    fails(4, &["join", "--store", text(&client)]);
    // A store of the wrong machine's clock: the invite has expired there.
    fails(5, &["join", &url, "--store", text(&client), "--clock-offset", "3600"]);
}

#[test]
fn a_damaged_or_open_store_is_exit_code_4_and_stays_as_it_is() {
    let dir = TempDir::new();
    let store = dir.join("ap");
    pair(text(&store), &[]);
    let file = store.join("keys.redb");
    let sound = fs::read(&file).unwrap();
    let mut damaged = sound.clone();
    damaged.iter_mut().step_by(16).for_each(|b| *b ^= 0x5a);
    fs::write(&file, &damaged).unwrap();
    for command in ["peers", "pair"] {
        let line = fails(4, &[command, "--store", text(&store)]);
        assert!(line.contains("damaged"), "{line}");
    }
    assert_eq!(fs::read(&file).unwrap(), damaged);
    fs::write(&file, &sound).unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
    assert!(fails(4, &["peers", "--store", text(&store)]).contains("chmod 600"));
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
    ok(&["peers", "--store", text(&store)]);
    fails(4, &["peers", "--store", text(&dir.join("none"))]);
}

#[test]
fn without_a_daemon_commands_for_one_are_exit_code_7() {
    let dir = TempDir::new();
    let store = dir.join("none");
    for command in [&["status"][..], &["metrics"], &["roam"], &["leave"], &["dismiss", "1"]] {
        let line = fails(7, &[command, &["--store", text(&store)]].concat());
        assert!(line.contains("no daemon"), "{line}");
    }
}

#[test]
fn an_interface_that_is_not_there_is_named() {
    let dir = TempDir::new();
    let store = dir.join("ap");
    let air = ["ap", "--air", "packet", "--interface", "no-such-if0", "--store", text(&store)];
    let out = slyfi(&air);
    // Exit code 3 where packet sockets need rights that this user lacks.
    assert!(matches!(out.status.code(), Some(2 | 3)), "{out:?}");
    assert_eq!(String::from_utf8(out.stderr).unwrap().lines().count(), 1);
}

#[test]
fn the_demonstration_shows_the_difference_and_saves_both_captures() {
    let dir = TempDir::new();
    let out = dir.join("captures");
    let json = ok(&["demo", "--json", "--seed", "11", "--out", text(&out)]);
    let shown: Value = serde_json::from_str(&json).unwrap();
    let (open, sly) = (&shown["wifi_open"], &shown["slyfi"]);
    assert_eq!(open["file"]["sha256"], sly["file"]["sha256"]);
    for run in [open, sly] {
        assert!(run["file"]["goodput_mbps"].as_f64().unwrap() > 5.0, "{run}");
        assert!(run["ping_ap"]["answered"].as_u64().unwrap() >= 35, "{run}");
        assert!(run["ping_client"]["answered"].as_u64().unwrap() >= 35, "{run}");
    }
    let linked = |run: &Value| {
        let heard = &run["heard"];
        heard["linkable_frames"].as_f64().unwrap() / heard["frames"].as_f64().unwrap()
    };
    // Over SlyFi only a probe that had to be repeated has an address again.
    assert!(linked(open) > 0.99 && linked(sly) < 0.02, "{shown}");
    assert!(open["heard"]["constant_bytes"].as_u64() > Some(6));
    assert_eq!(sly["heard"]["constant_bytes"], 0);
    assert!(open["heard"]["cleartext_frames"].as_u64() > Some(0));
    assert_eq!(sly["heard"]["cleartext_frames"], 0);
    for file in ["wifi-open.pcapng", "slyfi.pcapng"] {
        let bytes = fs::read(out.join(file)).unwrap();
        // The section header block of pcapng, and more than a few frames.
        assert!(bytes.starts_with(&[0x0a, 0x0d, 0x0d, 0x0a]) && bytes.len() > 100_000, "{file}");
    }
    let again = ok(&["demo", "--json", "--seed", "11", "--out", text(&out)]);
    assert_eq!(again, json, "equal seeds, equal runs");
}

#[test]
fn the_demonstration_is_plain_in_a_pipe_and_coloured_on_request() {
    let dir = TempDir::new();
    let out = dir.join("captures");
    let plain = ok(&["demo", "--out", text(&out)]);
    assert!(!plain.contains('\x1b') && plain.contains("What the eavesdropper can tell"));
    assert!(ok(&["demo", "--color", "always", "--out", text(&out)]).contains("\x1b[1m"));
}

#[test]
fn vectors_of_the_reference_programs_are_equal_and_a_changed_file_is_not() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../vectors/slyfi_2008.json");
    assert!(ok(&["vectors", "check", file]).contains("twins refused"));
    let dir = TempDir::new();
    let changed = dir.join("changed.json");
    let good: Value = serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap();
    let mut bad = good;
    flip_first_hex(&mut bad);
    fs::write(&changed, bad.to_string()).unwrap();
    fails(1, &["vectors", "check", text(&changed)]);
    fails(2, &["vectors", "check", text(&dir.join("none"))]);
}

/// Changes one digit of the first field that has 32 hexadecimal digits.
fn flip_first_hex(value: &mut Value) -> bool {
    match value {
        Value::String(s) if s.len() == 32 && s.bytes().all(|b| b.is_ascii_hexdigit()) => {
            let digit = if s.starts_with('0') { "1" } else { "0" };
            s.replace_range(..1, digit);
            true
        }
        Value::Array(items) => items.iter_mut().any(flip_first_hex),
        Value::Object(fields) => fields.iter_mut().any(|(_, v)| flip_first_hex(v)),
        _ => false,
    }
}
