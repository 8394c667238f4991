//! The `Radio` contract (bare-wireless-2016 §4.5): a self-contained object that moves frames.

use crate::{Dbm, Instant, Mhz, Rate};

/// What a radio tells about a received frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct RxMeta {
    /// Received signal strength, where the radio reports it.
    pub signal: Option<Dbm>,
    /// The rate it was received at, where the radio reports it.
    pub rate: Option<Rate>,
    /// Whether the radio said that the frame check sequence is bad.
    pub bad_fcs: bool,
}

/// How a frame is to be sent.
///
/// # Security
/// A rate that depends on the kind of frame tells the kinds apart. The default profile sends
/// everything at one rate; the paper's own setting (§5.2, management at base, data at peak) is for
/// reproducing its measurements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TxMeta {
    /// Bit rate.
    pub rate: Rate,
}

impl Default for TxMeta {
    fn default() -> Self {
        TxMeta { rate: Rate::BASE }
    }
}

/// What a radio can do and what it needs around a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capabilities {
    /// The longest 802.11 frame (header included, FCS not) it can carry, in bytes.
    pub max_frame: usize,
    /// Whether it can transmit at all (a receive-only radio says so plainly).
    pub injects: bool,
    /// Whether it sets the channel itself.
    pub sets_channel: bool,
    /// Whether frames arrive in the order sent (one channel, no queues in between).
    pub keeps_order: bool,
}

/// The state a radio is brought to by [`Radio::initialize`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct RadioConfig {
    /// Channel, where the radio sets it; `None` leaves it as it is.
    pub frequency: Option<Mhz>,
    /// Transmit power; `None` leaves it as it is.
    pub power: Option<Dbm>,
}

/// One change to a radio that is up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RadioChange {
    /// Tune to another channel.
    Frequency(Mhz),
    /// Change the transmit power.
    Power(Dbm),
}

/// A non-blocking mover of 802.11 frames.
///
/// Frames here start at the 802.11 frame control field; radiotap, Ethernet and UDP wrappings are
/// the implementor's. Implementors: a monitor-mode interface, any Ethernet-like interface, the UDP
/// air, the simulated radio. Wrappers compose: traced, faulty, pcap-tapped.
pub trait Radio {
    /// Why the radio cannot go on. A full queue or an empty one is not an error.
    type Error;

    /// Returns what the radio can do.
    fn capabilities(&self) -> Capabilities;

    /// Brings the radio from down to up.
    ///
    /// # Errors
    /// When the device cannot be brought to `config`.
    fn initialize(&mut self, now: Instant, config: &RadioConfig) -> Result<(), Self::Error>;

    /// Brings the radio from any state to up with empty queues.
    ///
    /// # Errors
    /// When the device is gone.
    fn reset(&mut self, now: Instant) -> Result<(), Self::Error>;

    /// Changes one setting of a radio that is up.
    ///
    /// # Errors
    /// When the radio cannot make the change, or reads back something else.
    fn configure(&mut self, now: Instant, change: RadioChange) -> Result<(), Self::Error>;

    /// Takes one received frame into `buf`; `None` when there is none now.
    ///
    /// Frames longer than `buf` are dropped by the radio, and its own transmissions never come back.
    ///
    /// # Errors
    /// When the device is gone.
    fn read(
        &mut self,
        now: Instant,
        buf: &mut [u8],
    ) -> Result<Option<(RxMeta, usize)>, Self::Error>;

    /// Offers one frame; `false` means that there is no room now and nothing was taken.
    ///
    /// # Errors
    /// When the device is gone or refuses the frame for good.
    fn write(&mut self, now: Instant, meta: TxMeta, frame: &[u8]) -> Result<bool, Self::Error>;
}

impl<R: Radio + ?Sized> Radio for &mut R {
    type Error = R::Error;
    fn capabilities(&self) -> Capabilities {
        (**self).capabilities()
    }
    fn initialize(&mut self, now: Instant, config: &RadioConfig) -> Result<(), Self::Error> {
        (**self).initialize(now, config)
    }
    fn reset(&mut self, now: Instant) -> Result<(), Self::Error> {
        (**self).reset(now)
    }
    fn configure(&mut self, now: Instant, change: RadioChange) -> Result<(), Self::Error> {
        (**self).configure(now, change)
    }
    fn read(
        &mut self,
        now: Instant,
        buf: &mut [u8],
    ) -> Result<Option<(RxMeta, usize)>, Self::Error> {
        (**self).read(now, buf)
    }
    fn write(&mut self, now: Instant, meta: TxMeta, frame: &[u8]) -> Result<bool, Self::Error> {
        (**self).write(now, meta, frame)
    }
}
