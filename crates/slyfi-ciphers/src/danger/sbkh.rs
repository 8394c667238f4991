//! SBKH, State Based Key Hop (Srinivasan and Michell, VTC 2004; `docs/sbkh.md` has what the paper leaves
//! open and how it was decided).
//!
//! # Layout
//! `SSC 3 | hop 1 | payload | ICV 4`: WEP's frame, the IV field holding the SBKH sequence counter.
//!
//! ```text
//!   keystream of one direction and base key (RC4, KSA once):
//!   | I-offset | epoch 0: S-offset bytes | epoch 1: S-offset bytes | ...
//!              ^ packet 0 | packet 1 ...  ^ where a loss of synchronicity sends both ends
//! ```
//!
//! # Security
//! Not to be used. The checksum is linear, the header is not covered, and the keystream stands still
//! while a frame is on its way: `tests/attacks_sbkh.rs` breaks what the paper claims.

pub mod base_keys;
pub mod endpoint;
pub mod open;
pub mod parameters;
pub mod seal;
pub mod ssc;
mod stream;

pub use base_keys::{BaseKeyPair, BaseKeys, Direction, KeySchedule};
pub use endpoint::Endpoint;
pub use open::{Received, SbkhOpen};
pub use parameters::Parameters;
pub use seal::SbkhSeal;
pub use ssc::{Position, Ssc};

use crate::danger::wep::{HEADER_LEN, ICV_LEN};
use slyfi_base::{LinkCipher, Overhead};

/// SBKH as a link cipher, for one end.
#[derive(Clone, Debug)]
pub struct Sbkh {
    seal: SbkhSeal,
    open: SbkhOpen,
}

impl Sbkh {
    /// One end of a new pair: `sends` is the direction in which it seals.
    ///
    /// For a host that keeps nothing over a restart, and so must have a new base key after each; others
    /// take [`SbkhSeal::resumed`] and [`SbkhOpen::resumed`].
    pub fn new(keys: BaseKeys, parameters: Parameters, sends: Direction) -> Self {
        Sbkh {
            seal: SbkhSeal::new(keys.clone(), parameters, sends),
            open: SbkhOpen::new(keys, parameters, sends.other()),
        }
    }
}

impl LinkCipher for Sbkh {
    const OVERHEAD: Overhead = Overhead { headroom: HEADER_LEN, tailroom: ICV_LEN };
    type Seal = SbkhSeal;
    type Open = SbkhOpen;

    fn split(self) -> (SbkhSeal, SbkhOpen) {
        (self.seal, self.open)
    }
}
