use core::arch::x86_64::{__cpuid, __cpuid_count, _xgetbv};

use crate::Backend;

/// SSE, AVX and the three AVX-512 parts of XCR0 (Intel SDM vol. 1 §13.1): the system saves the
/// registers when it switches tasks.
const XCR0_AVX_512: u64 = 0b1110_0110;

/// Asks the processor and the system's XCR0, with no help from `std`.
pub(crate) fn backend() -> Backend {
    let leaf_1 = __cpuid(1);
    // SDM vol. 2A, CPUID leaf 1, ECX: PCLMULQDQ 1, SSSE3 9, SSE4.1 19, AES 25, OSXSAVE 27.
    if !all(leaf_1.ecx, &[1, 9, 19, 25]) {
        return Backend::Portable;
    }
    let system_saves_avx_512 = all(leaf_1.ecx, &[27]) && {
        // SAFETY: OSXSAVE says that XGETBV is enabled.
        let xcr0 = unsafe { xcr0() };
        xcr0 & XCR0_AVX_512 == XCR0_AVX_512
    };
    if !system_saves_avx_512 || __cpuid(0).eax < 7 {
        return Backend::AesNi;
    }
    // Leaf 7, EBX: AVX2 5, AVX-512 F 16, BW 30, VL 31; ECX: VAES 9, VPCLMULQDQ 10.
    let leaf_7 = __cpuid_count(7, 0);
    if all(leaf_7.ebx, &[5, 16, 30, 31]) && all(leaf_7.ecx, &[9, 10]) {
        Backend::Vaes512
    } else {
        Backend::AesNi
    }
}

fn all(register: u32, bits: &[u32]) -> bool {
    bits.iter().all(|bit| register >> bit & 1 == 1)
}

#[target_feature(enable = "xsave")]
fn xcr0() -> u64 {
    // SAFETY: the caller has XSAVE, and register 0 always exists.
    unsafe { _xgetbv(0) }
}
