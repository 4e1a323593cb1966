//! The only writer of lakes: staged files, journals, the plan that workers share, the manifest, and commits, on a disk
//! or in a bucket.
//!
//! ```
//! use tracelake_core::ErrorKind;
//! use tracelake_lake::store::read_manifest;
//! use tracelake_location::Location;
//!
//! # let nowhere = std::env::temp_dir().join("tracelake-no-such-lake");
//! let lake = Location::from(nowhere.as_path());
//! assert_eq!(read_manifest(&lake).unwrap_err().kind(), ErrorKind::Refused);
//! ```

pub mod manifest;
pub mod plan_file;
pub mod store;
