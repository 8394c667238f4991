//! Kernels for AES-NI and PCLMULQDQ, one block to a register.

pub(crate) mod batch;
pub(crate) mod cbc;
pub(crate) mod ccm;
pub(crate) mod ccm_batch;
pub(crate) mod ecb;
pub(crate) mod gcm;
pub(crate) mod ghash;
pub(crate) mod once;
