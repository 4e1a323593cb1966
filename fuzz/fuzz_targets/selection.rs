//! See `tracelake_testkit::fuzz::selection`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| tracelake_testkit::fuzz::selection::run(data));
