//! What the machines tell their host: typed, small, without keys, addresses or names.

use crate::Duration;

/// A link of one machine: the access point's sessions are numbered, a client has only one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LinkId(pub u32);

/// The phases of setting a link up (slyfi-2008 Figure 1, Table 3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Phase {
    /// Waiting for the answer to a probe.
    Probing,
    /// Waiting for the answer to an authentication.
    Authenticating,
    /// Waiting for the answer to an association, the first exchange under Shroud.
    Associating,
    /// Data can flow.
    Linked,
}

/// Why a link ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Unlinked {
    /// The peer took its leave, or this side did.
    Left,
    /// Nothing was heard for longer than the keep-alive allows.
    Silent,
    /// More transmissions in a row were lost than the window w can bridge.
    LossBeyondWindow,
    /// The peer's keys or transmission numbers are used up; a new link follows.
    Exhausted,
    /// A newer link of the same pairing took its place.
    Replaced,
    /// The access point dismissed the member.
    Dismissed,
    /// The session moved to another access point of the network.
    Moved,
    /// Countermeasures against forgeries ended it (TKIP's, IEEE 802.11-2020 §12.5.2.4).
    Countermeasures,
}

/// Why a client found no link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum NoLink {
    /// No probe was answered: not in range, not paired, or clocks too far apart.
    NoAnswer,
    /// An access point answered the probe but not the authentication.
    NoAuthentication,
    /// The access point has no room for another session.
    Full,
    /// The access point refused the association.
    Refused,
    /// The invite was used before or has expired.
    InviteSpent,
    /// The access point and this side could not prove the same key to each other (rivals).
    KeyNotProven,
}

/// A typed event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event {
    /// Client: a phase of the set-up began; `Linked` closes the set-up.
    Phase(Phase),
    /// Client: the set-up failed and will be tried again after the given pause.
    NoLink {
        /// Why.
        why: NoLink,
        /// When the next try begins.
        retry_in: Duration,
    },
    /// Data can flow on this link.
    Linked {
        /// Which link.
        link: LinkId,
        /// Which pairing stands behind it (the host's number for it).
        pairing: u32,
    },
    /// The link is gone.
    Unlinked {
        /// Which link.
        link: LinkId,
        /// Why.
        why: Unlinked,
    },
    /// The pseudonym under which the network knows this client's host (never sent on the air).
    Pseudonym(crate::MacAddress),
    /// The peer's clock minus this one's, in microseconds, from an authenticated message.
    ClockOffset(i64),
    /// Access point: a paired client's clock is outside the window; estimate in seconds.
    ClientClockOff {
        /// Which pairing (the host's number for it).
        pairing: u32,
        /// The client's clock minus this one's, in seconds, to the length of an interval.
        seconds: i64,
    },
    /// A pairing was made by invite and has been handed out for storing.
    Enrolled {
        /// The new pairing (the host's number for it).
        pairing: u32,
    },
    /// The group key was replaced.
    GroupRekeyed {
        /// The epoch of the new key.
        epoch: u32,
    },
    /// Pairings passed a day boundary: stored keys should be advanced and the old ones erased.
    DayTurned,
    /// Client: the session moved to another access point without a new authentication.
    Roamed,
    /// Access point: a station could not prove that it has the network's key (rivals).
    KeyNotProven,
    /// Forgeries were found; nothing is sent or taken for this long (TKIP's countermeasures).
    ShutDown {
        /// How long.
        pause: Duration,
    },
}
