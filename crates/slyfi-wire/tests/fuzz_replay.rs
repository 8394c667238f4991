//! The committed corpora of the parsers' fuzz targets, through the same bodies.

use slyfi_fuzz_bodies::{Failure, replay, replays, wire};

replays! {
    ieee80211 => wire::ieee80211,
    messages => wire::messages,
    packets => wire::packets,
    pcapng => wire::pcapng,
    radiotap => wire::radiotap,
}

#[test]
fn a_body_that_panics_is_told_with_its_input_and_a_missing_corpus_is_no_success() {
    let shortest = |input: &[u8]| assert!(input.len() > 3);
    let Err(Failure::Panicked(files)) = replay("radiotap", shortest) else {
        panic!("the corpus has inputs of at most three bytes");
    };
    assert!(files.iter().all(|f| std::fs::metadata(f).unwrap().len() <= 3));
    assert_eq!(replay("no such target", |_| {}), Err(Failure::NoCorpus));
}
