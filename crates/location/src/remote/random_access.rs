//! An object that is read at any place, such as a Parquet file from its footer on.

use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use tracelake_core::error::{Error, ErrorKind, Result};

use super::super::Url;
use super::super::url::UrlContext;
use super::transfer::Transfer;
use super::{Network, Pending, network};

/// The fewest bytes that are read at once: a footer, or the header of a page with some of the page.
const AROUND: u64 = 256 << 10;

/// An object of one version.
#[derive(Debug)]
pub(crate) struct RemoteFile {
    network: Arc<Network>,
    transfer: Arc<Transfer>,
    context: UrlContext,
    /// The bytes read last, and where they start.
    last: Mutex<(u64, Bytes)>,
}

impl RemoteFile {
    pub(in super::super) fn open(url: &Url) -> Result<Self> {
        let network = network()?;
        let (stores, at) = (Arc::clone(&network), url.clone());
        let found = Pending::start(&network, async move {
            let object = stores.stores.open(&at).await?;
            Transfer::find(object).await
        });
        Ok(Self {
            transfer: Arc::new(found.wait(url.context.0.as_deref())?),
            context: url.context.clone(),
            network,
            last: Mutex::default(),
        })
    }

    /// Opens an object that should have `size` bytes, and reads its end by the same request.
    pub(in super::super) fn open_end(url: &Url, size: u64) -> Result<Self> {
        let network = network()?;
        let (stores, at) = (Arc::clone(&network), url.clone());
        let found = Pending::start(&network, async move {
            let object = stores.stores.open(&at).await?;
            Transfer::end(object, size, AROUND).await
        });
        let (transfer, end) = found.wait(url.context.0.as_deref())?;
        let start = transfer.size() - end.len() as u64;
        Ok(Self {
            transfer: Arc::new(transfer),
            context: url.context.clone(),
            network,
            last: Mutex::new((start, end.into())),
        })
    }

    pub(in super::super) fn len(&self) -> u64 {
        self.transfer.size()
    }

    /// Reads this many bytes.
    pub(in super::super) fn read_at(&self, start: u64, length: u64) -> Result<Bytes> {
        let size = self.len();
        let end = start.checked_add(length).filter(|&end| end <= size);
        let Some(end) = end else {
            return Err(Error::new(ErrorKind::Corrupt, "ends too early"));
        };
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
            let block = Pending::start(&self.network, async move { transfer.block(range).await });
            *last = (at, block.wait(self.context.0.as_deref())?.into());
        }
        let from = usize::try_from(start - last.0).expect("within a block");
        let length = usize::try_from(length).expect("within a block");
        Ok(last.1.slice(from..from + length))
    }
}
