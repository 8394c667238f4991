//! Memory for tables.

use memmap2::MmapMut;

use crate::error::PrepareError;

/// Zeroed memory, in large pages where the system has them.
///
/// A table is read from end to end for every answer: with pages of 4 KiB the address translation
/// takes a tenth of the time.
pub struct Pages(MmapMut);

impl Pages {
    /// `bytes` bytes of zeros, at least one.
    ///
    /// # Errors
    /// [`PrepareError::Memory`] if the system does not have them.
    pub fn zeroed(bytes: usize) -> Result<Self, PrepareError> {
        let map = MmapMut::map_anon(bytes.max(1)).map_err(|_| PrepareError::Memory { bytes })?;
        // An advice: systems without large pages refuse it, and nothing is lost.
        #[cfg(target_os = "linux")]
        let _ = map.advise(memmap2::Advice::HugePage);
        Ok(Pages(map))
    }

    /// The bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// The bytes, to write to.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.0
    }
}
