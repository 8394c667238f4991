use crate::pairing::Pairing;
use alloc::vec::Vec;

/// Pairings per chunk.
const CHUNK: usize = 1024;

/// Numbered places for pairings, in chunks that never move: a vector that grows would leave copies of
/// keys behind, and stop the node while it copies a million of them.
#[derive(Default)]
pub(super) struct Slab {
    chunks: Vec<Vec<Option<Slot>>>,
    free: Vec<u32>,
}

pub(super) struct Slot {
    pub(super) pairing: Pairing,
    /// Which bucket it is in.
    pub(super) bucket: u32,
    /// Where in the bucket.
    pub(super) position: u32,
}

impl Slab {
    pub(super) fn insert(&mut self, pairing: Pairing) -> u32 {
        let slot = Some(Slot { pairing, bucket: u32::MAX, position: u32::MAX });
        if let Some(index) = self.free.pop()
            && let Some(place) = self.place(index)
        {
            *place = slot;
            return index;
        }
        if self.chunks.last().is_none_or(|c| c.len() == CHUNK) {
            self.chunks.push(Vec::with_capacity(CHUNK));
        }
        let index = (self.chunks.len() - 1) * CHUNK;
        // Just seen to exist.
        let chunk = self.chunks.last_mut().expect("a last chunk");
        chunk.push(slot);
        u32::try_from(index + chunk.len() - 1).expect("fewer than 2^32 pairings fit in memory")
    }

    pub(super) fn remove(&mut self, index: u32) -> Option<Pairing> {
        let place = self.place(index)?;
        // Moving it out would leave its keys behind; dropped in place, they are zeroised.
        let pairing = place.as_ref()?.pairing.clone();
        *place = None;
        self.free.push(index);
        Some(pairing)
    }

    pub(super) fn get(&self, index: u32) -> Option<&Slot> {
        let index = index as usize;
        self.chunks.get(index / CHUNK)?.get(index % CHUNK)?.as_ref()
    }

    pub(super) fn get_mut(&mut self, index: u32) -> Option<&mut Slot> {
        self.place(index)?.as_mut()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (u32, &Slot)> {
        let places = self.chunks.iter().flatten().zip(0..);
        places.filter_map(|(slot, index)| Some((index, slot.as_ref()?)))
    }

    fn place(&mut self, index: u32) -> Option<&mut Option<Slot>> {
        let index = index as usize;
        self.chunks.get_mut(index / CHUNK)?.get_mut(index % CHUNK)
    }
}
