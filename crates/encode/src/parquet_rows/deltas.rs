//! Values that pages hold as differences from the one before, or with their bytes apart from each other. Pure.
//!
//! They are decoded here because the Parquet crate's decoders panic on some damaged pages.

use bytes::Bytes;
use parquet::basic::Type as Physical;

use super::runs::{varint, word_at};

/// The most bytes of texts that are put together of a beginning and an end at once.
const MOST_TEXT: usize = 64 << 20;

/// Integers (DELTA_BINARY_PACKED).
pub(super) struct Deltas {
    bytes: Bytes,
    at: usize,
    /// Values that are still to be read.
    left: u64,
    value: i64,
    /// Whether values have 32 bits, beyond which they wrap.
    is_narrow: bool,
    is_first: bool,
    /// Differences in a miniblock, and the widths of the miniblocks of a block.
    miniblock: usize,
    widths: Vec<u8>,
    /// The next miniblock of the block, and the least difference in the block.
    next: usize,
    least: i64,
    /// Differences of the current miniblock that are still to be read, where they are, and their width.
    packed: usize,
    bit: usize,
    width: usize,
}

impl Deltas {
    /// Begins to read at most `most` values; `None` if the bytes say that there are more, or nothing sensible.
    pub(super) fn new(bytes: Bytes, most: usize, physical: Physical) -> Option<Self> {
        let mut at = 0;
        let block = usize::try_from(varint(&bytes, &mut at)?).ok()?;
        let miniblocks = usize::try_from(varint(&bytes, &mut at)?).ok()?;
        let left = varint(&bytes, &mut at)?;
        let value = zigzag(varint(&bytes, &mut at)?);
        // Larger blocks than any writer's would only serve to claim more values than there are bytes for.
        let is_sensible = (1..=1 << 16).contains(&block) && (1..=block).contains(&miniblocks);
        (is_sensible && block.is_multiple_of(miniblocks) && left <= most as u64).then(|| Self {
            bytes,
            at,
            left,
            value,
            is_narrow: physical == Physical::INT32,
            is_first: true,
            miniblock: block / miniblocks,
            widths: vec![0; miniblocks],
            next: miniblocks,
            least: 0,
            packed: 0,
            bit: 0,
            width: 0,
        })
    }

    pub(super) fn next(&mut self) -> Option<i64> {
        self.left = self.left.checked_sub(1)?;
        if std::mem::take(&mut self.is_first) {
            return Some(self.narrowed());
        }
        if self.packed == 0 {
            self.next_miniblock()?;
        }
        self.packed -= 1;
        let word = word_at(&self.bytes, self.bit / 8) >> (self.bit % 8);
        let mask = match self.width {
            64 => u64::MAX,
            width => (1 << width) - 1,
        };
        #[expect(clippy::cast_possible_truncation, reason = "masked")]
        let delta = word as u64 & mask;
        self.bit += self.width;
        self.value = self
            .value
            .wrapping_add(self.least)
            .wrapping_add(delta.cast_signed());
        Some(self.narrowed())
    }

    fn narrowed(&self) -> i64 {
        #[expect(
            clippy::cast_possible_truncation,
            reason = "32 bits wrap as their writer's did"
        )]
        let narrow = self.value as i32;
        match self.is_narrow {
            true => narrow.into(),
            false => self.value,
        }
    }

    fn next_miniblock(&mut self) -> Option<()> {
        if self.next == self.widths.len() {
            self.least = zigzag(varint(&self.bytes, &mut self.at)?);
            let widths = self.bytes.get(self.at..self.at + self.widths.len())?;
            self.widths.copy_from_slice(widths);
            (self.at, self.next) = (self.at + self.widths.len(), 0);
        }
        self.width = self.widths[self.next].into();
        (self.next, self.packed, self.bit) = (self.next + 1, self.miniblock, 8 * self.at);
        self.at += (self.miniblock * self.width).div_ceil(8);
        // The last one need not be whole.
        let is_whole = self.at <= self.bytes.len();
        let needed = usize::try_from(self.left + 1).ok()?.min(self.miniblock) * self.width;
        (self.width <= 64 && (is_whole || self.bit + needed <= 8 * self.bytes.len())).then_some(())
    }

    /// All values that are left, none of which is negative, and the bytes after them.
    fn lengths(mut self) -> Option<(Vec<usize>, Bytes)> {
        let mut lengths = Vec::new();
        while self.left > 0 {
            lengths.push(usize::try_from(self.next()?).ok()?);
        }
        let rest = self.bytes.get(self.at..)?;
        Some((lengths, self.bytes.slice_ref(rest)))
    }
}

fn zigzag(number: u64) -> i64 {
    (number >> 1).cast_signed() ^ -(number & 1).cast_signed()
}

/// Texts after their lengths (DELTA_LENGTH_BYTE_ARRAY), and after the lengths of what each has in common with the one
/// before (DELTA_BYTE_ARRAY).
pub(super) struct Texts {
    /// Empty if texts have nothing in common.
    shared: std::vec::IntoIter<usize>,
    lengths: std::vec::IntoIter<usize>,
    bytes: Bytes,
    last: Bytes,
    /// How many bytes may still be put together.
    room: usize,
}

impl Texts {
    /// Begins to read at most `most` texts, which may have a beginning in common.
    pub(super) fn new(bytes: Bytes, most: usize, are_shared: bool) -> Option<Self> {
        let (shared, bytes) = match are_shared {
            true => Deltas::new(bytes, most, Physical::INT64)?.lengths()?,
            false => (Vec::new(), bytes),
        };
        let (lengths, bytes) = Deltas::new(bytes, most, Physical::INT64)?.lengths()?;
        (!are_shared || shared.len() == lengths.len()).then(|| Self {
            shared: shared.into_iter(),
            lengths: lengths.into_iter(),
            bytes,
            last: Bytes::new(),
            room: MOST_TEXT,
        })
    }

    /// Makes room for the texts that are read at once.
    pub(super) fn begin(&mut self) {
        self.room = MOST_TEXT;
    }

    pub(super) fn next(&mut self) -> Option<Bytes> {
        let length = self.lengths.next()?;
        if length > self.bytes.len() {
            return None;
        }
        let end = self.bytes.split_to(length);
        self.last = match self.shared.next() {
            None | Some(0) => end,
            Some(shared) => {
                let start = self.last.get(..shared)?;
                self.room = self.room.checked_sub(shared + end.len())?;
                [start, &end].concat().into()
            }
        };
        Some(self.last.clone())
    }
}

/// The plain form of numbers whose first bytes come first, then their second bytes, and so on (BYTE_STREAM_SPLIT);
/// `None` if the bytes are no whole number of them.
pub(super) fn together(split: &[u8], physical: Physical) -> Option<Bytes> {
    let width = match physical {
        Physical::INT32 | Physical::FLOAT => 4,
        Physical::INT64 | Physical::DOUBLE => 8,
        _ => return None,
    };
    if !split.len().is_multiple_of(width) {
        return None;
    }
    let mut plain = vec![0; split.len()];
    let count = split.len() / width;
    for (place, bytes) in split.chunks_exact(count.max(1)).enumerate() {
        for (number, byte) in plain.chunks_exact_mut(width).zip(bytes) {
            number[place] = *byte;
        }
    }
    Some(plain.into())
}
