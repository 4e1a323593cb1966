//! Objects in stores and files on web servers: what is there, and their bytes.
//!
//! The object_store crate needs tokio. It gets one thread, begun by the first URL; everything else
//! waits for that thread's answers, and asks while it waits whether to stop.

mod body;
mod client;
mod download;
mod environment;
mod explain;
mod keys;
mod network;
mod object;
mod pace;
mod random_access;
mod store;
mod transfer;
mod upload;

use object_store::{PutMode, UpdateVersion};
use tracelake_core::error::Result;

use crate::entry::{Entry, Listed, LocationKind, SUMS, Tag, Tagged};
use crate::url::Url;
use network::{ask, ask_each};
use object::Object;

pub(crate) use download::Download;
pub(crate) use random_access::RemoteFile;
pub use upload::{Upload, abort_dropped_uploads};

/// Endings of names that a web server's files have. Any other URL may be a directory.
const FILES: &[&str] = &[
    ".gz", ".tgz", ".tar", ".csv", ".json", ".zip", ".xz", ".zst", ".bz2", ".parquet", ".txt",
];

/// Questions about what is there.
impl Url {
    /// The kind of entry here; `None` if nothing is.
    pub(crate) fn kind(&self) -> Result<Option<LocationKind>> {
        if self.path.is_empty() || self.ends_in_slash {
            return Ok(Some(LocationKind::Directory));
        }
        let name = self.name().unwrap_or_default().to_ascii_lowercase();
        let mut sums = Ok(None);
        if !self.is_bucket() && !FILES.iter().any(|ending| name.ends_with(ending)) {
            sums = ask(&self.join(SUMS), Object::size);
            match sums {
                Ok(Some(_)) => return Ok(Some(LocationKind::Directory)),
                Err(error) if error.is_unanswered() => return Err(error),
                _ => {}
            }
        }
        let size = ask(self, Object::size);
        if let Ok(Some(bytes)) = size {
            return Ok(Some(LocationKind::File { bytes }));
        }
        if !self.is_bucket() {
            // Without a file, the URL names a directory, and this is why it can't be read.
            return size.and(sums).map(|_| None);
        }
        // Credentials that may list but not read, or the other way round, still get the better answer.
        match (self.entries(), size) {
            (Ok(names), _) if !names.is_empty() => Ok(Some(LocationKind::Directory)),
            (Ok(_), size) => size.map(|_| None),
            (Err(error), _) => Err(error),
        }
    }

    /// Whether there is an object.
    pub(crate) fn is_there(&self) -> Result<bool> {
        Ok(ask(self, Object::size)?.is_some())
    }

    /// The names below it, in any order.
    pub(crate) fn entries(&self) -> Result<Vec<Entry>> {
        ask(self, Object::entries)
    }
}

/// Operations of the lake's store in a bucket.
impl Url {
    /// Puts a small object where there is none; false if there is one.
    ///
    /// # Errors
    /// If the store doesn't answer, or refuses.
    pub fn put_new(&self, bytes: Vec<u8>) -> Result<bool> {
        ask(self, |object| object.put(bytes, PutMode::Create))
    }

    /// Puts a small object in the place of the bytes with this tag; false if it has other bytes, or is gone.
    ///
    /// # Errors
    /// If the store doesn't answer, or refuses.
    pub fn swap(&self, known: &Tag, bytes: Vec<u8>) -> Result<bool> {
        let version = UpdateVersion {
            e_tag: known.etag.clone(),
            version: known.generation.clone(),
        };
        ask(self, |object| object.put(bytes, PutMode::Update(version)))
    }

    /// Reads this object, with its tag; `None` if there is none.
    ///
    /// # Errors
    /// If it can't be read, or is larger than `limit` bytes.
    pub fn read_tagged(&self, limit: u64) -> Result<Option<Tagged>> {
        ask(self, move |object| object.read(limit))
    }

    /// Reads small objects below this one; `None` for one that isn't there.
    ///
    /// # Errors
    /// If one of them can't be read, or is larger than `limit` bytes.
    pub fn read_all(&self, paths: &[String], limit: u64) -> Result<Vec<Option<Vec<u8>>>> {
        let read = ask_each(self, paths, move |object| object.read(limit))?.into_iter();
        Ok(read.map(|found| found.map(|(bytes, _)| bytes)).collect())
    }

    /// Removes objects below this one, in any order and as many at a time as the store takes; that there are none is no
    /// error.
    ///
    /// # Errors
    /// If the store doesn't answer, or refuses.
    pub fn remove_all(&self, paths: &[String]) -> Result<()> {
        if paths.is_empty() {
            return Ok(());
        }
        let paths = paths.to_vec();
        ask(self, |object| object.remove(paths))
    }

    /// All objects below this one, sorted by their paths.
    ///
    /// # Errors
    /// If the store doesn't answer, or refuses.
    pub fn list_all(&self) -> Result<Vec<Listed>> {
        let mut all = ask(self, Object::list_all)?;
        all.sort_by(|one, other| one.path.cmp(&other.path));
        Ok(all)
    }

    /// The objects of these paths below this one; those that aren't there are left out.
    ///
    /// # Errors
    /// If the store doesn't answer, or refuses.
    pub fn look_up(&self, paths: &[String]) -> Result<Vec<Listed>> {
        let found = ask_each(self, paths, Object::look_up)?;
        let listed = found.into_iter().zip(paths).filter_map(|(found, path)| {
            let found = found?;
            Some(Listed {
                path: path.clone(),
                bytes: found.size,
                etag: found.e_tag,
            })
        });
        Ok(listed.collect())
    }

    /// The sizes of the files of these paths below this one; `None` for one that isn't there, or whose server doesn't say
    /// it.
    ///
    /// # Errors
    /// If a server doesn't answer, or refuses.
    pub fn sizes(&self, paths: &[String]) -> Result<Vec<Option<u64>>> {
        let found = ask_each(self, paths, Object::size)?;
        Ok(found.into_iter().map(Option::flatten).collect())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use object_store::memory::InMemory;

    use super::*;
    use crate::Location;

    fn bucket() -> Url {
        Url::of_store("bucket", Arc::new(InMemory::new()))
    }

    #[test]
    fn a_file_is_there_on_a_disk_and_in_a_bucket() {
        let directory = tempfile::tempdir().unwrap();
        let bucket = bucket();
        std::fs::write(directory.path().join("a"), "1").unwrap();
        bucket.join("a").put_new(b"1".to_vec()).unwrap();
        for root in [Location::from(directory.path()), Location::Url(bucket)] {
            let found = ["a", "b"].map(|name| {
                let location = root.join(name);
                (location.is_file().unwrap(), location.is_there().unwrap())
            });
            assert_eq!(found, [(true, true), (false, false)], "{root}");
        }
    }

    #[test]
    fn objects_that_are_gone_are_left_out() {
        let bucket = bucket();
        for name in ["a", "c"] {
            bucket.join(name).put_new(name.as_bytes().to_vec()).unwrap();
        }
        let all = || ["a", "b", "c"].map(str::to_owned).to_vec();
        let read = || {
            let read = bucket.read_all(&all(), 9).unwrap().into_iter();
            read.flatten().flatten().map(char::from).collect::<String>()
        };
        assert_eq!(read(), "ac");
        bucket.remove_all(&all()[..2]).unwrap();
        assert_eq!(read(), "c");
    }

    #[test]
    fn bytes_are_swapped_for_those_that_were_read() {
        let object = bucket().join("a");
        assert!(!object.swap(&Tag::of_nothing(), b"1".to_vec()).unwrap());
        object.put_new(b"1".to_vec()).unwrap();
        assert!(!object.swap(&Tag::of_nothing(), b"2".to_vec()).unwrap());
        let (_, tag) = object.read_tagged(9).unwrap().unwrap();
        assert!(object.swap(&tag, b"2".to_vec()).unwrap());
        assert!(!object.swap(&tag, b"3".to_vec()).unwrap());
        assert_eq!(object.read_tagged(9).unwrap().unwrap().0, b"2");
    }
}
