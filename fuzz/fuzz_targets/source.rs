//! See `tracelake_fuzz::source`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| tracelake_fuzz::source::run(data));
