//! Eight bytes that are on the air twice, anywhere.

use crate::NodeId;
use slyfi_base::UnixTime;

/// Bytes of a run.
const LEN: usize = 8;
/// The share of runs deep in frames that is remembered; those near both ends all are.
const DEEP: u64 = u64::MAX / 64;
/// How deep the head and the tail go.
const ENDS: usize = 32;
/// Runs remembered at most (8 MB); when more come, all are thinned by half, the same ones
/// everywhere.
const MOST: usize = 1 << 18;

/// Where a run was first seen.
#[derive(Clone, Copy, Debug)]
pub(super) struct Run {
    /// Wall clock of the sender, in seconds.
    composed: u32,
    sender: u16,
    position: u16,
}

impl Run {
    pub(super) fn new(composed: UnixTime, sender: NodeId) -> Self {
        // Seconds fit until the year 2106.
        Run { composed: composed.as_secs() as u32, sender: sender.0, position: 0 }
    }
    pub(super) fn position(&self) -> usize {
        usize::from(self.position)
    }
    pub(super) fn sender(&self) -> NodeId {
        NodeId(self.sender)
    }
    pub(super) fn composed(&self) -> UnixTime {
        UnixTime::from_secs(u64::from(self.composed))
    }
}

/// A set of runs. Which ones are kept is decided by their content alone, so that what repeats is
/// either kept each time or never.
pub(super) struct Runs {
    salt: u64,
    /// A run is kept when its hash is below this (deep), or below 64 times this (near the ends).
    limit: u64,
    /// Hash and run; a hash of 0 is an empty slot.
    slots: Vec<(u64, Run)>,
    len: usize,
}

const EMPTY: (u64, Run) = (0, Run { composed: 0, sender: 0, position: 0 });

impl Runs {
    pub(super) fn new(salt: u64) -> Self {
        Runs { salt: salt | 1, limit: DEEP, slots: vec![EMPTY; 1 << 10], len: 0 }
    }

    /// Takes all runs of a body; returns the first that was seen before and is not `allowed`.
    pub(super) fn take(
        &mut self,
        body: &[u8],
        from: Run,
        mut allowed: impl FnMut(usize, &Run) -> bool,
    ) -> Option<(usize, Run)> {
        let mut hit = None;
        let ends = self.limit.saturating_mul(64);
        let tail = body.len().saturating_sub(ENDS);
        for (position, bytes) in body.windows(LEN).enumerate() {
            // A chunk of the window's size always converts.
            let Some(bytes) = bytes.first_chunk::<LEN>() else { continue };
            // A bijection, so that different runs never look equal.
            let hash = (u64::from_le_bytes(*bytes) ^ self.salt).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            let near = position < ENDS || position >= tail;
            if hash > if near { ends } else { self.limit } {
                continue;
            }
            let run = Run { position: position.min(usize::from(u16::MAX)) as u16, ..from };
            if let Some(first) = self.insert(hash, run)
                && hit.is_none()
                && !allowed(position, &first)
            {
                hit = Some((position, first));
            }
        }
        hit
    }

    /// Remembers a run; returns the one that was there.
    fn insert(&mut self, hash: u64, run: Run) -> Option<Run> {
        let mask = self.slots.len() - 1;
        let mut at = (hash.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize & mask;
        loop {
            match self.slots[at] {
                (0, _) => break,
                (h, first) if h == hash => return Some(first),
                _ => at = (at + 1) & mask,
            }
        }
        self.slots[at] = (hash, run);
        self.len += 1;
        if self.len * 2 > self.slots.len() {
            self.grow();
        }
        None
    }

    fn grow(&mut self) {
        let size = if self.len >= MOST {
            self.limit /= 2;
            self.slots.len()
        } else {
            self.slots.len() * 2
        };
        let ends = self.limit.saturating_mul(64);
        let old = std::mem::replace(&mut self.slots, vec![EMPTY; size]);
        self.len = 0;
        for (hash, run) in old.into_iter().filter(|(h, _)| *h != 0 && *h <= ends) {
            self.insert(hash, run);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SimRng;

    fn bodies(n: usize, len: usize) -> impl Iterator<Item = Vec<u8>> {
        let mut rng = SimRng::new(5);
        (0..n).map(move |_| {
            let mut b = vec![0; len];
            rng.fill_bytes(&mut b);
            b
        })
    }

    fn from() -> Run {
        Run::new(UnixTime::from_secs(9), NodeId(3))
    }

    #[test]
    fn random_bodies_repeat_nothing_and_a_copied_end_is_found() {
        let mut runs = Runs::new(1);
        assert!(bodies(3000, 200).all(|b| runs.take(&b, from(), |_, _| false).is_none()));
        let old = bodies(1, 200).next().unwrap();
        let mut new = vec![7; 300];
        new[292..].copy_from_slice(&old[192..]);
        // The run of sevens repeats inside the frame itself: allowed here, to see the copied one.
        let hit = runs.take(&new, from(), |_, first| first.position() != 192);
        assert_eq!(hit.map(|(p, f)| (p, f.position(), f.sender())), Some((292, 192, NodeId(3))));
    }

    #[test]
    fn thinning_keeps_finding_long_repeats() {
        let mut runs = Runs::new(1);
        let all: Vec<_> = bodies(30_000, 100).collect();
        assert!(all.iter().all(|b| runs.take(b, from(), |_, _| false).is_none()));
        assert!(runs.limit < DEEP / 4 && runs.len <= MOST);
        let found =
            all.iter().step_by(100).filter(|b| runs.take(b, from(), |_, _| false).is_some());
        assert!(found.count() > 290);
    }
}
