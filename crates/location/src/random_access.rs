//! A file that is read at any place, and not from front to back.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::ops::Range;
use std::path::Path;
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
    /// A range of a file on disk, and a position in it.
    Range(File, Range<u64>, u64),
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

    /// Opens a range of a file on disk, as if it were a file of its own.
    ///
    /// # Errors
    /// If there is no such file, or it can't be opened.
    pub fn open_range(path: &Path, range: Range<u64>) -> Result<Self> {
        Ok(Self(Place::Range(open_file(path)?, range, 0)))
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
            Place::Range(_, range, _) => Ok(range.end - range.start),
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
            Place::Range(file, range, _) => Place::Range(file.try_clone()?, range.clone(), 0),
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
            Place::Range(file, range, _) => {
                let start = range.start.saturating_add(start);
                if start.saturating_add(length as u64) > range.end {
                    return Err(io::ErrorKind::UnexpectedEof.into());
                }
                let mut bytes = vec![0; length];
                read_exact_at(file, &mut bytes, start)?;
                Ok(bytes.into())
            }
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
        if let Place::Disk(file) = &mut self.0 {
            return file.read(into);
        }
        let (size, at) = (self.size()?, self.at());
        let length = size.saturating_sub(at).min(into.len() as u64);
        let length = usize::try_from(length).unwrap_or(into.len());
        let bytes = self.read_at(at, length)?;
        into[..bytes.len()].copy_from_slice(&bytes);
        self.go_to(at + length as u64);
        Ok(bytes.len())
    }
}

impl Seek for RandomAccess {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        if let Place::Disk(file) = &mut self.0 {
            return file.seek(to);
        }
        let target = match to {
            SeekFrom::Start(start) => Some(start),
            SeekFrom::End(by) => self.size()?.checked_add_signed(by),
            SeekFrom::Current(by) => self.at().checked_add_signed(by),
        };
        let target = target.ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput))?;
        self.go_to(target);
        Ok(target)
    }
}

impl RandomAccess {
    /// The position, of what isn't a whole file on disk.
    fn at(&self) -> u64 {
        match self.0 {
            Place::Disk(_) => 0,
            Place::Url(_, at) | Place::Range(_, _, at) => at,
        }
    }

    fn go_to(&mut self, target: u64) {
        match &mut self.0 {
            Place::Disk(_) => {}
            Place::Url(_, at) | Place::Range(_, _, at) => *at = target,
        }
    }
}
