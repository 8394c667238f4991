//! What a key is besides its cipher: small, silent and shareable.

use slyfi_aes::{Backend, CbcCmacKey, Cmac, DecryptKey, EncryptKey, GcmKey, Mismatch, backend};

#[test]
fn a_link_with_two_directions_of_keys_leaves_room_for_its_address_window() {
    // One association with its window of 50 addresses has 8 KB; see the bars of the link.
    assert!(size_of::<CbcCmacKey>() <= 448, "{}", size_of::<CbcCmacKey>());
    assert!(size_of::<GcmKey>() <= 576, "{}", size_of::<GcmKey>());
    assert!(size_of::<EncryptKey>() <= 192);
    assert!(size_of::<DecryptKey>() <= 192);
}

#[test]
fn no_key_shows_itself() {
    let shown = [
        format!("{:?}", EncryptKey::new(&[0x41; 16])),
        format!("{:?}", DecryptKey::new(&[0x41; 16])),
        format!("{:?}", Cmac::new(&[0x41; 16])),
        format!("{:?}", CbcCmacKey::new(&[0x41; 16], &[0x41; 16])),
        format!("{:?}", GcmKey::new_128(&[0x41; 16])),
    ];
    let names = ["EncryptKey(..)", "DecryptKey(..)", "Cmac(..)", "CbcCmacKey(..)", "GcmKey(..)"];
    assert_eq!(shown, names);
}

#[test]
fn keys_can_be_shared_between_threads_and_cloned() {
    fn shareable<T: Send + Sync + Clone>() {}
    shareable::<EncryptKey>();
    shareable::<DecryptKey>();
    shareable::<Cmac>();
    shareable::<CbcCmacKey>();
    shareable::<GcmKey>();
}

#[test]
fn the_best_backend_is_the_last_available_one() {
    assert_eq!(Backend::ALL.into_iter().rfind(|b| b.is_available()), Some(backend()));
    assert!(Backend::Portable.is_available());
    #[cfg(target_arch = "x86_64")]
    {
        let aes_ni = std::is_x86_feature_detected!("aes")
            && std::is_x86_feature_detected!("pclmulqdq")
            && std::is_x86_feature_detected!("sse4.1");
        let vaes_512 = aes_ni
            && std::is_x86_feature_detected!("vaes")
            && std::is_x86_feature_detected!("vpclmulqdq")
            && std::is_x86_feature_detected!("avx512bw")
            && std::is_x86_feature_detected!("avx512vl");
        assert_eq!(Backend::AesNi.is_available(), aes_ni);
        assert_eq!(Backend::Vaes512.is_available(), vaes_512);
    }
    println!("best backend here: {}", backend());
}

#[test]
fn a_mismatch_says_only_that_it_is_one() {
    assert_eq!(Mismatch.to_string(), "authentication tag mismatch");
}
