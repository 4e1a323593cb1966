//! Files being written: staged, kept, made visible. The types keep these steps in order.

use std::io::{self, BufWriter, Write};

use sha2::{Digest as _, Sha256};
use tracelake_core::error::{Error, Result};

use super::Lake;
use super::backend::{NewNames, Unfinished};
use crate::manifest::FileFacts;

impl Lake {
    /// Starts a file that will become `path`, which is relative to the lake.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn stage(&self, path: &str) -> Result<Staging> {
        Ok(Staging {
            target: path.to_owned(),
            file: self.backend.stage(path)?,
            digest: Sha256::new(),
            bytes: 0,
        })
    }

    /// Puts a staged file under its name, replacing what was there.
    ///
    /// # Errors
    /// When the disk or the store fails; the file is then not there, or whole. [`ErrorKind::Refused`] if another run
    /// has taken over.
    ///
    /// [`ErrorKind::Refused`]: tracelake_core::ErrorKind::Refused
    pub fn commit(&self, staged: Staged) -> Result<Committed> {
        let committed = self.commit_all(vec![staged])?.pop();
        committed.expect("as many results as files")
    }

    /// Puts staged files under their names, as [`Lake::commit`]; on a disk, each of their directories is synced once.
    /// Returns each of them, or why it isn't there.
    ///
    /// # Errors
    /// When a directory can't be synced.
    pub fn commit_all(&self, staged: Vec<Staged>) -> Result<Vec<Result<Committed>>> {
        let mut names = NewNames::default();
        let mut committed = Vec::new();
        for Staged { facts, file } in staged {
            let etag = self.check_plan().and_then(|()| file.show(&mut names));
            committed.push(etag.map(|etag| Committed { facts, etag }));
        }
        self.backend.keep_names(&names)?;
        Ok(committed)
    }

    /// Writes a file piece by piece, whole or not at all; the path is relative to the lake.
    pub(super) fn write_in_pieces(
        &self,
        path: &str,
        write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> Result<()> {
        let failed = |error| Error::disk("write", error).at(self.root().join(path));
        let mut file = BufWriter::new(self.stage(path)?);
        write(&mut file).map_err(failed)?;
        let file = file
            .into_inner()
            .map_err(|error| failed(error.into_error()))?;
        self.commit(file.close()?).map(drop)
    }

    /// Writes a small file, whole or not at all; the path is relative to the lake.
    pub(super) fn write_whole(&self, path: &str, bytes: &[u8]) -> Result<()> {
        self.check_plan()?;
        self.backend.put(path, bytes.to_owned())
    }
}

/// A file being written; it goes away when dropped.
#[derive(Debug)]
pub struct Staging {
    target: String,
    file: Box<dyn Unfinished>,
    digest: Sha256,
    bytes: u64,
}

impl Staging {
    /// Makes sure that the file is on the disk, or with the store.
    ///
    /// # Errors
    /// When the disk or the store fails; a failed fsync is final, the file is given up.
    pub fn close(mut self) -> Result<Staged> {
        self.file.close()?;
        Ok(self.staged())
    }

    /// Does what [`Staging::close`] does for a file that waits, maybe with many others, until the rest of its source is
    /// read.
    ///
    /// # Errors
    /// As [`Staging::close`].
    ///
    /// # Memory
    /// The file has none of its bytes in memory, and isn't open.
    pub fn set_aside(mut self) -> Result<Staged> {
        self.file.set_aside()?;
        Ok(self.staged())
    }

    fn staged(self) -> Staged {
        let facts = FileFacts {
            path: self.target,
            bytes: self.bytes,
            sha256: self.digest.into(),
        };
        Staged {
            facts,
            file: self.file,
        }
    }
}

impl Write for Staging {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.file.write(bytes)?;
        self.digest.update(&bytes[..written]);
        self.bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// A file that is whole and kept, but not under its name; it goes away when dropped.
#[derive(Debug)]
pub struct Staged {
    facts: FileFacts,
    file: Box<dyn Unfinished>,
}

impl Staged {
    /// The path that it will have in the lake, its size and digest.
    #[must_use]
    pub fn facts(&self) -> &FileFacts {
        &self.facts
    }
}

/// A file under its name; made by [`Lake::commit`] alone.
#[derive(Debug)]
pub struct Committed {
    facts: FileFacts,
    etag: Option<String>,
}

impl Committed {
    /// Its path in the lake, size and digest.
    #[must_use]
    pub fn into_facts(self) -> FileFacts {
        self.facts
    }

    /// Its path, and what the store names its content by; `None` without a store.
    #[must_use]
    pub fn etag(&self) -> Option<(String, String)> {
        Some((self.facts.path.clone(), self.etag.clone()?))
    }
}
