//! See `tracelake_fuzz::value`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| tracelake_fuzz::value::run(data));
