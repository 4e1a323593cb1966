//! See `tracelake_fuzz::readers`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| tracelake_fuzz::readers::run(data));
