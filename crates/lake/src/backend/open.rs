//! The backend of a place.

use std::sync::Arc;

use tracelake_location::Location;

use super::Backend;
use super::bucket::Bucket;
use super::disk::Disk;
use super::system::Os;

/// The backend of the lake at `root`.
pub(crate) fn backend(root: &Location) -> Arc<dyn Backend> {
    match root {
        Location::Disk(path) => Arc::new(Disk::new(path, Arc::new(Os))),
        Location::Url(url) => Arc::new(Bucket::new(url)),
    }
}
