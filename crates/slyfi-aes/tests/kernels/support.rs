//! What every test file here shares: the backends of this machine, and reproducible noise.

use slyfi_aes::Backend;

/// Every backend that this machine can run; says loudly which it cannot.
pub fn backends() -> Vec<Backend> {
    let (available, missing): (Vec<_>, Vec<_>) =
        Backend::ALL.into_iter().partition(|backend| backend.is_available());
    for backend in missing {
        eprintln!("NOT TESTED: this machine has no {backend}");
    }
    available
}

/// SplitMix64 (Steele et al., OOPSLA 2014): the same noise in every run.
pub struct Noise(pub u64);

impl Noise {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    /// A number below `bound`.
    pub fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }

    pub fn array<const N: usize>(&mut self) -> [u8; N] {
        std::array::from_fn(|_| self.next() as u8)
    }

    pub fn bytes(&mut self, len: usize) -> Vec<u8> {
        (0..len).map(|_| self.next() as u8).collect()
    }
}

/// The bytes of a string of hexadecimal digits, spaces between them allowed.
pub fn hex(digits: &str) -> Vec<u8> {
    let digits: Vec<u8> = digits.bytes().filter(u8::is_ascii_hexdigit).collect();
    let digit = |d: u8| (d as char).to_digit(16).expect("filtered") as u8;
    digits.chunks(2).map(|pair| digit(pair[0]) << 4 | digit(pair[1])).collect()
}

/// [`hex`] of a fixed length.
pub fn hex_array<const N: usize>(digits: &str) -> [u8; N] {
    hex(digits).try_into().expect("as many digits as the test says")
}
