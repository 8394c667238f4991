//! What goes wrong at an operator's: killed at any moment, a full disk, floods of junk; and what its
//! process remembers of those who logged on.
#![cfg(feature = "tracedge")]

mod flood;
mod full_disk;
mod identity;
mod kills;
mod system_calls;
mod wire;
#[allow(dead_code, reason = "shared with the tests of what works")]
#[path = "../tracedge/world.rs"]
mod world;

/// Whether there is time for the large counts.
fn full() -> bool {
    std::env::var_os("SLYFI_FULL").is_some()
}

/// Says that something could not be tested. In continuous integration that is a failure.
fn skip(why: &str) {
    assert!(std::env::var_os("CI").is_none(), "{why}");
    eprintln!("SKIPPED: {why}");
}
