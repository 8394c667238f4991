//! What an operator's process knows after logins: its memory, its words, its files.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;

use slyfi_tracedge::audit::Subscription;

use crate::flood::{address, login, subscribe};
use crate::full;
use crate::wire::{Wire, config};
use crate::world::{Serve, World};

/// Counts in a process's memory how often each of `what` is in it.
fn count(pid: u32, what: &[Vec<u8>]) -> std::io::Result<Vec<usize>> {
    let memory = File::open(format!("/proc/{pid}/mem"))?;
    let mut counts = vec![0; what.len()];
    let mut chunk = Vec::new();
    for line in fs::read_to_string(format!("/proc/{pid}/maps"))?.lines() {
        let Some((range, rest)) = line.split_once(' ') else { continue };
        // Files are looked at as files.
        if !rest.starts_with("rw") {
            continue;
        }
        let Some((from, to)) = range.split_once('-') else { continue };
        let [from, to] = [from, to].map(|hex| u64::from_str_radix(hex, 16).unwrap());
        chunk.resize((to - from) as usize, 0);
        // Parts may have gone since.
        let Ok(read) = memory.read_at(&mut chunk, from) else { continue };
        for (needle, count) in what.iter().zip(&mut counts) {
            *count += occurrences(&chunk[..read], needle);
        }
    }
    Ok(counts)
}

fn occurrences(hay: &[u8], needle: &[u8]) -> usize {
    let (first, len) = (needle[0], needle.len());
    let starts = hay.iter().enumerate().filter(|(_, byte)| **byte == first);
    starts.filter(|(at, _)| hay.get(*at..at + len) == Some(needle)).count()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Everything by which a subscriber could be recognised.
fn marks(mine: &Subscription, name: &str) -> Vec<Vec<u8>> {
    let key = mine.receipt.key.as_bytes();
    let receipt = mine.receipt.encode();
    vec![
        key.to_vec(),
        hex(key).into_bytes(),
        receipt[receipt.len() - 64..].to_vec(),
        hex(&receipt[..48]).into_bytes(),
        name.as_bytes().to_vec(),
        format!("row {} ", mine.receipt.index).into_bytes(),
        format!("\"row\":{}", mine.receipt.index).into_bytes(),
        mine.secret.encode().to_vec(),
    ]
}

#[test]
fn the_process_remembers_nobody_who_logged_on() {
    let mut world = World::new("memory", "lwe");
    let (ann, bob) = ("ann-of-the-green-gables", "bob-the-builder-of-things");
    let people = [ann, bob].map(|name| (name, subscribe(&world, name)));
    world.build();
    // What enrolling left behind goes with the process.
    let port = world.serve.port;
    world.serve.kill();
    world.serve = Serve::start(&world.operator, port);
    let pid = world.serve.child.id();
    let marks = people.each_ref().map(|(name, mine)| marks(mine, name));
    let look = || marks.each_ref().map(|marks| count(pid, marks).unwrap());
    // The first login prepares what all use.
    login(&world, &people[1].1, 1);
    let files = || {
        let read = |name: &str| fs::read(format!("{}/{name}", world.operator)).unwrap();
        (read("operator.redb").len(), fs::read_dir(&world.operator).unwrap().count())
    };
    let (before, files_before) = (look(), files());
    for _ in 0..if full() { 1_000 } else { 25 } {
        login(&world, &people[0].1, 1);
    }
    let (after, files_after) = (look(), files());
    // His key is where all keys are, in the directory and its retrieval, and nowhere else now either.
    let more = |person: usize| {
        let both = after[person].iter().zip(&before[person]);
        both.filter(|(after, before)| after > before).count()
    };
    assert_eq!((more(0), more(1)), (0, 0), "to be found in memory: {before:?}, then {after:?}");
    assert_eq!(files_before, files_after);
    // Whoever says who he is is found, so the search finds what is there.
    let mut way = Wire::connect(&config(&world.operator), address(&world)).unwrap();
    let key = hex(people[0].1.receipt.key.as_bytes());
    way.ask("GET", &format!("/v1/{key}/{ann}"), &[]).unwrap();
    way.response().unwrap();
    let told = look();
    println!("{before:?} {after:?} {told:?}");
    assert!(told[0][1] > after[0][1] || told[0][4] > after[0][4], "{told:?}");
    assert_eq!(told[1][1], after[1][1]);
    drop(way);
}

#[test]
fn a_running_operator_says_nothing_about_logins() {
    use std::io::Read;
    use std::process::{Command, Stdio};
    let mut world = World::new("words", "lwe");
    let people = ["ann", "bob"].map(|name| subscribe(&world, name));
    world.build();
    let port = world.serve.port;
    world.serve.kill();
    let mut serve = Command::new(env!("CARGO_BIN_EXE_slyfi"));
    serve.args(["tracedge", "serve", "--dir", &world.operator, "--connections", "8"]);
    serve.args(["--listen", &format!("127.0.0.1:{port}")]);
    let mut child = serve.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut first = [0; 1];
    child.stdout.as_mut().unwrap().read_exact(&mut first).unwrap();
    let mut views = Vec::new();
    for i in 0..if full() { 1_000 } else { 20 } {
        let mut seen = login(&world, &people[i % 2], 2).seen;
        // A round's queries go out in an order that is drawn anew: as a set they are the same.
        seen.sort();
        views.push(seen);
    }
    assert!(views.iter().all(|seen| seen == &views[0]), "somebody's login looks different");
    child.kill().unwrap();
    let out = child.wait_with_output().unwrap();
    let words = String::from_utf8_lossy(&out.stdout);
    assert_eq!(words.lines().count(), 1, "{words}");
    assert!(words.contains("erving operator") && out.stderr.is_empty(), "{words}");
}
