//! AES-128-CCM with an eight-byte tag and a nonce of thirteen, as CCMP has it, keyed once.

/// Seals in place: nonce, associated data, data; returns the tag.
pub type Seal = Box<dyn FnMut(&[u8; 13], &[u8], &mut [u8]) -> [u8; 8]>;

/// Opens in place: nonce, associated data, data, tag; whether the tag verified.
pub type Open = Box<dyn FnMut(&[u8; 13], &[u8], &mut [u8], &[u8; 8]) -> bool>;

/// OpenSSL: one context that has the key; each message sets nonce and lengths and goes through in one
/// update.
#[cfg(feature = "peers")]
pub fn openssl_seal(key: &[u8; 16]) -> Option<Seal> {
    use openssl::cipher::Cipher;
    use openssl::cipher_ctx::CipherCtx;

    let mut context = CipherCtx::new().ok()?;
    context.encrypt_init(Some(Cipher::aes_128_ccm()), None, None).ok()?;
    context.set_iv_length(13).ok()?;
    context.set_tag_length(8).ok()?;
    context.encrypt_init(None, Some(key), None).ok()?;
    Some(Box::new(move |nonce, aad, data| {
        let mut seal = || {
            context.encrypt_init(None, None, Some(nonce))?;
            context.set_data_len(data.len())?;
            context.cipher_update(aad, None)?;
            context.cipher_update_inplace(data, data.len())?;
            let mut tag = [0; 8];
            context.tag(&mut tag).map(|()| tag)
        };
        seal().expect("a message that CCM allows")
    }))
}

/// The same for opening; the tag is set before the data, which OpenSSL then verifies.
#[cfg(feature = "peers")]
pub fn openssl_open(key: &[u8; 16]) -> Option<Open> {
    use openssl::cipher::Cipher;
    use openssl::cipher_ctx::CipherCtx;

    let mut context = CipherCtx::new().ok()?;
    context.decrypt_init(Some(Cipher::aes_128_ccm()), None, None).ok()?;
    context.set_iv_length(13).ok()?;
    context.set_tag_length(8).ok()?;
    context.decrypt_init(None, Some(key), None).ok()?;
    Some(Box::new(move |nonce, aad, data, tag| {
        let mut open = || {
            context.set_tag(tag)?;
            context.decrypt_init(None, None, Some(nonce))?;
            context.set_data_len(data.len())?;
            context.cipher_update(aad, None)?;
            context.cipher_update_inplace(data, data.len())
        };
        open().is_ok()
    }))
}

/// Not in this build.
#[cfg(not(feature = "peers"))]
pub fn openssl_seal(_key: &[u8; 16]) -> Option<Seal> {
    None
}

/// Not in this build.
#[cfg(not(feature = "peers"))]
pub fn openssl_open(_key: &[u8; 16]) -> Option<Open> {
    None
}

type RustCrypto = ccm::Ccm<aes::Aes128, ccm::consts::U8, ccm::consts::U13>;

/// The RustCrypto crate.
pub fn rust_crypto_seal(key: &[u8; 16]) -> Seal {
    use ccm::aead::{AeadInOut, KeyInit};

    let cipher = RustCrypto::new(key.into());
    Box::new(move |nonce, aad, data| {
        let tag = cipher.encrypt_inout_detached(nonce.into(), aad, data.into());
        tag.expect("a message that CCM allows").into()
    })
}

/// The RustCrypto crate.
pub fn rust_crypto_open(key: &[u8; 16]) -> Open {
    use ccm::aead::{AeadInOut, KeyInit};

    let cipher = RustCrypto::new(key.into());
    Box::new(move |nonce, aad, data, tag| {
        cipher.decrypt_inout_detached(nonce.into(), aad, data.into(), tag.into()).is_ok()
    })
}
