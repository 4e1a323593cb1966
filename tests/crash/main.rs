//! A run that is disturbed, an OUT that was damaged, a SRC that is out for harm: what is visible is
//! whole, one more run makes it right, and nothing outside of SRC and OUT is touched.
#![cfg(unix)]
#![allow(
    clippy::panic,
    clippy::print_stderr,
    clippy::unwrap_used,
    reason = "a test stops at the first surprise"
)]

#[path = "../support/mod.rs"]
mod support;

mod bombs;
mod child;
mod endings;
mod escapes;
mod links;
mod resume;
mod signals;
