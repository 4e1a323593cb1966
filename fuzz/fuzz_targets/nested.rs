//! See `tracelake_fuzz::nested`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| tracelake_fuzz::nested::run(data));
