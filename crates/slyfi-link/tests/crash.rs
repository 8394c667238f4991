//! The key store under `kill -9`: what was promised durable is there, and every transaction is whole.
//!
//! Its own harness: the test starts itself as the process that is killed.

use slyfi_base::link::RecordKind;
use slyfi_base::{Duration, SecureRandom, UnixTime};
use slyfi_core::pairing::{Kind, NetworkName, Pairing, Terms};
use slyfi_core::suite::Suite;
use slyfi_link::store::{Change, Missing, Store};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};

const NOW: UnixTime = UnixTime::from_secs(1_800_000_000);
const KILLS: u32 = 25;

fn main() {
    let args: Vec<_> = std::env::args_os().collect();
    if args.get(1).is_some_and(|a| a == "write") {
        write(Path::new(&args[2]));
    } else if !args.iter().any(|a| a == "--list") {
        whatever_was_reported_durable_survives_and_no_transaction_is_torn();
        println!("test result: ok. 1 passed; {KILLS} processes killed");
    }
}

struct Numbered(u64);

impl SecureRandom for Numbered {
    fn fill(&mut self, out: &mut [u8]) {
        for chunk in out.chunks_mut(8) {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            chunk.copy_from_slice(&self.0.to_be_bytes()[..chunk.len()]);
        }
    }
}

fn pairing(n: u64) -> Pairing {
    let terms = Terms::new(NetworkName::new(b"home").unwrap(), Suite::AEAD, NOW, Kind::Member);
    Pairing::generate(&terms, &mut Numbered(n)).unwrap()
}

/// Commits a pairing and a record at a time, and says which once they are promised to be durable.
fn write(dir: &Path) -> ! {
    let mut store = Store::open(dir, Missing::Create).unwrap();
    let first = store.pairings().unwrap().len() as u64;
    for n in first.. {
        let (label, pairing, record) = (n.to_string(), pairing(n), n.to_be_bytes());
        store
            .commit(&[
                Change::Pairing { label: &label, made: NOW, pairing: &pairing },
                Change::Record { kind: RecordKind::Replay, until: None, bytes: &record },
            ])
            .unwrap();
        println!("{n}");
        std::io::stdout().flush().unwrap();
        if n % 7 == 6 {
            store.scrub().unwrap();
        }
    }
    unreachable!("the loop has no end")
}

fn whatever_was_reported_durable_survives_and_no_transaction_is_torn() {
    let dir = std::env::temp_dir().join(format!("slyfi-crash-{}", std::process::id()));
    let mut rng = Numbered(7);
    for _ in 0..KILLS {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .arg("write")
            .arg(&dir)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let first = lines.next().expect("the writer began").unwrap();
        let mut pause = [0; 2];
        rng.fill(&mut pause);
        let pause = u64::from(u16::from_be_bytes(pause)) % 60_000;
        std::thread::sleep(std::time::Duration::from_micros(pause));
        child.kill().unwrap();
        child.wait().unwrap();
        // A line that was cut by the kill was not said.
        let last = lines.map_while(Result::ok).last().unwrap_or(first).parse::<u64>().unwrap();

        let store = Store::open(&dir, Missing::Refuse).unwrap();
        let mut labels: Vec<u64> =
            store.pairings().unwrap().iter().map(|p| p.label.parse().unwrap()).collect();
        labels.sort_unstable();
        let later = NOW + Duration::from_secs(1);
        let mut records: Vec<u64> = store
            .records(RecordKind::Replay, later)
            .unwrap()
            .iter()
            .map(|r| u64::from_be_bytes(r[..].try_into().unwrap()))
            .collect();
        records.sort_unstable();
        assert_eq!(labels, records, "a transaction is torn");
        let count = labels.len() as u64;
        assert_eq!(labels, (0..count).collect::<Vec<_>>(), "there are holes");
        // Everything that was said, and at most the one that was about to be.
        assert!((last + 1..=last + 2).contains(&count), "{last} was said, {count} are there");
        for p in store.pairings().unwrap() {
            assert_eq!(p.pairing, pairing(p.label.parse().unwrap()));
        }
    }
    std::fs::remove_dir_all(&dir).unwrap();
}
