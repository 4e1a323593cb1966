//! Published cluster traces to a typed, partitioned lake of Parquet or Arrow files.
//!
//! A [`Dataset`] is a lake by its place, a path or a URL, and does all that is done with one. It has a [`Context`], which
//! says how many threads work and who hears of [`Event`]s; [`Context::cancel`] stops the work. Nothing is printed.
//! [`fetch`] downloads a published trace, and [`generate`] makes a synthetic one.
//!
//! # Convert a trace
//!
//! [`plan()`] looks at a source and decides what to convert; [`Dataset::convert`] carries the plan out. If the lake is
//! incomplete, it resumes.
//!
//! ```
//! use tracelake::{Context, Dataset, ReleaseOptions, Request, RunOptions, plan};
//!
//! # let lake = std::env::temp_dir().join(format!("tracelake-library-{}", std::process::id()));
//! # let source = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/sample");
//! let context = Context::new().with_threads(2).with_events(|event| println!("{event:?}"));
//! let mut request = Request::new(std::path::Path::new(source)); // or a URL: Location::parse(…)?
//! request.tables = vec!["job_events".to_owned()];
//! request.parts = Some("0-1".parse()?);
//! let dataset = Dataset::at(&context, &lake);
//! let outcome = dataset.convert(&plan(&context, &request)?, RunOptions::default())?; // context.cancel() would stop it
//! for table in &outcome.manifest.tables {
//!     println!("{}: {} rows", table.name, table.rows);
//! }
//!
//! // Any reader of Parquet files takes it from here.
//! use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
//!
//! let mut rows = 0;
//! for path in dataset.files("job_events")? {
//!     let file = std::fs::File::open(path.as_path().ok_or("in a bucket")?)?;
//!     for batch in ParquetRecordBatchReaderBuilder::try_new(file)?.build()? {
//!         rows += batch?.num_rows();
//!     }
//! }
//! assert_eq!(rows as u64, dataset.tables()?[0].rows);
//!
//! // Compare every value with the source, which other code reads.
//! let verdict = dataset.verify_against(std::path::Path::new(source))?;
//! assert!(verdict.is_ok(), "{:?}", verdict.findings);
//! assert!(dataset.inspect()?.tables.iter().all(|table| table.missing.is_empty()));
//!
//! // Write checksums, a data card, and descriptions for machines.
//! let mut options = ReleaseOptions::default();
//! options.allow_missing = true; // the card will say what is missing
//! options.allow_rejects = true;
//! assert!(dataset.release(&options)?.is_ok());
//! assert!(lake.join("SHA256SUMS").is_file());
//! # std::fs::remove_dir_all(lake)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Read one published file
//!
//! [`read_part`] gives Arrow record batches, without a lake.
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
mod cluster_command;
mod dataset;
#[cfg(feature = "program")]
mod described;
#[cfg(feature = "program")]
mod descriptors;
#[cfg(feature = "program")]
mod pages;
#[cfg(feature = "program")]
mod panics;
#[cfg(feature = "program")]
pub mod program;
#[cfg(feature = "program")]
mod report;

pub use arrow_array;
pub use arrow_schema;
pub use dataset::Dataset;
pub use tracelake_convert::bad_row::{BadRow, BadShare};
pub use tracelake_convert::cluster::{
    Arrangement, ClusterOptions, ClusterPlan, ClusterRequest, FileCount,
};
pub use tracelake_convert::given_trace::given_trace;
pub use tracelake_convert::part::Converted;
pub use tracelake_convert::plan::{
    ChecksumSource, PartPlan, PartSet, Plan, Request, Shard, StreamPlan, TablePlan, plan,
};
pub use tracelake_convert::reader::{BadRowCallback, PartReader, ReadOptions, read_part};
pub use tracelake_convert::run::{Outcome, RunOptions};
pub use tracelake_core::error::{Place, Result};
pub use tracelake_core::event::Event;
pub use tracelake_core::fault::Fault;
pub use tracelake_core::field_order::FieldOrder;
pub use tracelake_core::options::{Codec, Format, Layout, OnBadRow, find_trace};
pub use tracelake_core::origin::Origin;
pub use tracelake_core::part_key::{CellName, PartKey};
pub use tracelake_core::settings::Settings;
pub use tracelake_core::{Context, Error, ErrorKind};
pub use tracelake_encode::output::OutputSettings;
pub use tracelake_fetch as fetch;
pub use tracelake_generate as generate;
pub use tracelake_lake::CommitOptions;
pub use tracelake_lake::manifest::{FileFacts, Manifest, PartFacts, TableFacts};
pub use tracelake_lake::plan_file::PlanFile;
pub use tracelake_location::{Location, Url};
pub use tracelake_schema as schema;
pub use tracelake_verify::Verdict;
pub use tracelake_verify::export::{ExportOptions, Exported};
pub use tracelake_verify::inspect::{Inventory, ShardInventory, TableInventory};
pub use tracelake_verify::release::ReleaseOptions;
