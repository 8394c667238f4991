/// Bytes as hexadecimal digits.
pub fn encode(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Reads hexadecimal digits; `None` for anything else.
pub fn decode(text: &str) -> Option<Vec<u8>> {
    let (pairs, []) = text.as_bytes().as_chunks::<2>() else { return None };
    let digit = |b: u8| char::from(b).to_digit(16);
    // Two digits make a byte at most.
    pairs.iter().map(|[a, b]| Some((digit(*a)? * 16 + digit(*b)?) as u8)).collect()
}

/// Reads exactly `N` bytes.
pub fn array<const N: usize>(text: &str) -> Option<[u8; N]> {
    decode(text)?.try_into().ok()
}

#[cfg(test)]
mod tests {
    #[test]
    fn reads_what_it_writes_and_nothing_else() {
        assert_eq!(super::encode(&[0, 0xaf]), "00af");
        assert_eq!(super::array("00AF"), Some([0, 0xaf]));
        for wrong in ["0", "0g00", "+1+1", "é0"] {
            assert_eq!(super::array::<2>(wrong), None, "{wrong}");
        }
    }
}
