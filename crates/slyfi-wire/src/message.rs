//! What travels inside Tryst and Shroud: the messages of `docs/protocol.md` §6 and §7.
//!
//! ```text
//!   Tryst payload   TrystMessage                       probe and authentication, both ways
//!   Shroud payload  LinkHeader ‖ [Data | Control]      one member's link, both ways
//!   group payload   GroupMessage                       access point to all members
//!   backhaul        BackhaulMessage                    access point to access point
//! ```
//!
//! Every `parse` is total: it returns [`crate::Malformed`] for anything that is not exactly one message, so
//! a verified frame of another version or a hostile member's can do no more than be counted.

mod backhaul;
mod control;
mod group;
mod link;
mod tryst;

pub use backhaul::{BackhaulMessage, SessionId};
pub use control::{AssocStatus, Control, GroupKey};
pub use group::GroupMessage;
pub use link::{DataHeader, LinkHeader, LinkKind};
pub use tryst::{AuthStatus, TrystMessage};

/// Names one access point for as long as it runs: random, made anew at every start.
pub type AccessPointId = [u8; 8];

/// Names one request, so that an answer finds it: random, used once.
pub type RequestId = [u8; 8];

/// Reads a byte run that is preceded by its 16-bit length.
fn run<'a>(r: &mut crate::Reader<'a>) -> Result<&'a [u8], crate::Malformed> {
    let len = usize::from(r.u16_be()?);
    r.take(len)
}

/// Writes a byte run with its 16-bit length before it.
fn put_run(w: &mut crate::Writer<'_>, run: &[u8]) {
    // Runs are agreement halves, keys and stored pairings: none comes near 64 KiB.
    debug_assert!(run.len() <= usize::from(u16::MAX), "a run's length has 16 bits");
    w.u16_be(run.len() as u16);
    w.put(run);
}

#[cfg(test)]
mod tests;
