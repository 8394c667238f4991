//! Single instructions that Rust has no words for.

use core::arch::asm;
use core::arch::x86_64::{__cpuid, __cpuid_count, _rdtsc};

/// Writes a byte to an I/O port.
pub fn out8(port: u16, value: u8) {
    // SAFETY: an I/O write touches no memory of ours; the image owns every device it drives.
    unsafe {
        asm!("out dx, al", in("dx") port, in("al") value, options(nomem, nostack, preserves_flags));
    }
}

/// Reads a byte from an I/O port.
pub fn in8(port: u16) -> u8 {
    let value;
    // SAFETY: as for `out8`.
    unsafe {
        asm!("in al, dx", out("al") value, in("dx") port, options(nomem, nostack, preserves_flags));
    }
    value
}

/// Writes four bytes to an I/O port.
pub fn out32(port: u16, value: u32) {
    // SAFETY: as for `out8`.
    unsafe {
        asm!("out dx, eax", in("dx") port, in("eax") value, options(nomem, nostack, preserves_flags));
    }
}

/// Reads four bytes from an I/O port.
pub fn in32(port: u16) -> u32 {
    let value;
    // SAFETY: as for `out8`.
    unsafe {
        asm!("in eax, dx", out("eax") value, in("dx") port, options(nomem, nostack, preserves_flags));
    }
    value
}

/// Reads the time-stamp counter.
pub fn tsc() -> u64 {
    // SAFETY: every x86-64 processor has it, and `boot.s` leaves CR4.TSD clear.
    unsafe { _rdtsc() }
}

/// Whether the processor makes random numbers (CPUID.01H:ECX.30).
pub fn has_rdrand() -> bool {
    __cpuid(1).ecx >> 30 & 1 == 1
}

/// Whether AVX2 is there and its registers are enabled, as `boot.s` does where they exist.
pub fn has_avx2() -> bool {
    let features = __cpuid(1).ecx;
    let (osxsave, avx) = (features >> 27 & 1, features >> 28 & 1);
    if osxsave & avx == 0 || __cpuid(0).eax < 7 {
        return false;
    }
    let (low, _high): (u32, u32);
    // SAFETY: CR4.OSXSAVE is set, so the instruction exists; it reads XCR0.
    unsafe {
        asm!("xgetbv", in("ecx") 0, out("eax") low, out("edx") _high, options(nomem, nostack));
    }
    low & 6 == 6 && __cpuid_count(7, 0).ebx >> 5 & 1 == 1
}

/// Draws 64 random bits; `None` when the generator has none now. Only where [`has_rdrand`].
pub fn rdrand() -> Option<u64> {
    let (value, ok): (u64, u8);
    // SAFETY: the caller has asked CPUID; the instruction only writes its register and the flags.
    unsafe {
        asm!("rdrand {}", "setc {}", out(reg) value, out(reg_byte) ok, options(nomem, nostack));
    }
    (ok == 1).then_some(value)
}
