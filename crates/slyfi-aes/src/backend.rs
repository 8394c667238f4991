use core::fmt;
use core::sync::atomic::{AtomicU8, Ordering};

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

/// The best backend of this machine, which every new key uses. Found out once: CPUID costs more
/// than a frame on a virtual machine.
pub fn backend() -> Backend {
    /// The discriminant of the backend, 0 while nobody has asked. Threads that race find the same.
    static FOUND: AtomicU8 = AtomicU8::new(0);

    let found = FOUND.load(Ordering::Relaxed);
    if let Some(backend) = Backend::ALL.into_iter().find(|backend| *backend as u8 == found) {
        return backend;
    }
    let backend = detect();
    FOUND.store(backend as u8, Ordering::Relaxed);
    backend
}

#[cfg(target_arch = "x86_64")]
fn detect() -> Backend {
    crate::x86::detect::backend()
}

#[cfg(not(target_arch = "x86_64"))]
fn detect() -> Backend {
    Backend::Portable
}

/// Picks the kernel of a backend: `on_backend!(backend, portable, AES-NI, VAES-512)`.
///
/// The two kernels are functions with target features; calling them is sound because nothing holds
/// a backend that [`Backend::is_available`] has not vouched for: keys take theirs from [`backend`]
/// or from an `on` constructor, which asserts it.
macro_rules! on_backend {
    ($backend:expr, $portable:expr, $aes_ni:expr, $vaes_512:expr $(,)?) => {
        match $backend {
            #[cfg(target_arch = "x86_64")]
            $crate::Backend::Vaes512 => {
                // SAFETY: the backend is available, so the CPU has the kernel's features.
                unsafe { $vaes_512 }
            }
            #[cfg(target_arch = "x86_64")]
            $crate::Backend::AesNi => {
                // SAFETY: as above.
                unsafe { $aes_ni }
            }
            _ => $portable,
        }
    };
}
pub(crate) use on_backend;
