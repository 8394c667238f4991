//! One test body over all backends, in one program so that it links once.

mod batch;
mod cbc_cmac;
mod ccm;
mod ccm_batch;
mod cmac;
mod ecb;
mod gcm;
mod keys;
mod support;
mod vectors;
