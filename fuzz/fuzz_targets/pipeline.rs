//! See `tracelake_testkit::fuzz::pipeline`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| tracelake_testkit::fuzz::pipeline::run(data));
