//! `slyfi tracedge serve --gpu`: retrieval on a graphics processor.

use slyfi_link::{Error, ErrorKind, Result};
use slyfi_tracedge::service::Service;

/// Has the graphics processor that `wanted` names compute the retrieval of what `service` serves from
/// now on; an empty name leaves the choice to `SLYFI_GPU`, or to what is fastest.
#[cfg(feature = "gpu")]
pub fn equip(service: Service, wanted: Option<&str>) -> Result<Service> {
    use slyfi_tracedge::gpu::{Choice, Gpu};

    let Some(name) = wanted else { return Ok(service) };
    let mut choice = Choice::from_env();
    if !name.is_empty() {
        choice.adapter = Some(name.to_owned());
    }
    let gpu = Gpu::open(&choice).map_err(|why| {
        let mend = "without --gpu the processor does it";
        Error::new(ErrorKind::System, format!("--gpu: {why}"), mend)
    })?;
    crate::commands::print(&format!("retrieval on {}\n", gpu.adapter()))?;
    Ok(service.with_accelerator(Box::new(gpu)))
}

/// Says that this program cannot, if it is asked to.
#[cfg(not(feature = "gpu"))]
pub fn equip(service: Service, wanted: Option<&str>) -> Result<Service> {
    match wanted {
        None => Ok(service),
        Some(_) => {
            let mend = "build it with `cargo build --release -p slyfi --features gpu`";
            Err(Error::new(ErrorKind::Usage, "--gpu: this program was built without it", mend))
        }
    }
}

/// What is to be said about epochs that the processor serves although `--gpu` was given: each once.
#[derive(Default)]
pub struct Faults {
    said: Vec<u64>,
}

impl Faults {
    /// What is new.
    pub fn news(&mut self, service: &Service) -> Vec<String> {
        let mut news = service.accelerator_faults();
        news.retain(|(epoch, _)| !self.said.contains(epoch));
        self.said.extend(news.iter().map(|(epoch, _)| epoch));
        let words = |(epoch, why)| format!("epoch {epoch} is served by the processor: {why}");
        news.into_iter().map(words).collect()
    }
}
