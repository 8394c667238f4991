use core::fmt;

use crate::backend::on_backend;
use crate::ccm::{KeySize, verify};
#[cfg(target_arch = "x86_64")]
use crate::x86;
use crate::{Block, CcmHead, CcmKey, Mismatch};

/// One message to seal in a batch; see [`CcmKey::seal_in_place`].
pub struct CcmSeal<'a> {
    /// The key; every job may have its own.
    pub key: &'a CcmKey,
    /// What the chains begin with.
    pub head: CcmHead<'a>,
    /// Plaintext in, ciphertext out.
    pub data: &'a mut [u8],
    /// Out: the whole tag, of which the caller sends the first M bytes. What it held before does not
    /// matter.
    pub tag: Block,
}

/// One message to open in a batch; see [`CcmKey::open_in_place`].
pub struct CcmOpen<'a> {
    /// The key; every job may have its own.
    pub key: &'a CcmKey,
    /// What the chains begin with.
    pub head: CcmHead<'a>,
    /// Ciphertext in, plaintext out; zeros if the tag does not verify.
    pub data: &'a mut [u8],
    /// The tag that came with the message, M bytes.
    pub tag: &'a [u8],
    /// Out: whether the tag verified. What it held before does not matter.
    pub result: Result<(), Mismatch>,
}

/// Seals every job, side by side.
///
/// The jobs may have different keys, heads and lengths; each gets what [`CcmKey::seal_in_place`]
/// would give it alone. Neighbours whose keys have the same size share the lanes.
pub fn ccm_seal_batch(jobs: &mut [CcmSeal<'_>]) {
    run_all(jobs);
}

/// Opens every job, side by side.
///
/// The jobs may have different keys, heads and lengths; each gets what [`CcmKey::open_in_place`]
/// would give it alone, in its `result`.
pub fn ccm_open_batch(jobs: &mut [CcmOpen<'_>]) {
    run_all(jobs);
}

fn run_all<'k, J: CcmJob<'k>>(jobs: &mut [J]) {
    let alike = |a: &J, b: &J| {
        let (a, b) = (a.key(), b.key());
        a.size == b.size && a.backend == b.backend
    };
    for jobs in jobs.chunk_by_mut(alike) {
        match jobs {
            // Lanes are not worth their while for one.
            [] => {}
            [job] => job.finish_alone(),
            [job, ..] => match job.key().size {
                KeySize::Aes128 => run_alike::<_, 10>(jobs),
                KeySize::Aes192 => run_alike::<_, 12>(jobs),
                KeySize::Aes256 => run_alike::<_, 14>(jobs),
            },
        }
    }
}

/// Jobs of one backend and one AES, of `R` rounds.
fn run_alike<'k, J: CcmJob<'k>, const R: usize>(jobs: &mut [J]) {
    let Some(first) = jobs.first() else { return };
    on_backend!(
        first.key().backend,
        jobs.iter_mut().for_each(CcmJob::finish_alone),
        x86::aes_ni::ccm_batch::run::<J, R>(jobs),
        x86::vaes_512::ccm::run::<J, R>(jobs),
    );
}

/// A job as the lanes of a batch kernel see it.
pub(crate) trait CcmJob<'k> {
    /// Whether the MAC takes in what the data was or what it becomes.
    const SEALS: bool;

    fn key(&self) -> &'k CcmKey;

    fn parts(&mut self) -> (&CcmHead<'_>, &mut [u8]);

    /// Takes the tag, once the lanes have computed it and changed the data.
    fn finish(&mut self, tag: Block);

    /// Does what the lanes would have done, without them.
    fn finish_alone(&mut self);
}

impl<'k> CcmJob<'k> for CcmSeal<'k> {
    const SEALS: bool = true;

    fn key(&self) -> &'k CcmKey {
        self.key
    }

    fn parts(&mut self) -> (&CcmHead<'_>, &mut [u8]) {
        (&self.head, self.data)
    }

    fn finish(&mut self, tag: Block) {
        self.tag = tag;
    }

    fn finish_alone(&mut self) {
        self.tag = self.key.seal_in_place(&self.head, self.data);
    }
}

impl<'k> CcmJob<'k> for CcmOpen<'k> {
    const SEALS: bool = false;

    fn key(&self) -> &'k CcmKey {
        self.key
    }

    fn parts(&mut self) -> (&CcmHead<'_>, &mut [u8]) {
        (&self.head, self.data)
    }

    fn finish(&mut self, tag: Block) {
        self.result = verify(&tag, self.data, self.tag);
    }

    fn finish_alone(&mut self) {
        self.result = self.key.open_in_place(&self.head, self.data, self.tag);
    }
}

impl fmt::Debug for CcmSeal<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CcmSeal").field("bytes", &self.data.len()).finish_non_exhaustive()
    }
}

impl fmt::Debug for CcmOpen<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CcmOpen")
            .field("bytes", &self.data.len())
            .field("result", &self.result)
            .finish_non_exhaustive()
    }
}
