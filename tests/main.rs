//! End-to-end tests: they run the real program on real files and read what it wrote.
//!
//! One binary, so that a test build links once; `cargo test --test e2e crash::` runs one folder.
//! `memory` is a binary of its own, because it measures processes and must run alone.
#![allow(
    clippy::panic,
    clippy::print_stderr,
    clippy::unwrap_used,
    reason = "a test stops at the first surprise"
)]

mod arrow_lakes;
mod cli;
#[cfg(unix)]
mod crash;
mod equal;
mod golden;
mod nested;
mod readers;
mod rejects;
mod release;
mod streams;
mod support;
mod verify;
