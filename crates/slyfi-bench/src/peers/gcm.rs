/// AES-128-GCM in place: nonce, associated data, data; returns the tag.
pub type Seal = Box<dyn FnMut(&[u8; 12], &[u8], &mut [u8]) -> [u8; 16]>;

/// Every peer by name, or the name of one that is not in this build.
pub fn all(key: &[u8; 16]) -> [Result<(&'static str, Seal), &'static str>; 3] {
    [
        ring(key).map(|seal| ("ring", seal)).ok_or("ring"),
        aws_lc(key).map(|seal| ("aws-lc-rs", seal)).ok_or("aws-lc-rs"),
        graviola(key).map(|seal| ("graviola", seal)).ok_or("graviola"),
    ]
}

#[cfg(feature = "peers")]
fn ring(key: &[u8; 16]) -> Option<Seal> {
    use ring::aead::{AES_128_GCM, Aad, LessSafeKey, Nonce, UnboundKey};

    let key = LessSafeKey::new(UnboundKey::new(&AES_128_GCM, key).ok()?);
    Some(Box::new(move |nonce, aad, data| {
        let nonce = Nonce::assume_unique_for_key(*nonce);
        let tag = key.seal_in_place_separate_tag(nonce, Aad::from(aad), data).expect("short");
        tag.as_ref().try_into().expect("GCM tags have 16 bytes")
    }))
}

#[cfg(feature = "peers")]
fn aws_lc(key: &[u8; 16]) -> Option<Seal> {
    use aws_lc_rs::aead::{AES_128_GCM, Aad, LessSafeKey, Nonce, UnboundKey};

    let key = LessSafeKey::new(UnboundKey::new(&AES_128_GCM, key).ok()?);
    Some(Box::new(move |nonce, aad, data| {
        let nonce = Nonce::assume_unique_for_key(*nonce);
        let tag = key.seal_in_place_separate_tag(nonce, Aad::from(aad), data).expect("short");
        tag.as_ref().try_into().expect("GCM tags have 16 bytes")
    }))
}

#[cfg(feature = "peers")]
fn graviola(key: &[u8; 16]) -> Option<Seal> {
    let key = graviola::aead::AesGcm::new(key);
    Some(Box::new(move |nonce, aad, data| {
        let mut tag = [0; 16];
        key.encrypt(nonce, aad, data, &mut tag);
        tag
    }))
}

#[cfg(not(feature = "peers"))]
fn ring(_key: &[u8; 16]) -> Option<Seal> {
    None
}

#[cfg(not(feature = "peers"))]
fn aws_lc(_key: &[u8; 16]) -> Option<Seal> {
    None
}

#[cfg(not(feature = "peers"))]
fn graviola(_key: &[u8; 16]) -> Option<Seal> {
    None
}
