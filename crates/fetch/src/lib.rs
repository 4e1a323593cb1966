//! From the name of a published trace to verified files on disk.
//!
//! [`offers`] says where the files of each table are, or why they can't be fetched; [`plan()`] lists those that are asked
//! for, and [`fetch`] downloads them: what is finished is kept, and what was interrupted is resumed.
//!
//! ```
//! use tracelake_fetch::offers;
//! use tracelake_schema::TRACES;
//!
//! for trace in TRACES.iter() {
//!     for offer in offers(trace)? {
//!         assert!(offer.places.is_empty() == offer.why_not.is_some());
//!     }
//! }
//! # Ok::<(), tracelake_core::Error>(())
//! ```

mod check;
mod fetch;
mod file;
mod offer;
mod partial;
mod plan;
mod room;
mod sums;

pub use check::Checked;
pub use fetch::{CONNECTIONS, Outcome, fetch};
pub use offer::{FileList, Offer, Place, offers};
pub use plan::{FetchPlan, RemoteFile, Request, plan};
