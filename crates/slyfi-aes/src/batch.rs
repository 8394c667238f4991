use core::fmt;

use crate::{Block, CbcCmacKey, Mismatch};

/// One frame to seal in a batch; see [`CbcCmacKey::seal_in_place`].
pub struct CbcCmacSeal<'a> {
    /// The key pair; every job may have its own.
    pub key: &'a CbcCmacKey,
    /// The CBC initialisation vector.
    pub iv: Block,
    /// A block that is authenticated before the ciphertext.
    pub mac_prefix: Option<Block>,
    /// Plaintext in, ciphertext out; whole blocks.
    pub data: &'a mut [u8],
    /// Out: the tag. What it held before does not matter.
    pub tag: Block,
}

/// One frame to open in a batch; see [`CbcCmacKey::open_in_place`].
pub struct CbcCmacOpen<'a> {
    /// The key pair; every job may have its own.
    pub key: &'a CbcCmacKey,
    /// The CBC initialisation vector.
    pub iv: Block,
    /// The block that is authenticated before the ciphertext.
    pub mac_prefix: Option<Block>,
    /// Ciphertext in, plaintext out; untouched if the tag does not verify.
    pub data: &'a mut [u8],
    /// The tag that came with the frame.
    pub tag: Block,
    /// Out: whether the tag verified. What it held before does not matter.
    pub result: Result<(), Mismatch>,
}

/// Seals every job, side by side.
///
/// The jobs may have different keys and different lengths; each gets what
/// [`CbcCmacKey::seal_in_place`] would give it alone.
///
/// # Panics
/// If the data of a job is not a whole number of blocks.
pub fn seal_batch(jobs: &mut [CbcCmacSeal<'_>]) {
    for job in jobs {
        job.tag = job.key.seal_in_place(&job.iv, job.mac_prefix.as_ref(), job.data);
    }
}

/// Opens every job, side by side.
///
/// The jobs may have different keys and different lengths; each gets what
/// [`CbcCmacKey::open_in_place`] would give it alone, in its `result`.
pub fn open_batch(jobs: &mut [CbcCmacOpen<'_>]) {
    for job in jobs {
        job.result = job.key.open_in_place(&job.iv, job.mac_prefix.as_ref(), job.data, &job.tag);
    }
}

impl fmt::Debug for CbcCmacSeal<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CbcCmacSeal").field("bytes", &self.data.len()).finish_non_exhaustive()
    }
}

impl fmt::Debug for CbcCmacOpen<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CbcCmacOpen")
            .field("bytes", &self.data.len())
            .field("result", &self.result)
            .finish_non_exhaustive()
    }
}
