//! A chunk of whole lines to the offsets of its records and fields. Pure: no I/O.

mod masks;

use std::ops::Range;

use crate::fault::Fault;
use masks::{BLOCK, masks};

/// The records of one chunk, as offsets into it; reused from chunk to chunk.
///
/// # Memory
/// `4 × (fields + 1)` bytes a record, and 24 bytes a record that is malformed.
#[derive(Debug, Default)]
pub struct Records {
    /// Fields in a record, at least 1.
    fields: usize,
    /// Where each well-formed record starts.
    starts: Vec<u32>,
    /// Where each field of each well-formed record ends, record after record.
    ends: Vec<u32>,
    /// Records of the wrong shape, in order.
    malformed: Vec<Malformed>,
}

/// A record that has no fields to speak of, because its shape is wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Malformed {
    /// Its place among all records of the chunk, from 0.
    pub ordinal: u32,
    /// Its first byte in the chunk.
    pub start: u32,
    /// The byte after its last, before the line ending.
    pub end: u32,
    /// What is wrong.
    pub fault: Fault,
}

/// How the lines of a file end; its first line decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LineEnding {
    /// `\n`, as published.
    Lf,
    /// `\r\n`, as left behind by other systems.
    CrLf,
}

impl LineEnding {
    /// What the first line of `chunk` ends with.
    #[must_use]
    pub fn of(chunk: &[u8]) -> Self {
        match memchr::memchr(b'\n', chunk) {
            Some(end) if end > 0 && chunk[end - 1] == b'\r' => Self::CrLf,
            _ => Self::Lf,
        }
    }
}

impl Records {
    /// Splits a chunk, of which every record ends with a newline; bytes after the last newline
    /// belong to no record.
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
        self.starts.clear();
        self.ends.clear();
        self.malformed.clear();
        let mut start = 0;
        let blocks = chunk.chunks_exact(BLOCK);
        let (whole, rest) = (chunk.len() - blocks.remainder().len(), blocks.remainder());
        for (number, block) in blocks.enumerate() {
            if let Some(block) = block.first_chunk() {
                self.block(chunk, number * BLOCK, masks(block), &mut start, ending);
            }
        }
        // What is left is filled up with bytes that separate nothing.
        let mut last = [0; BLOCK];
        last[..rest.len()].copy_from_slice(rest);
        self.block(chunk, whole, masks(&last), &mut start, ending);
        // Separators of a last record without its newline belong to nobody.
        self.ends.truncate(self.starts.len() * fields);
    }

    /// Files the separators of one block, which `at` bytes stand before.
    #[inline(always)]
    fn block(
        &mut self,
        chunk: &[u8],
        at: usize,
        (mut separators, newlines): (u64, u64),
        start: &mut usize,
        ending: LineEnding,
    ) {
        while separators != 0 {
            let place = separators.trailing_zeros();
            let end = at + place as usize;
            self.ends.push(offset(end));
            if newlines >> place & 1 == 1 {
                self.end_record(chunk, *start, end, ending);
                *start = end + 1;
            }
            separators &= separators - 1;
        }
    }

    /// Files the record `chunk[start..newline]`, whose separators stand at the end of `ends`.
    fn end_record(&mut self, chunk: &[u8], start: usize, newline: usize, ending: LineEnding) {
        let before = self.starts.len() * self.fields;
        let found = self.ends.len() - before;
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
        let Some(fault) = fault else {
            self.starts.push(offset(start));
            self.ends[before + self.fields - 1] = offset(end);
            return;
        };
        self.ends.truncate(before);
        self.malformed.push(Malformed {
            ordinal: offset(self.starts.len() + self.malformed.len()),
            start: offset(start),
            // A carriage return that does not belong there is part of the row, not of its ending.
            end: offset(if ending == LineEnding::Lf {
                newline
            } else {
                end
            }),
            fault,
        });
    }

    /// Makes the first record of the chunk a malformed one, unless it is one already.
    pub fn refuse_first(&mut self, fault: Fault) {
        if self.is_empty() || self.ordinal(0) > 0 {
            return;
        }
        let (start, end) = self.record(0);
        self.starts.remove(0);
        self.ends.drain(..self.fields);
        let first = Malformed {
            ordinal: 0,
            start: offset(start),
            end: offset(end),
            fault,
        };
        self.malformed.insert(0, first);
    }

    /// The number of well-formed records.
    #[must_use]
    pub fn len(&self) -> usize {
        self.starts.len()
    }

    /// Whether there is no well-formed record.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.starts.is_empty()
    }

    /// Records of the wrong shape, in order.
    #[must_use]
    pub fn malformed(&self) -> &[Malformed] {
        &self.malformed
    }

    /// One column of some of the well-formed records: where its field starts and ends in each.
    pub fn column(
        &self,
        field: usize,
        records: Range<usize>,
    ) -> impl ExactSizeIterator<Item = (usize, usize)> + '_ {
        let ends = &self.ends[records.start * self.fields..records.end * self.fields];
        self.starts[records]
            .iter()
            .zip(ends.chunks_exact(self.fields.max(1)))
            .map(move |(&start, ends)| {
                let from = if field == 0 {
                    start
                } else {
                    ends[field - 1] + 1
                };
                (from as usize, ends[field] as usize)
            })
    }

    /// Where one field of well-formed record `index` starts and ends.
    #[must_use]
    pub fn field(&self, index: usize, field: usize) -> (usize, usize) {
        let at = index * self.fields + field;
        let start = if field == 0 {
            self.starts[index]
        } else {
            self.ends[at - 1] + 1
        };
        (start as usize, self.ends[at] as usize)
    }

    /// Where well-formed record `index` starts and ends, without its line ending.
    #[must_use]
    pub fn record(&self, index: usize) -> (usize, usize) {
        (
            self.starts[index] as usize,
            self.ends[(index + 1) * self.fields - 1] as usize,
        )
    }

    /// The place of well-formed record `index` among all records of the chunk, from 0.
    #[must_use]
    pub fn ordinal(&self, index: usize) -> usize {
        // Malformed records are in order of place, so count those that come before.
        let mut ordinal = index;
        for malformed in &self.malformed {
            if malformed.ordinal as usize > ordinal {
                break;
            }
            ordinal += 1;
        }
        ordinal
    }
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
            .map(|m| (m.ordinal, m.fault))
            .collect();
        let count = |found| Fault::FieldCount { found, expected: 2 };
        assert_eq!(odd, [(1, Fault::BlankLine), (2, count(1)), (4, count(3))]);
        assert_eq!(
            (0..3).map(|i| records.ordinal(i)).collect::<Vec<_>>(),
            [0, 3, 5]
        );
    }

    #[test]
    fn the_first_record_can_be_refused() {
        let chunk = b"a,b\nc,d\n\n";
        let mut records = Records::default();
        records.split(chunk, 2, LineEnding::Lf);
        for _ in 0..2 {
            records.refuse_first(Fault::ByteOrderMark);
            assert_eq!(fields(chunk, &records, 0), [&b"c"[..], b"d"]);
            let odd: Vec<_> = records.malformed().iter().map(|m| m.ordinal).collect();
            assert_eq!((odd, records.ordinal(0)), (vec![0, 2], 1));
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
            for (index, expected) in good.iter().enumerate() {
                let found: Vec<&str> = fields(chunk.as_bytes(), &records, index)
                    .into_iter()
                    .map(|field| std::str::from_utf8(field).unwrap())
                    .collect();
                prop_assert_eq!(&found, expected);
                prop_assert_eq!(lines[records.ordinal(index)], expected.join(","));
            }
        }
    }
}
