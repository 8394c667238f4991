use core::fmt;

/// Which kernels do the work.
///
/// Ordered: each one needs everything that the one before it needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Backend {
    /// The RustCrypto ciphers, in constant time on every machine.
    Portable = 1,
    /// x86-64 with AES-NI, PCLMULQDQ and SSE4.1.
    AesNi = 2,
    /// x86-64 with VAES, VPCLMULQDQ and AVX-512 (F, BW, VL), and a system that saves its registers.
    Vaes512 = 3,
}

impl Backend {
    /// Every backend, the plainest first.
    pub const ALL: [Self; 3] = [Self::Portable, Self::AesNi, Self::Vaes512];

    /// True if this machine can run it.
    pub fn is_available(self) -> bool {
        self <= backend()
    }
}

impl fmt::Display for Backend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Portable => "portable",
            Self::AesNi => "AES-NI",
            Self::Vaes512 => "VAES-512",
        })
    }
}

/// The best backend of this machine, which every new key uses.
pub fn backend() -> Backend {
    Backend::Portable
}
