//! The bytes of a file as it was published, and their digest.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use tracelake_core::Context;
use tracelake_core::digest::Digest;
use tracelake_core::error::{Error, ErrorKind, Result};
use tracelake_location::{Location, Reader};

/// Bytes per read from the disk.
pub(super) const READ: usize = 128 << 10;

/// The size and digest of a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fingerprint {
    /// Its size on disk, in bytes.
    pub bytes: u64,
    /// The SHA-256 of these bytes.
    pub sha256: Digest,
}

/// The bytes of a file as it was published, counted and digested as they are read.
pub(super) struct Raw {
    reader: Reader,
    digest: Sha256,
    pub(super) bytes: u64,
    context: Context,
}

impl Raw {
    pub(super) fn open(context: &Context, location: &Location) -> Result<Self> {
        Ok(Self {
            reader: location.open()?,
            digest: Sha256::new(),
            bytes: 0,
            context: context.clone(),
        })
    }

    pub(super) fn context(&self) -> &Context {
        &self.context
    }

    /// See [`super::Source::prefetch`].
    pub(super) fn prefetch(&mut self) -> Result<()> {
        self.reader.prefetch()
    }

    /// Fails once the context is cancelled.
    pub(super) fn check_cancelled(&self) -> Result<()> {
        self.context.check()
    }

    /// Fills a buffer, or as much of it as the file still has. So how far a part was read never depends on the
    /// sizes in which a server delivers the file. The error lacks the path.
    pub(super) fn read(&mut self, into: &mut [u8]) -> Result<usize> {
        let mut filled = 0;
        while filled < into.len() {
            self.check_cancelled()?;
            let room = &mut into[filled..];
            match self.reader.read_some(&self.context, room)? {
                0 => break,
                read => filled += read,
            }
        }
        self.digest.update(&into[..filled]);
        self.bytes += filled as u64;
        Ok(filled)
    }

    /// Reads on until this many bytes of the file were read, or to its end. The error lacks the path.
    pub(super) fn read_to(&mut self, bytes: u64, buffer: &mut [u8]) -> Result<()> {
        while self.bytes < bytes {
            let left = usize::try_from(bytes - self.bytes).unwrap_or(usize::MAX);
            let room = left.min(buffer.len());
            if self.read(&mut buffer[..room])? == 0 {
                break;
            }
        }
        Ok(())
    }

    /// See [`super::Source::confirm`].
    pub(super) fn confirm(&self) -> Result<Option<String>> {
        self.reader.confirm(&self.context)
    }

    pub(super) fn fingerprint(&self) -> Fingerprint {
        Fingerprint {
            bytes: self.bytes,
            sha256: self.digest.clone().into(),
        }
    }
}

/// Digests a whole file without decompressing it.
///
/// # Errors
/// When it cannot be read.
pub fn fingerprint(context: &Context, location: impl Into<Location>) -> Result<Fingerprint> {
    let location = location.into();
    let mut raw = Raw::open(context, &location)?;
    raw.read_to(u64::MAX, &mut vec![0; READ])
        .map_err(|error| at(error, &location))?;
    Ok(raw.fingerprint())
}

/// Digests the first N bytes of a file for each N in `lengths`, or all of it if it's shorter. There is a fingerprint for
/// each length.
///
/// # Errors
/// When it can't be read; [`tracelake_core::ErrorKind::Stopped`] once the context is cancelled.
pub fn fingerprints(
    context: &Context,
    location: &Location,
    lengths: &BTreeSet<u64>,
) -> Result<BTreeMap<u64, Fingerprint>> {
    let mut raw = Raw::open(context, location)?;
    let mut buffer = vec![0; READ];
    let mut fingerprints = BTreeMap::new();
    for &length in lengths {
        raw.read_to(length, &mut buffer)
            .map_err(|error| at(error, location))?;
        fingerprints.insert(length, raw.fingerprint());
    }
    Ok(fingerprints)
}

/// Names the file in an error, unless it names one, or is an interrupt, which is not about any file.
pub(super) fn at(error: Error, location: &Location) -> Error {
    match error.kind() {
        ErrorKind::Stopped(_) => error,
        _ => error.or_at(location),
    }
}
