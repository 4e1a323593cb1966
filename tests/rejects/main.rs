//! Every row is accounted for: it is in the lake as it was in the file, or in the rejects file as it
//! was in the file, or the run fails and says where.
#![allow(
    clippy::panic,
    clippy::print_stderr,
    clippy::unwrap_used,
    reason = "a test stops at the first surprise"
)]

#[path = "../support/mod.rs"]
mod support;

mod account;
mod gzip_streams;
mod lines;
mod repair;
mod suites;
