//! The committed corpora of the machines' fuzz targets, through the same bodies.

use slyfi_fuzz_bodies::{
    access_point, backhaul, client, hostile_access_point, hostile_member, pair, replay, stored,
    wifi_open,
};

macro_rules! replays {
    ($($target:ident)*) => {$(
        #[test]
        fn $target() {
            let replayed = replay(stringify!($target), $target::run);
            assert!(replayed.as_ref().is_ok_and(|files| *files > 0), "{replayed:?}");
        }
    )*};
}

replays! { access_point backhaul client hostile_access_point hostile_member pair stored wifi_open }
