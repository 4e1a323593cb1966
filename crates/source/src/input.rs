//! The bytes of a file, with a few buffered before and after the current one.

use tracelake_core::error::Result;

use super::{READ, Raw};

/// Bytes that stay in the buffer before the next one, so that a decoder can unread them.
const BEHIND: usize = 8;

/// Compressed bytes on their way to a decoder.
pub(super) struct Input {
    raw: Raw,
    buffer: Vec<u8>,
    /// The next byte, and the end of what was read.
    start: usize,
    end: usize,
    ended: bool,
}

impl Input {
    pub(super) fn new(raw: Raw) -> Self {
        Self {
            raw,
            buffer: vec![0; READ],
            start: 0,
            end: 0,
            ended: false,
        }
    }

    pub(super) fn raw(&self) -> &Raw {
        &self.raw
    }

    pub(super) fn raw_mut(&mut self) -> &mut Raw {
        &mut self.raw
    }

    /// The offset of the next byte in the file.
    pub(super) fn offset(&self) -> u64 {
        self.raw.bytes - (self.end - self.start) as u64
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

    /// Buffers at least eight bytes, unless the file ends before.
    pub(super) fn look_ahead(&mut self) -> Result<()> {
        while self.end - self.start < 8 && !self.ended {
            let kept = self.start.saturating_sub(BEHIND);
            self.buffer.copy_within(kept..self.end, 0);
            self.start -= kept;
            self.end -= kept;
            let read = self.raw.read(&mut self.buffer[self.end..])?;
            self.end += read;
            self.ended = read == 0;
        }
        Ok(())
    }

    /// Whether no bytes are left.
    pub(super) fn is_at_end(&mut self) -> Result<bool> {
        if self.start == self.end {
            self.look_ahead()?;
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
