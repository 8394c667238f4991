//! The committed corpora of the fuzz targets that open captures, through the same bodies.

use slyfi_fuzz_bodies::{capture, hostile_peer, key_file, replays};

replays! {
    capture => capture::run,
    hostile_peer => hostile_peer::run,
    key_file => key_file::run,
}
