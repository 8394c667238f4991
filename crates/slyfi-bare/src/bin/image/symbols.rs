//! The functions that compiled code takes for granted. The `compiler_builtins` of a target with a C
//! library leaves them to it.

use core::arch::asm;

/// Copies 16 bytes at a time, the last ones again where the length is no multiple: packets are
/// short, and the string instructions take longer to start than this to end (and an emulator takes
/// a step for each of their bytes).
#[unsafe(no_mangle)]
unsafe extern "C" fn memcpy(to: *mut u8, from: *const u8, len: usize) -> *mut u8 {
    // SAFETY: the caller vouches for `len` bytes at both, which do not overlap; no access is outside
    // of them.
    unsafe {
        asm!(
            "cmp {n}, 16",
            "jb 4f",
            "movups {y}, [{s} + {n} - 16]",
            "sub {n}, 16",
            "jz 3f",
            "sub {n}, 64",
            "jb 22f",
            "23:",
            "movups {x}, [{s} + {i}]",
            "movups {x2}, [{s} + {i} + 16]",
            "movups {x3}, [{s} + {i} + 32]",
            "movups {x4}, [{s} + {i} + 48]",
            "movups [{d} + {i}], {x}",
            "movups [{d} + {i} + 16], {x2}",
            "movups [{d} + {i} + 32], {x3}",
            "movups [{d} + {i} + 48], {x4}",
            "add {i}, 64",
            "cmp {i}, {n}",
            "jbe 23b",
            "22:",
            "add {n}, 64",
            "cmp {i}, {n}",
            "jae 3f",
            "2:",
            "movups {x}, [{s} + {i}]",
            "movups [{d} + {i}], {x}",
            "add {i}, 16",
            "cmp {i}, {n}",
            "jb 2b",
            "3:",
            "movups [{d} + {n}], {y}",
            "jmp 8f",
            "4:",
            "test {n:l}, 8",
            "jz 5f",
            "mov {i}, [{s}]",
            "mov {b}, [{s} + {n} - 8]",
            "mov [{d}], {i}",
            "mov [{d} + {n} - 8], {b}",
            "jmp 8f",
            "5:",
            "test {n:l}, 4",
            "jz 6f",
            "mov {i:e}, [{s}]",
            "mov {b:e}, [{s} + {n} - 4]",
            "mov [{d}], {i:e}",
            "mov [{d} + {n} - 4], {b:e}",
            "jmp 8f",
            "6:",
            "test {n:l}, 2",
            "jz 7f",
            "movzx {i:e}, word ptr [{s}]",
            "mov [{d}], {i:x}",
            "7:",
            "test {n:l}, 1",
            "jz 8f",
            "movzx {b:e}, byte ptr [{s} + {n} - 1]",
            "mov [{d} + {n} - 1], {b:l}",
            "8:",
            n = inout(reg) len => _,
            i = inout(reg) 0usize => _,
            s = in(reg) from,
            d = in(reg) to,
            b = out(reg) _,
            x = out(xmm_reg) _,
            x2 = out(xmm_reg) _,
            x3 = out(xmm_reg) _,
            x4 = out(xmm_reg) _,
            y = out(xmm_reg) _,
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

/// Skips what is equal 32 bytes at a time, then compares eight at a time. Its time tells where they differ: secrets are compared by
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
            "sub {n}, 32",
            "jb 23f",
            "22:",
            "movups {v}, [{a} + {i}]",
            "movups {w}, [{b} + {i}]",
            "pcmpeqb {v}, {w}",
            "movups {w}, [{a} + {i} + 16]",
            "movups {u}, [{b} + {i} + 16]",
            "pcmpeqb {w}, {u}",
            "pand {v}, {w}",
            "pmovmskb {x:e}, {v}",
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
            u = out(xmm_reg) _,
            v = out(xmm_reg) _,
            w = out(xmm_reg) _,
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
