//! Published cluster traces to a typed, partitioned lake of Parquet or Arrow files.
//!
//! [`run::convert`] makes a lake of a [`plan::Plan`]. [`reader::read_part`] reads a single published
//! file as Arrow record batches instead:
//! `fn read_part(path: &Path, options: ReadOptions) -> Result<PartReader, Error>`, where `PartReader` is
//! `Send + 'static` and an `Iterator<Item = Result<RecordBatch, Error>>` with a `schema()`.
mod arrow_file;
mod batch;
mod cell;
#[cfg(feature = "program")]
mod cli;
mod column;
mod derive;
pub mod directory;
pub mod discover;
pub mod error;
pub mod event;
pub mod fault;
pub mod inspect;
mod json;
mod lake_file;
pub mod layout;
pub mod location;
pub mod manifest;
mod nested;
pub mod options;
pub mod output;
#[cfg(feature = "program")]
mod pages;
mod parquet_file;
pub mod part;
pub mod plan;
pub mod plan_file;
#[cfg(feature = "program")]
pub mod program;
mod quoted;
pub mod reader;
pub mod reject;
pub mod release;
pub mod release_files;
#[cfg(feature = "program")]
mod report;
mod rows;
pub mod run;
pub mod source;
pub mod split;
pub mod store;
pub mod value;
pub mod verify;
pub mod words;
