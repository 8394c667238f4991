//! tracedge-2015: what private login costs, table by table, on this project's own service.
//!
//! ```text
//!   World (table made, audited) --> Costs of each scheme: query, answer, extraction, saturation, a login
//!                                   over a shaped link            \
//!   paper's numbers ----------------------------------------------> tables and verdicts
//! ```
//!
//! The experiments `table5` to `table8`, `rate`, `sizes` and `audit` are about the same measurements:
//! the first that runs takes them, the others find them in [`crate::experiment::Kept`].

mod additions;
mod claims;
mod clock;
mod costs;
mod detection;
mod gpu;
mod https;
mod link;
mod login;
mod measured;
mod paper;
mod privacypass;
mod study;
mod tables;
mod world;

use crate::Experiment;

pub use additions::Borne;
pub use claims::{audit, creation, extraction, query, rate, retrieval, sizes};
pub use clock::Millis;
pub use costs::Costs;
pub use detection::Seen;
pub use gpu::OnGpu;
pub use login::Latency;
pub use measured::Measured;
pub use privacypass::{Suite, Tokens};
pub use world::Creation;

/// All of them, in the paper's order.
pub fn all() -> impl Iterator<Item = &'static dyn Experiment> {
    let studies: [&'static dyn Experiment; 10] = [
        &additions::TABLE3,
        &tables::TABLE5,
        &tables::AUDIT,
        &tables::TABLE6,
        &tables::TABLE7,
        &tables::TABLE8,
        &tables::RATE,
        &tables::SIZES,
        &detection::DETECTION,
        &privacypass::PRIVACYPASS,
    ];
    studies.into_iter()
}
