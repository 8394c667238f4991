//! Values that never print themselves.

/// A value whose `Debug` and `Display` show only that it is there.
///
/// # Security
/// There is no feature and no flag that turns the redaction off. [`Redacted::reveal`] is for the
/// few places that were asked for the value in so many words (the key log, an explicit option).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Redacted<T>(T);

impl<T> Redacted<T> {
    /// Hides `value`.
    pub const fn new(value: T) -> Self {
        Redacted(value)
    }

    /// Returns the hidden value.
    pub const fn reveal(&self) -> &T {
        &self.0
    }
}

impl<T> core::fmt::Debug for Redacted<T> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("<hidden>")
    }
}

impl<T> core::fmt::Display for Redacted<T> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("<hidden>")
    }
}
