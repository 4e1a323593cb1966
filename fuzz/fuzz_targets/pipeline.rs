//! See `tracelake_fuzz::pipeline`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| tracelake_fuzz::pipeline::run(data));
