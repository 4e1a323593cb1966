//! A catalog of published cluster traces: tables, columns, types, units, codes, keys and known errors.
//!
//! A [`Trace`] is one published data set in one version, a [`Table`] is one of its tables, and a
//! [`Column`] is one of their columns. [`TRACES`] has those that are built in: TOML files,
//! which [`description`] parses when they are needed. [`arrow`] turns a
//! table into an Arrow schema, and [`render`] describes it for people and databases. This crate reads
//! no files.
//!
//! # Example
//!
//! The Arrow schema of a table, with its descriptions as metadata, in one line:
//!
//! ```
//! use tracelake_schema::arrow::arrow_schema;
//! # let (trace_name, table_name) = (&tracelake_schema::TRACES[0].name, &*tracelake_schema::TRACES[0].tables[0].name);
//! # let found = || {
//! let schema = arrow_schema(tracelake_schema::trace(trace_name)?.table(table_name)?);
//! # Some(schema) };
//! # let schema = found().unwrap();
//!
//! for field in schema.fields() {
//!     println!("{}: {} ({})", field.name(), field.data_type(), field.metadata()["comment"]);
//! }
//! ```
//!
//! # Adding a trace
//!
//! Write one file in `schemas/`, run `cargo xtask gen`, and commit both. A trace whose columns
//! have the existing [`Kind`]s needs no code, because everything else takes its names from [`TRACES`].

pub mod arrow;
pub mod calendar;
mod cells;
pub mod description;
pub mod digest;
mod looks;
mod model;
mod names;
mod naming;
mod parts;
mod projection;
pub mod render;
mod requests;
pub mod sample;
mod separator;
mod traces;

pub use cells::Cells;
pub use looks::{Looks, TextPattern};
pub use model::{
    Archive, Bins, CellShards, Check, Code, Column, Confidence, Creator, Csv, Derived, Description,
    Extra, Figure, Files, Header, Json, KeyColumn, Kind, Known, Need, NeededParts, Obfuscation,
    Plot, Published, PublishedAt, QueryColumn, QueryTable, Range, Reference, Requests, Rule, Run,
    SampleKey, Sentinel, Spelling, Syntax, Table, Trace, With, Zone,
};
pub use names::cell_name;
pub use naming::{Capture, Claim, NamePattern, Naming, day, uncompressed};
pub use separator::{Fields, Separator, SeparatorText};
pub use traces::{
    TRACES, Traces, TracesIter, example_name, read_new, simulated_trace_names, trace, trace_names,
};

/// The file that marks a directory as a synthetic trace: `tracelake generate` writes it, and
/// `tracelake convert` records it in the manifest.
pub const SYNTHETIC: &str = "SYNTHETIC.txt";
