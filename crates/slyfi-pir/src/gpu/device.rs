//! An opened device.

use std::sync::Arc;

use crate::accelerator::{Accelerator, AcceleratorError, Loaded};
use crate::gpu::adapter::{AdapterName, Choice, find, ready};
use crate::gpu::fault::Fault;
use crate::gpu::plan::{LEAST_BINDING, Plan};
use crate::gpu::shader::{self, SIZES};
use crate::gpu::table::Table;
use crate::kernel::Matrix;

/// A graphics processor, ready for tables. The tables that were loaded keep it open.
pub struct Gpu {
    adapter: AdapterName,
    device: Arc<Device>,
}

/// What all tables on a device share.
pub(super) struct Device {
    pub(super) label: String,
    pub(super) device: wgpu::Device,
    pub(super) queue: wgpu::Queue,
    /// Of a part of the table: its bytes, and what part it is.
    pub(super) part_layout: wgpu::BindGroupLayout,
    /// Of queries: their words, and the sums.
    pub(super) query_layout: wgpu::BindGroupLayout,
    /// For each of [`SIZES`].
    pipelines: Vec<wgpu::ComputePipeline>,
    pub(super) fault: Fault,
}

impl Gpu {
    /// Opens the device that `choice` means and compiles the programs for it.
    ///
    /// # Errors
    /// [`AcceleratorError::NoDevice`] says what there is and what to install;
    /// [`AcceleratorError::Failed`] what the driver said.
    pub fn open(choice: &Choice) -> Result<Self, AcceleratorError> {
        let (adapter, name) = find(choice)?;
        let offered = adapter.limits();
        let binding = choice.binding_bytes.unwrap_or(u64::MAX).max(LEAST_BINDING);
        let binding = binding.min(offered.max_storage_buffer_binding_size);
        // With the device's limits lowered to what is asked for, exceeding them is an error even where
        // the hardware could do more.
        let descriptor = wgpu::DeviceDescriptor {
            required_limits: wgpu::Limits {
                max_storage_buffer_binding_size: binding,
                max_buffer_size: offered.max_buffer_size.min(binding),
                ..wgpu::Limits::default()
            },
            ..Default::default()
        };
        let (device, queue) = ready(adapter.request_device(&descriptor))
            .map_err(|why| AcceleratorError::Failed(format!("{name}: {why}")))?;
        let fault = Fault::default();
        let lost = fault.clone();
        device.set_device_lost_callback(move |_, why| lost.set(format!("lost: {why}")));
        let other = fault.clone();
        device.on_uncaptured_error(Arc::new(move |why: wgpu::Error| other.set(why.to_string())));

        let part_layout = layout(
            &device,
            wgpu::BufferBindingType::Storage { read_only: true },
            wgpu::BufferBindingType::Uniform,
        );
        let query_layout = layout(
            &device,
            wgpu::BufferBindingType::Storage { read_only: true },
            wgpu::BufferBindingType::Storage { read_only: false },
        );
        let pipelines = guarded(&device, &fault, 0, || {
            let layout = device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
                label: None,
                bind_group_layouts: &[Some(&part_layout), Some(&query_layout)],
                immediate_size: 0,
            });
            SIZES.into_iter().map(|queries| pipeline(&device, &layout, queries)).collect()
        })?;
        let label = name.to_string();
        let device = Device { label, device, queue, part_layout, query_layout, pipelines, fault };
        Ok(Gpu { adapter: name, device: Arc::new(device) })
    }

    /// Which one it is.
    pub fn adapter(&self) -> &AdapterName {
        &self.adapter
    }
}

impl Accelerator for Gpu {
    fn name(&self) -> &str {
        &self.device.label
    }

    fn load(&self, matrix: &Matrix) -> Result<Box<dyn Loaded>, AcceleratorError> {
        let limits = self.device.device.limits();
        let binding = limits.max_storage_buffer_binding_size.min(limits.max_buffer_size);
        let workgroups = limits.max_compute_workgroups_per_dimension;
        let plan = Plan::new(matrix.rows(), matrix.columns(), binding, workgroups)?;
        Ok(Box::new(Table::load(Arc::clone(&self.device), plan, matrix)?))
    }
}

impl Device {
    /// The least number of queries that there is a program for and that `count` fit in, and the program.
    pub(super) fn pipeline(&self, count: usize) -> (usize, &wgpu::ComputePipeline) {
        let sizes = SIZES.into_iter().zip(&self.pipelines);
        let mut sizes = sizes.skip_while(|(size, _)| *size < count);
        // Callers hand in no more than the largest.
        sizes.next().expect("as many queries as a program takes")
    }

    /// A buffer.
    pub(super) fn buffer(&self, size: u64, usage: wgpu::BufferUsages) -> wgpu::Buffer {
        let descriptor =
            wgpu::BufferDescriptor { label: None, size, usage, mapped_at_creation: false };
        self.device.create_buffer(&descriptor)
    }

    /// Two buffers, for a program to find.
    pub(super) fn bind(
        &self,
        layout: &wgpu::BindGroupLayout,
        buffers: [&wgpu::Buffer; 2],
    ) -> wgpu::BindGroup {
        let [first, second] = buffers.map(wgpu::Buffer::as_entire_binding);
        let entries = [
            wgpu::BindGroupEntry { binding: 0, resource: first },
            wgpu::BindGroupEntry { binding: 1, resource: second },
        ];
        let descriptor = wgpu::BindGroupDescriptor { label: None, layout, entries: &entries };
        self.device.create_bind_group(&descriptor)
    }

    /// Runs `make`, which creates things on the device, some `bytes` bytes in all.
    pub(super) fn guarded<T>(
        &self,
        bytes: u64,
        make: impl FnOnce() -> T,
    ) -> Result<T, AcceleratorError> {
        guarded(&self.device, &self.fault, bytes, make)
    }
}

/// Runs `make` and turns what the device finds wrong with it into an error.
fn guarded<T>(
    device: &wgpu::Device,
    fault: &Fault,
    bytes: u64,
    make: impl FnOnce() -> T,
) -> Result<T, AcceleratorError> {
    fault.check()?;
    let scopes = [
        wgpu::ErrorFilter::Internal,
        wgpu::ErrorFilter::Validation,
        wgpu::ErrorFilter::OutOfMemory,
    ]
    .map(|filter| device.push_error_scope(filter));
    let made = make();
    // The last that was opened is closed first.
    let mut errors = scopes.into_iter().rev().filter_map(|scope| ready(scope.pop()));
    let first = errors.next();
    errors.for_each(drop);
    match first {
        None => fault.check().map(|()| made),
        Some(wgpu::Error::OutOfMemory { .. }) => Err(AcceleratorError::Memory { bytes }),
        Some(why) => Err(AcceleratorError::Failed(why.to_string())),
    }
}

/// Two buffers.
fn layout(
    device: &wgpu::Device,
    first: wgpu::BufferBindingType,
    second: wgpu::BufferBindingType,
) -> wgpu::BindGroupLayout {
    let entry = |binding, ty| wgpu::BindGroupLayoutEntry {
        binding,
        visibility: wgpu::ShaderStages::COMPUTE,
        ty: wgpu::BindingType::Buffer { ty, has_dynamic_offset: false, min_binding_size: None },
        count: None,
    };
    device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor {
        label: None,
        entries: &[entry(0, first), entry(1, second)],
    })
}

fn pipeline(
    device: &wgpu::Device,
    layout: &wgpu::PipelineLayout,
    queries: usize,
) -> wgpu::ComputePipeline {
    let module = device.create_shader_module(wgpu::ShaderModuleDescriptor {
        label: Some("product.wgsl"),
        source: wgpu::ShaderSource::Wgsl(shader::source(queries).into()),
    });
    device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
        label: Some("product.wgsl"),
        layout: Some(layout),
        module: &module,
        entry_point: Some("main"),
        compilation_options: wgpu::PipelineCompilationOptions {
            // Every word of it is written before it is read.
            zero_initialize_workgroup_memory: false,
            ..Default::default()
        },
        cache: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::accelerator::Placement;
    use crate::kernel::Operand;

    /// Mesa's software device, or the one that is named; tests/gpu.rs fails where CI has none.
    fn open() -> Option<Gpu> {
        let adapter = Choice::from_env().adapter.or_else(|| Some("llvmpipe".into()));
        Gpu::open(&Choice { adapter, binding_bytes: None }).ok()
    }

    #[test]
    fn a_lost_device_hands_out_nothing_and_the_processor_goes_on() {
        let Some(gpu) = open() else { return println!("SKIPPED: there is no device") };
        let bytes: Vec<u8> = (0..100 * 700u32).map(|i| (i.wrapping_mul(i) >> 3) as u8).collect();
        let matrix = Matrix::transposed(&bytes, 100, 700).expect("a small matrix");
        let loaded = gpu.load(&matrix).expect("it fits");
        let mut placement = Placement::default();
        placement.load(&gpu, &matrix).expect("it computes right");
        let operands =
            [Operand::new(&(0..700).map(|i: u32| i.wrapping_mul(0x0101_0107)).collect::<Vec<_>>())];
        let right = loaded.products(&operands).expect("a device that works");
        assert_eq!(placement.products(&matrix, &operands), right);
        assert_eq!(placement.status().and_then(|status| status.fault), None);

        gpu.device.device.destroy();
        for _ in 0..3 {
            let lost = loaded.products(&operands);
            assert!(matches!(lost, Err(AcceleratorError::Failed(_))), "{lost:?}");
            assert_eq!(placement.products(&matrix, &operands), right);
        }
        let fault = placement.status().and_then(|status| status.fault);
        assert!(matches!(fault, Some(AcceleratorError::Failed(_))), "{fault:?}");
        assert!(gpu.load(&matrix).is_err());
    }
}
