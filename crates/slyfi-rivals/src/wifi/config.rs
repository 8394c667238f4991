//! Settings of the two machines.

use alloc::vec::Vec;
use slyfi_base::{Duration, MacAddress, Rate};
use slyfi_wire::element::MAX_SSID;

/// A network's name: 1 to 32 bytes.
#[derive(Clone, PartialEq, Eq)]
pub struct Ssid(Vec<u8>);

impl Ssid {
    /// Returns the name, or `None` if it is empty (the wildcard) or longer than 32 bytes.
    pub fn new(name: &[u8]) -> Option<Self> {
        (1..=MAX_SSID).contains(&name.len()).then(|| Ssid(name.to_vec()))
    }

    /// Returns the name's bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

impl core::fmt::Debug for Ssid {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("Ssid(<hidden>)")
    }
}

/// The named timers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timers {
    /// How long a station waits for the answer to its probes before it sends them again.
    pub probe_wait: Duration,
    /// How long a station waits for the answer to an authentication or association.
    pub answer_wait: Duration,
    /// How long a station waits for the end of the key handshake after it has associated.
    pub secure_wait: Duration,
    /// How often each request is sent before the station gives up.
    pub tries: u8,
    /// The first pause after a failed set-up. It doubles with each failure in a row, up to
    /// [`Timers::retry_pause_max`], and up to a quarter is added at random.
    pub retry_pause: Duration,
    /// The longest such pause, random part excluded.
    pub retry_pause_max: Duration,
    /// A station that has sent nothing for this long sends a Null frame; one that has heard nothing
    /// for this long asks with a directed probe.
    pub keep_alive: Duration,
    /// A side that has heard nothing of the other for this long ends the link.
    pub silence: Duration,
}

impl Default for Timers {
    fn default() -> Self {
        Timers {
            probe_wait: Duration::from_millis(30),
            answer_wait: Duration::from_millis(200),
            // The access point's own time-outs end in 3.1 s.
            secure_wait: Duration::from_secs(5),
            tries: 3,
            retry_pause: Duration::from_secs(1),
            retry_pause_max: Duration::from_secs(32),
            keep_alive: Duration::from_secs(10),
            silence: Duration::from_secs(40),
        }
    }
}

/// Settings of a [`super::Station`].
#[derive(Clone, Debug)]
pub struct StationConfig {
    /// The card's address, also the host's.
    pub mac: MacAddress,
    /// The networks to look for. Each is probed for by name, all at once.
    pub networks: Vec<Ssid>,
    /// The rate of unicast data frames; management and group frames go at [`Rate::BASE`].
    pub data_rate: Rate,
    /// Timers.
    pub timers: Timers,
}

impl StationConfig {
    /// Returns the paper's setting (slyfi-2008 §5.2: management at base, data at peak rate).
    pub fn new(mac: MacAddress, networks: Vec<Ssid>) -> Self {
        StationConfig { mac, networks, data_rate: Rate::PEAK, timers: Timers::default() }
    }
}

/// Settings of an [`super::AccessPoint`].
#[derive(Clone, Debug)]
pub struct ApConfig {
    /// The card's address, also the BSSID and the host's address.
    pub mac: MacAddress,
    /// The network's name.
    pub ssid: Ssid,
    /// The rate of unicast data frames; management and group frames go at [`Rate::BASE`].
    pub data_rate: Rate,
    /// The most stations, authenticated or associated; at most 2007 count (the association
    /// identifiers of IEEE 802.11-2020 §9.4.1.8).
    pub max_members: u16,
    /// Time between beacons in time units of 1024 µs; `None` sends none.
    pub beacon_interval: Option<u16>,
    /// Timers.
    pub timers: Timers,
}

impl ApConfig {
    /// Returns the paper's setting for rates, and a beacon every 100 time units as is usual.
    pub fn new(mac: MacAddress, ssid: Ssid) -> Self {
        ApConfig {
            mac,
            ssid,
            data_rate: Rate::PEAK,
            max_members: 2007,
            beacon_interval: Some(100),
            timers: Timers::default(),
        }
    }
}
