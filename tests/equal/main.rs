//! The same input gives the same bytes, and the values that a plain reading gives.
#![allow(
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test stops at the first surprise"
)]

#[path = "../support/mod.rs"]
mod support;

mod bytes;
mod resume;
mod twin;
