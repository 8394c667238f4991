//! The committed corpus of ordinary 802.11 under its ciphers, through the same body.

use slyfi_fuzz_bodies::{replays, wifi_ciphers};

replays! {
    wifi_ciphers => wifi_ciphers::run,
}
