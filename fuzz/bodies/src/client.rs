//! A client whose every received frame passes through an adversary without keys.

use crate::Choices;
use crate::world::{World, everybody_leaves};
use slyfi_base::{Command, Duration, MacAddress};
use slyfi_wire::announcement::Announcement;

/// Plays the scenario that `input` describes.
///
/// # Panics
/// When an invariant does not hold.
pub fn run(input: &[u8]) {
    let mut c = Choices::new(input);
    let mut world = World::new(&mut c, 1);
    world.command(1, Command::Connect);
    while !c.is_empty() {
        if c.below(16) == 0 {
            announce(&mut c, &mut world);
        } else {
            world.act(&mut c, Some(1));
        }
    }
    everybody_leaves(&mut world);
}

/// Forges the one unkeyed frame that a client heeds while it looks for a network.
fn announce(c: &mut Choices<'_>, world: &mut World) {
    let announcement = Announcement {
        bssid: MacAddress(c.array()),
        sequence: c.short() & 0x0fff,
        timestamp: c.long(),
        interval: 100,
        ssid: if c.is() { b"fuzzed" } else { c.run() },
        ap_id: c.array(),
    };
    let mut frame = vec![0; announcement.buffer_len()];
    announcement.emit(&mut frame).expect("an exact buffer");
    for _ in 0..=c.below(3) {
        world.deliver(1, &frame);
        world.pass(Duration::from_millis(u64::from(c.byte())));
    }
}
