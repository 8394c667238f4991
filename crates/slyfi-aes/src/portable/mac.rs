use aes::Aes128;
use cmac::{Cmac, KeyInit, Mac};

use crate::Block;

/// AES-CMAC of the parts in a row (RFC 4493).
pub(crate) fn cmac(key: &[u8; 16], parts: &[&[u8]]) -> Block {
    let mut mac = Cmac::<Aes128>::new(key.into());
    for part in parts {
        mac.update(part);
    }
    mac.finalize().into_bytes().into()
}
