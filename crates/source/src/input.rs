//! The bytes of a file, with a few buffered before and after the current one.

use tracelake_core::error::Result;

use super::READ;
use super::bytes::{Bytes, fill};

/// Bytes that stay in the buffer before the next one, so that a decoder can unread them.
const BEHIND: usize = 8;

/// Compressed bytes on their way to a decoder.
pub(super) struct Input {
    bytes: Box<dyn Bytes>,
    /// How many were read.
    read: u64,
    buffer: Vec<u8>,
    /// The next byte, and the end of what was read.
    start: usize,
    end: usize,
    is_begun: bool,
    ended: bool,
}

impl Input {
    /// Decodes `bytes`, of which `head` was read.
    pub(super) fn new(head: &[u8], bytes: Box<dyn Bytes>) -> Self {
        let mut buffer = vec![0; READ.max(head.len())];
        buffer[..head.len()].copy_from_slice(head);
        Self {
            bytes,
            read: head.len() as u64,
            buffer,
            start: 0,
            end: head.len(),
            is_begun: false,
            ended: false,
        }
    }

    /// The layer below.
    pub(super) fn bytes(&self) -> &dyn Bytes {
        &*self.bytes
    }

    pub(super) fn bytes_mut(&mut self) -> &mut dyn Bytes {
        &mut *self.bytes
    }

    pub(super) fn into_bytes(self) -> Box<dyn Bytes> {
        self.bytes
    }

    /// The offset of the next byte in what is decoded.
    pub(super) fn offset(&self) -> u64 {
        self.read - (self.end - self.start) as u64
    }

    /// The buffered bytes from the next one on.
    pub(super) fn ahead(&self) -> &[u8] {
        &self.buffer[self.start..self.end]
    }

    /// Skips buffered bytes.
    pub(super) fn pass(&mut self, bytes: usize) {
        self.start += bytes;
    }

    /// Goes back by up to eight bytes.
    pub(super) fn unread(&mut self, bytes: usize) {
        self.start -= bytes;
    }

    /// Buffers at least this many bytes, unless the file ends before.
    pub(super) fn look_ahead(&mut self, bytes: usize) -> Result<()> {
        // The first time, the buffer is filled, whatever was read before: how far a file was read mustn't depend on
        // how it was recognised.
        while (self.end - self.start < bytes || !self.is_begun) && !self.ended {
            self.is_begun = true;
            let kept = self.start.saturating_sub(BEHIND);
            self.buffer.copy_within(kept..self.end, 0);
            self.start -= kept;
            self.end -= kept;
            let room = &mut self.buffer[self.end..];
            let read = fill(&mut *self.bytes, room)?;
            self.ended = read < room.len();
            self.end += read;
            self.read += read as u64;
        }
        Ok(())
    }

    /// Whether no bytes are left.
    pub(super) fn is_at_end(&mut self) -> Result<bool> {
        if self.start == self.end {
            self.look_ahead(1)?;
        }
        Ok(self.start == self.end)
    }

    /// The next byte; `None` at the end.
    pub(super) fn byte(&mut self) -> Result<Option<u8>> {
        if self.is_at_end()? {
            return Ok(None);
        }
        self.start += 1;
        Ok(Some(self.buffer[self.start - 1]))
    }

    /// Copies some bytes into a buffer that isn't empty; returns 0 at the end.
    pub(super) fn copy(&mut self, into: &mut [u8]) -> Result<usize> {
        self.is_at_end()?;
        let copied = into.len().min(self.end - self.start);
        into[..copied].copy_from_slice(&self.buffer[self.start..self.start + copied]);
        self.start += copied;
        Ok(copied)
    }
}
