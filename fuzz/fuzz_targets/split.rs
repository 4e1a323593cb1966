//! See `tracelake_fuzz::split`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| tracelake_fuzz::split::run(data));
