#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| slyfi_fuzz_bodies::wifi_ciphers::run(data));
