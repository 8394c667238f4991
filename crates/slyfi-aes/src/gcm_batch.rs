use core::fmt;

use crate::{Block, GcmKey, Mismatch};

/// One frame to seal in a batch; see [`GcmKey::seal_in_place`].
pub struct GcmSeal<'a> {
    /// The key; every job may have its own.
    pub key: &'a GcmKey,
    /// The nonce, never used before with this key.
    pub nonce: [u8; 12],
    /// Authenticated, not encrypted.
    pub aad: &'a [u8],
    /// Plaintext in, ciphertext out.
    pub data: &'a mut [u8],
    /// Out: the tag. What it held before does not matter.
    pub tag: Block,
}

/// One frame to open in a batch; see [`GcmKey::open_in_place`].
pub struct GcmOpen<'a> {
    /// The key; every job may have its own.
    pub key: &'a GcmKey,
    /// The nonce that the frame was sealed with.
    pub nonce: [u8; 12],
    /// Authenticated, not encrypted.
    pub aad: &'a [u8],
    /// Ciphertext in, plaintext out; untouched if the tag does not verify.
    pub data: &'a mut [u8],
    /// The tag that came with the frame.
    pub tag: Block,
    /// Out: whether the tag verified. What it held before does not matter.
    pub result: Result<(), Mismatch>,
}

/// Seals every job. GCM has no serial chain to hide, so a frame alone keeps the processor busy and
/// the jobs run one after another.
///
/// # Panics
/// If a job is longer than GCM allows.
pub fn gcm_seal_batch(jobs: &mut [GcmSeal<'_>]) {
    for job in jobs {
        job.tag = job.key.seal_in_place(&job.nonce, job.aad, job.data);
    }
}

/// Opens every job, each with its own `result`.
pub fn gcm_open_batch(jobs: &mut [GcmOpen<'_>]) {
    for job in jobs {
        job.result = job.key.open_in_place(&job.nonce, job.aad, job.data, &job.tag);
    }
}

impl fmt::Debug for GcmSeal<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GcmSeal").field("bytes", &self.data.len()).finish_non_exhaustive()
    }
}

impl fmt::Debug for GcmOpen<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GcmOpen")
            .field("bytes", &self.data.len())
            .field("result", &self.result)
            .finish_non_exhaustive()
    }
}
