//! A chunk of whole lines to the offsets of its records and fields. Pure: no I/O.

mod masks;

use std::ops::Range;

use crate::fault::Fault;
use crate::reject::Reject;
use masks::{BLOCK, masks};

/// The records of one chunk, as offsets into it; reused from chunk to chunk.
///
/// # Memory
/// `4 × (fields + 1)` bytes per well-formed record, and 56 bytes per malformed one.
#[derive(Debug, Default)]
pub struct Records {
    /// Fields in a record, at least 1.
    fields: usize,
    /// For each well-formed record the offset before its start, which wraps at the start of the chunk,
    /// and the end of each field: a field is between two neighbouring offsets.
    offsets: Vec<u32>,
    /// Well-formed records.
    count: usize,
    /// Records of the wrong shape, in order.
    malformed: Vec<Reject>,
}

/// How the lines of a file end; its first line decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LineEnding {
    /// `\n`, as published.
    Lf,
    /// `\r\n`, as other systems write it.
    CrLf,
}

impl LineEnding {
    /// The line ending of the first line of `chunk`.
    #[must_use]
    pub fn of(chunk: &[u8]) -> Self {
        match memchr::memchr(b'\n', chunk) {
            Some(end) if end > 0 && chunk[end - 1] == b'\r' => Self::CrLf,
            _ => Self::Lf,
        }
    }

    /// A line without its ending, and what is wrong with its shape. A carriage return that isn't part of
    /// the ending is part of the line.
    #[must_use]
    pub fn body(self, line: &[u8]) -> (&[u8], Option<Fault>) {
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        let body = line.strip_suffix(b"\r").unwrap_or(line);
        let fault = if body.is_empty() {
            Some(Fault::BlankLine)
        } else if (body.len() < line.len()) != (self == Self::CrLf) {
            Some(Fault::LineEnding)
        } else {
            None
        };
        (if self == Self::Lf { line } else { body }, fault)
    }
}

impl Records {
    /// Splits a chunk of records that end with newlines; ignores bytes after the last newline.
    ///
    /// # Panics
    /// When `chunk` is 4 GiB or longer, or `fields` is 0.
    pub fn split(&mut self, chunk: &[u8], fields: usize, ending: LineEnding) {
        assert!(
            u32::try_from(chunk.len()).is_ok(),
            "a chunk is shorter than 4 GiB"
        );
        assert!(fields > 0, "a record has a field");
        self.fields = fields;
        self.count = 0;
        self.offsets.clear();
        self.offsets.push(u32::MAX);
        self.malformed.clear();
        let blocks = chunk.chunks_exact(BLOCK);
        let rest = blocks.remainder();
        for (number, block) in blocks.enumerate() {
            if let Some(block) = block.first_chunk() {
                self.block(chunk, number * BLOCK, masks(block), ending);
            }
        }
        // The rest is padded with bytes that separate nothing.
        let mut last = [0; BLOCK];
        last[..rest.len()].copy_from_slice(rest);
        self.block(chunk, chunk.len() - rest.len(), masks(&last), ending);
        // Without its newline, the last record is incomplete.
        self.offsets.truncate(self.count * (fields + 1));
    }

    /// Adds the separators of the block that starts at `at`.
    #[inline(always)]
    fn block(
        &mut self,
        chunk: &[u8],
        at: usize,
        (mut separators, newlines): (u64, u64),
        ending: LineEnding,
    ) {
        while separators != 0 {
            let bit = separators.trailing_zeros();
            let end = at + bit as usize;
            self.offsets.push(offset(end));
            if newlines >> bit & 1 == 1 {
                self.end_record(chunk, end, ending);
            }
            separators &= separators - 1;
        }
    }

    /// Ends the record before the newline at `newline`; its offsets are the last ones.
    fn end_record(&mut self, chunk: &[u8], newline: usize, ending: LineEnding) {
        let before = self.count * (self.fields + 1);
        let found = self.offsets.len() - before - 1;
        let start = self.offsets[before].wrapping_add(1) as usize;
        let carriage_return = newline > start && chunk[newline - 1] == b'\r';
        let end = newline - usize::from(carriage_return);
        let fault = if carriage_return != (ending == LineEnding::CrLf) && end > start {
            Some(Fault::LineEnding)
        } else if start == end {
            Some(Fault::BlankLine)
        } else if found != self.fields {
            Some(Fault::FieldCount {
                found: offset(found),
                expected: offset(self.fields),
            })
        } else {
            None
        };
        if let Some(fault) = fault {
            self.offsets.truncate(before);
            // A carriage return that isn't part of the ending is part of the row.
            let end = if ending == LineEnding::Lf {
                newline
            } else {
                end
            };
            self.push_malformed(start..end, fault);
        } else {
            self.offsets[before + self.fields] = offset(end);
            self.count += 1;
        }
        self.offsets.push(offset(newline));
    }

    /// Adds a record of the wrong shape; not inlined, because most chunks have none.
    #[cold]
    fn push_malformed(&mut self, record: Range<usize>, fault: Fault) {
        let line = self.count + self.malformed.len();
        let reject = Reject::of_shape(record, fault).in_line(line);
        self.malformed.push(reject);
    }

    /// Makes the first record of the chunk malformed, unless it already is.
    pub fn refuse_first(&mut self, fault: Fault) {
        let is_malformed = self
            .malformed
            .first()
            .is_some_and(|first| first.line() == 0);
        if self.is_empty() || is_malformed {
            return;
        }
        let (start, end) = self.record(0);
        self.offsets.drain(..=self.fields);
        self.count -= 1;
        self.malformed
            .insert(0, Reject::of_shape(start..end, fault));
    }

    /// The number of well-formed records.
    #[must_use]
    pub fn len(&self) -> usize {
        self.count
    }

    /// Whether there is no well-formed record.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Records of the wrong shape, in order.
    #[must_use]
    pub fn malformed(&self) -> &[Reject] {
        &self.malformed
    }

    /// One column of some of the well-formed records.
    pub fn column(&self, field: usize, records: Range<usize>) -> FieldOffsets<'_> {
        let step = self.fields + 1;
        FieldOffsets {
            offsets: &self.offsets[records.start * step..records.end * step],
            step,
            field,
        }
    }

    /// The start and end of a field of well-formed record `index`.
    #[must_use]
    pub fn field(&self, index: usize, field: usize) -> (usize, usize) {
        between(&self.offsets[index * (self.fields + 1) + field..])
    }

    /// The start and end of well-formed record `index`, without its line ending.
    #[must_use]
    pub fn record(&self, index: usize) -> (usize, usize) {
        (self.field(index, 0).0, self.field(index, self.fields - 1).1)
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

    /// The same without the first records.
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
fn between(offsets: &[u32]) -> (usize, usize) {
    (offsets[0].wrapping_add(1) as usize, offsets[1] as usize)
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "split asserts that a chunk is below 4 GiB"
)]
fn offset(at: usize) -> u32 {
    at as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn fields<'a>(chunk: &'a [u8], records: &Records, record: usize) -> Vec<&'a [u8]> {
        (0..records.fields)
            .map(|field| {
                let (start, end) = records.field(record, field);
                &chunk[start..end]
            })
            .collect()
    }

    #[test]
    fn splits_records_and_keeps_the_odd_ones_apart() {
        let chunk = b"a,b\n\nc\nd,\nx,y,z\n,\ncut,";
        let mut records = Records::default();
        records.split(chunk, 2, LineEnding::Lf);
        assert_eq!(records.len(), 3);
        assert_eq!(fields(chunk, &records, 1), [&b"d"[..], b""]);
        assert_eq!(fields(chunk, &records, 2), [&b""[..], b""]);
        let odd: Vec<_> = records
            .malformed()
            .iter()
            .map(|reject| (reject.line(), reject.fault))
            .collect();
        let count = |found| Fault::FieldCount { found, expected: 2 };
        assert_eq!(odd, [(1, Fault::BlankLine), (2, count(1)), (4, count(3))]);
    }

    #[test]
    fn the_first_record_can_be_refused() {
        let chunk = b"a,b\nc,d\n\n";
        let mut records = Records::default();
        records.split(chunk, 2, LineEnding::Lf);
        for _ in 0..2 {
            records.refuse_first(Fault::ByteOrderMark);
            assert_eq!(fields(chunk, &records, 0), [&b"c"[..], b"d"]);
            let odd: Vec<_> = records.malformed().iter().map(Reject::line).collect();
            assert_eq!(odd, [0, 2]);
        }
    }

    #[test]
    fn line_endings_never_mix() {
        let chunk = b"a,b\r\nc,d\ne,f\r\n";
        let mut records = Records::default();
        assert_eq!(LineEnding::of(chunk), LineEnding::CrLf);
        records.split(chunk, 2, LineEnding::CrLf);
        assert_eq!(fields(chunk, &records, 1), [&b"e"[..], b"f"]);
        assert_eq!(records.malformed()[0].fault, Fault::LineEnding);
        records.split(chunk, 2, LineEnding::Lf);
        assert_eq!((records.len(), records.malformed().len()), (1, 2));
    }

    proptest! {
        /// The plain twin: split on newlines, then on commas.
        #[test]
        fn equals_splitting_by_hand(chunk in "[a,
    ]{0,200}") {
            let mut records = Records::default();
            records.split(chunk.as_bytes(), 3, LineEnding::Lf);
            let whole = chunk.rfind('\n').map_or("", |end| &chunk[..=end]);
            let lines: Vec<&str> = whole.split_terminator('\n').collect();
            let good: Vec<Vec<&str>> = lines
                .iter()
                .map(|line| line.split(',').collect())
                .filter(|fields: &Vec<&str>| fields.len() == 3)
                .collect();
            prop_assert_eq!(records.len(), good.len());
            prop_assert_eq!(records.len() + records.malformed().len(), lines.len());
            for malformed in records.malformed() {
                prop_assert_eq!(lines[malformed.line()], &chunk[malformed.row()]);
            }
            for (index, expected) in good.iter().enumerate() {
                let found: Vec<&str> = fields(chunk.as_bytes(), &records, index)
                    .into_iter()
                    .map(|field| std::str::from_utf8(field).unwrap())
                    .collect();
                prop_assert_eq!(&found, expected);
                let (start, end) = records.record(index);
                prop_assert_eq!(&chunk[start..end], expected.join(","));
            }
        }
    }
}
