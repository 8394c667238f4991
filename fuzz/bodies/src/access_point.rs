//! An access point of two clients whose every received frame passes through an adversary without
//! keys.

use crate::Choices;
use crate::network::most_addresses;
use crate::world::{World, everybody_leaves};
use slyfi_base::{Command, Duration};

/// Plays the scenario that `input` describes.
///
/// # Panics
/// When an invariant does not hold.
pub fn run(input: &[u8]) {
    let mut c = Choices::new(input);
    let mut world = World::new(&mut c, 2);
    for node in [1, 2] {
        world.command(node, Command::Connect);
    }
    if c.is() {
        world.run(Duration::from_secs(3), World::is_linked);
    }
    while !c.is_empty() {
        world.act(&mut c, Some(0));
        let sessions = world.ap.link.sessions().count();
        assert!(sessions <= 4, "{sessions} sessions");
        assert!(world.ap.link.live_addresses() <= most_addresses(2, 2, sessions));
    }
    everybody_leaves(&mut world);
}
