//! The bytes of an object in order, in blocks that are asked for ahead.

use std::collections::VecDeque;
use std::sync::Arc;

use tracelake_core::Context;
use tracelake_core::error::Result;

use super::super::Url;
use super::body::UNKNOWN;
use super::transfer::{BLOCK, Transfer};
use super::{Network, Pending, network};

/// Blocks that are asked for ahead of the one being read.
const AHEAD: usize = 3;

/// An object that is read from front to back.
///
/// # Memory
/// [`super::super::OBJECT_MEMORY`]: the block being read, those asked for, and what the connections
/// buffer.
#[derive(Debug)]
pub(in super::super) struct Download {
    url: Url,
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
    network: Arc<Network>,
    transfer: Arc<Transfer>,
    size: u64,
    /// The block being read, and how much of it was.
    block: Vec<u8>,
    read: usize,
    /// The blocks after it, as far as they were asked for.
    ahead: VecDeque<Pending<Vec<u8>>>,
    /// Where the first block starts that wasn't asked for.
    next: u64,
    /// How many blocks to ask for ahead: one more for each that was read, so that a caller that wants only
    /// the start of a file gets little more.
    most_ahead: usize,
}

impl Download {
    pub(in super::super) fn new(url: Url) -> Self {
        Self {
            url,
            state: State::New,
        }
    }

    /// Asks for the first blocks, and doesn't wait for them.
    pub(in super::super) fn prefetch(&mut self) -> Result<()> {
        if let State::New = self.state {
            self.state = State::Opening(Opened::begin(&self.url, AHEAD)?);
        }
        Ok(())
    }

    /// Reads some bytes; 0 at the end.
    pub(in super::super) fn read(
        &mut self,
        into: &mut [u8],
        context: Option<&Context>,
    ) -> Result<usize> {
        let context = context.or(self.url.context.0.as_deref());
        loop {
            self.state = match &mut self.state {
                State::New => State::Opening(Opened::begin(&self.url, 0)?),
                State::Opening(opening) => match opening.wait(context) {
                    Ok(opened) => State::Opened(opened),
                    Err(error) => {
                        self.state = State::New;
                        return Err(error);
                    }
                },
                State::Opened(opened) => return opened.read(into, context),
            };
        }
    }

    /// Fails if the object isn't the one any more that was read so far; returns its tag.
    pub(in super::super) fn confirm(&self, context: Option<&Context>) -> Result<Option<String>> {
        let State::Opened(opened) = &self.state else {
            return Ok(None);
        };
        let context = context.or(self.url.context.0.as_deref());
        let transfer = Arc::clone(&opened.transfer);
        let work = async move { transfer.confirm().await };
        Pending::start(&opened.network, work).wait(context)
    }
}

impl Opened {
    /// Asks for the first block, and then for some after it.
    fn begin(url: &Url, blocks_ahead: usize) -> Result<Pending<Self>> {
        let network = network()?;
        let (url, own) = (url.clone(), Arc::clone(&network));
        Ok(Pending::start(&network, async move {
            let object = own.stores.open(&url).await?;
            let (transfer, block, size) = Transfer::begin(object).await?;
            let mut opened = Self {
                network: own,
                transfer: Arc::new(transfer),
                size,
                next: block.len() as u64,
                block,
                read: 0,
                ahead: VecDeque::new(),
                most_ahead: blocks_ahead,
            };
            opened.ask_ahead();
            opened.most_ahead = blocks_ahead.max(1);
            Ok(opened)
        }))
    }

    fn read(&mut self, into: &mut [u8], context: Option<&Context>) -> Result<usize> {
        while self.read == self.block.len() {
            self.ask_ahead();
            let Some(next) = self.ahead.front() else {
                // From here on, only `confirm` is called.
                self.block = Vec::new();
                self.read = 0;
                return Ok(0);
            };
            self.block = next.wait(context)?;
            self.read = 0;
            self.ahead.pop_front();
            if self.size == UNKNOWN && (self.block.len() as u64) < BLOCK {
                // Nothing is in those that were asked for ahead.
                self.size = self.next;
                self.ahead.clear();
            }
            self.most_ahead = AHEAD.min(self.most_ahead + 1);
            self.ask_ahead();
        }
        let bytes = into.len().min(self.block.len() - self.read);
        into[..bytes].copy_from_slice(&self.block[self.read..self.read + bytes]);
        self.read += bytes;
        Ok(bytes)
    }

    fn ask_ahead(&mut self) {
        while self.ahead.len() < self.most_ahead && self.next < self.size {
            let range = self.next..self.size.min(self.next + BLOCK);
            self.next = range.end;
            let transfer = Arc::clone(&self.transfer);
            let work = async move { transfer.block(range).await };
            self.ahead.push_back(Pending::start(&self.network, work));
        }
    }
}
