//! See `tracelake_testkit::fuzz::readers`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| tracelake_testkit::fuzz::readers::run(data));
