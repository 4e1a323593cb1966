//! Where a file or a directory is: a path on disk, or a URL in an object store or on a web server.
//!
//! A source is named by a [`Location`], and a [`Reader`] gives its bytes in order, wherever they come from. A file on
//! disk never takes a detour: it is a `File`, read as one. With the feature `urls`, this is the only crate that speaks
//! to servers; without it, a URL is an error.
//!
//! ```
//! use tracelake_location::Location;
//!
//! let lake = Location::parse("lakes/google".as_ref())?;
//! assert_eq!(lake.join("manifest.json").name(), Some("manifest.json"));
//! # Ok::<(), tracelake_core::Error>(())
//! ```

pub mod disk;
mod entry;
mod listing;
mod location;
pub mod pieces;
mod random_access;
mod reader;
#[cfg(feature = "urls")]
mod remote;
#[cfg(not(feature = "urls"))]
#[path = "absent.rs"]
mod remote;
mod url;

pub use disk::{free_bytes, open_file};
pub use entry::{Entry, Listed, LocationKind, Tag, Tagged, Version};
pub use listing::{Listing, SUMS_LIMIT, checksum_line};
pub use location::Location;
pub use random_access::RandomAccess;
pub use reader::{Reader, from_read};
pub use remote::{Upload, abort_dropped_uploads};
pub use url::Url;

/// The most memory that an open object takes, in bytes: blocks that were asked for and the one being
/// read, and what the connections have buffered of them. Files on disk take none of it.
pub const OBJECT_MEMORY: u64 = 12 << 20;

/// The most memory that an object being written takes, in bytes: the part that fills, and those that are
/// being sent, each of which the connection may hold once more.
pub const UPLOAD_MEMORY: u64 = 32 << 20;
