/// Combines the data with the next bytes of a keystream.
pub type Stream = Box<dyn FnMut(&mut [u8])>;

/// OpenSSL's RC4, which its third version keeps in the legacy provider.
#[cfg(feature = "peers")]
pub fn openssl(key: &[u8; 16]) -> Option<Stream> {
    use openssl::cipher::Cipher;
    use openssl::cipher_ctx::CipherCtx;
    use openssl::provider::Provider;

    let provider = Provider::try_load(None, "legacy", true).ok()?;
    let mut context = CipherCtx::new().ok()?;
    context.encrypt_init(Some(Cipher::rc4()), Some(key), None).ok()?;
    Some(Box::new(move |data| {
        // The provider has to live as long as the context.
        let _ = &provider;
        context.cipher_update_inplace(data, data.len()).expect("a stream has no end");
    }))
}

/// Not in this build.
#[cfg(not(feature = "peers"))]
pub fn openssl(_key: &[u8; 16]) -> Option<Stream> {
    None
}
