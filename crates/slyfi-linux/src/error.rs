//! What can go wrong with an air: each error names its cause and its mend.

use std::fmt;
use std::io;

/// Why an air cannot be opened or cannot go on.
///
/// A full or an empty queue, and a frame that the network lost, are not errors.
#[derive(Debug)]
#[non_exhaustive]
pub enum RadioError {
    /// Opening a packet socket was refused.
    NoPermission,
    /// There is no interface of this name (any more).
    NoSuchInterface {
        /// The name asked for.
        interface: String,
    },
    /// The interface is there but down.
    InterfaceDown {
        /// Its name.
        interface: String,
    },
    /// The interface is neither Ethernet-like nor in monitor mode.
    UnsupportedInterface {
        /// Its name.
        interface: String,
        /// Its hardware type (`ARPHRD_…` of `linux/if_arp.h`).
        hardware_type: u16,
    },
    /// A local interface has the address that all SlyFi frames carry. mac80211 would take every
    /// injected frame for that interface's own and give it its sequence numbers.
    AddressInUse {
        /// The interface to be given another address.
        interface: String,
    },
    /// The multicast group or a peer is not usable.
    BadAddress {
        /// What is wrong with it.
        reason: &'static str,
    },
    /// The air has no such setting (channel, power).
    NoSuchSetting {
        /// The setting.
        setting: &'static str,
    },
    /// A frame longer than [`slyfi_base::Capabilities::max_frame`] was offered.
    FrameTooLong {
        /// Its length in bytes.
        actual: usize,
        /// The longest that is carried.
        limit: usize,
    },
    /// `read` or `write` before `initialize`.
    NotInitialized,
    /// The system refused for a reason that is not foreseen above.
    Os {
        /// The system call.
        call: &'static str,
        /// Its error.
        source: io::Error,
    },
}

impl RadioError {
    /// Makes a closure that wraps an error of `call`.
    pub(crate) fn os(call: &'static str) -> impl FnOnce(io::Error) -> RadioError {
        move |source| RadioError::Os { call, source }
    }
}

impl fmt::Display for RadioError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RadioError::NoPermission => f.write_str(
                "no permission to open a packet socket: run as root, or give the program \
                 CAP_NET_RAW (`setcap cap_net_raw+ep FILE`)",
            ),
            RadioError::NoSuchInterface { interface } => write!(
                f,
                "there is no interface `{interface}`: `ip link` lists those that exist here"
            ),
            RadioError::InterfaceDown { interface } => {
                write!(f, "interface `{interface}` is down: `ip link set {interface} up`")
            }
            RadioError::UnsupportedInterface { interface, hardware_type } => write!(
                f,
                "interface `{interface}` (hardware type {hardware_type}) is neither Ethernet-like \
                 nor in monitor mode: for a Wi-Fi card, `iw dev {interface} set type monitor` \
                 while it is down"
            ),
            RadioError::AddressInUse { interface } => write!(
                f,
                "interface `{interface}` has the address that every SlyFi frame carries, so its \
                 card would mark frames as its own: give it another one with `ip link set \
                 {interface} address …`"
            ),
            RadioError::BadAddress { reason } => f.write_str(reason),
            RadioError::NoSuchSetting { setting } => write!(
                f,
                "this air cannot set the {setting}: set it with `iw`, or leave it out of the \
                 configuration"
            ),
            RadioError::FrameTooLong { actual, limit } => write!(
                f,
                "a frame of {actual} bytes was offered to an air that carries at most {limit}"
            ),
            RadioError::NotInitialized => {
                f.write_str("the radio was used before it was brought up")
            }
            RadioError::Os { call, source } => write!(f, "{call}: {source}"),
        }
    }
}

impl std::error::Error for RadioError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            RadioError::Os { source, .. } => Some(source),
            _ => None,
        }
    }
}
