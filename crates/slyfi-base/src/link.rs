//! The `Link` contract: a protocol machine without sockets, clocks, threads or entropy.

use crate::{Event, Instant, LinkId, Now, Redacted, RxMeta, TxMeta, UnixTime};
use core::net::IpAddr;

/// A sans-IO link machine: SlyFi's client and access point, and every rival of theirs.
///
/// The contract is one mutation, then drain: call one `handle_*`, then [`Link::poll_output`] until
/// it says [`Output::Timeout`], then the next `handle_*`. `now.mono` never goes back.
pub trait Link {
    /// Takes one 802.11 frame from the radio. It is opened in place.
    ///
    /// Infallible: whatever the air did is a counted [`crate::DropReason`].
    fn handle_frame(&mut self, now: Now, meta: RxMeta, frame: &mut [u8]);

    /// Takes several frames that arrived together; the machine may filter and open them as one batch.
    fn handle_frames(&mut self, now: Now, frames: &mut [(RxMeta, &mut [u8])]) {
        for (meta, frame) in frames {
            self.handle_frame(now, *meta, frame);
        }
    }

    /// Takes one Ethernet frame from the host.
    ///
    /// # Errors
    /// [`Refused`]: local back-pressure; the host keeps the packet or drops it.
    fn handle_packet(&mut self, now: Now, packet: &[u8]) -> Result<(), Refused>;

    /// Takes a message from another access point of the network ([`Output::Backhaul`] of that one).
    ///
    /// Infallible, like [`Link::handle_frame`]. Machines without a backhaul ignore it.
    fn handle_backhaul(&mut self, now: Now, message: &[u8]) {
        let _ = (now, message);
    }

    /// Takes one command from the host.
    ///
    /// # Errors
    /// [`ApiMisuse`] when the command makes no sense for this machine.
    fn handle_command(&mut self, now: Now, command: Command) -> Result<(), ApiMisuse>;

    /// Tells the machine that the instant it asked for has come (or any later one).
    fn handle_timeout(&mut self, now: Now);

    /// Returns the next thing to do; `buf` is where frames and packets are written.
    fn poll_output<'b>(&mut self, buf: &'b mut [u8]) -> Output<'b>;

    /// Returns how many frames were dropped, by reason.
    fn drops(&self) -> &crate::reason::DropCounters;
}

/// What the host has to do next. [`Output::Timeout`] is always the last.
#[derive(Debug)]
#[must_use]
pub enum Output<'b> {
    /// Put this 802.11 frame on the air.
    Transmit(TxMeta, &'b [u8]),
    /// Hand this Ethernet frame to the host.
    Deliver(&'b [u8]),
    /// Make this durable *before* anything that follows goes on the air.
    Persist(Persist<'b>),
    /// Send this to the network's other access points (already sealed).
    Backhaul(&'b [u8]),
    /// A line for the key log; only ever produced when the configuration asked for it.
    KeyLog(Redacted<&'b [u8]>),
    /// Something happened.
    Event(Event),
    /// The buffer is too small; poll again with at least this many bytes.
    BufferTooSmall {
        /// Bytes needed.
        needed: usize,
    },
    /// The machine cannot go on and has to be dropped.
    Failed(LinkError),
    /// Nothing more to do until the given instant (or until the next input, if `None`).
    Timeout(Option<Instant>),
}

/// A record that must outlive a crash.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Persist<'b> {
    /// What it is.
    pub kind: RecordKind,
    /// When it may be forgotten; `None` keeps it.
    pub until: Option<UnixTime>,
    /// The record, opaque to the host; it contains keys when `kind` is a pairing.
    pub bytes: Redacted<&'b [u8]>,
}

/// The kinds of record a machine asks its host to keep.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RecordKind {
    /// An accepted probe or authentication, to be refused when replayed (slyfi-2008 §4.1).
    Replay,
    /// A new pairing.
    Pairing,
    /// An invite that must not be accepted again.
    InviteSpent,
    /// A pairing that must not be accepted again.
    PairingRevoked,
    /// How far the numbers of a key that outlives the process may have been used: eight bytes of name,
    /// then the value. Of each name only the last one counts.
    Counter,
}

/// A command from the host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Command {
    /// Client: find a network and link to it; keep it up until told to leave.
    Connect,
    /// Take leave. A client ends its link, an access point dismisses all members.
    Leave,
    /// Access point: end one member's link.
    Dismiss(LinkId),
    /// Client: look for a better access point of the same network and move there.
    Roam,
    /// The host has taken this IP address.
    Bind(IpAddr),
    /// The host has given this IP address up.
    Unbind(IpAddr),
}

/// Local back-pressure on a packet from the host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Refused {
    /// No link to send it on.
    NotLinked,
    /// The send queue is full; try again after the next output.
    QueueFull,
    /// Longer than the link's MTU.
    TooLong {
        /// The packet's length in bytes, Ethernet header included.
        actual: usize,
        /// The most that is carried.
        limit: usize,
    },
    /// Too short to be an Ethernet frame.
    TooShort,
    /// No member of the network has this destination address.
    NoSuchMember,
}

/// A command that a reader of the caller's code can see to be wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ApiMisuse {
    /// The command is for the other kind of machine.
    WrongRole,
    /// There is no such link.
    NoSuchLink,
    /// The machine is not in a state in which this can be done.
    WrongState,
    /// Too many addresses are bound.
    TooManyAddresses,
}

/// Fatal to this machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum LinkError {
    /// A bug: the machine found its own state inconsistent and stopped rather than guess.
    Inconsistent,
}
