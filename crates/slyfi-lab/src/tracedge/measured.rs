//! The measurements that most tables are about, taken once for each size.

use super::costs::{Costs, Effort, measure};
use super::paper;
use super::world::{Creation, World};
use crate::{Context, LabError};
use slyfi_pir::SchemeId;
use std::sync::Arc;

/// The schemes, the paper's first.
pub const SCHEMES: [SchemeId; 3] = [SchemeId::Ntru2015, SchemeId::Lwe, SchemeId::Hintless];

/// Sizes of tables of a quick run, and of one to quote.
const QUICK: [u64; 2] = [10_000, 40_000];
const FULL: [u64; 2] = [1_000_000, paper::ROWS];

/// Everything, by size and scheme.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Measured {
    /// Making the tables.
    pub creations: Vec<Creation>,
    /// Retrieval from them.
    pub costs: Vec<Arc<Costs>>,
}

impl Measured {
    /// A scheme on the largest table.
    pub fn largest(&self, scheme: SchemeId) -> Option<&Costs> {
        let of = self.costs.iter().filter(|c| c.scheme == scheme);
        of.max_by_key(|c| c.rows).map(|c| &**c)
    }

    /// The largest table.
    pub fn largest_creation(&self) -> Option<&Creation> {
        self.creations.iter().max_by_key(|c| c.rows)
    }
}

fn sizes(context: &Context<'_>) -> Vec<u64> {
    let sizes = if context.quick { QUICK } else { FULL };
    let most = context.rows.unwrap_or(u64::MAX);
    let fit: Vec<u64> = sizes.into_iter().filter(|rows| *rows <= most).collect();
    if fit.is_empty() { vec![most.max(1_000)] } else { fit }
}

fn world(context: &mut Context<'_>, rows: u64) -> Result<Arc<World>, LabError> {
    let name = format!("tracedge/world/{rows}");
    if let Some(world) = context.kept.get(&name) {
        return Ok(world);
    }
    let world = World::make(rows, context.progress)?;
    context.kept.put(&format!("tracedge/creation/{rows}"), world.creation);
    Ok(context.kept.put(&name, world))
}

/// What making the tables took.
///
/// # Errors
/// [`LabError`].
pub fn creations(context: &mut Context<'_>) -> Result<Measured, LabError> {
    let mut creations = Vec::new();
    for rows in sizes(context) {
        let creation = match context.kept.get::<Creation>(&format!("tracedge/creation/{rows}")) {
            Some(creation) => *creation,
            None => world(context, rows)?.creation,
        };
        creations.push(creation);
    }
    Ok(Measured { creations, costs: Vec::new() })
}

/// And what retrieval costs.
///
/// # Errors
/// [`LabError`].
pub fn all(context: &mut Context<'_>) -> Result<Measured, LabError> {
    let mut costs = Vec::new();
    for rows in sizes(context) {
        for scheme in SCHEMES {
            let name = format!("tracedge/{}/{rows}", scheme.name());
            let known = context.kept.get::<Costs>(&name);
            costs.push(match known {
                Some(known) => known,
                None => {
                    let effort = if context.quick { Effort::QUICK } else { Effort::FULL };
                    let world = world(context, rows)?;
                    let measured = measure(&world, scheme, effort, context.progress)?;
                    context.kept.put(&name, measured)
                }
            });
        }
        // Gigabytes, which nobody needs any more.
        context.kept.drop(&format!("tracedge/world/{rows}"));
    }
    Ok(Measured { costs, ..creations(context)? })
}
