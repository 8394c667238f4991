//! Intel's multi-buffer library, through the shim in `ipsec_mb.c`.
#![expect(unsafe_code, reason = "a C library without a binding")]

use std::ffi::c_void;
use std::ptr::NonNull;

/// A manager with a key pair for each of at most 64 links.
pub struct IpsecMb {
    state: NonNull<c_void>,
    /// Whether the library validates each job as it is submitted.
    checked: bool,
}

unsafe extern "C" {
    fn slyfi_imb_new() -> *mut c_void;
    fn slyfi_imb_free(state: *mut c_void);
    fn slyfi_imb_link(state: *mut c_void, i: u32, enc: *const u8, mac: *const u8, iv: *const u8);
    fn slyfi_imb_seal(
        state: *mut c_void,
        checked: bool,
        count: u32,
        frames: *const *mut u8,
        len: u64,
        tags: *mut [u8; 16],
    ) -> u32;
    fn slyfi_imb_ccm_seal(
        state: *mut c_void,
        checked: bool,
        count: u32,
        messages: *const *mut u8,
        len: u64,
        nonce: *const u8,
        aad: *const u8,
        aad_len: u64,
        tags: *mut [u8; 8],
    ) -> u32;
}

impl IpsecMb {
    /// A manager for this processor's best instructions; `None` if it cannot be made.
    pub fn new(checked: bool) -> Option<Self> {
        // SAFETY: no arguments; null means failure.
        NonNull::new(unsafe { slyfi_imb_new() }).map(|state| Self { state, checked })
    }

    /// Sets the keys and the initialisation vector of link `i`.
    pub fn link(&mut self, i: usize, enc: &[u8; 16], mac: &[u8; 16], iv: &[u8; 16]) {
        // SAFETY: the state is live, the arrays have the 16 bytes that are read.
        unsafe {
            let (enc, mac, iv) = (enc.as_ptr(), mac.as_ptr(), iv.as_ptr());
            slyfi_imb_link(self.state.as_ptr(), i as u32, enc, mac, iv);
        }
    }

    /// One frame of each link: a prefix of 16 bytes and whole blocks, all of one length.
    pub fn seal<const N: usize>(&mut self, frames: &mut [Vec<u8>; N]) -> [[u8; 16]; N] {
        let len = frames[0].len() - 16;
        assert!(N <= 64 && frames.iter().all(|frame| frame.len() == len + 16));
        let mut tags = [[0; 16]; N];
        let frames = frames.each_mut().map(|frame| frame.as_mut_ptr());
        // SAFETY: the state is live; N frames of 16 + len bytes and N tags are writable, and the call
        // flushes every job before it returns.
        let done = unsafe {
            let (frames, tags) = (frames.as_ptr(), tags.as_mut_ptr());
            slyfi_imb_seal(self.state.as_ptr(), self.checked, N as u32, frames, len as u64, tags)
        };
        assert_eq!(done as usize, N, "ipsec-mb completes every job");
        tags
    }
}

impl IpsecMb {
    /// AES-128-CCM of one message of each link, all of one length, under its encryption key.
    pub fn ccm_seal<const N: usize>(
        &mut self,
        nonce: &[u8; 13],
        aad: &[u8],
        messages: &mut [Vec<u8>; N],
    ) -> [[u8; 8]; N] {
        let len = messages[0].len();
        assert!(N <= 64 && messages.iter().all(|message| message.len() == len));
        let mut tags = [[0; 8]; N];
        let messages = messages.each_mut().map(|message| message.as_mut_ptr());
        // SAFETY: the state is live; N messages of len bytes and N tags are writable, nonce and data
        // readable, and the call flushes every job before it returns.
        let done = unsafe {
            slyfi_imb_ccm_seal(
                self.state.as_ptr(),
                self.checked,
                N as u32,
                messages.as_ptr(),
                len as u64,
                nonce.as_ptr(),
                aad.as_ptr(),
                aad.len() as u64,
                tags.as_mut_ptr(),
            )
        };
        assert_eq!(done as usize, N, "ipsec-mb completes every job");
        tags
    }
}

impl Drop for IpsecMb {
    fn drop(&mut self) {
        // SAFETY: the state is live and not used again.
        unsafe { slyfi_imb_free(self.state.as_ptr()) }
    }
}
