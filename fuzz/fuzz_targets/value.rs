//! See `tracelake_testkit::fuzz::value`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| tracelake_testkit::fuzz::value::run(data));
