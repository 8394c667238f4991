//! How an access point is to behave.

use crate::backhaul::BackhaulKey;
use crate::pairing::NetworkName;
use crate::sizes::{DEFAULT_MAX_BODY, SizePolicy};
use crate::suite::Suite;
use slyfi_base::{Duration, TxMeta};

/// An access point's configuration; `Default` is right for a radio.
#[derive(Clone, Debug)]
pub struct ApConfig {
    /// Rate of every frame.
    pub rate: TxMeta,
    /// The longest body past the carrier, in bytes; both ends of a network should agree.
    pub max_body: usize,
    /// Window w (slyfi-2008 §4.2), 8 to 1024; 50 in the paper. Costs 40 bytes each, per member.
    pub window: u16,
    /// How many older addresses stay valid, 0 to 64: 0 is the paper's rule; more for an air that
    /// reorders.
    pub late: u8,
    /// Whether the air keeps frames in order: a gap in the numbers then is a loss at once.
    pub keeps_order: bool,
    /// Sizes of frames of suite `aead`.
    pub policy: SizePolicy,
    /// Suite of the broadcast key and of pairings made by enrolment.
    pub suite: Suite,
    /// Interval length of pairings made by enrolment.
    pub interval: Duration,
    /// Skew k of pairings made by enrolment, in intervals.
    pub skew: u8,
    /// Replies to probes and authentications wait a random time up to this (slyfi-2008 §4.1).
    pub reply_jitter: Duration,
    /// Silence after which a member is gone.
    pub dead_after: Duration,
    /// How many sessions there can be at once.
    pub max_sessions: u32,
    /// Pause between encrypted time beacons (slyfi-2008 §3.5); `None` sends none.
    pub time_beacon: Option<Duration>,
    /// The name of the clear announcement (slyfi-2008 §2.4), and its pause; `None`, the default,
    /// announces nothing. It tells everyone in range that this network is here.
    pub announce: Option<(NetworkName, Duration)>,
    /// Mean pause between cover frames on an idle link; `None` sends none.
    pub cover: Option<Duration>,
    /// How many packets can be held for sending, reordering and delivery together.
    pub packets: u32,
    /// Whether [`slyfi_base::Output::KeyLog`] lines are produced.
    pub key_log: bool,
    /// After how many frames of one direction new session keys are made.
    pub rekey_after: u64,
    /// How many intervals around the window are watched for clients whose clock is off, silently;
    /// 0 watches none. Costs four table entries per interval and pairing.
    pub diagnose: u16,
    /// The key that the network's access points share; `None` for a network of one.
    pub backhaul: Option<BackhaulKey>,
}

impl Default for ApConfig {
    fn default() -> Self {
        ApConfig {
            rate: TxMeta::default(),
            max_body: DEFAULT_MAX_BODY,
            window: 50,
            late: 0,
            keeps_order: true,
            policy: SizePolicy::Buckets,
            suite: Suite::AEAD,
            interval: crate::pairing::DEFAULT_INTERVAL,
            skew: crate::pairing::DEFAULT_SKEW,
            reply_jitter: Duration::from_millis(10),
            dead_after: Duration::from_secs(15),
            max_sessions: 256,
            time_beacon: Some(Duration::from_secs(5)),
            announce: None,
            cover: None,
            packets: 2_048,
            key_log: false,
            rekey_after: 1 << 31,
            diagnose: 24,
            backhaul: None,
        }
    }
}
