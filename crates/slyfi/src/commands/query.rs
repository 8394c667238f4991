//! `slyfi status`, `slyfi peers` and `slyfi metrics`.

use super::{ask, find_daemon, print, print_json, role_of, strange_answer};
use crate::cli::{QueryArgs, TargetArgs};
use crate::output::{Paint, columns, span};
use slyfi_base::UnixTime;
use slyfi_link::control::{Answer, Peers, ProtectionStatus, Request, Status};
use slyfi_link::logging::Stamp;
use slyfi_link::store::{Missing, Store};
use slyfi_link::{Result, pairing};
use slyfi_linux::Clock;

/// Shows what a daemon is doing.
pub fn status(args: &QueryArgs, paint: Paint) -> Result<()> {
    let Answer::Status(status) = ask(&args.target, &Request::Status)? else {
        return Err(strange_answer());
    };
    if args.json { print_json(&status) } else { print(&describe(&status, paint)) }
}

fn describe(s: &Status, paint: Paint) -> String {
    let mut rows = Vec::new();
    let mut row = |name: &str, value: String| rows.push(vec![name.to_owned(), value]);
    if let Some(network) = &s.network {
        row("network", network.clone());
    }
    row("role", format!("{}, up {}", s.role, span(s.uptime_s)));
    if let Some(phase) = &s.phase {
        let why = s.trouble.as_deref().map_or(String::new(), |t| format!(": {t}"));
        let text = format!("{phase}{why}");
        row("link", if phase == "linked" { paint.good(&text) } else { paint.bad(&text) });
    }
    if let Some(protection) = &s.protection {
        row("protection", describe_protection(protection, paint));
    }
    row("air", s.air.clone());
    row("interface", format!("{}, MTU {}", s.interface, s.mtu));
    row("clock", clock(s, paint));
    let count = |name: &str| s.counters.get(name).copied().unwrap_or(0);
    row("frames", format!("{} sent, {} received", count("frames_sent"), count("frames_received")));
    row(
        "packets",
        format!(
            "{} from this host, {} to it, {} refused",
            count("packets_from_host"),
            count("packets_to_host"),
            count("packets_refused")
        ),
    );
    if !s.drops.is_empty() {
        let drops: Vec<_> = s.drops.iter().map(|(reason, n)| format!("{n} {reason}")).collect();
        row("dropped", drops.join(", "));
    }
    let mut out = columns(&rows);
    for (pairing, seconds) in &s.clock.clients_off {
        let side = if *seconds < 0 { "behind" } else { "ahead" };
        let amount = span(seconds.unsigned_abs());
        out.push_str(&paint.bad(&format!("\nThe clock of the client {pairing} is {amount} {side}: it gets no link until it is set.\n")));
    }
    if !s.links.is_empty() {
        let mut links = vec![vec![
            "link".to_owned(),
            "pairing".to_owned(),
            "up".to_owned(),
            "label".to_owned(),
        ]];
        for l in &s.links {
            let id = l.pairing.as_deref().map_or("?", |p| p.get(..8).unwrap_or(p));
            let label = l.label.clone().unwrap_or_default();
            links.push(vec![l.link.to_string(), id.to_owned(), span(l.up_s), label]);
        }
        out.push('\n');
        out.push_str(&columns(&links));
    }
    out
}

fn describe_protection(protection: &ProtectionStatus, paint: Paint) -> String {
    let name = match protection.broken {
        true => paint.bad(&format!("{} (no protection; for comparison)", protection.cipher)),
        false => protection.cipher.clone(),
    };
    let counted = protection.counters.iter().filter(|(_, n)| **n > 0);
    let counted: String =
        counted.map(|(what, n)| format!(", {n} {}", what.replace('_', " "))).collect();
    format!("ordinary 802.11 with {name}{counted}")
}

fn clock(s: &Status, paint: Paint) -> String {
    let sync = match s.clock.synchronized {
        Some(true) => "synchronised".to_owned(),
        Some(false) => paint.bad("not synchronised"),
        None => "synchronisation unknown".to_owned(),
    };
    match s.clock.offset_ms {
        Some(ms) if ms < 0 => format!("{sync}, {} ms ahead of the access point's", -ms),
        Some(ms) => format!("{sync}, {ms} ms behind the access point's"),
        None => sync,
    }
}

/// Lists pairings and invites.
pub fn peers(args: &QueryArgs, paint: Paint) -> Result<()> {
    let config = args.target.to_config()?;
    let peers = match find_daemon(&args.target, &config)? {
        Some(mut client) => match client.ask(&Request::Peers)? {
            Answer::Peers(peers) => peers,
            _ => return Err(strange_answer()),
        },
        None => {
            let dir = config.store_dir(role_of(&args.target, &config));
            pairing::list(&Store::open(&dir, Missing::Refuse)?, Clock::new().now().wall, None)?
        }
    };
    if args.json { print_json(&peers) } else { print(&describe_peers(&peers, paint)) }
}

fn describe_peers(peers: &Peers, paint: Paint) -> String {
    if peers.pairings.is_empty() && peers.invites.is_empty() {
        return "No pairings and no open invites. `slyfi pair` makes an invite.\n".to_owned();
    }
    let mut rows = Vec::new();
    let head = ["id", "state", "made or expires", "suite", "network", "label"];
    rows.push(head.map(str::to_owned).to_vec());
    let minute = |s| {
        let stamp = Stamp(UnixTime::from_secs(s)).to_string();
        stamp.get(..16).unwrap_or(&stamp).replace('T', " ")
    };
    for p in &peers.pairings {
        let state = match p.linked {
            Some(true) => "linked",
            Some(false) => "away",
            None => "paired",
        };
        let id = p.id.clone();
        rows.push(vec![
            id,
            state.to_owned(),
            minute(p.made_s),
            p.suite.clone(),
            p.network.clone(),
            p.label.clone(),
        ]);
    }
    for i in &peers.invites {
        let none = String::new;
        rows.push(vec![
            i.id.clone(),
            "invited".to_owned(),
            minute(i.expires_s),
            none(),
            none(),
            i.label.clone(),
        ]);
    }
    let table = columns(&rows);
    match table.split_once('\n') {
        Some((head, rest)) => format!("{}\n{rest}", paint.bold(head)),
        None => table,
    }
}

/// Prints a daemon's counters.
pub fn metrics(target: &TargetArgs) -> Result<()> {
    match ask(target, &Request::Metrics)? {
        Answer::Metrics(text) => print(&text),
        _ => Err(strange_answer()),
    }
}
