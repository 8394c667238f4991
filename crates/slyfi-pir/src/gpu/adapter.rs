//! Which device to take.

use std::task::{Context, Poll, Waker};

use crate::accelerator::AcceleratorError;

/// Which device to take, and how.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Choice {
    /// A part of the device's name, or its PCI address (`0000:01:00.0`), in whatever case. Without it the
    /// fastest kind is taken, and never one that is this machine's processor in disguise.
    pub adapter: Option<String>,
    /// Uses buffers of at most this many bytes, as if the device could not bind larger ones: to test
    /// what happens to tables that are.
    pub binding_bytes: Option<u64>,
}

impl Choice {
    /// The environment variable that names the device.
    pub const VARIABLE: &str = "SLYFI_GPU";

    /// What [`Choice::VARIABLE`] says.
    pub fn from_env() -> Self {
        let adapter = std::env::var(Self::VARIABLE).ok().filter(|name| !name.is_empty());
        Choice { adapter, binding_bytes: None }
    }
}

/// What a device is, the fastest kind first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// A graphics processor with memory of its own.
    Discrete,
    /// One that shares the processor's memory.
    Integrated,
    /// One that a hypervisor hands through.
    Virtual,
    /// The driver does not say.
    Other,
    /// The machine's processor, such as Mesa's lavapipe: for tests; the kernels of this crate are faster.
    Processor,
}

/// A device that Vulkan has a driver for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AdapterName {
    /// Its name.
    pub name: String,
    /// What it is.
    pub kind: Kind,
    /// The driver and its version.
    pub driver: String,
    /// The PCI address, empty if it has none.
    pub pci: String,
}

impl core::fmt::Display for AdapterName {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "{}, {}", self.name, self.driver)?;
        if self.pci.is_empty() { Ok(()) } else { write!(f, ", at {}", self.pci) }
    }
}

impl AdapterName {
    fn of(adapter: &wgpu::Adapter) -> Self {
        let info = adapter.get_info();
        let kind = match info.device_type {
            wgpu::DeviceType::DiscreteGpu => Kind::Discrete,
            wgpu::DeviceType::IntegratedGpu => Kind::Integrated,
            wgpu::DeviceType::VirtualGpu => Kind::Virtual,
            wgpu::DeviceType::Cpu => Kind::Processor,
            wgpu::DeviceType::Other => Kind::Other,
        };
        let driver = format!("{} {}", info.driver, info.driver_info).trim().to_owned();
        AdapterName { name: info.name, kind, driver, pci: info.device_pci_bus_id }
    }

    fn answers_to(&self, wanted: &str) -> bool {
        let wanted = wanted.to_lowercase();
        self.name.to_lowercase().contains(&wanted) || self.pci.to_lowercase() == wanted
    }
}

/// The devices of this machine.
pub fn adapters() -> Vec<AdapterName> {
    all().iter().map(AdapterName::of).collect()
}

fn all() -> Vec<wgpu::Adapter> {
    let mut descriptor = wgpu::InstanceDescriptor::new_without_display_handle();
    descriptor.backends = wgpu::Backends::VULKAN;
    // No layers that slow it down, whatever the environment says.
    descriptor.flags = wgpu::InstanceFlags::empty();
    let instance = wgpu::Instance::new(descriptor);
    ready(instance.enumerate_adapters(wgpu::Backends::VULKAN))
}

/// The device that `choice` means.
pub(super) fn find(choice: &Choice) -> Result<(wgpu::Adapter, AdapterName), AcceleratorError> {
    let mut adapters = all();
    let names: Vec<AdapterName> = adapters.iter().map(AdapterName::of).collect();
    let at = pick(&names, choice.adapter.as_deref()).map_err(AcceleratorError::NoDevice)?;
    Ok((adapters.swap_remove(at), names[at].clone()))
}

/// Which of them: the fastest kind among those that answer to the name, the first of equals.
fn pick(names: &[AdapterName], wanted: Option<&str>) -> Result<usize, String> {
    const INSTALL: &str = "install the Vulkan driver of your graphics card (Debian: \
        `apt-get install libvulkan1 mesa-vulkan-drivers`, for NVIDIA `nvidia-driver` or \
        `libnvidia-gl`), and let the user open /dev/dri or /dev/nvidia*";
    let list = || names.iter().map(|n| format!("`{n}`")).collect::<Vec<_>>().join(", ");
    if names.is_empty() {
        return Err(format!("Vulkan finds no graphics processor: {INSTALL}"));
    }
    let suits = |name: &AdapterName| match wanted {
        Some(wanted) => name.answers_to(wanted),
        None => name.kind != Kind::Processor,
    };
    let found = names.iter().enumerate().filter(|(_, n)| suits(n)).min_by_key(|(_, n)| n.kind);
    let missing = || match wanted {
        Some(wanted) => format!("no graphics processor answers to `{wanted}`; there is {}", list()),
        None => format!(
            "there is only {}, which is this machine's processor and slower than the kernels that run \
             without it; name it to use it all the same, or {INSTALL}",
            list()
        ),
    };
    found.map(|(at, _)| at).ok_or_else(missing)
}

/// What a future of this crate's dependency gives. On native devices they are all ready at once; the
/// loop is for the letter of the contract.
pub(super) fn ready<F: Future>(future: F) -> F::Output {
    let mut future = std::pin::pin!(future);
    let mut context = Context::from_waker(Waker::noop());
    loop {
        match future.as_mut().poll(&mut context) {
            Poll::Ready(output) => return output,
            Poll::Pending => std::thread::yield_now(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(name: &str, kind: Kind, pci: &str) -> AdapterName {
        AdapterName { name: name.into(), kind, driver: "v1".into(), pci: pci.into() }
    }

    fn machine() -> Vec<AdapterName> {
        vec![
            named("llvmpipe (LLVM 15.0.6, 256 bits)", Kind::Processor, ""),
            named("Iris Xe", Kind::Integrated, "0000:00:02.0"),
            named("GeForce RTX 4090", Kind::Discrete, "0000:01:00.0"),
            named("GeForce RTX 4090", Kind::Discrete, "0000:0A:00.0"),
        ]
    }

    #[test]
    fn takes_the_fastest_kind_unless_told_otherwise() {
        let names = machine();
        assert_eq!(pick(&names, None), Ok(2));
        assert_eq!(pick(&names[..2], None), Ok(1));
        assert_eq!(pick(&names, Some("iris")), Ok(1));
        assert_eq!(pick(&names, Some("0000:0a:00.0")), Ok(3));
        assert_eq!(pick(&names, Some("LLVMpipe")), Ok(0));
    }

    #[test]
    fn says_what_there_is_and_what_to_install() {
        let none = pick(&[], None).expect_err("nothing there");
        assert!(none.contains("apt-get install"), "{none}");
        let software = pick(&machine()[..1], None).expect_err("only lavapipe");
        assert!(software.contains("llvmpipe") && software.contains("slower"), "{software}");
        let other = pick(&machine(), Some("radeon")).expect_err("no such card");
        assert!(other.contains("radeon") && other.contains("Iris Xe"), "{other}");
    }
}
