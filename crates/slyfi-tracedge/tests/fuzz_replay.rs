//! The committed corpora of TracEdge's fuzz targets, through the same bodies.

use slyfi_fuzz_bodies::{replays, tracedge, tracedge_service};

replays! {
    tracedge => tracedge::run,
    tracedge_service => tracedge_service::run,
}
