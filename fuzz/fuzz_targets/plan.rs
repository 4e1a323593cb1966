//! See `tracelake_testkit::fuzz::documents`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| tracelake_testkit::fuzz::documents::plan_file(data));
