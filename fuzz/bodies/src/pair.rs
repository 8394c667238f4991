//! A client and an access point over an air that loses, doubles, delays, reorders and corrupts,
//! with clocks that step and machines that crash.
//!
//! When the air is good again, the link comes back and carries packets; and as long as a link stood,
//! nothing of what it took was lost.

use crate::Choices;
use crate::world::{World, everybody_leaves};
use slyfi_base::{Command, DropReason, Duration, Link};

/// Plays the scenario that `input` describes.
///
/// # Panics
/// When an invariant does not hold.
pub fn run(input: &[u8]) {
    let mut c = Choices::new(input);
    let mut world = World::new(&mut c, 1);
    world.command(1, Command::Connect);
    if c.is() {
        assert!(
            world.run(Duration::from_secs(5), World::is_linked),
            "an undisturbed link comes up"
        );
    }
    while !c.is_empty() {
        world.act(&mut c, None);
    }

    for node in 0..world.nodes() {
        world.set_clock(node, 0);
    }
    world.command(1, Command::Connect);
    world.run(Duration::from_secs(90), |_| false);
    let no_room = |link: &dyn Link| link.drops().of(DropReason::NoRoom);
    let has_room = no_room(&world.ap.link) + no_room(&world.clients[0].link) == 0;
    assert!(!has_room || world.owed.is_empty(), "a link that stood lost {:?}", world.owed);
    assert!(world.is_linked(), "the link does not come back: {:?}", world.clients[0].link.drops());
    for (from, to) in [(0, 1), (1, 0)] {
        let number = world.offered(from, to);
        assert!(world.send(from, to, 100), "a good link takes a packet");
        let arrived = world.run(Duration::from_secs(2), |w| w.has_arrived(from, to, number));
        assert!(arrived, "a good link delivers");
    }
    everybody_leaves(&mut world);
}
