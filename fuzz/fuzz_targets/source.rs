//! See `tracelake_testkit::fuzz::source`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| tracelake_testkit::fuzz::source::run(data));
