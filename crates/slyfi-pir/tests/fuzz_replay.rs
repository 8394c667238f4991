//! The committed corpus of retrieval, through the same body.

use slyfi_fuzz_bodies::{replays, retrieval};

replays! {
    retrieval => retrieval::run,
}
