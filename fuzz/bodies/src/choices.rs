//! Decisions drawn from an input.

/// Reads an input front to back as a list of decisions; past its end every decision is zero.
#[derive(Clone, Debug)]
pub struct Choices<'a> {
    rest: &'a [u8],
}

impl<'a> Choices<'a> {
    /// Starts at the front of `input`.
    pub const fn new(input: &'a [u8]) -> Self {
        Choices { rest: input }
    }

    /// Returns whether all of the input is used up.
    pub const fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// Takes an array; bytes past the end are zero.
    pub fn array<const N: usize>(&mut self) -> [u8; N] {
        let mut out = [0; N];
        let got = self.take(N);
        out[..got.len()].copy_from_slice(got);
        out
    }

    /// Takes one byte.
    pub fn byte(&mut self) -> u8 {
        u8::from_be_bytes(self.array())
    }

    /// Takes a 16-bit integer.
    pub fn short(&mut self) -> u16 {
        u16::from_be_bytes(self.array())
    }

    /// Takes a 32-bit integer.
    pub fn word(&mut self) -> u32 {
        u32::from_be_bytes(self.array())
    }

    /// Takes a 64-bit integer.
    pub fn long(&mut self) -> u64 {
        u64::from_be_bytes(self.array())
    }

    /// Takes one of `n` numbers from 0 (0 if `n` is 0).
    pub fn below(&mut self, n: usize) -> usize {
        usize::from(self.byte()).checked_rem(n).unwrap_or(0)
    }

    /// Takes a yes or no.
    pub fn is(&mut self) -> bool {
        self.byte() & 1 == 1
    }

    /// Takes a run of up to 255 bytes, its length first.
    pub fn run(&mut self) -> &'a [u8] {
        let len = usize::from(self.byte());
        self.take(len)
    }

    /// Takes at most `n` bytes.
    pub fn take(&mut self, n: usize) -> &'a [u8] {
        let (head, rest) = self.rest.split_at(n.min(self.rest.len()));
        self.rest = rest;
        head
    }

    /// Takes all that is left.
    pub fn rest(&mut self) -> &'a [u8] {
        self.take(usize::MAX)
    }
}
