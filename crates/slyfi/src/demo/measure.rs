//! What came of a run: for the people on the air, and for the one who listened.

use serde::Serialize;
use sha2::{Digest, Sha256};
use slyfi_base::event::Phase;
use slyfi_base::{Duration, Event, Instant};
use slyfi_link::{Error, ErrorKind, Result};
use slyfi_sim::referee::LeakKind;
use slyfi_sim::{Happened, IpHost, NodeId, Scenario};
use std::path::{Path, PathBuf};

/// What is needed besides the scenario.
pub struct Parts<'a> {
    /// The eavesdropper.
    pub sniffer: NodeId,
    /// The file as it was served.
    pub content: &'a [u8],
    /// Where the capture is.
    pub capture: &'a Path,
}

/// One run.
#[derive(Clone, Debug, Serialize)]
pub struct Measured {
    /// Set-up times, median of the clients.
    pub setup: SetUp,
    /// The file.
    pub file: Fetched,
    /// Client to access point.
    pub ping_ap: Pinged,
    /// Client to client.
    pub ping_client: Pinged,
    /// The eavesdropper's.
    pub heard: Heard,
    /// How long it was on the simulated clock, in seconds.
    pub simulated_s: f64,
}

/// Set-up times in milliseconds.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct SetUp {
    /// From the first probe to the answer.
    pub probing_ms: f64,
    /// From there to the answer to the authentication.
    pub authenticating_ms: f64,
    /// From there to the association.
    pub associating_ms: f64,
    /// All of it.
    pub total_ms: f64,
}

/// The file that was fetched.
#[derive(Clone, Debug, Serialize)]
pub struct Fetched {
    /// Its length.
    pub bytes: usize,
    /// Its SHA-256, equal to that of the file served.
    pub sha256: String,
    /// From the connection to the last byte, in milliseconds.
    pub took_ms: f64,
    /// Bytes of the file over that time, in Mb/s.
    pub goodput_mbps: f64,
}

/// Echo requests.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Pinged {
    /// Requests sent.
    pub sent: u64,
    /// Requests answered.
    pub answered: usize,
    /// Median round trip in milliseconds.
    pub median_ms: f64,
}

/// What the eavesdropper could tell.
#[derive(Clone, Debug, Serialize)]
pub struct Heard {
    /// Frames heard undamaged.
    pub frames: u64,
    /// Different addresses in them.
    pub addresses: u64,
    /// Frames whose address another frame has too.
    pub linkable_frames: u64,
    /// Frames that the most frequent address links.
    pub largest_group: u64,
    /// Bytes that are the same in all frames of a kind, the constant carrier left out.
    pub constant_bytes: usize,
    /// Frames in which a name, an address or the file was read in clear; counted up to 16.
    pub cleartext_frames: u64,
    /// The capture.
    pub capture: PathBuf,
}

impl Measured {
    /// Looks at a run that has ended.
    ///
    /// # Errors
    /// The file arrived changed, or a client has no link.
    pub fn take(scene: &mut Scenario, parts: &Parts<'_>) -> Result<Measured> {
        let wrong = |what: &str| Error::new(ErrorKind::System, what, "try another --seed");
        let cleartext_frames = scene.air.referee().count(LeakKind::Cleartext);
        let host = |i: usize| -> Result<&IpHost> {
            let node = scene.clients.get(i).copied();
            node.and_then(|n| scene.air.host(n)).ok_or_else(|| wrong("a client is missing"))
        };
        let fetch = host(0)?.fetches().next().ok_or_else(|| wrong("nothing was fetched"))?;
        let got = fetch.content().ok_or_else(|| wrong("the file did not arrive whole"))?;
        let (sha256, served) = (digest(got), digest(parts.content));
        if sha256 != served {
            return Err(wrong("the file arrived changed"));
        }
        let took_ms = ms(fetch.took().unwrap_or_default());
        let file = Fetched {
            bytes: got.len(),
            sha256,
            took_ms,
            goodput_mbps: got.len() as f64 * 8.0 / 1e3 / took_ms,
        };
        let pinged = |i: usize| -> Result<Pinged> {
            let report = host(i)?.pings().next().ok_or_else(|| wrong("no pings were sent"))?;
            let mut times: Vec<_> = report.round_trips.iter().map(|d| ms(*d)).collect();
            let (sent, answered) = (report.sent, times.len());
            Ok(Pinged { sent, answered, median_ms: median(&mut times) })
        };
        let sniffer = scene.air.sniffer(parts.sniffer).ok_or_else(|| wrong("nobody listened"))?;
        let heard = sniffer.linkability();
        Ok(Measured {
            setup: set_up(scene).ok_or_else(|| wrong("a client got no link"))?,
            file,
            ping_ap: pinged(1)?,
            ping_client: pinged(2)?,
            heard: Heard {
                frames: heard.frames(),
                addresses: heard.distinct_addresses(),
                linkable_frames: heard.linkable_frames(),
                largest_group: heard.largest_group(),
                constant_bytes: heard.constant_bytes(),
                cleartext_frames,
                capture: parts.capture.to_owned(),
            },
            simulated_s: ms(scene.air.now().saturating_since(Instant::ZERO)) / 1e3,
        })
    }
}

/// Returns the median set-up times of the clients; `None` if one of them has no link.
fn set_up(scene: &Scenario) -> Option<SetUp> {
    const PHASES: [Phase; 4] =
        [Phase::Probing, Phase::Authenticating, Phase::Associating, Phase::Linked];
    let mut spans: [Vec<f64>; 4] = Default::default();
    for client in &scene.clients {
        let entered = |phase| {
            let mut events = scene.air.events_of(*client);
            events.find(|r| r.what == Happened::Event(Event::Phase(phase))).map(|r| r.at)
        };
        let mut times = [Instant::ZERO; 4];
        for (time, phase) in times.iter_mut().zip(PHASES) {
            *time = entered(phase)?;
        }
        let [probing, authenticating, associating, linked] = times;
        let between = |from: Instant, to: Instant| ms(to.saturating_since(from));
        spans[0].push(between(probing, authenticating));
        spans[1].push(between(authenticating, associating));
        spans[2].push(between(associating, linked));
        spans[3].push(between(probing, linked));
    }
    let [probing_ms, authenticating_ms, associating_ms, total_ms] =
        spans.map(|mut times| median(&mut times));
    Some(SetUp { probing_ms, authenticating_ms, associating_ms, total_ms })
}

fn digest(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|b| format!("{b:02x}")).collect()
}

fn ms(span: Duration) -> f64 {
    span.as_micros() as f64 / 1e3
}

fn median(times: &mut [f64]) -> f64 {
    times.sort_by(f64::total_cmp);
    times.get(times.len() / 2).copied().unwrap_or(f64::NAN)
}
