#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| slyfi_fuzz_bodies::retrieval::run(data));
