//! The fuzz targets, each a function of its input. libFuzzer calls them from `fuzz/fuzz_targets`, the
//! end-to-end tests with every seed.

pub mod documents;
pub mod lakes;
pub mod nested;
pub mod parquet_source;
pub mod pipeline;
pub mod readers;
pub mod selection;
mod setting;
pub mod source;
pub mod split;
pub mod value;

pub use setting::{directory, options, trace};

/// The name of a target, which is that of its seeds too, and the target.
pub type Target = (&'static str, fn(&[u8]));

/// Every target.
pub const TARGETS: [Target; 12] = [
    ("facts", documents::facts),
    ("lakes", lakes::run),
    ("manifest", documents::manifest),
    ("nested", nested::run),
    ("parquet_source", parquet_source::run),
    ("pipeline", pipeline::run),
    ("plan", documents::plan_file),
    ("readers", readers::run),
    ("selection", selection::run),
    ("source", source::run),
    ("split", split::run),
    ("value", value::run),
];
