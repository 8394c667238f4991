#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| slyfi_fuzz_bodies::tracedge_service::run(data));
