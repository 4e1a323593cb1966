//! A bucket that this process keeps itself, as tests do.

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use tracelake_core::error::Result;

use super::Listed;

/// A bucket that isn't on a server, such as [`Memory`](super::Memory): each call is one request.
///
/// Like the stores on servers, it shows an object whole or not at all.
pub trait Objects: fmt::Debug + Send + Sync {
    /// Reads an object, with its ETag; `None` if there is none.
    ///
    /// # Errors
    /// If the bucket fails.
    fn read(&self, path: &str) -> Result<Option<(Bytes, String)>>;

    /// The size and the ETag of an object; `None` if there is none.
    ///
    /// # Errors
    /// If the bucket fails.
    fn version(&self, path: &str) -> Result<Option<(u64, String)>>;

    /// All objects below a prefix, which is empty or a directory; their paths are relative to it.
    ///
    /// # Errors
    /// If the bucket fails.
    fn list(&self, prefix: &str) -> Result<Vec<Listed>>;

    /// Puts an object in the place of what has its name.
    ///
    /// # Errors
    /// If the bucket fails.
    fn put(&self, path: &str, bytes: Bytes) -> Result<()>;

    /// Puts an object where there is none; false if there is one.
    ///
    /// # Errors
    /// If the bucket fails.
    fn put_new(&self, path: &str, bytes: Bytes) -> Result<bool>;

    /// Puts an object in the place of one with this ETag; false if it has another one, or is gone.
    ///
    /// # Errors
    /// If the bucket fails.
    fn swap(&self, path: &str, etag: &str, bytes: Bytes) -> Result<bool>;

    /// Removes objects, in any order; that there are none is no error.
    ///
    /// # Errors
    /// If the bucket fails.
    fn remove(&self, paths: &[&str]) -> Result<()>;
}

/// The bucket of a URL, if this process keeps it. The name of the bucket says which it is, so two of one name are equal.
#[derive(Clone, Default)]
pub(super) struct OwnBucket(pub(super) Option<Arc<dyn Objects>>);

impl PartialEq for OwnBucket {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for OwnBucket {}

impl fmt::Debug for OwnBucket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "OwnBucket({})", self.0.is_some())
    }
}
