//! Whether the disk has room for what is still to come.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use tracelake_core::error::{Error, ErrorKind, Result};
use tracelake_core::words::group_digits;
use tracelake_location::free_bytes;

/// The bytes that the files being fetched still take.
#[derive(Debug)]
pub(crate) struct Room<'a> {
    directory: &'a Path,
    reserved: AtomicU64,
}

/// The share of a file, which shrinks as its bytes are written, and ends when it is dropped.
#[derive(Debug)]
pub(crate) struct Reserved<'a> {
    room: &'a Room<'a>,
    bytes: u64,
}

impl<'a> Room<'a> {
    pub(crate) fn of(directory: &'a Path) -> Self {
        let reserved = AtomicU64::new(0);
        Self {
            directory,
            reserved,
        }
    }

    /// Refuses if less is free than this many bytes and what files being fetched still take.
    ///
    /// # Errors
    /// [`ErrorKind::Refused`].
    pub(crate) fn check(&self, bytes: u64) -> Result<()> {
        let reserved = self.reserved.load(Ordering::Relaxed);
        let needed = reserved.saturating_add(bytes);
        check(free_bytes(self.directory), needed).map_err(|error| error.at(self.directory))
    }

    /// Reserves room for the rest of a file.
    ///
    /// # Errors
    /// [`ErrorKind::Refused`] if the disk has too little.
    pub(crate) fn reserve(&'a self, bytes: u64) -> Result<Reserved<'a>> {
        self.check(bytes)?;
        self.reserved.fetch_add(bytes, Ordering::Relaxed);
        Ok(Reserved { room: self, bytes })
    }
}

impl Reserved<'_> {
    /// Counts bytes that were written.
    pub(crate) fn written(&mut self, bytes: u64) {
        let bytes = bytes.min(self.bytes);
        self.bytes -= bytes;
        self.room.reserved.fetch_sub(bytes, Ordering::Relaxed);
    }
}

impl Drop for Reserved<'_> {
    fn drop(&mut self) {
        self.written(u64::MAX);
    }
}

fn check(free: Option<u64>, needed: u64) -> Result<()> {
    let Some(free) = free.filter(|free| *free < needed) else {
        return Ok(());
    };
    let reason = format!(
        "too little room: {} bytes are free on its disk, and {} are still to come",
        group_digits(free),
        group_digits(needed)
    );
    let hint = "free some, name a directory on a larger disk, or fetch fewer tables or parts";
    Err(Error::new(ErrorKind::Refused, reason).hint(hint))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_still_to_come_fits_on_the_disk() {
        for (free, needed, fits) in [
            (Some(10), 10, true),
            (Some(9), 10, false),
            (None, u64::MAX, true),
        ] {
            assert_eq!(check(free, needed).is_ok(), fits, "{free:?} {needed}");
        }
        let directory = tempfile::tempdir().unwrap();
        let room = Room::of(directory.path());
        let mut file = room.reserve(1_000).unwrap();
        file.written(400);
        assert_eq!(room.reserved.load(Ordering::Relaxed), 600);
        let error = room.reserve(u64::MAX).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Refused);
        drop(file);
        assert_eq!(room.reserved.load(Ordering::Relaxed), 0);
    }
}
