//! The committed corpora of the parsers' fuzz targets, through the same bodies.

use slyfi_fuzz_bodies::{Failure, replay, wire};

macro_rules! replays {
    ($($target:ident)*) => {$(
        #[test]
        fn $target() {
            let replayed = replay(stringify!($target), wire::$target);
            assert!(replayed.as_ref().is_ok_and(|files| *files > 0), "{replayed:?}");
        }
    )*};
}

replays! { ieee80211 messages packets pcapng radiotap }

#[test]
fn a_body_that_panics_is_told_with_its_input_and_a_missing_corpus_is_no_success() {
    let shortest = |input: &[u8]| assert!(input.len() > 3);
    let Err(Failure::Panicked(files)) = replay("radiotap", shortest) else {
        panic!("the corpus has inputs of at most three bytes");
    };
    assert!(files.iter().all(|f| std::fs::metadata(f).unwrap().len() <= 3));
    assert_eq!(replay("no such target", |_| {}), Err(Failure::NoCorpus));
}
