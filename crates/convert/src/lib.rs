//! Published cluster traces to a typed, partitioned Parquet lake.
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
pub mod layout;
pub mod manifest;
mod nested;
pub mod part;
pub mod plan;
#[cfg(feature = "program")]
pub mod program;
mod quoted;
pub mod reject;
pub mod release;
pub mod release_files;
#[cfg(feature = "program")]
mod report;
mod rows;
pub mod run;
pub mod sheet;
pub mod source;
pub mod split;
pub mod store;
pub mod value;
pub mod verify;
