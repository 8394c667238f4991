//! Private information retrieval: reading a row of a public table without telling which.
//!
//! One contract, three schemes behind it:
//!
//! | scheme | module | what a client needs first | for |
//! |---|---|---|---|
//! | `hintless` | [`hintless`] | nothing but the [`Setup`] | logins; the default |
//! | `lwe` | [`lwe`] | a public hint of some megabytes, once per table | many retrievals of one table |
//! | `ntru-2015` | [`danger::ntru_2015`] | the [`Setup`] | the tables of tracedge-2015; **not secure** |
//!
//! ```text
//!   table (bytes) ──prepare──▶ Server ── Setup, hint ──▶ Client
//!                                ▲                         │ query(index)
//!                                └────── Query.bytes ──────┘
//!                                └────── answer ──▶ QueryState::extract ──▶ the row, and its block
//! ```
//!
//! What every scheme keeps:
//! * The length of queries and answers depends on the [`Setup`] alone, never on the index, and a
//!   [`Server`] never sees the index, so its time cannot depend on it. [`Client::query`] and
//!   [`QueryState::extract`] read and write the same places in the same order whatever the index.
//! * The state of a query is consumed by its use: no secret serves twice.
//! * The server keeps nothing about a client between queries.
//! * Answers carry no integrity of their own. A server that answers from another table, or garbles
//!   its answer, changes the row that comes out: whoever relies on it signs answers and checks rows.
#![deny(missing_docs)]

pub mod accelerator;
pub mod danger;
pub mod error;
#[cfg(feature = "gpu")]
pub mod gpu;
pub mod hintless;
pub mod kernel;
pub mod lwe;
pub mod prepare;
pub mod registry;
pub mod retrieved;
pub mod ring;
pub mod scheme;
pub mod security;
mod select;
pub mod setup;
pub mod shape;
mod wire;

pub use accelerator::{Accelerator, AcceleratorError, AcceleratorStatus};
pub use error::{IndexOutOfRange, PrepareError, SetupError, Unsupported, WireError};
pub use prepare::{Preparation, Progress};
pub use retrieved::Retrieved;
pub use scheme::{Client, Query, QueryState, Scheme, Server, Sizes};
pub use setup::{HintDigest, SchemeId, Setup};
pub use shape::Shape;
