//! What `verify` is for: a lake is changed in one place, and `verify` has to say where.
#![allow(
    clippy::panic,
    clippy::print_stderr,
    clippy::unwrap_used,
    reason = "a test stops at the first surprise"
)]

#[path = "../support/mod.rs"]
mod support;

mod alone;
mod mutations;
mod patient;
