//! Published cluster traces to a lake: [`discover`] finds the files of a source, [`plan`] decides what becomes of them,
//! and [`run`] carries the plan out, one input file to one output file, over threads.
//!
//! ```
//! use tracelake_convert::plan::{Request, plan};
//! use tracelake_convert::run::{RunOptions, convert};
//! use tracelake_core::Context;
//! use tracelake_location::Location;
//!
//! # let out = std::env::temp_dir().join(format!("tracelake-convert-{}", std::process::id()));
//! # let sample = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/sample");
//! let context = Context::new();
//! let plan = plan(&context, &Request::new(Location::from(std::path::Path::new(sample))))?;
//! let outcome = convert(&context, &plan, &Location::from(out.as_path()), RunOptions::default())?;
//! assert_eq!(outcome.manifest.parts().count(), plan.parts().count());
//! # std::fs::remove_dir_all(out).ok();
//! # Ok::<(), tracelake_core::Error>(())
//! ```

pub mod bad_row;
pub mod cluster;
mod derive;
pub mod discover;
pub mod draft;
mod fit;
pub mod given_trace;
pub mod lake_file;
pub mod lake_files;
pub mod part;
pub mod plan;
pub mod reader;
pub mod run;
pub mod sorting;
