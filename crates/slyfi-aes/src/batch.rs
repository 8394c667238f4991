use core::fmt;

use crate::backend::on_backend;
use crate::cbc_cmac::whole_blocks;
#[cfg(target_arch = "x86_64")]
use crate::x86;
use crate::{Backend, Block, CbcCmacKey, Mismatch};

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
    let backend = least_backend(jobs);
    on_backend!(
        backend,
        jobs.iter_mut().for_each(Job::finish_alone),
        x86::aes_ni::batch::seal(jobs),
        x86::vaes_512::batch::seal(jobs),
    );
}

/// Opens every job, side by side.
///
/// The jobs may have different keys and different lengths; each gets what
/// [`CbcCmacKey::open_in_place`] would give it alone, in its `result`.
pub fn open_batch(jobs: &mut [CbcCmacOpen<'_>]) {
    let backend = least_backend(jobs);
    on_backend!(
        backend,
        jobs.iter_mut().for_each(Job::finish_alone),
        x86::aes_ni::batch::authenticate(jobs),
        x86::vaes_512::batch::authenticate(jobs),
    );
    for job in jobs {
        if let (Ok(()), (blocks, [])) = (job.result, job.data.as_chunks_mut()) {
            job.key.decrypt(&job.iv, blocks);
        }
    }
}

/// The backend that all keys of a batch can run on: a batch of keys made for different ones, which
/// only tests do, takes the plainest.
fn least_backend<'k, J: Job<'k>>(jobs: &[J]) -> Backend {
    jobs.iter().map(|job| job.key().backend()).min().unwrap_or(Backend::Portable)
}

/// A job as the lanes of a batch kernel see it.
pub(crate) trait Job<'k> {
    /// Whether it encrypts before it authenticates, or only authenticates.
    const SEALS: bool;

    fn key(&self) -> &'k CbcCmacKey;

    /// Initialisation vector, prefix and blocks.
    fn parts(&mut self) -> (&Block, Option<&Block>, &mut [Block]);

    /// Takes the tag, once the lanes have computed it.
    fn finish(&mut self, tag: Block);

    /// Does what the lanes would have done, without them.
    fn finish_alone(&mut self);
}

impl<'k> Job<'k> for CbcCmacSeal<'k> {
    const SEALS: bool = true;

    fn key(&self) -> &'k CbcCmacKey {
        self.key
    }

    fn parts(&mut self) -> (&Block, Option<&Block>, &mut [Block]) {
        (&self.iv, self.mac_prefix.as_ref(), whole_blocks(self.data))
    }

    fn finish(&mut self, tag: Block) {
        self.tag = tag;
    }

    fn finish_alone(&mut self) {
        self.tag = self.key.seal_in_place(&self.iv, self.mac_prefix.as_ref(), self.data);
    }
}

impl<'k> Job<'k> for CbcCmacOpen<'k> {
    const SEALS: bool = false;

    fn key(&self) -> &'k CbcCmacKey {
        self.key
    }

    fn parts(&mut self) -> (&Block, Option<&Block>, &mut [Block]) {
        // A frame with a part of a block is refused by `finish_alone`, as any frame without blocks.
        let blocks = match self.data.as_chunks_mut() {
            (blocks, []) => blocks,
            _ => &mut [],
        };
        (&self.iv, self.mac_prefix.as_ref(), blocks)
    }

    fn finish(&mut self, tag: Block) {
        self.result = Mismatch::unless_equal(&tag, &self.tag);
    }

    fn finish_alone(&mut self) {
        let (blocks, rest) = self.data.as_chunks();
        self.result = if rest.is_empty() {
            Mismatch::unless_equal(&self.key.tag(self.mac_prefix.as_ref(), blocks), &self.tag)
        } else {
            Err(Mismatch)
        };
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
