//! A file that is read at any place, and not from front to back.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::sync::Arc;

use bytes::Bytes;
use tracelake_core::error::Result;

use crate::disk::open_file;
use crate::location::Location;
use crate::remote::RemoteFile;

/// A file on disk or an object, and a position in it.
#[derive(Debug)]
pub struct RandomAccess(Place);

#[derive(Debug)]
enum Place {
    Disk(File),
    Url(Arc<RemoteFile>, u64),
}

impl RandomAccess {
    /// Opens a file.
    ///
    /// # Errors
    /// If there is no such file, or it can't be opened.
    pub fn open(location: &Location) -> Result<Self> {
        Self::of(location, None)
    }

    /// Opens a file to read its end first. That takes one request less than [`Self::open`] if an object has this many
    /// bytes; if it has more or less, it's opened all the same.
    ///
    /// # Errors
    /// If there is no such file, or it can't be opened.
    pub fn open_end(location: &Location, size: u64) -> Result<Self> {
        Self::of(location, Some(size))
    }

    fn of(location: &Location, size: Option<u64>) -> Result<Self> {
        Ok(Self(match location {
            Location::Disk(path) => Place::Disk(open_file(path)?),
            Location::Url(url) => Place::Url(Arc::new(RemoteFile::open(url, size)?), 0),
        }))
    }

    /// Its size in bytes.
    ///
    /// # Errors
    /// If the disk fails.
    pub fn size(&self) -> io::Result<u64> {
        match &self.0 {
            Place::Disk(file) => Ok(file.metadata()?.len()),
            Place::Url(file, _) => Ok(file.len()),
        }
    }

    /// A clone; on disk, it shares the position.
    ///
    /// # Errors
    /// If the system has no more file handles.
    pub fn try_clone(&self) -> io::Result<Self> {
        Ok(Self(match &self.0 {
            Place::Disk(file) => Place::Disk(file.try_clone()?),
            Place::Url(file, _) => Place::Url(Arc::clone(file), 0),
        }))
    }

    /// Reads this many bytes.
    ///
    /// # Errors
    /// If the file ends before, or the disk or the server fails.
    pub fn read_at(&self, start: u64, length: usize) -> io::Result<Bytes> {
        match &self.0 {
            Place::Disk(file) => {
                let mut bytes = vec![0; length];
                read_exact_at(file, &mut bytes, start)?;
                Ok(bytes.into())
            }
            Place::Url(file, _) => file.read_at(start, length as u64).map_err(io::Error::other),
        }
    }
}

/// Reads from a place of a file, whatever other threads read from it at the same time.
fn read_exact_at(file: &File, into: &mut [u8], start: u64) -> io::Result<()> {
    #[cfg(unix)]
    return std::os::unix::fs::FileExt::read_exact_at(file, into, start);
    #[cfg(windows)]
    {
        let mut filled = 0;
        while filled < into.len() {
            let at = start + filled as u64;
            match std::os::windows::fs::FileExt::seek_read(file, &mut into[filled..], at)? {
                0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                read => filled += read,
            }
        }
        Ok(())
    }
}

impl From<File> for RandomAccess {
    fn from(file: File) -> Self {
        Self(Place::Disk(file))
    }
}

impl Read for RandomAccess {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match &mut self.0 {
            Place::Disk(file) => file.read(into),
            Place::Url(file, at) => {
                let left = file.len().saturating_sub(*at);
                let length = left.min(into.len() as u64);
                let bytes = file.read_at(*at, length).map_err(io::Error::other)?;
                into[..bytes.len()].copy_from_slice(&bytes);
                *at += length;
                Ok(bytes.len())
            }
        }
    }
}

impl Seek for RandomAccess {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        match &mut self.0 {
            Place::Disk(file) => file.seek(to),
            Place::Url(file, at) => {
                let target = match to {
                    SeekFrom::Start(start) => Some(start),
                    SeekFrom::End(by) => file.len().checked_add_signed(by),
                    SeekFrom::Current(by) => at.checked_add_signed(by),
                };
                let outside = || io::Error::from(io::ErrorKind::InvalidInput);
                *at = target.ok_or_else(outside)?;
                Ok(*at)
            }
        }
    }
}
