//! A graphics processor as an [`Accelerator`](crate::Accelerator), through Vulkan.
//!
//! The table lies on the device, in as many buffers as its limits ask for; a query's words go up, the
//! sums of all rows come down. What is computed is what [`kernel`](crate::kernel) computes, word for
//! word: integers modulo 2³² add up to the same in whatever order. `gpu/product.wgsl` is the program,
//! `gpu/shader.rs` says how it is made, `gpu/plan.rs` how a matrix is cut.
//!
//! **What the device sees** is the table, which is public, and the queries, which hide what they ask
//! for: nothing that the server's memory does not hold anyhow, and no secret. What it computes is not
//! trusted: products of a new copy are compared with the processor's
//! ([`Server::accelerate`](crate::Server::accelerate)), and a device that fails is done without.

mod adapter;
mod device;
mod fault;
mod plan;
mod shader;
mod slot;
mod table;

pub use adapter::{AdapterName, Choice, Kind, adapters};
pub use device::Gpu;
