//! Room for a few passes over the table at the same time.

use std::sync::{Condvar, Mutex, PoisonError};

use wgpu::BufferUsages as Usage;

use crate::accelerator::AcceleratorError;
use crate::gpu::device::Device;
use crate::gpu::plan::{Band, Plan, QUERIES};

/// Passes at the same time: one goes up, one is computed, one comes down.
const SLOTS: usize = 3;

/// Buffers of one pass, for as many queries as it may have.
pub(super) struct Slot {
    /// The queries' words, for each band of columns.
    pub(super) vectors: Vec<wgpu::Buffer>,
    /// The same bound, with the sums.
    pub(super) groups: Vec<wgpu::BindGroup>,
    /// What the device adds up.
    pub(super) sums: wgpu::Buffer,
    /// Where the processor reads it.
    pub(super) down: wgpu::Buffer,
}

impl Slot {
    fn new(device: &Device, plan: &Plan) -> Result<Self, AcceleratorError> {
        let sums_bytes = (plan.rows * QUERIES * 4) as u64;
        let vector_bytes = |band: &Band| band.vector_bytes(QUERIES);
        let bytes = 2 * sums_bytes + plan.bands.iter().map(vector_bytes).sum::<u64>();
        device.guarded(bytes, || {
            let sums =
                device.buffer(sums_bytes, Usage::STORAGE | Usage::COPY_DST | Usage::COPY_SRC);
            let down = device.buffer(sums_bytes, Usage::MAP_READ | Usage::COPY_DST);
            let vectors =
                |band| device.buffer(vector_bytes(band), Usage::STORAGE | Usage::COPY_DST);
            let vectors: Vec<_> = plan.bands.iter().map(vectors).collect();
            let group = |vectors| device.bind(&device.query_layout, [vectors, &sums]);
            let groups = vectors.iter().map(group).collect();
            Slot { vectors, groups, sums, down }
        })
    }
}

/// The slots of a table, those that are free.
pub(super) struct Slots {
    free: Mutex<Vec<Slot>>,
    returned: Condvar,
}

impl Slots {
    pub(super) fn new(device: &Device, plan: &Plan) -> Result<Self, AcceleratorError> {
        let free = (0..SLOTS).map(|_| Slot::new(device, plan)).collect::<Result<Vec<_>, _>>()?;
        Ok(Slots { free: Mutex::new(free), returned: Condvar::new() })
    }

    /// Runs `pass` in a slot, once there is one. The slot comes back however that ends.
    pub(super) fn with<T>(&self, pass: impl FnOnce(&Slot) -> T) -> T {
        let taken = Taken { slots: self, slot: Some(self.take()) };
        // There until it is dropped.
        pass(taken.slot.as_ref().expect("a slot"))
    }

    fn take(&self) -> Slot {
        // The list is whole at any moment: another thread's panic does not harm it.
        let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            match free.pop() {
                Some(slot) => return slot,
                None => free = self.returned.wait(free).unwrap_or_else(PoisonError::into_inner),
            }
        }
    }
}

struct Taken<'a> {
    slots: &'a Slots,
    slot: Option<Slot>,
}

impl Drop for Taken<'_> {
    fn drop(&mut self) {
        let mut free = self.slots.free.lock().unwrap_or_else(PoisonError::into_inner);
        free.extend(self.slot.take());
        self.slots.returned.notify_one();
    }
}
