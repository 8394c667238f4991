//! Control messages: the reliable, ordered part of a link that is not data.

use super::{put_run, run};
use crate::{Malformed, NoSpace, Reader, Writer};
use core::net::IpAddr;
use slyfi_base::MacAddress;

/// A control message on a member's link.
///
/// # Layout
/// One type byte, then the fields in the order of declaration, integers big-endian; IP addresses as
/// a family byte (4 or 6) and 4 or 16 bytes; byte runs as a 16-bit length and the bytes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Control<'a> {
    /// Type 1, client: take me in (the first message under Shroud).
    AssocRequest {
        /// The pseudonym that the client would like to be known by.
        pseudonym: MacAddress,
        /// The longest Ethernet payload that the client can take, in bytes.
        mtu: u16,
    },
    /// Type 2, access point: the answer.
    AssocResponse {
        /// Whether the client was taken in; the other fields count only then.
        status: AssocStatus,
        /// The pseudonym of this client for this session.
        pseudonym: MacAddress,
        /// The access point's own address on the network.
        access_point: MacAddress,
        /// The longest Ethernet payload that the access point can take, in bytes.
        mtu: u16,
        /// The network's broadcast key.
        group: GroupKey<'a>,
        /// Civil time at which the session began, in seconds since 1970: T0 of its roaming keys.
        since: u64,
        /// Whether the network has other access points that sessions can move to.
        roaming: bool,
    },
    /// Type 3, access point: a new broadcast key.
    Rekey(GroupKey<'a>),
    /// Type 4, client: my host has this IP address now.
    Bind(IpAddr),
    /// Type 5, client: my host no longer has this IP address.
    Unbind(IpAddr),
    /// Type 6, either side: the end of the link.
    Leave,
    /// Type 7, client, on an invite's link: make me a pairing.
    EnrolRequest {
        /// The client's random part.
        random: [u8; 32],
    },
    /// Type 8, access point, on an invite's link: here it is.
    EnrolResponse {
        /// The new pairing, in the form of the key store.
        pairing: &'a [u8],
    },
    /// Type 9, client: I have lost track of the broadcasts; answered by [`Control::Rekey`].
    Resync,
}

/// Enrolments carry pairings, bindings tell where a host is.
impl core::fmt::Debug for Control<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(match self {
            Control::AssocRequest { .. } => "AssocRequest(<hidden>)",
            Control::AssocResponse { .. } => "AssocResponse(<hidden>)",
            Control::Rekey(_) => "Rekey(<hidden>)",
            Control::Bind(_) => "Bind(<hidden>)",
            Control::Unbind(_) => "Unbind(<hidden>)",
            Control::Leave => "Leave",
            Control::EnrolRequest { .. } => "EnrolRequest(<hidden>)",
            Control::EnrolResponse { .. } => "EnrolResponse(<hidden>)",
            Control::Resync => "Resync",
        })
    }
}

/// The broadcast key of a network, as the access point conveys it (slyfi-2008 §3.5).
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct GroupKey<'a> {
    /// Counts the keys; later keys have higher epochs.
    pub epoch: u32,
    /// The transmission number that the next broadcast will have at least.
    pub next: u64,
    /// The key material, in the form of the suite.
    pub secret: &'a [u8],
}

impl core::fmt::Debug for GroupKey<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("GroupKey").field("epoch", &self.epoch).finish_non_exhaustive()
    }
}

/// What became of an association.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AssocStatus {
    /// The client is a member now.
    Accepted,
    /// No room.
    Full,
    /// This pairing may only enrol (an invite).
    EnrolOnly,
}

impl AssocStatus {
    const fn code(self) -> u8 {
        match self {
            AssocStatus::Accepted => 0,
            AssocStatus::Full => 1,
            AssocStatus::EnrolOnly => 2,
        }
    }

    const fn from_code(c: u8) -> Option<Self> {
        match c {
            0 => Some(AssocStatus::Accepted),
            1 => Some(AssocStatus::Full),
            2 => Some(AssocStatus::EnrolOnly),
            _ => None,
        }
    }
}

impl<'a> Control<'a> {
    /// Parses a whole control message.
    ///
    /// # Errors
    /// [`Malformed`] when it is not exactly one message.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, Malformed> {
        let mut r = Reader::new(bytes);
        let message = match r.u8()? {
            1 => Control::AssocRequest { pseudonym: MacAddress(r.array()?), mtu: r.u16_be()? },
            2 => Control::AssocResponse {
                status: AssocStatus::from_code(r.u8()?).ok_or(Malformed::Value { offset: 1 })?,
                pseudonym: MacAddress(r.array()?),
                access_point: MacAddress(r.array()?),
                mtu: r.u16_be()?,
                group: group_key(&mut r)?,
                since: r.u64_be()?,
                roaming: match r.u8()? {
                    0 => false,
                    1 => true,
                    _ => return Err(Malformed::Value { offset: bytes.len().saturating_sub(1) }),
                },
            },
            3 => Control::Rekey(group_key(&mut r)?),
            4 => Control::Bind(ip(&mut r)?),
            5 => Control::Unbind(ip(&mut r)?),
            6 => Control::Leave,
            7 => Control::EnrolRequest { random: r.array()? },
            8 => Control::EnrolResponse { pairing: run(&mut r)? },
            9 => Control::Resync,
            _ => return Err(Malformed::Value { offset: 0 }),
        };
        r.finish()?;
        Ok(message)
    }

    /// Returns the length of the message, in bytes.
    pub const fn buffer_len(&self) -> usize {
        match self {
            Control::AssocRequest { .. } => 9,
            Control::AssocResponse { group, .. } => 39 + group.secret.len(),
            Control::Rekey(group) => 15 + group.secret.len(),
            Control::Bind(a) | Control::Unbind(a) => 1 + ip_len(a),
            Control::Leave | Control::Resync => 1,
            Control::EnrolRequest { .. } => 33,
            Control::EnrolResponse { pairing } => 3 + pairing.len(),
        }
    }

    /// Writes the message and returns its length.
    ///
    /// # Errors
    /// [`NoSpace`] when `out` is too small.
    pub fn emit(&self, out: &mut [u8]) -> Result<usize, NoSpace> {
        let mut w = Writer::new(out, self.buffer_len())?;
        match *self {
            Control::AssocRequest { pseudonym, mtu } => {
                w.u8(1);
                w.put(&pseudonym.0);
                w.u16_be(mtu);
            }
            Control::AssocResponse {
                status,
                pseudonym,
                access_point,
                mtu,
                group,
                since,
                roaming,
            } => {
                w.u8(2);
                w.u8(status.code());
                w.put(&pseudonym.0);
                w.put(&access_point.0);
                w.u16_be(mtu);
                put_group_key(&mut w, &group);
                w.u64_be(since);
                w.u8(u8::from(roaming));
            }
            Control::Rekey(group) => {
                w.u8(3);
                put_group_key(&mut w, &group);
            }
            Control::Bind(a) => {
                w.u8(4);
                put_ip(&mut w, a);
            }
            Control::Unbind(a) => {
                w.u8(5);
                put_ip(&mut w, a);
            }
            Control::Leave => w.u8(6),
            Control::Resync => w.u8(9),
            Control::EnrolRequest { random } => {
                w.u8(7);
                w.put(&random);
            }
            Control::EnrolResponse { pairing } => {
                w.u8(8);
                put_run(&mut w, pairing);
            }
        }
        Ok(w.finish())
    }
}

impl Control<'_> {
    /// A buffer of this length holds every control message whose byte runs are at most 1 KiB.
    pub const MAX_LEN: usize = 1_100;
}

fn group_key<'a>(r: &mut Reader<'a>) -> Result<GroupKey<'a>, Malformed> {
    Ok(GroupKey { epoch: r.u32_be()?, next: r.u64_be()?, secret: run(r)? })
}

fn put_group_key(w: &mut Writer<'_>, g: &GroupKey<'_>) {
    w.u32_be(g.epoch);
    w.u64_be(g.next);
    put_run(w, g.secret);
}

fn ip(r: &mut Reader<'_>) -> Result<IpAddr, Malformed> {
    match r.u8()? {
        4 => Ok(IpAddr::from(r.array::<4>()?)),
        6 => Ok(IpAddr::from(r.array::<16>()?)),
        _ => Err(Malformed::Value { offset: 1 }),
    }
}

fn put_ip(w: &mut Writer<'_>, a: IpAddr) {
    match a {
        IpAddr::V4(a) => {
            w.u8(4);
            w.put(&a.octets());
        }
        IpAddr::V6(a) => {
            w.u8(6);
            w.put(&a.octets());
        }
    }
}

/// Bytes of a family byte and an address.
const fn ip_len(a: &IpAddr) -> usize {
    match a {
        IpAddr::V4(_) => 5,
        IpAddr::V6(_) => 17,
    }
}
