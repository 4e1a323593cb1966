//! Published cluster traces to a typed, partitioned lake of Parquet or Arrow files.
//!
//! A conversion has three steps: [`plan()`] looks at a source and decides what to convert, [`convert`] carries the
//! plan out, and [`verify`] compares the lake with the source once more, with other code. Each takes plain data,
//! reports [`Event`]s while it works, and prints nothing.
//!
//! ```
//! use std::sync::Arc;
//! use std::sync::atomic::AtomicUsize;
//!
//! use tracelake::{Location, Request, RunOptions, convert, plan, verify};
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
//! # Ok::<(), tracelake::Error>(())
//! ```
//!
//! [`read_part`] reads a single published file as Arrow record batches, without a lake. [`inspect`] says what is in a
//! lake or a source, and [`release`] makes a lake publishable. Sources and lakes are named by a [`Location`], a path
//! or a URL.
//!
//! # Features
//!
//! - `urls`: sources and lakes in object stores and on web servers. Adds an HTTP client, TLS and tokio.
//! - `program`: the program `tracelake`, as [`program::run`].

#[cfg(feature = "program")]
mod cli;
#[cfg(feature = "program")]
mod pages;
#[cfg(feature = "program")]
pub mod program;
#[cfg(feature = "program")]
mod report;

pub use tracelake_convert::bad_row::BadRow;
pub use tracelake_convert::plan::{ChecksumSource, PartSet, Plan, Request, Shard, plan};
pub use tracelake_convert::reader::{PartReader, ReadOptions, read_part};
pub use tracelake_convert::run::{Commit, CommitOptions, Outcome, RunOptions, convert};
pub use tracelake_core::event::Event;
pub use tracelake_core::options::{Codec, Format, Layout, OnBadRow};
pub use tracelake_core::part_key::PartKey;
pub use tracelake_core::settings::Settings;
pub use tracelake_core::{Error, ErrorKind};
pub use tracelake_lake::manifest::{FileFacts, Manifest, PartFacts, TableFacts};
pub use tracelake_location::Location;
pub use tracelake_verify::inspect::{Inventory, inspect};
pub use tracelake_verify::release::{Allow, release};
pub use tracelake_verify::{Verdict, verify};
