//! A matrix on the device.

use std::sync::{Arc, mpsc};
use std::time::Duration;

use wgpu::BufferUsages as Usage;

use crate::accelerator::{AcceleratorError, Loaded};
use crate::gpu::device::Device;
use crate::gpu::plan::{Band, CHUNK, Part, Plan, QUERIES, ROWS};
use crate::gpu::slot::{Slot, Slots};
use crate::kernel::{Matrix, Operand};

/// How long a pass may take before the device is given up: far more than any takes, and drivers give
/// up earlier by themselves.
const PATIENCE: Duration = Duration::from_secs(30);

/// How much of a matrix is on its way at a time, bytes.
const UPLOAD: usize = 16 << 20;

/// A matrix on the device, and room for its answers.
pub(super) struct Table {
    device: Arc<Device>,
    plan: Plan,
    /// For each part of the plan.
    parts: Vec<wgpu::BindGroup>,
    slots: Slots,
    bytes: u64,
}

impl Table {
    pub(super) fn load(
        device: Arc<Device>,
        plan: Plan,
        matrix: &Matrix,
    ) -> Result<Self, AcceleratorError> {
        let mut parts = Vec::with_capacity(plan.parts.len());
        let mut bytes = 0;
        for part in &plan.parts {
            let band = &plan.bands[part.band];
            parts.push(load_part(&device, part, band, matrix)?);
            bytes += part.bytes(band);
        }
        let slots = Slots::new(&device, &plan)?;
        Ok(Table { device, plan, parts, slots, bytes })
    }

    /// One pass over the table.
    fn pass(&self, slot: &Slot, operands: &[Operand]) -> Result<Vec<Vec<u32>>, AcceleratorError> {
        let Device { device, queue, fault, .. } = &*self.device;
        fault.check()?;
        let (queries, pipeline) = self.device.pipeline(operands.len());
        for (band, buffer) in self.plan.bands.iter().zip(&slot.vectors) {
            queue.write_buffer(buffer, 0, &arrange(band, operands, queries));
        }
        let bytes = (self.plan.rows * queries * 4) as u64;
        let mut encoder = device.create_command_encoder(&Default::default());
        encoder.clear_buffer(&slot.sums, 0, Some(bytes));
        {
            let mut pass = encoder.begin_compute_pass(&Default::default());
            pass.set_pipeline(pipeline);
            for (part, group) in self.plan.parts.iter().zip(&self.parts) {
                pass.set_bind_group(0, group, &[]);
                pass.set_bind_group(1, &slot.groups[part.band], &[]);
                // The plan keeps both below what a device starts in a row.
                let rows = part.rows.div_ceil(ROWS) as u32;
                let chunks = self.plan.bands[part.band].tiles().div_ceil(CHUNK) as u32;
                pass.dispatch_workgroups(rows, chunks, 1);
            }
        }
        encoder.copy_buffer_to_buffer(&slot.sums, 0, &slot.down, 0, Some(bytes));
        let submission = queue.submit([encoder.finish()]);

        let (mapped, there) = mpsc::channel();
        slot.down.map_async(wgpu::MapMode::Read, 0..bytes, move |result| {
            // Nobody listens any more once the time is over.
            let _ = mapped.send(result);
        });
        let wait =
            wgpu::PollType::Wait { submission_index: Some(submission), timeout: Some(PATIENCE) };
        device.poll(wait).map_err(|why| fault.fail(why.to_string()))?;
        // Another thread may have seen the pass end first, and be about to say so.
        let result = there.recv_timeout(PATIENCE).map_err(|why| fault.fail(why.to_string()))?;
        result.map_err(|why| fault.fail(why.to_string()))?;
        fault.check()?;
        let view = slot.down.get_mapped_range(0..bytes);
        let view = view.map_err(|why| fault.fail(why.to_string()))?;
        let products = separate(&view, queries, operands.len());
        drop(view);
        slot.down.unmap();
        Ok(products)
    }
}

impl Loaded for Table {
    fn device(&self) -> &str {
        &self.device.label
    }

    fn products(&self, operands: &[Operand]) -> Result<Vec<Vec<u32>>, AcceleratorError> {
        let fits = |operand: &Operand| operand.words() == self.plan.columns;
        assert!(operands.iter().all(fits), "a word for each column");
        let mut products = Vec::with_capacity(operands.len());
        for batch in operands.chunks(QUERIES) {
            products.extend(self.slots.with(|slot| self.pass(slot, batch))?);
        }
        Ok(products)
    }

    fn memory_bytes(&self) -> u64 {
        self.bytes
    }
}

/// Copies a part of the matrix to the device.
fn load_part(
    device: &Device,
    part: &Part,
    band: &Band,
    matrix: &Matrix,
) -> Result<wgpu::BindGroup, AcceleratorError> {
    let bytes = part.bytes(band);
    let (table, group) = device.guarded(bytes, || {
        let table = device.buffer(bytes, Usage::STORAGE | Usage::COPY_DST);
        // As the program's `Part`; the plan keeps all of them below 2³².
        let numbers = [part.rows, band.stride, band.tiles(), part.first_row];
        let numbers = numbers.map(|number| (number as u32).to_le_bytes());
        let uniform = device.buffer(16, Usage::UNIFORM | Usage::COPY_DST);
        device.queue.write_buffer(&uniform, 0, numbers.as_flattened());
        let group = device.bind(&device.part_layout, [&table, &uniform]);
        (table, group)
    })?;
    let row_bytes = 4 * band.stride;
    let rows = (UPLOAD / row_bytes).max(1);
    let mut staged = Vec::new();
    for first in (0..part.rows).step_by(rows) {
        let count = rows.min(part.rows - first);
        staged.clear();
        staged.resize(count * row_bytes, 0);
        for (at, out) in staged.chunks_exact_mut(row_bytes).enumerate() {
            let row = matrix.row_bytes(part.first_row + first + at);
            out[..band.columns].copy_from_slice(&row[band.first_column..][..band.columns]);
        }
        device.guarded(staged.len() as u64, || {
            device.queue.write_buffer(&table, (first * row_bytes) as u64, &staged);
            device.queue.submit([]);
        })?;
        // What is on its way is memory of the machine's: no more of it than one piece.
        let wait = wgpu::PollType::Wait { submission_index: None, timeout: Some(PATIENCE) };
        device.device.poll(wait).map_err(|why| device.fault.fail(why.to_string()))?;
    }
    Ok(group)
}

/// A band's words of all queries in the order in which the program's threads read them: by steps of 128
/// columns, by a column's place in its 32-bit word, by halves of the queries, by threads, by queries. Zero
/// where there is no column or no query.
fn arrange(band: &Band, operands: &[Operand], queries: usize) -> Vec<u8> {
    const THREADS: usize = 32;
    let mut out = vec![0; band.vector_bytes(queries) as usize];
    let words = out.as_chunks_mut::<4>().0;
    let (halves, together) = (queries.div_ceil(4), queries.min(4));
    for (query, operand) in operands.iter().enumerate() {
        let (half, place) = (query / 4, query % 4);
        let of_band = operand.iter().skip(band.first_column).take(band.columns);
        for (column, word) in of_band.enumerate() {
            let (step, thread, byte) = (column / 128, column % 128 / 4, column % 4);
            let at = ((step * 4 + byte) * halves + half) * THREADS + thread;
            words[at * together + place] = word.to_le_bytes();
        }
    }
    out
}

/// The sums of each query, from sums by rows and then by queries.
fn separate(sums: &[u8], queries: usize, wanted: usize) -> Vec<Vec<u32>> {
    let sums = sums.as_chunks::<4>().0;
    let of_query = |query: usize| sums.iter().skip(query).step_by(queries);
    (0..wanted).map(|q| of_query(q).map(|word| u32::from_le_bytes(*word)).collect()).collect()
}
