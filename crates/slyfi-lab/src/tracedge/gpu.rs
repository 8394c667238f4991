//! Answers with the table's products on a graphics processor, where there is one and this program was
//! built to use it.

use super::clock::Millis;
use super::world::World;
use slyfi_pir::SchemeId;

/// What it took.
#[derive(Clone, Debug, PartialEq)]
pub struct OnGpu {
    /// The device.
    pub device: String,
    /// One query at a time.
    pub answer: Millis,
    /// One of a batch.
    pub batched: Millis,
}

/// Measures a scheme, or says why not.
///
/// # Errors
/// Why there is no number.
#[cfg(not(feature = "gpu"))]
pub fn measure(_: &World, _: SchemeId, _: usize) -> Result<OnGpu, String> {
    Err("this program was built without the feature `gpu`".to_owned())
}

/// Measures a scheme, or says why not. Rows that come out are compared with the table's.
///
/// # Errors
/// Why there is no number.
#[cfg(feature = "gpu")]
pub fn measure(world: &World, scheme: SchemeId, rounds: usize) -> Result<OnGpu, String> {
    use super::clock::Rounds;
    use super::costs::BATCH;
    use slyfi_base::SecureRandom;
    use slyfi_pir::gpu::{Choice, Gpu};
    use slyfi_pir::{Preparation, Shape, registry};
    use slyfi_tracedge::epoch::ROW_BYTES;
    use slyfi_tracedge::random::SeededRandom;

    fn said(e: impl std::fmt::Display) -> String {
        e.to_string()
    }
    if scheme == SchemeId::Ntru2015 {
        return Err("ntru-2015 has no kernel for GPUs here".to_owned());
    }
    let gpu = Gpu::open(&Choice::from_env()).map_err(said)?;
    let shape = Shape::new(world.rows(), ROW_BYTES as u32).map_err(said)?;
    let layout = registry::default_layout(scheme, shape).map_err(said)?;
    let how = Preparation { workers: world.workers(), ..Preparation::quiet([3; 32]) };
    let server = registry::prepare(scheme, shape, layout, world.table(), &how);
    let mut server = server.map_err(said)?;
    server.accelerate(&gpu).map_err(said)?;
    let client = registry::client(server.setup(), server.hint()).map_err(said)?;
    let rng = &mut SeededRandom::new([4; 32]);
    let (mut answers, mut batches, mut queries) = (Rounds::default(), Rounds::default(), vec![]);
    for _ in 0..rounds.max(BATCH) {
        let index = rng.below(world.rows());
        let query = client.query(index, rng).map_err(said)?;
        let answer = answers.time(|| server.answer(&query.bytes)).map_err(said)?;
        if query.state.extract(&answer).map_err(said)?.row() != world.row(index) {
            return Err(format!("row {index} came out wrong"));
        }
        queries.push(query.bytes);
    }
    let queries: Vec<&[u8]> = queries.iter().take(BATCH).map(|q| &q[..]).collect();
    for _ in 0..rounds {
        for answer in batches.time(|| server.answer_batch(&queries)) {
            answer.map_err(said)?;
        }
    }
    // A server whose device failed goes on without it: those times are not the device's.
    let status = server.accelerator().ok_or("the server does not use it")?;
    if let Some(fault) = status.fault {
        return Err(fault.to_string());
    }
    let medians = answers.medians().zip(batches.medians()).ok_or("nothing was measured")?;
    Ok(OnGpu { device: status.device, answer: medians.0, batched: medians.1.each(BATCH) })
}
