//! The offsets of fields: how those of a record are arranged, and those of one column.

use std::ops::Range;

use super::masks::BLOCK;

/// How the offsets of a record are arranged.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Arrangement {
    /// Offsets of a record.
    pub(super) step: usize,
    /// Whether the record and each field have a pair of offsets: the one before the start, and the end. Otherwise a
    /// field is between two neighbouring offsets, since only one byte is between fields.
    pub(super) has_spans: bool,
}

impl Arrangement {
    pub(super) fn neighbours(fields: usize) -> Self {
        Self {
            step: fields + 1,
            has_spans: false,
        }
    }

    pub(super) fn spans(fields: usize) -> Self {
        Self {
            step: 2 * (fields + 1),
            has_spans: true,
        }
    }

    /// The place of a field's offsets among those of its record.
    #[inline(always)]
    pub(super) fn of_field(self, field: usize) -> usize {
        if self.has_spans {
            2 * (field + 1)
        } else {
            field
        }
    }
}

/// Offsets into a chunk.
#[derive(Debug, Default)]
pub(super) struct Offsets {
    /// Longer than what is used: reused room isn't cleared.
    pub(super) room: Vec<u32>,
    pub(super) used: usize,
}

impl Offsets {
    /// The offsets in use; the rest of the room may be from another chunk.
    #[inline(always)]
    pub(super) fn all(&self) -> &[u32] {
        &self.room[..self.used]
    }

    #[inline(always)]
    pub(super) fn push(&mut self, offset: u32) {
        self.next_block()[0] = offset;
        self.used += 1;
    }

    /// Adds the offset before a range and that of its end.
    pub(super) fn push_span(&mut self, range: Range<usize>) {
        self.push(offset(range.start).wrapping_sub(1));
        self.push(offset(range.end));
    }

    /// Appends the positions of the bits of a mask; the lowest one is at `at`.
    #[inline(always)]
    pub(super) fn append(
        &mut self,
        mask: u32,
        at: usize,
        positions: impl Fn(u32, u32, &mut [u32; BLOCK]),
    ) {
        positions(mask, offset(at), self.next_block());
        self.used += mask.count_ones() as usize;
    }

    /// Room for as many offsets as a block can have.
    #[inline(always)]
    fn next_block(&mut self) -> &mut [u32; BLOCK] {
        if self.room.len() < self.used + BLOCK {
            self.grow();
        }
        let room = self.room[self.used..].first_chunk_mut();
        room.expect("there is room for a block")
    }

    #[cold]
    fn grow(&mut self) {
        self.room.resize((self.used + BLOCK) * 2, 0);
    }
}

/// The fields of one column in some records, as offsets into their chunk.
#[derive(Debug, Clone, Copy)]
pub struct FieldOffsets<'a> {
    /// `step` of them for each record, as in [`Records`].
    pub(crate) offsets: &'a [u32],
    pub(crate) step: usize,
    /// The position of the field in a record.
    pub(crate) field: usize,
}

impl<'a> FieldOffsets<'a> {
    /// Where the field starts and ends in each record.
    pub fn iter(self) -> impl ExactSizeIterator<Item = (usize, usize)> + 'a {
        let field = self.field;
        let records = self.offsets.chunks_exact(self.step);
        records.map(move |offsets| between(&offsets[field..]))
    }

    /// Where the field starts and ends in one record.
    pub(crate) fn get(self, record: usize) -> (usize, usize) {
        between(&self.offsets[record * self.step + self.field..])
    }

    /// These offsets without the first records.
    #[must_use]
    pub(crate) fn after(self, records: usize) -> Self {
        Self {
            offsets: &self.offsets[records * self.step..],
            ..self
        }
    }
}

/// The start and end of the field between the first two of some offsets, see [`Records`].
#[inline(always)]
pub(super) fn between(offsets: &[u32]) -> (usize, usize) {
    (offsets[0].wrapping_add(1) as usize, offsets[1] as usize)
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "split asserts that a chunk is below 4 GiB"
)]
pub(super) fn offset(at: usize) -> u32 {
    at as u32
}
