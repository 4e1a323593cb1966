//! See `tracelake_testkit::fuzz::split`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| tracelake_testkit::fuzz::split::run(data));
