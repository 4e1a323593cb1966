//! The bytes of a file or an object, in order, wherever they come from.

use std::io::{self, Read};

use tracelake_core::Context;
use tracelake_core::error::{Error, Result};

use crate::entry::Version;
use crate::pieces::Pieces;
use crate::remote::Download;

/// The bytes of a file or an object, in order.
#[derive(Debug)]
pub struct Reader(pub(crate) Bytes);

#[derive(Debug)]
pub(crate) enum Bytes {
    Disk(Pieces),
    Url(Box<Download>),
}

impl Reader {
    /// Reads some bytes into a buffer that isn't empty; 0 at the end.
    ///
    /// # Errors
    /// If the disk or the server fails, or the object changes while it is read;
    /// [`ErrorKind::Stopped`](tracelake_core::error::ErrorKind::Stopped) if the context is cancelled while a server is
    /// waited for. A path on disk isn't in the error.
    pub fn read_some(&mut self, context: &Context, into: &mut [u8]) -> Result<usize> {
        loop {
            let read = match &mut self.0 {
                Bytes::Disk(file) => file.read(into),
                Bytes::Url(download) => return download.read(into, Some(context)),
            };
            match read {
                // A signal.
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                read => return read.map_err(from_read),
            }
        }
    }

    /// Asks a server for the first bytes, and doesn't wait for them. Nothing is asked of a disk.
    ///
    /// # Errors
    /// If no thread can be started that waits for servers.
    pub fn prefetch(&mut self) -> Result<()> {
        match &mut self.0 {
            Bytes::Disk(_) => Ok(()),
            Bytes::Url(download) => download.prefetch(),
        }
    }

    /// The version of the object that is read, as the server reports it; asks for the first bytes if that wasn't done.
    /// `None` for a file on disk.
    ///
    /// # Errors
    /// If the server doesn't answer, or there is no such object;
    /// [`ErrorKind::Stopped`](tracelake_core::error::ErrorKind::Stopped) if the context is cancelled.
    pub fn version(&mut self, context: &Context) -> Result<Option<Version>> {
        match &mut self.0 {
            Bytes::Disk(_) => Ok(None),
            Bytes::Url(download) => download.version(context).map(Some),
        }
    }

    /// Asks whether what was read so far is still there, and returns its tag in its store. A file on disk isn't asked: it
    /// stays what it was as long as it is open, unless another process writes into it.
    ///
    /// # Errors
    /// If the object has changed since, or can't be asked for;
    /// [`ErrorKind::Stopped`](tracelake_core::error::ErrorKind::Stopped) if the context is cancelled.
    pub fn confirm(&self, context: &Context) -> Result<Option<String>> {
        match &self.0 {
            Bytes::Disk(_) => Ok(None),
            Bytes::Url(download) => download.confirm(context),
        }
    }
}

/// An error of a server is an [`io::Error`] that holds ours, see [`from_read`].
impl Read for Reader {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match &mut self.0 {
            Bytes::Disk(file) => file.read(into),
            Bytes::Url(download) => download.read(into, None).map_err(io::Error::other),
        }
    }
}

/// The error of a failed [`Reader`]; a path on disk isn't in it.
#[must_use]
pub fn from_read(error: io::Error) -> Error {
    Error::disk("read", error)
}
