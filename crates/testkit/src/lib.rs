//! Helpers of the tests: sources, the program as a process, lakes as others read them, a server with faults, and the
//! fuzz targets. Not published.
//!
//! Published data is never copied into the project. A test that needs it, or another program, says so in an attribute
//! (`cfg_attr(not(published_data), ignore = "…")`); the build script of the crate `tracelake` looks for both.
//!
//! ```
//! use tracelake_testkit::{good_row, sha256, table};
//!
//! let fields = good_row("job_events").split(',').count();
//! assert_eq!(fields, table("job_events").fields.len());
//! assert!(sha256(b"").starts_with("e3b0c442"));
//! ```
#![allow(
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test stops at the first surprise"
)]

pub mod every_kind;
pub mod figures;
#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss,
    reason = "the bytes that a fuzzer chooses become numbers of every kind"
)]
pub mod fuzz;
mod lake;
pub mod nested;
pub mod process;
mod program;
#[cfg(feature = "requests")]
pub mod requests;
pub mod rows;
mod score;
pub mod server;
pub mod shape;
mod source;

pub use lake::*;
pub use program::*;
pub use score::*;
pub use source::*;
