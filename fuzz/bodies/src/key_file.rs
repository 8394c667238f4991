//! Keys as people write them.

use slyfi_capture::{Key, parse_key_file};

/// Reads the input as a key file and each of its lines as a key.
///
/// # Panics
/// When one text is two keys, or an error names a line that is not there.
pub fn run(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    let parsed = parse_key_file(&text);
    match &parsed {
        Ok(keys) => assert!(keys.len() <= text.lines().count()),
        Err(e) => assert!(e.line.is_some_and(|n| (1..=text.lines().count()).contains(&n)), "{e}"),
    }
    for line in text.lines().take(50) {
        match line.parse::<Key>() {
            Ok(key) => assert_eq!(line.parse::<Key>(), Ok(key), "one text, one key"),
            Err(e) => assert_eq!(e.line, None, "a line alone has no number"),
        }
    }
}
