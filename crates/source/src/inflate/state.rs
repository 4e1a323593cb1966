//! The state of a decoder between two reads.

use tracelake_core::error::Error;

use super::table::{DISTANCE_ENTRIES, INVALID, LITERAL_BITS, LITERAL_ENTRIES, TableEntry};

/// Bytes of a match that are copied in one step. Few matches of a table's text need two, and a branch
/// that is not predicted costs more than the bytes: 16 take 5 % longer.
pub(super) const COPIED: usize = 32;

/// How far back a match may reach, in bytes.
pub(super) const WINDOW: usize = 32 << 10;

/// How much text is decoded at once, in bytes; with the window it stays in the second-level cache.
pub(super) const ROOM: usize = 64 << 10;

/// The most that one turn of the inner loop writes past `WINDOW + ROOM`: six literals, or a literal and the
/// longest match, rounded up to whole copies.
pub(super) const SLACK: usize = 6 + 258 + COPIED;

/// The window, the room and the slack; of a known size, so that few accesses need a check.
pub(super) type TextBuffer = [u8; WINDOW + ROOM + SLACK];

/// Why a stream cannot be decoded.
pub(crate) enum Stop {
    /// The input ends inside of it.
    Truncated,
    /// It breaks a rule of the format.
    Broken(&'static str),
    /// The bytes can't be read, or mustn't be decoded.
    Failed(Error),
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

pub(super) type Result<T> = std::result::Result<T, Stop>;

#[derive(Clone, Copy)]
pub(super) enum Block {
    Header,
    Stored { left: usize },
    Codes,
    End,
}

/// A decoder and the text that it decoded last.
///
/// # Memory
/// About 120 KiB.
pub(crate) struct Inflate {
    /// The window, then the text not handed out yet.
    pub(super) text: Box<TextBuffer>,
    /// The part of the text not handed out yet.
    pub(super) start: usize,
    pub(super) end: usize,
    /// Bits ahead, the next one lowest. There may be bits above `count` that will be read again.
    pub(super) bits: u64,
    pub(super) count: u32,
    pub(super) block: Block,
    pub(super) last: bool,
    pub(super) literals: Box<[TableEntry; LITERAL_ENTRIES]>,
    /// Bits that literals are looked up with.
    pub(super) literal_bits: u32,
    pub(super) distances: Box<[TableEntry; DISTANCE_ENTRIES]>,
    /// Whether the tables are those of the fixed codes, which a file of small members asks for again
    /// and again.
    pub(super) is_fixed: bool,
}

impl Inflate {
    pub(crate) fn new() -> Self {
        Self {
            text: vec![0; WINDOW + ROOM + SLACK]
                .try_into()
                .expect("a vector of this length"),
            start: 0,
            end: 0,
            bits: 0,
            count: 0,
            block: Block::Header,
            last: false,
            literals: Box::new([INVALID; LITERAL_ENTRIES]),
            literal_bits: LITERAL_BITS,
            distances: Box::new([INVALID; DISTANCE_ENTRIES]),
            is_fixed: false,
        }
    }

    /// Starts a new stream, which knows nothing of the text of the one before.
    pub(crate) fn reset(&mut self) {
        (self.start, self.end) = (0, 0);
        (self.bits, self.count) = (0, 0);
        (self.block, self.last) = (Block::Header, false);
    }
}
