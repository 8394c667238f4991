//! The functions that compiled code takes for granted. The `compiler_builtins` of a target with a C
//! library leaves them to it.

use crate::cpu;
use core::arch::asm;
use core::sync::atomic::{AtomicBool, Ordering};

/// Whether 32-byte registers may be used: set once, before there is anything large to copy.
static HAS_AVX2: AtomicBool = AtomicBool::new(false);

/// Looks at the processor; until then 16 bytes go at a time.
pub fn initialize() {
    HAS_AVX2.store(cpu::has_avx2(), Ordering::Relaxed);
}

/// Copies whole registers, the last ones again where the length is no multiple: packets are short,
/// and the string instructions take longer to start than this to end (and an emulator takes a step
/// for each of their bytes). Short copies, and the first and last part of longer ones, are read
/// before anything is written, which `memmove` counts on.
#[unsafe(no_mangle)]
unsafe extern "C" fn memcpy(to: *mut u8, from: *const u8, len: usize) -> *mut u8 {
    // SAFETY: the caller vouches for `len` bytes at both, which do not overlap; no access is outside
    // of them, and the AVX registers are used only where `initialize` found them enabled.
    unsafe {
        asm!(
            "cmp {n}, 16",
            "jb 4f",
            "movups xmm0, [{s} + {n} - 16]",
            "cmp {n}, 32",
            "ja 2f",
            "movups xmm1, [{s}]",
            "movups [{d}], xmm1",
            "movups [{d} + {n} - 16], xmm0",
            "jmp 9f",
            "2:",
            "cmp {n}, 64",
            "ja 3f",
            "movups xmm1, [{s}]",
            "movups xmm2, [{s} + 16]",
            "movups xmm3, [{s} + {n} - 32]",
            "movups [{d}], xmm1",
            "movups [{d} + 16], xmm2",
            "movups [{d} + {n} - 32], xmm3",
            "movups [{d} + {n} - 16], xmm0",
            "jmp 9f",
            "3:",
            "cmp byte ptr [rip + {avx2}], 0",
            "jne 33f",
            // The last 16 bytes are in xmm0; the rest goes up in steps of 64 and 16.
            "sub {n}, 80",
            "jb 31f",
            "30:",
            "movups xmm1, [{s} + {i}]",
            "movups xmm2, [{s} + {i} + 16]",
            "movups xmm3, [{s} + {i} + 32]",
            "movups xmm4, [{s} + {i} + 48]",
            "movups [{d} + {i}], xmm1",
            "movups [{d} + {i} + 16], xmm2",
            "movups [{d} + {i} + 32], xmm3",
            "movups [{d} + {i} + 48], xmm4",
            "add {i}, 64",
            "cmp {i}, {n}",
            "jbe 30b",
            "31:",
            "add {n}, 64",
            "cmp {i}, {n}",
            "jae 32f",
            "movups xmm1, [{s} + {i}]",
            "movups [{d} + {i}], xmm1",
            "add {i}, 16",
            "sub {n}, 64",
            "jmp 31b",
            "32:",
            "movups [{d} + {n}], xmm0",
            "jmp 9f",
            // With AVX2: all at once up to 256 bytes; beyond, 32 at the end and steps of 128, 64, 32.
            "33:",
            "vmovdqu ymm0, [{s} + {n} - 32]",
            "cmp {n}, 256",
            "ja 38f",
            "cmp {n}, 128",
            "jbe 38f",
            "vmovdqu ymm1, [{s}]",
            "vmovdqu ymm2, [{s} + 32]",
            "vmovdqu ymm3, [{s} + 64]",
            "vmovdqu ymm4, [{s} + 96]",
            "vmovdqu ymm5, [{s} + {n} - 128]",
            "vmovdqu ymm6, [{s} + {n} - 96]",
            "vmovdqu ymm7, [{s} + {n} - 64]",
            "vmovdqu [{d}], ymm1",
            "vmovdqu [{d} + 32], ymm2",
            "vmovdqu [{d} + 64], ymm3",
            "vmovdqu [{d} + 96], ymm4",
            "vmovdqu [{d} + {n} - 128], ymm5",
            "vmovdqu [{d} + {n} - 96], ymm6",
            "vmovdqu [{d} + {n} - 64], ymm7",
            "vmovdqu [{d} + {n} - 32], ymm0",
            "vzeroupper",
            "jmp 9f",
            "38:",
            "sub {n}, 32",
            "lea {b}, [{n} - 128]",
            "test {b}, {b}",
            "js 35f",
            "34:",
            "vmovdqu ymm1, [{s} + {i}]",
            "vmovdqu ymm2, [{s} + {i} + 32]",
            "vmovdqu ymm3, [{s} + {i} + 64]",
            "vmovdqu ymm4, [{s} + {i} + 96]",
            "vmovdqu [{d} + {i}], ymm1",
            "vmovdqu [{d} + {i} + 32], ymm2",
            "vmovdqu [{d} + {i} + 64], ymm3",
            "vmovdqu [{d} + {i} + 96], ymm4",
            "add {i}, 128",
            "cmp {i}, {b}",
            "jbe 34b",
            "35:",
            "add {b}, 64",
            "cmp {i}, {b}",
            "jg 36f",
            "vmovdqu ymm1, [{s} + {i}]",
            "vmovdqu ymm2, [{s} + {i} + 32]",
            "vmovdqu [{d} + {i}], ymm1",
            "vmovdqu [{d} + {i} + 32], ymm2",
            "add {i}, 64",
            "36:",
            "cmp {i}, {n}",
            "jae 37f",
            "vmovdqu ymm1, [{s} + {i}]",
            "vmovdqu [{d} + {i}], ymm1",
            "add {i}, 32",
            "jmp 36b",
            "37:",
            "vmovdqu [{d} + {n}], ymm0",
            "vzeroupper",
            "jmp 9f",
            "4:",
            "test {n:l}, 8",
            "jz 5f",
            "mov {i}, [{s}]",
            "mov {b}, [{s} + {n} - 8]",
            "mov [{d}], {i}",
            "mov [{d} + {n} - 8], {b}",
            "jmp 9f",
            "5:",
            "test {n:l}, 4",
            "jz 6f",
            "mov {i:e}, [{s}]",
            "mov {b:e}, [{s} + {n} - 4]",
            "mov [{d}], {i:e}",
            "mov [{d} + {n} - 4], {b:e}",
            "jmp 9f",
            "6:",
            "test {n:l}, 2",
            "jz 7f",
            "movzx {i:e}, word ptr [{s}]",
            "mov [{d}], {i:x}",
            "7:",
            "test {n:l}, 1",
            "jz 9f",
            "movzx {b:e}, byte ptr [{s} + {n} - 1]",
            "mov [{d} + {n} - 1], {b:l}",
            "9:",
            n = inout(reg) len => _,
            i = inout(reg) 0usize => _,
            s = in(reg) from,
            d = in(reg) to,
            b = out(reg) _,
            avx2 = sym HAS_AVX2,
            out("xmm0") _,
            out("xmm1") _,
            out("xmm2") _,
            out("xmm3") _,
            out("xmm4") _,
            out("xmm5") _,
            out("xmm6") _,
            out("xmm7") _,
            options(nostack),
        );
    }
    to
}

#[unsafe(no_mangle)]
unsafe extern "C" fn memmove(to: *mut u8, from: *const u8, len: usize) -> *mut u8 {
    if (to as usize).wrapping_sub(from as usize) >= len {
        // SAFETY: no byte is written before it is read when the copy goes up.
        return unsafe { memcpy(to, from, len) };
    }
    // SAFETY: the caller vouches for `len` bytes at both; going down, none is written before it is
    // read.
    unsafe {
        asm!(
            "test {n}, {n}",
            "jz 3f",
            "2:",
            "movzx {b:e}, byte ptr [{s} + {n} - 1]",
            "mov byte ptr [{d} + {n} - 1], {b:l}",
            "dec {n}",
            "jnz 2b",
            "3:",
            n = inout(reg) len => _,
            s = in(reg) from,
            d = in(reg) to,
            b = out(reg) _,
            options(nostack),
        );
    }
    to
}

#[unsafe(no_mangle)]
unsafe extern "C" fn memset(to: *mut u8, byte: i32, len: usize) -> *mut u8 {
    let word = u64::from(byte as u8) * 0x0101_0101_0101_0101;
    // SAFETY: the caller vouches for `len` bytes.
    unsafe {
        asm!(
            "sub {n}, 8",
            "jb 3f",
            "2:",
            "mov qword ptr [{d} + {i}], {w}",
            "add {i}, 8",
            "sub {n}, 8",
            "jae 2b",
            "3:",
            "add {n}, 8",
            "jz 5f",
            "4:",
            "mov byte ptr [{d} + {i}], {w:l}",
            "inc {i}",
            "dec {n}",
            "jnz 4b",
            "5:",
            n = inout(reg) len => _,
            i = inout(reg) 0usize => _,
            d = in(reg) to,
            w = in(reg) word,
            options(nostack),
        );
    }
    to
}

/// Skips what is equal 128 or 32 bytes at a time, then compares eight at a time. Its time tells where they differ: secrets are compared by
/// `subtle`.
#[unsafe(no_mangle)]
unsafe extern "C" fn memcmp(a: *const u8, b: *const u8, len: usize) -> i32 {
    let (mut x, mut y): (u64, u64);
    // SAFETY: the caller vouches for `len` bytes at both. In assembly, so that the compiler does not
    // make a call of this very function out of the loop.
    unsafe {
        asm!(
            "xor {x:e}, {x:e}",
            "xor {y:e}, {y:e}",
            "cmp byte ptr [rip + {avx2}], 0",
            "je 21f",
            "sub {n}, 128",
            "jb 26f",
            "25:",
            "vmovdqu ymm0, [{a} + {i}]",
            "vmovdqu ymm1, [{a} + {i} + 32]",
            "vmovdqu ymm2, [{a} + {i} + 64]",
            "vmovdqu ymm3, [{a} + {i} + 96]",
            "vpcmpeqb ymm0, ymm0, [{b} + {i}]",
            "vpcmpeqb ymm1, ymm1, [{b} + {i} + 32]",
            "vpcmpeqb ymm2, ymm2, [{b} + {i} + 64]",
            "vpcmpeqb ymm3, ymm3, [{b} + {i} + 96]",
            "vpand ymm0, ymm0, ymm1",
            "vpand ymm2, ymm2, ymm3",
            "vpand ymm0, ymm0, ymm2",
            "vpmovmskb {x:e}, ymm0",
            "inc {x:e}",
            "jnz 26f",
            "add {i}, 128",
            "sub {n}, 128",
            "jae 25b",
            "26:",
            "vzeroupper",
            "add {n}, 128",
            "21:",
            "sub {n}, 32",
            "jb 23f",
            "22:",
            "movups xmm0, [{a} + {i}]",
            "movups xmm1, [{b} + {i}]",
            "pcmpeqb xmm0, xmm1",
            "movups xmm1, [{a} + {i} + 16]",
            "movups xmm2, [{b} + {i} + 16]",
            "pcmpeqb xmm1, xmm2",
            "pand xmm0, xmm1",
            "pmovmskb {x:e}, xmm0",
            "xor {x:e}, 0xffff",
            "jnz 23f",
            "add {i}, 32",
            "sub {n}, 32",
            "jae 22b",
            "23:",
            "xor {x:e}, {x:e}",
            "add {n}, 32",
            "sub {n}, 8",
            "jb 3f",
            "2:",
            "mov {x}, [{a} + {i}]",
            "mov {y}, [{b} + {i}]",
            "cmp {x}, {y}",
            "jne 5f",
            "add {i}, 8",
            "sub {n}, 8",
            "jae 2b",
            "3:",
            "add {n}, 8",
            "jz 5f",
            "4:",
            "movzx {x:e}, byte ptr [{a} + {i}]",
            "movzx {y:e}, byte ptr [{b} + {i}]",
            "cmp {x}, {y}",
            "jne 5f",
            "inc {i}",
            "dec {n}",
            "jnz 4b",
            "5:",
            n = inout(reg) len => _,
            i = inout(reg) 0usize => _,
            a = in(reg) a,
            b = in(reg) b,
            x = out(reg) x,
            y = out(reg) y,
            avx2 = sym HAS_AVX2,
            out("xmm0") _, out("xmm1") _, out("xmm2") _, out("xmm3") _,
            options(nostack, readonly),
        );
    }
    // The lowest address decides, so it has to stand highest.
    (x, y) = (x.swap_bytes(), y.swap_bytes());
    i32::from(x > y) - i32::from(x < y)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn bcmp(a: *const u8, b: *const u8, len: usize) -> i32 {
    // SAFETY: the caller vouches for the same as there.
    unsafe { memcmp(a, b, len) }
}

/// Holds the functions above against loops over bytes, at all lengths up to several steps of the
/// longest loop; panics where they differ.
pub fn check() {
    const MOST: usize = 520;
    const ROOM: usize = MOST + 64;
    let byte = |i: usize| (i as u8).wrapping_mul(31).wrapping_add(7);
    let original: [u8; ROOM] = core::array::from_fn(byte);
    for len in 0..=MOST {
        for (from, to) in [(0, 0), (3, 1), (1, 30), (33, 16)] {
            let mut copy = [0xa5; ROOM];
            copy[to..to + len].copy_from_slice(&original[from..from + len]);
            let mut moved = original;
            moved.copy_within(from..from + len, to);
            let mut filled = original;
            filled[to..to + len].fill(from as u8);
            for i in 0..ROOM {
                let inside = (to..to + len).contains(&i);
                let expected = |inner: u8, outer: u8| if inside { inner } else { outer };
                let came = byte(i + from - to.min(i + from));
                let came = if inside { came } else { 0 };
                assert_eq!(copy[i], expected(came, 0xa5), "memcpy of {len}");
                assert_eq!(moved[i], expected(came, original[i]), "memmove of {len}");
                assert_eq!(filled[i], expected(from as u8, original[i]), "memset of {len}");
            }
        }
        let same = original;
        assert!(same[..len] == original[..len], "memcmp of {len} equal bytes");
        for at in [0, len / 2, len.saturating_sub(1)].into_iter().filter(|at| *at < len) {
            let mut other = original;
            other[at] ^= 1;
            let order = original[at].cmp(&other[at]);
            assert_eq!(original[..len].cmp(&other[..len]), order, "memcmp of {len} at {at}");
        }
    }
}
