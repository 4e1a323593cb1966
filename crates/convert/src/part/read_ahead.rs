//! Chunks that one thread reads while another one converts those before.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tracelake_schema::Syntax;

use super::lines::SplitChunk;
use crate::error::Result;

/// The most chunks that are read ahead. A thread that has read as many helps the one that converts, until
/// half of them are left. More of them only take more of the cache.
const CHUNKS: usize = 4;

/// How long a thread waits for a chunk that another one reads, before it looks for other work.
const PATIENCE: Duration = Duration::from_millis(5);

/// The chunks of a part that follow the one being converted.
///
/// Reading and converting take about the same time. A thread that waited for the other one after each
/// chunk would be idle for a fifth of the time, since some chunks end pages and others don't.
pub(super) struct ReadAhead {
    chunks: Mutex<Chunks>,
    /// Notified when a chunk was read.
    read: Condvar,
}

struct Chunks {
    /// In the order of the text. The last one of a part has no lines, or is an error.
    ready: VecDeque<Result<SplitChunk>>,
    free: Vec<SplitChunk>,
    is_reading: bool,
    is_converting: bool,
}

impl ReadAhead {
    pub(super) fn new(syntax: Syntax) -> Self {
        Self {
            chunks: Mutex::new(Chunks {
                ready: VecDeque::new(),
                free: (0..CHUNKS).map(|_| SplitChunk::new(syntax)).collect(),
                is_reading: false,
                is_converting: false,
            }),
            read: Condvar::new(),
        }
    }

    /// Reads a chunk, and then more while there is room and another thread converts. A thread that does both
    /// in turn reads no more than one, so that two chunks stay in its cache.
    pub(super) fn read(&self, mut read: impl FnMut(&mut SplitChunk) -> Result<()>) {
        let mut next = self.lock().start_reading();
        while let Some(mut chunk) = next {
            let done = read(&mut chunk).map(|()| chunk);
            let mut chunks = self.lock();
            chunks.ready.push_back(done);
            chunks.is_reading = false;
            self.read.notify_one();
            let goes_on = chunks.is_converting;
            next = goes_on.then(|| chunks.start_reading()).flatten();
        }
    }

    /// Runs `convert`, which converts chunks.
    pub(super) fn while_converting<R>(&self, convert: impl FnOnce() -> R) -> R {
        self.lock().is_converting = true;
        let converted = convert();
        self.lock().is_converting = false;
        converted
    }

    /// Replaces a chunk that was converted by the next one, if it `fits`. Returns false where it doesn't, and
    /// where it is time to read again.
    pub(super) fn next_if(
        &self,
        now: &mut SplitChunk,
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
        chunks.replace(now, next);
        true
    }

    /// Replaces a chunk that was converted by the next one, after [`ReadAhead::read`].
    ///
    /// # Errors
    /// That of reading it.
    pub(super) fn next(&self, now: &mut SplitChunk) -> Result<()> {
        let mut chunks = self.lock();
        let next = chunks.ready.pop_front().expect("a chunk was read");
        chunks.replace(now, next?);
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, Chunks> {
        self.chunks.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Chunks {
    /// A chunk to read into, if one is free and the part goes on.
    fn start_reading(&mut self) -> Option<SplitChunk> {
        let is_last = |chunk: &Result<SplitChunk>| !chunk.as_ref().is_ok_and(SplitChunk::has_lines);
        if self.ready.back().is_some_and(is_last) {
            return None;
        }
        let chunk = self.free.pop();
        self.is_reading = chunk.is_some();
        chunk
    }

    fn replace(&mut self, now: &mut SplitChunk, next: SplitChunk) {
        self.free.push(std::mem::replace(now, next));
    }
}
