//! Shared by all crates of tracelake: errors, the faults of a value, the context and events of a run, and options.
//!
//! ```
//! use tracelake_core::{Error, ErrorKind};
//!
//! let error = Error::new(ErrorKind::Misfit, "is not a whole number")
//!     .at("part-00000-of-00500.csv.gz")
//!     .line(7, Some(3))
//!     .hint("pass --on-bad-row reject to set such rows aside");
//! assert_eq!(error.place().line, Some(7));
//! ```

pub mod clustered;
pub mod context;
pub mod date_time;
pub mod digest;
pub mod error;
pub mod event;
pub mod fault;
pub mod field_order;
pub mod instructions;
pub mod line_ending;
pub mod options;
pub mod origin;
pub mod part_key;
pub mod redact;
pub mod seal;
pub mod selection;
pub mod settings;
pub mod words;

pub use context::Context;
pub use error::{Error, ErrorKind, Result};
