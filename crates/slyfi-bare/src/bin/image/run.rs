//! What the command line asks for.

mod count;
mod station;

use crate::clock::Clock;
use crate::entropy::Entropy;
use crate::heap;
use crate::nic::Nic;
use crate::serial::say;
use crate::udp::{Place, Udp};
use alloc::format;
use alloc::string::{String, ToString};
use core::net::Ipv4Addr;
use slyfi_bare::exchange::{Outcome, Report, Settings, request, serve};
use slyfi_bare::options::{Options, Role};

/// Where the exchange's client sends from; any port that is not the server's.
const CLIENT_PORT: u16 = 49_152;

/// Runs the program that `line` names.
///
/// # Errors
/// Why it could not, for people.
pub fn run(line: &str) -> Result<(), String> {
    let words = line.split_whitespace().filter(|w| w.contains('='));
    let options = Options::parse(words).map_err(|e| format!("command line: {e}"))?;
    match options.role {
        Role::Panic => panic!("as the command line asked"),
        Role::Fault => {
            let depth = fill_stack(0);
            return Err(format!("a stack of {depth} frames did not end"));
        }
        _ => {}
    }
    let mut clock = Clock::new(options.time_s)?;
    let mut entropy = Entropy::new()?;
    say!("AES {}, {} MHz, {}", slyfi_aes::backend(), clock.mhz(), entropy.sources());
    match options.role {
        Role::Count => count::run(&options, &mut clock, &mut entropy),
        Role::Station => station::run(&options, clock, entropy),
        _ => exchange(&options, clock, &mut entropy),
    }
}

/// Runs the exchange at every size.
fn exchange(options: &Options<'_>, mut clock: Clock, rng: &mut Entropy) -> Result<(), String> {
    let nic = Nic::open(options.mtu)?;
    let mac = nic.mac();
    let address = options.address.ok_or("`address` is missing: 10.9.0.1/24 or so")?;
    let is_server = options.role == Role::Server;
    let place = Place {
        address,
        port: if is_server { options.port } else { CLIENT_PORT },
        peer: (options.peer.unwrap_or(Ipv4Addr::UNSPECIFIED), options.port),
    };
    let mut net = Udp::new(nic, mac, place, clock);
    say!("{} at {}:{}", if is_server { "server" } else { "client" }, address.0, place.port);
    let aes = slyfi_aes::backend().to_string();
    let sizes = options.sizes();
    for run in 0..options.rounds * sizes.len() as u32 {
        let settings = settings(options, sizes[run as usize % sizes.len()], run)?;
        let before = heap::calls();
        let outcome = if is_server {
            serve(&mut net, &mut clock, rng, &settings).map(Outcome::Served)
        } else {
            request(&mut net, &mut clock, rng, &settings).map(Outcome::Received)
        };
        let allocations = heap::calls() - before;
        let outcome = outcome.unwrap_or_else(Outcome::Failed);
        say!("{}", Report { system: "bare", aes: &aes, settings: &settings, outcome });
        say!("allocator calls during the run: {allocations}");
        if let Outcome::Failed(_) = outcome {
            return Err("the run has no result".into());
        }
    }
    Ok(())
}

fn settings(options: &Options<'_>, size: usize, run: u32) -> Result<Settings, String> {
    let key = options.key.clone().ok_or("`key` is missing")?;
    Ok(Settings { size, burst: options.burst, run, key, patience: options.patience })
}

/// Goes deeper than the stack is, unless the page below it is there.
fn fill_stack(depth: u64) -> u64 {
    let frame = core::hint::black_box([depth; 64]);
    match depth {
        0..1_000_000 => fill_stack(depth + 1) + core::hint::black_box(frame[0] & 1),
        _ => depth,
    }
}
