//! One thread reads chunks ahead while another one converts the earlier ones.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tracelake_core::error::Result;
use tracelake_core::field_order::FieldOrder;

use super::lines::SplitChunk;

/// How many chunks may be read ahead. A thread that has read this many helps with converting until only half
/// of them are left. A higher limit gains nothing and takes more of the cache.
pub const CHUNKS: usize = 4;

/// How long the converting thread waits for the chunk being read before it looks for other work.
const PATIENCE: Duration = Duration::from_millis(5);

/// The chunks of a part that follow the one being converted.
///
/// Reading and converting a chunk take about equally long, except that a chunk that ends pages takes far
/// longer to convert. If the threads met after every chunk, they would be idle for a fifth of the time.
pub(super) struct ReadAhead<'a> {
    order: &'a FieldOrder,
    chunks: Mutex<Chunks>,
    /// Signalled when a chunk has been read.
    read: Condvar,
}

struct Chunks {
    /// In the order of the text. The last entry of a part is a chunk without lines, or an error.
    ready: VecDeque<Result<SplitChunk>>,
    free: Vec<SplitChunk>,
    is_reading: bool,
    is_converting: bool,
}

impl<'a> ReadAhead<'a> {
    pub(super) fn new(order: &'a FieldOrder) -> Self {
        Self {
            order,
            chunks: Mutex::new(Chunks {
                ready: VecDeque::new(),
                free: (0..CHUNKS).map(|_| SplitChunk::new(order)).collect(),
                is_reading: false,
                is_converting: false,
            }),
            read: Condvar::new(),
        }
    }

    /// Reads the next chunk if there is room and the part hasn't ended, and further ones while another thread
    /// is converting. A thread that does both in turn reads only one, so its two chunks stay in its cache.
    pub(super) fn read(&self, mut read: impl FnMut(&mut SplitChunk) -> Result<()>) {
        let mut next = self.lock().start_reading();
        while let Some(mut chunk) = next {
            let done = read(&mut chunk).map(|()| chunk);
            let mut chunks = self.lock();
            let goes_on = chunks.is_converting && !done.as_ref().is_ok_and(SplitChunk::is_dense);
            chunks.ready.push_back(done);
            chunks.is_reading = false;
            self.read.notify_one();
            next = goes_on.then(|| chunks.start_reading()).flatten();
        }
    }

    /// Runs `convert`, during which [`ReadAhead::read`] may read more than one chunk.
    pub(super) fn while_converting<R>(&self, convert: impl FnOnce() -> R) -> R {
        self.lock().is_converting = true;
        let converted = convert();
        self.lock().is_converting = false;
        converted
    }

    /// Puts the next chunk in place of `current`, which has been converted. Returns false if that one doesn't fit,
    /// or if it is time to look for other work.
    pub(super) fn next_if(
        &self,
        current: &mut SplitChunk,
        fits: impl FnOnce(&SplitChunk) -> bool,
    ) -> bool {
        let is_awaited = |chunks: &mut Chunks| chunks.is_reading && chunks.ready.is_empty();
        let waited = self
            .read
            .wait_timeout_while(self.lock(), PATIENCE, is_awaited);
        let (mut chunks, _) = waited.unwrap_or_else(PoisonError::into_inner);
        let goes_on = chunks.is_reading || chunks.ready.len() > CHUNKS / 2;
        let fits = |next: &mut Result<_>| goes_on && next.as_ref().is_ok_and(fits);
        let Some(Ok(next)) = chunks.ready.pop_front_if(fits) else {
            return false;
        };
        self.replace(&mut chunks, current, next);
        true
    }

    /// Puts the next chunk in place of `current`, which has been converted. [`ReadAhead::read`] must have returned.
    ///
    /// # Errors
    /// If that chunk could not be read.
    pub(super) fn next(&self, current: &mut SplitChunk) -> Result<()> {
        let mut chunks = self.lock();
        let next = chunks.ready.pop_front().expect("a chunk was read");
        self.replace(&mut chunks, current, next?);
        Ok(())
    }

    fn replace(&self, chunks: &mut Chunks, current: &mut SplitChunk, next: SplitChunk) {
        let mut done = std::mem::replace(current, next);
        if done.is_dense() {
            // Its records take more room than the others need.
            done = SplitChunk::new(self.order);
        }
        chunks.free.push(done);
    }

    fn lock(&self) -> MutexGuard<'_, Chunks> {
        self.chunks.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Chunks {
    /// A free chunk to read into, unless the end of the part has been read.
    fn start_reading(&mut self) -> Option<SplitChunk> {
        let is_last = |chunk: &Result<SplitChunk>| !chunk.as_ref().is_ok_and(SplitChunk::has_lines);
        if self.ready.back().is_some_and(is_last) {
            return None;
        }
        let chunk = self.free.pop();
        self.is_reading = chunk.is_some();
        chunk
    }
}
