//! The committed corpora of the ciphers' fuzz targets, through the same bodies.

use slyfi_fuzz_bodies::{ccm, four_way, handshake, link_ciphers, replays, sbkh};

replays! {
    ccm => ccm::run,
    four_way => four_way::run,
    handshake => handshake::run,
    link_ciphers => link_ciphers::run,
    sbkh => sbkh::run,
}
