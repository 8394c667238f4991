//! The committed corpora of the fuzz targets that open captures, through the same bodies.

use slyfi_fuzz_bodies::{capture, hostile_peer, key_file, replay};

macro_rules! replays {
    ($($target:ident)*) => {$(
        #[test]
        fn $target() {
            let replayed = replay(stringify!($target), $target::run);
            assert!(replayed.as_ref().is_ok_and(|files| *files > 0), "{replayed:?}");
        }
    )*};
}

replays! { capture hostile_peer key_file }
