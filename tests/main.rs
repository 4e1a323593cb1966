//! End-to-end tests: they run the real program on real files and read what it wrote.
//!
//! One binary, so that a test build links once; `cargo test --test e2e crash::` runs one folder.
//! `memory` is a separate binary, because it measures processes and must run alone.
#![allow(
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test stops at the first surprise"
)]

mod advice;
mod arrow_lakes;
mod cells;
mod cli;
mod closeness;
mod cluster;
#[cfg(unix)]
mod crash;
mod described;
mod doors;
mod equal;
mod export;
#[cfg(all(unix, feature = "urls"))]
mod fetch;
mod figures;
mod foreign;
mod generate_parquet;
mod golden;
mod named;
mod nested;
mod older;
mod parquet_directories;
mod parquet_source;
mod readers;
mod rejects;
mod release;
mod seeds;
mod selection;
#[cfg(unix)]
mod shards;
mod streams;
mod strict;
#[cfg(all(unix, feature = "urls"))]
mod urls;
mod verify;
mod verify_lakes;

/// Files that were absent at build time may have appeared since. The build script can't see that, so
/// the tests that need them would still be ignored.
#[test]
fn what_the_ignored_tests_need_is_absent() {
    for (folder, known) in [("data", cfg!(published_data)), ("suites", cfg!(suites))] {
        assert_eq!(
            tracelake_testkit::outside(folder).exists(),
            known,
            "../shared/{folder} has changed: run `touch crates/tracelake/build.rs` and test again"
        );
    }
}
