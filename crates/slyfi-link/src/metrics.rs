//! Counters of the daemon, and the Prometheus text format (version 0.0.4) they are shown in.
//!
//! # Security
//! Labels are roles, reasons and kinds: never a name, an address or a pairing.

use slyfi_base::reason::DropCounters;
use std::fmt::Write;

/// What the event loop counts itself; drops are the machine's own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Frames taken from the radio.
    pub frames_received: u64,
    /// Their bytes.
    pub frame_bytes_received: u64,
    /// Frames given to the radio.
    pub frames_sent: u64,
    /// Their bytes.
    pub frame_bytes_sent: u64,
    /// Frames that the radio had no room for within the queue's bound.
    pub frames_overflowed: u64,
    /// Packets taken from the host.
    pub packets_from_host: u64,
    /// Packets handed to the host.
    pub packets_to_host: u64,
    /// Packets of the host that the link refused (not linked, too long, no such member).
    pub packets_refused: u64,
    /// Packets for the host that the interface did not take.
    pub packets_lost: u64,
    /// Links that came up.
    pub links_up: u64,
    /// Links that ended.
    pub links_down: u64,
    /// Transactions of the key store.
    pub commits: u64,
    /// Messages from sibling access points.
    pub backhaul_received: u64,
    /// Messages to sibling access points.
    pub backhaul_sent: u64,
}

impl Counters {
    /// Returns name, meaning and value of each counter; the names are stable.
    pub fn list(&self) -> [(&'static str, &'static str, u64); 14] {
        [
            ("frames_received", "Frames taken from the radio.", self.frames_received),
            (
                "frame_bytes_received",
                "Bytes of frames taken from the radio.",
                self.frame_bytes_received,
            ),
            ("frames_sent", "Frames given to the radio.", self.frames_sent),
            ("frame_bytes_sent", "Bytes of frames given to the radio.", self.frame_bytes_sent),
            ("frames_overflowed", "Frames that the radio had no room for.", self.frames_overflowed),
            ("packets_from_host", "Packets taken from the host.", self.packets_from_host),
            ("packets_to_host", "Packets handed to the host.", self.packets_to_host),
            ("packets_refused", "Packets of the host that the link refused.", self.packets_refused),
            ("packets_lost", "Packets that the host's interface did not take.", self.packets_lost),
            ("links_up", "Links that came up.", self.links_up),
            ("links_down", "Links that ended.", self.links_down),
            ("commits", "Transactions of the key store.", self.commits),
            ("backhaul_received", "Messages from sibling access points.", self.backhaul_received),
            ("backhaul_sent", "Messages to sibling access points.", self.backhaul_sent),
        ]
    }
}

/// Values that go up and down.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Gauges {
    /// Links that are up now.
    pub links: u64,
    /// Pairings that can be linked to.
    pub pairings: u64,
    /// The peer's clock minus this one's, in microseconds.
    pub clock_offset_us: Option<i64>,
    /// Seconds since the daemon started.
    pub uptime_s: u64,
}

/// Renders everything as Prometheus text.
pub fn render(role: &str, counters: &Counters, gauges: &Gauges, drops: &DropCounters) -> String {
    let mut out = String::new();
    // Writing to a String cannot fail.
    let mut family = |name: &str, help: &str, kind: &str, samples: &[(String, String)]| {
        let _ = writeln!(out, "# HELP slyfi_{name} {help}\n# TYPE slyfi_{name} {kind}");
        for (labels, value) in samples {
            let _ = writeln!(out, "slyfi_{name}{{role=\"{role}\"{labels}}} {value}");
        }
    };
    for (name, help, value) in counters.list() {
        let sample = [(String::new(), value.to_string())];
        family(&format!("{name}_total"), help, "counter", &sample);
    }
    let dropped: Vec<_> = drops
        .iter()
        .map(|(reason, n)| (format!(",reason=\"{}\"", reason.name()), n.to_string()))
        .collect();
    family("frames_dropped_total", "Received frames without effect.", "counter", &dropped);
    let gauge = |value: u64| [(String::new(), value.to_string())];
    family("links", "Links that are up.", "gauge", &gauge(gauges.links));
    family("pairings", "Pairings in the store.", "gauge", &gauge(gauges.pairings));
    family("uptime_seconds", "Time since the start.", "gauge", &gauge(gauges.uptime_s));
    if let Some(us) = gauges.clock_offset_us {
        let seconds = format!("{:.6}", us as f64 / 1e6);
        let help = "The peer's clock minus this one's.";
        family("clock_offset_seconds", help, "gauge", &[(String::new(), seconds)]);
    }
    out
}

/// Renders what a protection of ordinary 802.11 counts, as Prometheus text.
pub fn render_protection(role: &str, cipher: &str, counters: &[(&'static str, u64)]) -> String {
    let mut out = String::new();
    for (name, value) in counters {
        // Writing to a String cannot fail.
        let _ = writeln!(
            out,
            "# HELP slyfi_protection_{name}_total Counted by the protection.\n\
             # TYPE slyfi_protection_{name}_total counter\n\
             slyfi_protection_{name}_total{{role=\"{role}\",cipher=\"{cipher}\"}} {value}"
        );
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use slyfi_base::DropReason;

    #[test]
    fn a_protection_s_counters_name_their_cipher() {
        let text = render_protection("ap", "tkip", &[("michael_failures", 2)]);
        assert!(text.ends_with(
            "\nslyfi_protection_michael_failures_total{role=\"ap\",cipher=\"tkip\"} 2\n"
        ));
        assert_eq!(text.lines().count(), 3);
    }

    #[test]
    fn every_sample_has_its_family_before_it() {
        let mut drops = DropCounters::default();
        drops.count(DropReason::Foreign);
        let counters = Counters { frames_received: 7, ..Counters::default() };
        let gauges = Gauges { clock_offset_us: Some(-1_500_000), ..Gauges::default() };
        let text = render("ap", &counters, &gauges, &drops);
        assert!(text.contains("\nslyfi_frames_dropped_total{role=\"ap\",reason=\"foreign\"} 1\n"));
        assert!(text.contains("\nslyfi_clock_offset_seconds{role=\"ap\"} -1.500000\n"));
        let mut family = "";
        for line in text.lines() {
            match line.strip_prefix("# TYPE ") {
                Some(rest) => family = rest.split(' ').next().unwrap(),
                None if line.starts_with("# HELP ") => {}
                None => assert!(line.starts_with(&format!("{family}{{")), "{line}"),
            }
        }
        assert!(text.contains("slyfi_frames_received_total{role=\"ap\"} 7"));
        assert!(!render("ap", &counters, &Gauges::default(), &drops).contains("clock_offset"));
    }
}
