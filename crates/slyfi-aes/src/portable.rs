//! The safe twin of every kernel, on the RustCrypto crates: constant time on every machine, and the
//! oracle that the kernels are tested against.
//!
//! It keeps no state of its own: each call builds its cipher from the raw key, because a bitsliced
//! schedule (704 bytes) would not fit the size that a key may have.

pub(crate) mod block;
pub(crate) mod cbc;
pub(crate) mod ccm;
pub(crate) mod gcm;
pub(crate) mod mac;
