//! How a client is to behave.

use crate::sizes::{DEFAULT_MAX_BODY, SizePolicy};
use slyfi_base::{Duration, TxMeta};

/// A client's configuration; `Default` is right for a radio.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClientConfig {
    /// Rate of every frame.
    pub rate: TxMeta,
    /// The longest body past the carrier, in bytes; both ends of a network should agree.
    pub max_body: usize,
    /// Window w (slyfi-2008 §4.2), 8 to 1024; 50 in the paper. Costs 40 bytes each.
    pub window: u16,
    /// How many older addresses stay valid, 0 to 64: 0 is the paper's rule; more for an air that
    /// reorders.
    pub late: u8,
    /// Whether the air keeps frames in order: a gap in the numbers then is a loss at once.
    pub keeps_order: bool,
    /// Sizes of frames of suite `aead`.
    pub policy: SizePolicy,
    /// The pause before an unanswered request goes again; it doubles up to a second,
    /// and each is a quarter longer or shorter at random.
    pub retry: Duration,
    /// How often a request goes again before the set-up is given up.
    pub tries: u8,
    /// How long answers to a probe are collected before the best is taken; zero takes the first.
    pub collect: Duration,
    /// Whether clear announcements of paired networks are followed (slyfi-2008 §2.4). Nobody vouches
    /// for them: who knows a network's name can announce it, and sees from the frame that follows
    /// that a client of this network is here.
    pub heed_announcements: bool,
    /// The pause after a set-up that failed; it doubles up to sixteen times this.
    pub pause: Duration,
    /// Silence after which the access point is asked for a sign of life.
    pub keep_alive: Duration,
    /// Silence after which the link is lost.
    pub dead_after: Duration,
    /// Mean pause between cover frames on an idle link; `None` sends none.
    pub cover: Option<Duration>,
    /// How many packets can be held for sending, reordering and delivery together.
    pub packets: u32,
    /// Whether [`slyfi_base::Output::KeyLog`] lines are produced.
    pub key_log: bool,
    /// After how many frames of one direction new session keys are made.
    pub rekey_after: u64,
}

impl Default for ClientConfig {
    fn default() -> Self {
        ClientConfig {
            rate: TxMeta::default(),
            max_body: DEFAULT_MAX_BODY,
            window: 50,
            late: 0,
            keeps_order: true,
            policy: SizePolicy::Buckets,
            retry: Duration::from_millis(100),
            tries: 8,
            collect: Duration::ZERO,
            heed_announcements: false,
            pause: Duration::from_secs(1),
            keep_alive: Duration::from_secs(2),
            dead_after: Duration::from_secs(6),
            cover: None,
            packets: 512,
            key_log: false,
            rekey_after: 1 << 31,
        }
    }
}
