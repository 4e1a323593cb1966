//! The only writer of lakes, on a disk or in a bucket: how runs, shards and commits agree.
//!
//! `docs/internals/commit-protocol.md` is the protocol. [`Lake::join`] looks at a place and refuses what isn't the lake of
//! the run; [`Joined::begin`] makes the run one of those that work on it; [`Working::commit`] makes a part visible for good;
//! [`Working::finish`] adds all parts of the run to the manifest. [`Commit`] does that for shards.
//!
//! ```
//! use tracelake_core::ErrorKind;
//! use tracelake_lake::read_manifest;
//! use tracelake_location::Location;
//!
//! # let nowhere = std::env::temp_dir().join("tracelake-no-such-lake");
//! let lake = Location::from(nowhere.as_path());
//! assert_eq!(read_manifest(&lake).unwrap_err().kind(), ErrorKind::Refused);
//! ```

mod backend;
mod checks;
mod commit;
mod conditional;
#[cfg(test)]
mod explore;
mod facts;
mod forget;
mod identity;
mod look;
pub mod manifest;
mod outputs;
mod overwrite;
mod parts;
pub mod plan_file;
mod progress;
mod publish;
mod release;
mod remaining;
mod rules;
mod session;
mod staging;
mod work;

pub use backend::{Commits, WRITE_BEHIND};
pub use commit::{Commit, CommitOptions};
pub use forget::{Forget, Forgotten};
pub use identity::Identity;
pub use look::{Goal, Lake, inside, read_manifest};
pub use manifest::check_rejects;
pub use outputs::{delta_logs, is_skipped, table_names};
pub use overwrite::{Overwrite, check as check_overwrite, finish_rename};
pub use parts::{PartName, Parts, parts_of};
pub use progress::{Beyond, Progress, beyond, progress};
pub use release::{
    CARD, CITATION, CROISSANT, DATA_PACKAGE, PUBLISHER, RELEASE, RO_CRATE, Releasing, STALE, SUMS,
    TEMPLATE, ZENODO, existing_delta_logs, file_facts, is_of_releases, is_stale, manifest_facts,
    named_by, publisher_file, release_day, release_sums, sums_line,
};
pub use remaining::{Counts, Remaining, is_derived_from, remaining};
pub use staging::{Staged, Staging};
pub use work::{Joined, MadePart, Working};

/// The directory of everything in a lake that is not a table.
pub const HOME: &str = "_tracelake";
/// The manifest: what is committed.
pub const MANIFEST: &str = "_tracelake/manifest.json";
/// The lake's identity.
pub const IDENTITY: &str = "_tracelake/lake.json";
/// A copy of the description of a trace that isn't built in.
pub const DESCRIPTION: &str = "_tracelake/trace.toml";
/// The directory of the facts of parts.
const FACTS: &str = "_tracelake/facts";
/// The directory of the plans of shards.
const PLANS: &str = "_tracelake/plans";
/// On a disk, the directory of files that are being written.
const STAGING: &str = "_tracelake/staging";
/// On a disk, the lock that each run holds to its end.
const WORK: &str = "_tracelake/work";
/// On a disk, the mark of a lake that replaces another one: the digest of that one's manifest, or `none`.
const REPLACES: &str = "_tracelake/replaces";
/// On a disk, the lock that is held for moments.
const LOCK: &str = "_tracelake/lock";
