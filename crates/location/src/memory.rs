//! A bucket in memory.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use tracelake_core::error::Result;
use tracelake_core::seal::sha256;

use super::Listed;
use super::own_bucket::Objects;

/// A bucket in memory, which several threads may ask. An ETag is a digest of the content, as S3 has it.
///
/// ```
/// use std::sync::Arc;
/// use tracelake_location::{Location, Memory, Url};
///
/// let bucket = Url::of_objects("bucket", Arc::new(Memory::default()));
/// bucket.join("a/b").put_new(b"text".to_vec())?;
/// assert_eq!(Location::Url(bucket.join("a/b")).read_small(9)?, b"text");
/// assert!(!bucket.join("a/b").put_new(Vec::new())?);
/// # Ok::<(), tracelake_core::Error>(())
/// ```
#[derive(Debug, Default)]
pub struct Memory {
    objects: Mutex<BTreeMap<String, Bytes>>,
    /// The ETags that were asked for, each with what it is of.
    etags: Mutex<BTreeMap<String, (Bytes, String)>>,
}

impl Memory {
    /// A bucket with these objects, by their paths.
    #[must_use]
    pub fn new(objects: BTreeMap<String, Bytes>) -> Self {
        Self {
            objects: Mutex::new(objects),
            ..Self::default()
        }
    }

    /// Its objects, by their paths.
    pub fn objects(&self) -> MutexGuard<'_, BTreeMap<String, Bytes>> {
        self.objects.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn etags(&self) -> MutexGuard<'_, BTreeMap<String, (Bytes, String)>> {
        self.etags.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The ETag of an object with these bytes.
    fn etag(&self, path: &str, bytes: &Bytes) -> String {
        let mut etags = self.etags();
        match etags.get(path) {
            // While it is kept here, no others take its place in memory.
            Some((known, etag)) if std::ptr::eq(&known[..], &bytes[..]) => etag.clone(),
            _ => {
                let etag = etag(bytes);
                etags.insert(path.to_owned(), (bytes.clone(), etag.clone()));
                etag
            }
        }
    }
}

/// The ETag of some content.
fn etag(bytes: &[u8]) -> String {
    format!("\"{}\"", &sha256(bytes)[..16])
}

impl Objects for Memory {
    fn read(&self, path: &str) -> Result<Option<(Bytes, String)>> {
        let found = self.objects().get(path).cloned();
        Ok(found.map(|bytes| {
            let etag = self.etag(path, &bytes);
            (bytes, etag)
        }))
    }

    fn version(&self, path: &str) -> Result<Option<(u64, String)>> {
        let found = self.read(path)?;
        Ok(found.map(|(bytes, etag)| (bytes.len() as u64, etag)))
    }

    fn list(&self, prefix: &str) -> Result<Vec<Listed>> {
        let objects = self.objects();
        let below = objects.iter().filter_map(|(path, bytes)| {
            let rest = match prefix {
                "" => path,
                prefix => path.strip_prefix(prefix)?.strip_prefix('/')?,
            };
            Some(Listed {
                path: rest.to_owned(),
                bytes: bytes.len() as u64,
                etag: Some(self.etag(path, bytes)),
            })
        });
        Ok(below.collect())
    }

    fn put(&self, path: &str, bytes: Bytes) -> Result<()> {
        self.objects().insert(path.to_owned(), bytes);
        Ok(())
    }

    fn put_new(&self, path: &str, bytes: Bytes) -> Result<bool> {
        let mut objects = self.objects();
        let is_new = !objects.contains_key(path);
        if is_new {
            objects.insert(path.to_owned(), bytes);
        }
        Ok(is_new)
    }

    fn swap(&self, path: &str, known: &str, bytes: Bytes) -> Result<bool> {
        let mut objects = self.objects();
        let is_known = objects.get(path).is_some_and(|found| etag(found) == known);
        if is_known {
            objects.insert(path.to_owned(), bytes);
        }
        Ok(is_known)
    }

    fn remove(&self, paths: &[&str]) -> Result<()> {
        let mut objects = self.objects();
        for path in paths {
            objects.remove(*path);
            self.etags().remove(*path);
        }
        Ok(())
    }
}
