/// CBC encryption: initialisation vector, plaintext, room for the ciphertext and one block more.
pub type Encrypt = Box<dyn FnMut(&[u8; 16], &[u8], &mut [u8])>;

/// OpenSSL's AES-128-CBC, keyed once; each frame only sets the initialisation vector.
#[cfg(feature = "peers")]
pub fn openssl(key: &[u8; 16]) -> Option<Encrypt> {
    use openssl::cipher::Cipher;
    use openssl::cipher_ctx::CipherCtx;

    let mut context = CipherCtx::new().ok()?;
    context.encrypt_init(Some(Cipher::aes_128_cbc()), Some(key), Some(&[0; 16])).ok()?;
    context.set_padding(false);
    Some(Box::new(move |iv, input, output| {
        context.encrypt_init(None, None, Some(iv)).expect("keyed above");
        context.cipher_update(input, Some(output)).expect("whole blocks");
    }))
}

/// Not in this build.
#[cfg(not(feature = "peers"))]
pub fn openssl(_key: &[u8; 16]) -> Option<Encrypt> {
    None
}
