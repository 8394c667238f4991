//! Sealing and opening several frames at once, a key pair each.

use super::nonce;
use super::receiver::{Opened, ShroudReceiver};
use super::secret::DirectionKeys;
use super::sender::{Begun, SealError, ShroudSender};
use crate::tryst::Unverified;
use arrayvec::ArrayVec;
use core::fmt;
use slyfi_aes::{Block, CbcCmacOpen, CbcCmacSeal, GcmOpen, GcmSeal, Mismatch};

/// How many frames go through the AES unit side by side.
const BATCH: usize = 16;

/// One frame to seal; see [`ShroudSender::seal`].
pub struct ShroudSeal<'a> {
    /// The sending end; every job has its own.
    pub sender: &'a mut ShroudSender,
    /// The body, with the message in its place.
    pub body: &'a mut [u8],
    /// The message's length.
    pub message_len: usize,
    /// Out: the body's length. What it held before does not matter.
    pub sealed: Result<usize, SealError>,
}

/// One frame to open; see [`ShroudReceiver::open`].
pub struct ShroudOpen<'a> {
    /// The receiving end.
    pub receiver: &'a ShroudReceiver,
    /// The low bits of the number, as the table's entry has them.
    pub low: u32,
    /// The body.
    pub body: &'a mut [u8],
    /// Out: where the message is. What it held before does not matter.
    pub opened: Result<Opened, Unverified>,
}

/// Seals every job, each with its own result.
pub fn seal_batch(jobs: &mut [ShroudSeal<'_>]) {
    for jobs in jobs.chunks_mut(BATCH) {
        let mut cbc: ArrayVec<CbcCmacSeal<'_>, BATCH> = ArrayVec::new();
        let mut gcm: ArrayVec<GcmSeal<'_>, BATCH> = ArrayVec::new();
        let mut cbc_tags: ArrayVec<&mut Block, BATCH> = ArrayVec::new();
        let mut gcm_tags: ArrayVec<&mut Block, BATCH> = ArrayVec::new();
        for job in jobs {
            let begun: Result<Begun, _> = job.sender.begin(job.body, job.message_len);
            job.sealed = begun.map(|b| b.len);
            let Ok(begun) = begun else { continue };
            let (address, data, tag) = begun.parts(job.body);
            match &job.sender.keys {
                DirectionKeys::S2008(key) => {
                    let (iv, mac_prefix) = (*address, Some(*address));
                    cbc.push(CbcCmacSeal { key, iv, mac_prefix, data, tag: [0; 16] });
                    cbc_tags.push(tag);
                }
                DirectionKeys::Aead { gcm: key, .. } => {
                    let nonce = nonce(begun.number);
                    gcm.push(GcmSeal { key, nonce, aad: address, data, tag: [0; 16] });
                    gcm_tags.push(tag);
                }
            }
        }
        slyfi_aes::seal_batch(&mut cbc);
        slyfi_aes::gcm_seal_batch(&mut gcm);
        cbc.iter().zip(cbc_tags).for_each(|(job, tag)| *tag = job.tag);
        gcm.iter().zip(gcm_tags).for_each(|(job, tag)| *tag = job.tag);
    }
}

/// Opens every job, each with its own result. The windows do not move: of two copies of one frame in
/// a batch, [`ShroudReceiver::accept`] takes only one.
pub fn open_batch(jobs: &mut [ShroudOpen<'_>]) {
    for jobs in jobs.chunks_mut(BATCH) {
        let mut cbc: ArrayVec<CbcCmacOpen<'_>, BATCH> = ArrayVec::new();
        let mut gcm: ArrayVec<GcmOpen<'_>, BATCH> = ArrayVec::new();
        let mut cbc_of: ArrayVec<Waiting<'_>, BATCH> = ArrayVec::new();
        let mut gcm_of: ArrayVec<Waiting<'_>, BATCH> = ArrayVec::new();
        for job in jobs {
            let receiver = job.receiver;
            let number = receiver.resolve(job.low);
            job.opened = Err(Unverified);
            let Ok((address, data, tag)) = receiver.split(number, job.body) else { continue };
            let waiting = Waiting { receiver, number, opened: &mut job.opened };
            let (tag, result) = (*tag, Err(Mismatch));
            match &receiver.keys {
                DirectionKeys::S2008(key) => {
                    let (iv, mac_prefix) = (*address, Some(*address));
                    cbc.push(CbcCmacOpen { key, iv, mac_prefix, data, tag, result });
                    cbc_of.push(waiting);
                }
                DirectionKeys::Aead { gcm: key, .. } => {
                    let nonce = nonce(number);
                    gcm.push(GcmOpen { key, nonce, aad: address, data, tag, result });
                    gcm_of.push(waiting);
                }
            }
        }
        slyfi_aes::open_batch(&mut cbc);
        slyfi_aes::gcm_open_batch(&mut gcm);
        cbc.iter().zip(cbc_of).for_each(|(job, of)| of.finish(job.result, job.data));
        gcm.iter().zip(gcm_of).for_each(|(job, of)| of.finish(job.result, job.data));
    }
}

/// A job whose tag is being verified.
struct Waiting<'a> {
    receiver: &'a ShroudReceiver,
    number: u64,
    opened: &'a mut Result<Opened, Unverified>,
}

impl Waiting<'_> {
    fn finish(self, result: Result<(), Mismatch>, text: &[u8]) {
        if result.is_ok() {
            *self.opened = self.receiver.finish(self.number, text);
        }
    }
}

impl fmt::Debug for ShroudSeal<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ShroudSeal").field("sealed", &self.sealed).finish_non_exhaustive()
    }
}

impl fmt::Debug for ShroudOpen<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ShroudOpen").field("opened", &self.opened).finish_non_exhaustive()
    }
}
