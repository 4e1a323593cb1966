//! Files being written: staged, kept, made visible. The types keep these steps in order.

use std::io::{self, Read, Write};

use sha2::{Digest as _, Sha256};
use tracelake_core::Context;
use tracelake_core::digest::Digest;
use tracelake_core::error::{Error, Result};

use crate::backend::{Backend, Unfinished};
use crate::manifest::FileFacts;

/// A file being written; it goes away when dropped.
#[derive(Debug)]
pub struct Staging {
    target: String,
    file: Box<dyn Unfinished>,
    digest: Sha256,
    bytes: u64,
}

impl Staging {
    pub(crate) fn new(target: &str, file: Box<dyn Unfinished>) -> Self {
        Self {
            target: target.to_owned(),
            file,
            digest: Sha256::new(),
            bytes: 0,
        }
    }

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
    /// Closes the file like [`Staging::close`].
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

    pub(crate) fn into_file(self) -> Box<dyn Unfinished> {
        self.file
    }
}

/// How often an object is read whose bytes are replaced meanwhile: a run may put the same ones again.
const READS: u32 = 5;

/// The digest of a file of the lake; `None` if there is none. A signal ends it.
pub(crate) fn digest_of(
    context: &Context,
    backend: &dyn Backend,
    path: &str,
) -> Result<Option<Digest>> {
    let reads = if backend.is_disk() { 1 } else { READS };
    for _ in 1..reads {
        context.check()?;
        if let Ok(digest) = read_digest(context, backend, path) {
            return Ok(digest);
        }
    }
    read_digest(context, backend, path)
}

fn read_digest(context: &Context, backend: &dyn Backend, path: &str) -> Result<Option<Digest>> {
    let Some(mut file) = backend.open(path)? else {
        return Ok(None);
    };
    let mut digest = Sha256::new();
    let mut buffer = vec![0; 1 << 16];
    loop {
        context.check()?;
        let read = file.read(&mut buffer);
        let failed = |error| Error::disk("read", error).at(backend.root().join(path));
        match read.map_err(failed)? {
            0 => return Ok(Some(digest.into())),
            read => digest.update(&buffer[..read]),
        }
    }
}
