//! Published cluster traces to a typed, partitioned lake of Parquet or Arrow files.
//!
//! Each operation takes a [`Context`] and plain data, and prints nothing. The context says how many threads work and who
//! hears of [`Event`]s, and [`Context::cancel`] stops the work. Sources and lakes are named by a [`Location`], a path or
//! a URL. Here are the five things that people do most.
//!
//! # Convert a trace
//!
//! [`plan()`] looks at a source and decides what to convert; [`convert`] carries the plan out. If the lake is
//! incomplete, it resumes.
//!
//! ```
//! use tracelake::{Context, Location, Request, RunOptions, convert, plan};
//!
//! # let scratch = std::env::temp_dir().join(format!("tracelake-convert-{}", std::process::id()));
//! # let source: Location = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/sample").parse()?;
//! # let lake = Location::from(scratch.as_path());
//! let mut request = Request::new(source); // "clusterdata-2011-2".parse()?, or a URL
//! request.tables = vec!["job_events".to_owned()];
//! request.parts = Some("0-1".parse()?);
//! let context = Context::new().with_threads(2).with_events(|event| println!("{event:?}"));
//! let plan = plan(&context, &request)?;
//! let outcome = convert(&context, &plan, &lake, RunOptions::default())?; // context.cancel() would stop it
//! for table in &outcome.manifest.tables {
//!     println!("{}: {} rows", table.name, table.rows);
//! }
//! # std::fs::remove_dir_all(scratch)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Query a lake
//!
//! [`open`] reads the manifest, which names every file of the lake. Any reader of Parquet or Arrow files takes it from
//! there.
//!
//! ```
//! use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
//!
//! # let scratch = std::env::temp_dir().join(format!("tracelake-query-{}", std::process::id()));
//! # let source: tracelake::Location = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/sample").parse()?;
//! # let (lake, context) = (tracelake::Location::from(scratch.as_path()), tracelake::Context::new());
//! # let plan = tracelake::plan(&context, &tracelake::Request::new(source.clone()))?;
//! # tracelake::convert(&context, &plan, &lake, tracelake::RunOptions::default())?;
//! let lake = tracelake::open(&context, &lake)?;
//! let mut rows = 0;
//! for path in lake.files("job_events")? {
//!     let file = std::fs::File::open(path.as_path().ok_or("in a bucket")?)?;
//!     for batch in ParquetRecordBatchReaderBuilder::try_new(file)?.build()? {
//!         rows += batch?.num_rows();
//!     }
//! }
//! assert_eq!(rows as u64, lake.table("job_events")?.rows);
//! # std::fs::remove_dir_all(scratch)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Read one published file
//!
//! [`read_part`] returns Arrow record batches, without a lake.
//!
//! ```
//! use tracelake::{Context, ReadOptions, read_part};
//!
//! # let trace = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/sample");
//! let part = format!("{trace}/job_events/part-00000-of-00002.csv.gz");
//! let mut rows = 0;
//! for batch in read_part(&Context::new(), std::path::Path::new(&part), ReadOptions::default())? {
//!     rows += batch?.num_rows();
//! }
//! assert!(rows > 0);
//! # Ok::<(), tracelake::Error>(())
//! ```
//!
//! # Verify a lake
//!
//! [`verify`] compares a lake with its manifest and, given the source, every value with it, read by other code.
//! [`inspect`] lists what a lake or a source has, and what it lacks.
//!
//! ```
//! use tracelake::{inspect, verify};
//!
//! # let scratch = std::env::temp_dir().join(format!("tracelake-verify-{}", std::process::id()));
//! # let source: tracelake::Location = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/sample").parse()?;
//! # let (lake, context) = (tracelake::Location::from(scratch.as_path()), tracelake::Context::new());
//! # let plan = tracelake::plan(&context, &tracelake::Request::new(source.clone()))?;
//! # tracelake::convert(&context, &plan, &lake, tracelake::RunOptions::default())?;
//! let verdict = verify(&context, &lake, Some(&source))?;
//! for finding in &verdict.findings {
//!     println!("{finding}");
//! }
//! assert_eq!(verdict.kind(), None); // nothing is wrong
//! assert!(inspect(&context, lake)?.tables.iter().all(|table| table.missing.is_empty()));
//! # std::fs::remove_dir_all(scratch)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Publish a lake
//!
//! [`release`] verifies a lake, then writes checksums, a data card, and descriptions for machines.
//!
//! ```
//! use tracelake::{Allow, release};
//!
//! # let scratch = std::env::temp_dir().join(format!("tracelake-publish-{}", std::process::id()));
//! # let source: tracelake::Location = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/sample").parse()?;
//! # let (lake, context) = (tracelake::Location::from(scratch.as_path()), tracelake::Context::new());
//! # let plan = tracelake::plan(&context, &tracelake::Request::new(source.clone()))?;
//! # tracelake::convert(&context, &plan, &lake, tracelake::RunOptions::default())?;
//! let mut allow = Allow::default();
//! allow.rejects = true; // the card will say how many
//! let verdict = release(&context, &lake, allow)?;
//! assert!(verdict.findings.is_empty());
//! assert!(scratch.join("SHA256SUMS").is_file());
//! # std::fs::remove_dir_all(scratch)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Features
//!
//! - `urls`, on by default: sources and lakes in object stores and on web servers. Adds an HTTP client, TLS and tokio.
//! - `program`, on by default: the program `tracelake`, as `program::run`. Adds clap and what prints.
//!
//! A library that needs neither says `tracelake = { version = "0.1", default-features = false }`.

#[cfg(feature = "program")]
mod cli;
#[cfg(feature = "program")]
mod described;
#[cfg(feature = "program")]
mod descriptors;
mod open;
#[cfg(feature = "program")]
mod pages;
#[cfg(feature = "program")]
mod panics;
#[cfg(feature = "program")]
pub mod program;
#[cfg(feature = "program")]
mod report;

pub use open::{OpenLake, open};
pub use tracelake_convert::bad_row::{BadRow, BadShare};
pub use tracelake_convert::given_trace::given_trace;
pub use tracelake_convert::part::Converted;
pub use tracelake_convert::plan::{
    ChecksumSource, PartPlan, PartSet, Plan, Request, Shard, StreamPlan, TableIndex, TablePlan,
    plan,
};
pub use tracelake_convert::reader::{BadRowCallback, PartReader, ReadOptions, read_part};
pub use tracelake_convert::run::{Outcome, RunOptions, convert};
pub use tracelake_core::error::{Place, Result};
pub use tracelake_core::event::Event;
pub use tracelake_core::fault::Fault;
pub use tracelake_core::field_order::FieldOrder;
pub use tracelake_core::options::{Codec, Format, Layout, OnBadRow, find_trace};
pub use tracelake_core::origin::Origin;
pub use tracelake_core::part_key::{CellName, PartKey};
pub use tracelake_core::settings::Settings;
pub use tracelake_core::{Context, Error, ErrorKind};
pub use tracelake_encode::output::Encoding;
pub use tracelake_lake::manifest::{FileFacts, Manifest, PartFacts, TableFacts};
pub use tracelake_lake::{Commit, CommitOptions};
pub use tracelake_location::{Location, Url};
pub use tracelake_schema as schema;
pub use tracelake_verify::inspect::{Inventory, ShardInventory, TableInventory, inspect};
pub use tracelake_verify::release::{Allow, release};
pub use tracelake_verify::{Verdict, verify};
