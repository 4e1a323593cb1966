//! Published cluster traces to a lake: [`discover`] finds the files of a source, [`plan`] decides what becomes of them,
//! and [`run`] carries the plan out, one input file to one output file, over threads.
//!
//! ```
//! use std::sync::Arc;
//! use std::sync::atomic::AtomicUsize;
//!
//! use tracelake_convert::plan::{Request, plan};
//! use tracelake_convert::run::{RunOptions, convert};
//! use tracelake_location::Location;
//!
//! # let out = std::env::temp_dir().join(format!("tracelake-convert-{}", std::process::id()));
//! # let sample = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/sample");
//! let plan = plan(&Request::new(Location::from(std::path::Path::new(sample))))?;
//! let stop = Arc::new(AtomicUsize::new(0));
//! let options = RunOptions::new(2, &stop);
//! let outcome = convert(&plan, &Location::from(out.as_path()), options, &|_| {})?;
//! assert_eq!(outcome.manifest.parts().count(), plan.parts().count());
//! # std::fs::remove_dir_all(out).ok();
//! # Ok::<(), tracelake_core::Error>(())
//! ```

pub mod bad_row;
mod derive;
pub mod discover;
pub mod draft;
pub mod given_trace;
pub mod lake_file;
pub mod part;
pub mod plan;
pub mod reader;
pub mod run;
