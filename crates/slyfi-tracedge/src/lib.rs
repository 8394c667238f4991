//! Subscribers who authenticate to hotspots without saying who they are: the table, its audit, the service.
//!
//! The protocol is in docs/tracedge.md.
#![deny(missing_docs)]

pub mod answer;
pub mod audit;
pub mod directory;
pub mod enrol;
pub mod epoch;
pub mod evidence;
pub mod files;
pub mod head;
pub mod keys;
pub mod lanes;
pub mod log;
pub mod login;
pub mod merkle;
pub mod operator;
pub mod pieces;
pub mod random;
pub mod recent;
pub mod service;
pub mod subscriber;
pub mod table;
pub mod wire;

// What users of this crate need of retrieval, so that they need not import it.
#[cfg(feature = "gpu")]
pub use slyfi_pir::gpu;
pub use slyfi_pir::{Accelerator, AcceleratorError};
pub use slyfi_pir::{Preparation, SchemeId, Shape, Unsupported, registry};
