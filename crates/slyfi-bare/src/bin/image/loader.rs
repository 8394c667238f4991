//! The command line that the loader left: PVH's start info (Xen's `hvm_start_info`) or
//! multiboot2's tags.

/// `hvm_start_info.magic`.
const PVH: u32 = 0x336e_c578;
/// What eax holds after a multiboot2 loader (section 3.3).
const MULTIBOOT2: u32 = 0x36d7_6289;

/// The longest command line that is read.
const LONGEST: usize = 4096;

/// Returns the command line; empty when there is none.
pub fn command_line(info: usize, magic: u32) -> &'static str {
    let at = match magic {
        MULTIBOOT2 => multiboot2(info),
        _ => pvh(info),
    };
    at.and_then(text).unwrap_or("")
}

/// Finds the command line of a PVH loader: 64 bits at offset 24.
fn pvh(info: usize) -> Option<usize> {
    (word(info)? == PVH).then_some(())?;
    let (low, high) = (word(info + 24)?, word(info + 28)?);
    (high == 0 && low != 0).then_some(low as usize)
}

/// Finds the tag of type 1 (multiboot2 section 3.6.3).
fn multiboot2(info: usize) -> Option<usize> {
    let end = info.checked_add(word(info)? as usize)?;
    let mut tag = info + 8;
    while tag < end {
        match (word(tag)?, word(tag + 4)? as usize) {
            (1, _) => return Some(tag + 8),
            // The end, or a size that would stand still.
            (0, _) | (_, 0..8) => return None,
            (_, size) => tag = (tag + size).next_multiple_of(8),
        }
    }
    None
}

/// Reads memory that the loader wrote; it lies below 4 GiB and not in page 0.
fn word(at: usize) -> Option<u32> {
    let readable = (4096..0xffff_fff0).contains(&at) && at.is_multiple_of(4);
    // SAFETY: `boot.s` maps all of the first 4 GiB but page 0, and nobody writes there now.
    readable.then(|| unsafe { core::ptr::with_exposed_provenance::<u32>(at).read_volatile() })
}

/// Reads a string that ends with a zero.
fn text(at: usize) -> Option<&'static str> {
    if !(4096..0xffff_0000).contains(&at) {
        return None;
    }
    let first = core::ptr::with_exposed_provenance::<u8>(at);
    // SAFETY: mapped, as above; the loader's memory is never written by the image.
    let len = (0..LONGEST).find(|i| unsafe { first.add(*i).read_volatile() } == 0)?;
    // SAFETY: these bytes were just read.
    core::str::from_utf8(unsafe { core::slice::from_raw_parts(first, len) }).ok()
}
