//! An object that is read at any place, such as a Parquet file from its footer on.

use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use tracelake_core::error::{Error, ErrorKind, Result};

use super::network::{ask, wait_for};
use super::transfer::Transfer;
use crate::url::Url;

/// The fewest bytes that are read at once: a footer, or the header of a page with some of the page.
const AROUND: u64 = 256 << 10;

/// An object of one version.
#[derive(Debug)]
pub(crate) struct RemoteFile {
    transfer: Arc<Transfer>,
    /// The bytes read last, and where they start.
    last: Mutex<(u64, Bytes)>,
}

impl RemoteFile {
    /// Opens an object; if it should have `size` bytes, its end is read by the same request.
    pub(crate) fn open(url: &Url, size: Option<u64>) -> Result<Self> {
        let (transfer, end) = ask(url, move |object| async move {
            match size {
                Some(size) => Transfer::end(object, size, AROUND).await,
                None => Transfer::find(object).await,
            }
        })?;
        let start = transfer.size() - end.len() as u64;
        Ok(Self {
            transfer: Arc::new(transfer),
            last: Mutex::new((start, end)),
        })
    }

    pub(crate) fn len(&self) -> u64 {
        self.transfer.size()
    }

    /// Reads this many bytes.
    pub(crate) fn read_at(&self, start: u64, length: u64) -> Result<Bytes> {
        let size = self.len();
        let end = start.checked_add(length).filter(|&end| end <= size);
        let end = end.ok_or_else(|| Error::new(ErrorKind::Corrupt, "ends too early"))?;
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let is_known = |(at, bytes): &(u64, Bytes)| *at <= start && end <= at + bytes.len() as u64;
        if !is_known(&last) {
            // Before a footer comes what it describes; after a page comes the next one.
            let range = match end == size {
                true => start.min(size.saturating_sub(AROUND))..size,
                false => start..size.min(end.max(start + AROUND)),
            };
            let transfer = Arc::clone(&self.transfer);
            let at = range.start;
            let block = async move { transfer.block(range).await };
            *last = (at, wait_for(self.transfer.url(), block)?);
        }
        let from = usize::try_from(start - last.0).expect("within a block");
        let length = usize::try_from(length).expect("within a block");
        Ok(last.1.slice(from..from + length))
    }
}
