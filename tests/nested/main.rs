//! Tables whose values may hold others, JSON lines and quoted CSV, as the library converts them; the
//! plain reading beside it is serde_json and the csv crate.
#![allow(
    clippy::panic,
    clippy::print_stderr,
    clippy::unwrap_used,
    reason = "a test stops at the first surprise"
)]

#[path = "../support/mod.rs"]
mod support;

mod chunks;
mod cuts;
mod made_up;
mod published;
