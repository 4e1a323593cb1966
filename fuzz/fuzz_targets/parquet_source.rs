//! See `tracelake_testkit::fuzz::parquet_source`.
#![no_main]

libfuzzer_sys::fuzz_target!(
    // libFuzzer's hook ends the process at any panic, even one that is caught.
    init: std::panic::set_hook(Box::new(|_| {})),
    |data: &[u8]| tracelake_testkit::fuzz::parquet_source::run(data)
);
