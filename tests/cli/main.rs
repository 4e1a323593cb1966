//! The command line as its users meet it: arguments, exit codes, messages, and OUT as it was.
#![allow(
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test stops at the first surprise"
)]

#[path = "../support/mod.rs"]
mod support;

mod accepted;
mod arguments;
mod bad_out;
mod bad_rows;
mod bad_source;
mod published;
mod refusal;
mod rejects;
