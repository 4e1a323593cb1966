//! The layers of a file: its own bytes, those that a decoder makes of them, and the members of an archive.

use tracelake_core::error::Result;

use super::{Member, Raw};

/// A layer of a file, which reads the one below it.
pub(super) trait Bytes: Send {
    /// Reads some bytes into a buffer that isn't empty, of an archive those of its current member; 0 at the end.
    fn read(&mut self, into: &mut [u8]) -> Result<usize>;

    /// The lowest layer.
    fn raw(&self) -> &Raw;

    fn raw_mut(&mut self) -> &mut Raw;

    /// Whether it's an archive.
    fn is_archive(&self) -> bool {
        false
    }

    /// Advances to the next member of an archive; `None` after the last one, and if there's no archive.
    fn next_member(&mut self) -> Result<Option<Member>> {
        Ok(None)
    }

    /// Zeros after the last gzip member, which are no text.
    fn padding(&self) -> u64 {
        0
    }
}

impl Bytes for Raw {
    fn read(&mut self, into: &mut [u8]) -> Result<usize> {
        Self::read(self, into)
    }

    fn raw(&self) -> &Raw {
        self
    }

    fn raw_mut(&mut self) -> &mut Raw {
        self
    }
}

/// Reads until a buffer is full or the bytes end; returns how many there are.
pub(super) fn fill(bytes: &mut dyn Bytes, into: &mut [u8]) -> Result<usize> {
    let mut filled = 0;
    while filled < into.len() {
        match bytes.read(&mut into[filled..])? {
            0 => break,
            read => filled += read,
        }
    }
    Ok(filled)
}

/// A layer whose first bytes were looked at.
pub(super) struct Peeked {
    head: Vec<u8>,
    /// How many of them were read.
    at: usize,
    below: Box<dyn Bytes>,
}

impl Peeked {
    pub(super) fn new(head: Vec<u8>, below: Box<dyn Bytes>) -> Self {
        Self { head, at: 0, below }
    }
}

impl Bytes for Peeked {
    fn read(&mut self, into: &mut [u8]) -> Result<usize> {
        let head = &self.head[self.at..];
        if head.is_empty() {
            return self.below.read(into);
        }
        let read = head.len().min(into.len());
        into[..read].copy_from_slice(&head[..read]);
        self.at += read;
        Ok(read)
    }

    fn raw(&self) -> &Raw {
        self.below.raw()
    }

    fn raw_mut(&mut self) -> &mut Raw {
        self.below.raw_mut()
    }

    fn padding(&self) -> u64 {
        self.below.padding()
    }
}
