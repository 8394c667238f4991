//! The committed corpora of the ciphers' fuzz targets, through the same bodies.

use slyfi_fuzz_bodies::{ccm, handshake, link_ciphers, replay, sbkh};

macro_rules! replays {
    ($($target:ident)*) => {$(
        #[test]
        fn $target() {
            let replayed = replay(stringify!($target), $target::run);
            assert!(replayed.as_ref().is_ok_and(|files| *files > 0), "{replayed:?}");
        }
    )*};
}

replays! { ccm handshake link_ciphers sbkh }
