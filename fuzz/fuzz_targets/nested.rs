//! See `tracelake_testkit::fuzz::nested`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| tracelake_testkit::fuzz::nested::run(data));
