use core::fmt;

/// A network's name: 1 to 32 bytes, like an SSID (IEEE 802.11-2020 §9.4.2.2).
///
/// # Security
/// `Debug` hides it: names of networks tell where people live and work.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NetworkName {
    len: u8,
    bytes: [u8; NetworkName::MAX_LEN],
}

impl NetworkName {
    /// The most bytes.
    pub const MAX_LEN: usize = 32;

    /// Takes a name, if it has 1 to 32 bytes.
    pub fn new(name: &[u8]) -> Option<Self> {
        if name.is_empty() {
            return None;
        }
        let mut bytes = [0; NetworkName::MAX_LEN];
        bytes.get_mut(..name.len())?.copy_from_slice(name);
        Some(NetworkName { len: name.len() as u8, bytes })
    }

    /// Returns the bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.len)]
    }
}

impl fmt::Debug for NetworkName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("NetworkName(<hidden>)")
    }
}
