//! See `tracelake_fuzz::documents`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| tracelake_fuzz::documents::facts(data));
