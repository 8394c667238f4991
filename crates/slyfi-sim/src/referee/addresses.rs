//! Addresses: which may be seen again.

use super::{Leak, Run, Seen};
use crate::NodeId;
use slyfi_base::{Duration, Instant, UnixTime};
use slyfi_wire::carrier::ADDRESS_LEN;
use slyfi_wire::slyfi_frame::{MAX_RECIPIENTS, TRYST_HEADER_LEN};
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// What an address is, as its makers know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AddressClass {
    /// A Tryst address, to be composed in `since..until` of its sender's wall clock.
    Tryst {
        /// Begin of its interval.
        since: UnixTime,
        /// End of its interval.
        until: UnixTime,
    },
    /// A Shroud address: once, ever.
    Shroud,
    /// The oracle does not know this sender; the allowance holds.
    Unknown,
}

/// The ground truth about addresses, from whoever made the keys of a run.
pub trait AddressOracle {
    /// Returns what an address of a frame is that `sender` composed at `composed` of its own clock.
    fn class(
        &mut self,
        address: &[u8; ADDRESS_LEN],
        sender: NodeId,
        composed: UnixTime,
    ) -> AddressClass;
}

/// What is allowed without an oracle: an address is taken for Tryst's, and may be seen again by
/// nodes of one network, for a while, a number of times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TrystAllowance {
    /// How long after its first use: (2k + 1) intervals, where clocks differ by k.
    pub span: Duration,
    /// How often in all.
    pub uses: u32,
}

impl TrystAllowance {
    /// No address is ever seen twice.
    pub const NONE: TrystAllowance = TrystAllowance { span: Duration::ZERO, uses: 1 };
    /// Interval of 5 minutes, k = 1; 64 probes.
    pub const DEFAULT: TrystAllowance =
        TrystAllowance { span: Duration::from_secs(3 * 300), uses: 64 };
}

/// All addresses of a run.
pub(super) struct AddressBook {
    pub(super) allowance: TrystAllowance,
    pub(super) oracle: Option<Box<dyn AddressOracle>>,
    used: HashMap<[u8; ADDRESS_LEN], First, BuildHasherDefault<Fold>>,
}

struct First {
    at: Instant,
    composed: UnixTime,
    by: NodeId,
    network: u32,
    uses: u32,
}

/// What the use of an address is.
pub(super) enum Use {
    /// The first.
    New,
    /// Another of a Tryst address, as allowed.
    TrystAgain,
    /// Not allowed.
    Leak(Leak),
}

impl AddressBook {
    pub(super) fn new() -> Self {
        let allowance = TrystAllowance::DEFAULT;
        AddressBook { allowance, oracle: None, used: HashMap::default() }
    }

    pub(super) fn len(&self) -> u64 {
        self.used.len() as u64
    }

    /// Takes the address at the front of a body.
    pub(super) fn take(&mut self, body: &[u8], seen: &Seen<'_>) -> Use {
        let Some(address) = body.first_chunk::<ADDRESS_LEN>() else { return Use::New };
        let class = match &mut self.oracle {
            Some(oracle) => oracle.class(address, seen.sender, seen.composed),
            None => AddressClass::Unknown,
        };
        if let AddressClass::Tryst { since, until } = class {
            let (early, late) =
                (seen.composed.offset_from(since), seen.composed.offset_from(until));
            if early < 0 || late >= 0 {
                let by_micros = if early < 0 { early } else { late };
                return Use::Leak(Leak::OutsideInterval { by_micros });
            }
        }
        let allowance = self.allowance;
        let first = self.used.entry(*address).or_insert(First {
            at: seen.at,
            composed: seen.composed,
            by: seen.sender,
            network: seen.network,
            uses: 0,
        });
        first.uses += 1;
        if first.uses == 1 {
            return Use::New;
        }
        let allowed = match class {
            AddressClass::Tryst { .. } => true,
            AddressClass::Shroud => false,
            AddressClass::Unknown => {
                first.network == seen.network
                    && seen.composed.offset_from(first.composed).unsigned_abs()
                        < allowance.span.as_micros()
                    && first.uses <= allowance.uses
            }
        };
        if allowed {
            Use::TrystAgain
        } else {
            Use::Leak(Leak::RepeatedAddress { first: first.at, by: first.by })
        }
    }

    /// Whether eight bytes at `position` may repeat those of `first`: both reach into the address
    /// field of the same place in a Tryst header, and the address may be used again.
    pub(super) fn may_repeat(
        &mut self,
        body: &[u8],
        position: usize,
        first: &Run,
        now: &Run,
        one_network: bool,
    ) -> bool {
        if position % TRYST_HEADER_LEN != first.position() % TRYST_HEADER_LEN {
            return false;
        }
        let (Some(at), Some(_)) = (address_in(position), address_in(first.position())) else {
            return false;
        };
        let address = body.get(at..).and_then(|b| b.first_chunk::<ADDRESS_LEN>());
        let class = match (&mut self.oracle, address) {
            (Some(oracle), Some(address)) => oracle.class(address, now.sender(), now.composed()),
            _ => AddressClass::Unknown,
        };
        match class {
            AddressClass::Tryst { .. } => true,
            // At the front of the body the address itself is judged; once is enough.
            AddressClass::Shroud => at == 0,
            AddressClass::Unknown => {
                at == 0
                    || one_network
                        && now.composed().offset_from(first.composed()).unsigned_abs()
                            < self.allowance.span.as_micros()
            }
        }
    }
}

/// Returns where the address field begins that eight bytes at `position` reach into, if any.
fn address_in(position: usize) -> Option<usize> {
    let (header, within) = (position / TRYST_HEADER_LEN, position % TRYST_HEADER_LEN);
    let header = if within < ADDRESS_LEN {
        header
    } else if within + 8 > TRYST_HEADER_LEN {
        header + 1
    } else {
        return None;
    };
    (header < MAX_RECIPIENTS).then_some(header * TRYST_HEADER_LEN)
}

/// Addresses are random or an attacker's; the first eight bytes are hash enough for both, because
/// only frames of the parties are judged.
#[derive(Default)]
struct Fold(u64);

impl Hasher for Fold {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.0 = (self.0 ^ u64::from_le_bytes(word)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            self.0 ^= self.0 >> 32;
        }
    }
}
