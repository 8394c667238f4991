//! Randomness: the processor's generator or a virtio one; both, if both are there.

use crate::cpu::{has_rdrand, rdrand};
use crate::virtio::{self, Rng};
use slyfi_base::SecureRandom;

/// How often one draw is tried: Intel's guide for software says ten, and that more means a fault.
const TRIES: usize = 10;

/// Where random bytes come from.
pub struct Entropy {
    has_rdrand: bool,
    device: Option<Rng>,
}

impl Entropy {
    /// Finds the machine's sources.
    ///
    /// # Errors
    /// When there is none: without randomness there are no keys and no nonces.
    pub fn new() -> Result<Self, &'static str> {
        let entropy = Entropy { has_rdrand: has_rdrand(), device: virtio::rng() };
        if !entropy.has_rdrand && entropy.device.is_none() {
            return Err("no randomness: the processor has no RDRAND and there is no virtio-rng");
        }
        Ok(entropy)
    }

    /// Returns the sources' names.
    pub const fn sources(&self) -> &'static str {
        match (self.has_rdrand, self.device.is_some()) {
            (true, true) => "RDRAND and virtio-rng",
            (true, false) => "RDRAND",
            _ => "virtio-rng",
        }
    }
}

impl SecureRandom for Entropy {
    fn fill(&mut self, out: &mut [u8]) {
        out.fill(0);
        if self.has_rdrand {
            for chunk in out.chunks_mut(8) {
                let word = (0..TRIES).find_map(|_| rdrand()).expect("RDRAND has no numbers");
                chunk.copy_from_slice(&word.to_le_bytes()[..chunk.len()]);
            }
        }
        if let Some(device) = &mut self.device {
            let mut drawn = [0; 64];
            for chunk in out.chunks_mut(drawn.len()) {
                let mut have = 0;
                while have < chunk.len() {
                    let more = device.request_entropy(&mut drawn[have..chunk.len()]);
                    have += more.ok().filter(|n| *n > 0).expect("virtio-rng has no numbers");
                }
                chunk.iter_mut().zip(&drawn).for_each(|(byte, random)| *byte ^= random);
            }
        }
    }
}
