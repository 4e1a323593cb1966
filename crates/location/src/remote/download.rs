//! The bytes of an object in order, in blocks that are asked for ahead.

use std::collections::VecDeque;
use std::sync::Arc;

use bytes::Bytes;
use tracelake_core::Context;
use tracelake_core::error::Result;

use super::body::UNKNOWN;
use super::network::Pending;
use super::transfer::{BLOCK, Transfer};
use crate::entry::Version;
use crate::url::Url;

/// Blocks that are asked for ahead of the one being read.
const AHEAD: usize = 3;

/// An object that is read from front to back, or from some byte to its end.
///
/// # Memory
/// [`crate::OBJECT_MEMORY`]: the block being read, those asked for, and what the connections buffer.
#[derive(Debug)]
pub(crate) struct Download {
    url: Url,
    /// The first byte that is read.
    start: u64,
    state: State,
}

#[derive(Debug)]
enum State {
    /// Nothing was asked for.
    New,
    /// The first block was asked for, and the next ones once its answer says how many there are.
    Opening(Pending<Opened>),
    Opened(Opened),
}

#[derive(Debug)]
struct Opened {
    transfer: Arc<Transfer>,
    size: u64,
    /// The rest of the block being read.
    block: Bytes,
    /// The blocks after it, as far as they were asked for.
    ahead: VecDeque<Pending<Bytes>>,
    /// Where the first block starts that wasn't asked for.
    next: u64,
    /// How many blocks to ask for ahead: one more for each that was read, so that a caller that wants only
    /// the start of a file gets little more.
    most_ahead: usize,
}

impl Download {
    /// Begins at this byte.
    pub(crate) fn from(url: Url, start: u64) -> Self {
        let state = State::New;
        Self { url, start, state }
    }

    /// Asks for the first blocks, and doesn't wait for them.
    pub(crate) fn prefetch(&mut self) -> Result<()> {
        if let State::New = self.state {
            self.state = State::Opening(Opened::begin(&self.url, self.start, AHEAD)?);
        }
        Ok(())
    }

    /// Reads some bytes; 0 at the end.
    pub(crate) fn read(&mut self, into: &mut [u8], context: Option<&Context>) -> Result<usize> {
        let context = context.or(self.url.context.as_deref());
        let opened = self.state.open(&self.url, self.start, context)?;
        opened.read(into, context)
    }

    /// The version of the object, as the server reports it.
    pub(crate) fn version(&mut self, context: &Context) -> Result<Version> {
        let opened = self.state.open(&self.url, self.start, Some(context))?;
        Ok(opened.transfer.version())
    }

    /// Fails if the object isn't the one any more that was read so far; returns its tag.
    pub(crate) fn confirm(&self, context: &Context) -> Result<Option<String>> {
        let State::Opened(opened) = &self.state else {
            return Ok(None);
        };
        let transfer = Arc::clone(&opened.transfer);
        Pending::start(&self.url, async move { transfer.confirm().await })?.wait(Some(context))
    }
}

impl State {
    /// Waits for the first answer, and asks for it if that wasn't done.
    fn open(&mut self, url: &Url, start: u64, context: Option<&Context>) -> Result<&mut Opened> {
        loop {
            *self = match self {
                Self::New => Self::Opening(Opened::begin(url, start, 0)?),
                Self::Opening(opening) => match opening.wait(context) {
                    Ok(opened) => Self::Opened(opened),
                    Err(error) => {
                        *self = Self::New;
                        return Err(error);
                    }
                },
                Self::Opened(_) => break,
            };
        }
        match self {
            Self::Opened(opened) => Ok(opened),
            Self::New | Self::Opening(_) => unreachable!("the loop ends once it is open"),
        }
    }
}

impl Opened {
    /// Asks for the first block, and then for some after it.
    fn begin(url: &Url, start: u64, blocks_ahead: usize) -> Result<Pending<Self>> {
        Pending::open(url, move |object| async move {
            let (transfer, block, size) = Transfer::begin(object, start).await?;
            let mut opened = Self {
                transfer: Arc::new(transfer),
                size,
                next: start + block.len() as u64,
                block,
                ahead: VecDeque::new(),
                most_ahead: blocks_ahead,
            };
            opened.ask_ahead()?;
            opened.most_ahead = blocks_ahead.max(1);
            Ok(opened)
        })
    }

    fn read(&mut self, into: &mut [u8], context: Option<&Context>) -> Result<usize> {
        while self.block.is_empty() {
            self.ask_ahead()?;
            let Some(next) = self.ahead.front_mut() else {
                // From here on, only `confirm` is called.
                self.block = Bytes::new();
                return Ok(0);
            };
            self.block = next.wait(context)?;
            self.ahead.pop_front();
            if self.size == UNKNOWN && (self.block.len() as u64) < BLOCK {
                // Nothing is in those that were asked for ahead.
                self.size = self.next;
                self.ahead.clear();
            }
            self.most_ahead = AHEAD.min(self.most_ahead + 1);
            self.ask_ahead()?;
        }
        let now = self.block.split_to(into.len().min(self.block.len()));
        into[..now.len()].copy_from_slice(&now);
        Ok(now.len())
    }

    fn ask_ahead(&mut self) -> Result<()> {
        while self.ahead.len() < self.most_ahead && self.next < self.size {
            let range = self.next..self.size.min(self.next + BLOCK);
            self.next = range.end;
            let transfer = Arc::clone(&self.transfer);
            let work = async move { transfer.block(range).await };
            self.ahead
                .push_back(Pending::start(self.transfer.url(), work)?);
        }
        Ok(())
    }
}
