//! Published cluster traces to a typed, partitioned lake of Parquet or Arrow files.
//!
//! A conversion has three steps: [`plan::plan`] looks at a source and decides what to convert,
//! [`convert`] carries the plan out, and [`verify()`] compares the lake with the source once more, with
//! other code. Each takes plain data, reports [`event::Event`]s while it works, and prints nothing.
//!
//! ```
//! use std::sync::Arc;
//! use std::sync::atomic::AtomicUsize;
//!
//! use tracelake_convert::plan::{Request, plan};
//! use tracelake_convert::{Location, RunOptions, convert, verify};
//!
//! # let scratch = std::env::temp_dir().join(format!("tracelake-front-door-{}", std::process::id()));
//! # let source = std::path::Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/sample"));
//! # let out = scratch.as_path();
//! let source = Location::from(source);
//! let out = Location::from(out);
//!
//! let plan = plan(&Request::new(source.clone()))?;
//! let stop = Arc::new(AtomicUsize::new(0)); // set it to stop the run
//! let outcome = convert(&plan, &out, RunOptions::new(2, &stop), &|event| println!("{event:?}"))?;
//! for table in &outcome.manifest.tables {
//!     println!("{}: {} rows", table.name, table.rows);
//! }
//!
//! let verdict = verify(&out, Some(&source), 2, &|_| {})?;
//! assert!(verdict.findings.is_empty());
//! # std::fs::remove_dir_all(scratch).ok();
//! # Ok::<(), tracelake_convert::Error>(())
//! ```
//!
//! [`reader::read_part`] reads a single published file as Arrow record batches, without a lake.
//! [`inspect::inspect`] says what is in a lake or a source, and [`release::release`] makes a lake
//! publishable. Sources and lakes are named by a [`Location`], a path or a URL.
//!
//! Modules that this page doesn't list are public for tests and fuzzing alone, and may change at any time.

mod arrow_file;
pub mod bad_row;
mod batch;
mod cell;
#[cfg(feature = "program")]
mod cli;
mod column;
mod derive;
#[doc(hidden)]
pub mod directory;
#[doc(hidden)]
pub mod discover;
pub mod error;
pub mod event;
pub mod fault;
pub mod field_order;
pub mod inspect;
mod instructions;
mod json;
mod lake_file;
pub mod location;
pub mod manifest;
mod nested;
pub mod options;
pub mod origin;
pub mod output;
#[cfg(feature = "program")]
mod pages;
mod parquet_file;
mod parquet_footer;
#[doc(hidden)]
pub mod part;
pub mod part_key;
pub mod plan;
pub mod plan_file;
#[cfg(feature = "program")]
pub mod program;
mod quoted;
pub mod reader;
#[doc(hidden)]
pub mod reject;
pub mod release;
#[doc(hidden)]
pub mod release_files;
#[cfg(feature = "program")]
mod report;
mod rows;
pub mod run;
#[doc(hidden)]
pub mod seal;
#[doc(hidden)]
pub mod source;
#[doc(hidden)]
pub mod split;
#[doc(hidden)]
pub mod store;
mod thrift;
#[doc(hidden)]
pub mod value;
pub mod verify;
#[doc(hidden)]
pub mod words;

pub use error::{Error, ErrorKind};
pub use location::Location;
pub use manifest::Manifest;
pub use reader::read_part;
pub use run::{Outcome, RunOptions, convert};
pub use verify::verify;
