use super::message::{Direction, Opener, Packet, Run, SEALED_OVERHEAD, Sealer, Template};
use super::{Clock, MAX_SIZE, Settings};
use core::fmt;
use core::hint::black_box;
use slyfi_base::SecureRandom;

/// Calls between two looks at the clock, so that the looks do not count.
const CALLS: u64 = 16;

/// What sealing and opening one message costs, without a network, in nanoseconds of the clock (under
/// an emulator that counts: instructions).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cost {
    /// Bytes of the message.
    pub size: usize,
    /// Writing the message and sealing it.
    pub seal_ns: u64,
    /// Opening it and checking every byte.
    pub open_ns: u64,
}

impl Cost {
    /// Measures: the least of many repetitions, as whatever else runs only adds.
    pub fn measure<C: Clock, R: SecureRandom>(
        clock: &mut C,
        rng: &mut R,
        settings: &Settings,
    ) -> Self {
        let template = Template::new(settings);
        let run = Run::new(settings);
        let mut sealer = Sealer::new(Direction::Up, rng);
        let mut opener = Opener::new(Direction::Up);
        let mut messages = [[0; MAX_SIZE + SEALED_OVERHEAD]; CALLS as usize];
        let len = template.size() + SEALED_OVERHEAD;
        let mut cost = Cost { size: template.size(), seal_ns: u64::MAX, open_ns: u64::MAX };
        for _ in 0..32 {
            let begin = clock.nanos();
            for message in &mut messages {
                sealer.seal(&run, &template, Packet::Numbered(0), black_box(&mut message[..len]));
            }
            let sealed = clock.nanos();
            for message in &mut messages {
                let opened = opener.open(&run, &template, black_box(&mut message[..len]));
                assert_eq!(opened, Ok(Packet::Numbered(0)), "what was sealed does not open");
            }
            let opened = clock.nanos();
            cost.seal_ns = cost.seal_ns.min((sealed - begin) / CALLS);
            cost.open_ns = cost.open_ns.min((opened - sealed) / CALLS);
        }
        cost
    }
}

impl fmt::Display for Cost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Cost { size, seal_ns, open_ns } = self;
        write!(f, "{{\"n\":{size},\"seal\":{seal_ns},\"open\":{open_ns}}}")
    }
}
