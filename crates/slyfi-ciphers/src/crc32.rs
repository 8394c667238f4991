//! CRC-32 as 802.11 uses it for the frame check sequence and the WEP ICV (IEEE 802.11-2020 §9.2.4.8).

/// The reflected generator polynomial.
const POLYNOMIAL: u32 = 0xedb8_8320;

/// `TABLES[0]` advances by one byte; `TABLES[k]` by one byte followed by k zero bytes, so that eight
/// bytes are taken at a time.
static TABLES: [[u32; 256]; 8] = tables();

const fn tables() -> [[u32; 256]; 8] {
    let mut t = [[0u32; 256]; 8];
    let mut i = 0;
    while i < 256 {
        let mut c = i as u32;
        let mut bit = 0;
        while bit < 8 {
            c = if c & 1 == 1 { c >> 1 ^ POLYNOMIAL } else { c >> 1 };
            bit += 1;
        }
        t[0][i] = c;
        i += 1;
    }
    let mut k = 1;
    while k < 8 {
        let mut i = 0;
        while i < 256 {
            let before = t[k - 1][i];
            t[k][i] = before >> 8 ^ t[0][(before & 0xff) as usize];
            i += 1;
        }
        k += 1;
    }
    t
}

/// Returns the checksum of `data`; on the air it is little-endian.
///
/// # Security
/// Linear: `crc(a ⊕ b) = crc(a) ⊕ crc(b) ⊕ crc(0…)`. Under a stream cipher whoever flips bits of the
/// text can correct the checksum without knowing either; it detects noise and nothing else.
pub fn crc32(data: &[u8]) -> u32 {
    let mut crc = u32::MAX;
    let (eights, rest) = data.as_chunks::<8>();
    for e in eights {
        let [a, b, c, d, e, f, g, h] = *e;
        let low = crc ^ u32::from_le_bytes([a, b, c, d]);
        let [a, b, c, d] = low.to_le_bytes();
        crc = at(7, a) ^ at(6, b) ^ at(5, c) ^ at(4, d) ^ at(3, e) ^ at(2, f) ^ at(1, g) ^ at(0, h);
    }
    for byte in rest {
        crc = crc >> 8 ^ at(0, (crc & 0xff) as u8 ^ byte);
    }
    !crc
}

const fn at(table: usize, byte: u8) -> u32 {
    TABLES[table][byte as usize]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_check_value_of_the_catalogue_holds() {
        assert_eq!(crc32(b"123456789"), 0xcbf4_3926);
        assert_eq!(crc32(b""), 0);
        assert_ne!(crc32(b"123456788"), 0xcbf4_3926);
    }

    #[test]
    fn eight_bytes_at_a_time_are_the_same_as_one_by_one() {
        let data: [u8; 67] = core::array::from_fn(|i| (i * 37) as u8);
        for n in 0..data.len() {
            let slow =
                !data[..n].iter().fold(u32::MAX, |c, b| c >> 8 ^ at(0, (c & 0xff) as u8 ^ b));
            assert_eq!(crc32(&data[..n]), slow, "{n} bytes");
        }
    }
}
