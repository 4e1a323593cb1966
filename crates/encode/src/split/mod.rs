//! A chunk of whole lines to the offsets of its records and fields. Pure: no I/O.

mod masks;

use std::ops::Range;

use tracelake_core::fault::Fault;
use tracelake_core::line_ending::LineEnding;
use tracelake_schema::{Csv, Separator};

use crate::reject::Reject;
use masks::BLOCK;

/// The form of the lines of a chunk.
#[derive(Debug, Clone, Copy)]
pub struct LineForm {
    ending: LineEnding,
    separator: Separator,
    /// Whether the first line is a header.
    header: bool,
    /// The first byte of lines that are comments.
    comment: Option<u8>,
    /// Whether any line may be no record.
    skips: bool,
}

impl LineForm {
    /// Records that end so, in the form of a table's files; `header` says whether the first line of the chunk is their
    /// header.
    #[must_use]
    pub fn of(csv: Csv, ending: LineEnding, header: bool) -> Self {
        Self {
            ending,
            separator: csv.separator,
            header,
            comment: csv.comment,
            skips: header || csv.comment.is_some(),
        }
    }
}

impl From<LineEnding> for LineForm {
    /// Plain records that end so.
    fn from(ending: LineEnding) -> Self {
        Self::of(Csv::PLAIN, ending, false)
    }
}

/// The records of one chunk, as offsets into it; reused from chunk to chunk.
///
/// # Memory
/// `4 × (fields + 1)` bytes per well-formed record, twice as many unless one byte separates fields, and 56 bytes per
/// malformed one.
#[derive(Debug, Default)]
pub struct Records {
    /// Fields in a record, at least 1.
    fields: usize,
    /// How the offsets of a record are arranged.
    arrangement: Arrangement,
    /// Offsets of each well-formed record, as arranged. What starts is named by the offset before it, which wraps at
    /// the start of the chunk.
    offsets: Offsets,
    /// Well-formed records.
    count: usize,
    /// Records of the wrong shape, in order.
    malformed: Vec<Reject>,
    /// For each line that is no record, such as a comment, the number of records before it.
    skipped: Vec<usize>,
    /// The line of each well-formed record, once some records were removed.
    lines: Option<Vec<u32>>,
    /// Well-formed records that were removed because they aren't selected.
    not_selected: usize,
    /// Faults of the fields that select records, each with its record and the position of its field.
    faults: Vec<(usize, usize, Fault)>,
}

impl Records {
    /// Splits a chunk of records that end with newlines; ignores bytes after the last newline.
    ///
    /// # Panics
    /// When `chunk` is 4 GiB or longer, or `fields` is 0.
    pub fn split(&mut self, chunk: &[u8], fields: usize, form: impl Into<LineForm>) {
        let form = form.into();
        assert!(
            u32::try_from(chunk.len()).is_ok(),
            "a chunk is shorter than 4 GiB"
        );
        assert!(fields > 0, "a record has a field");
        let Separator::Byte(separator) = form.separator else {
            self.begin(fields, Arrangement::spans(fields));
            self.split_lines(chunk, form);
            return;
        };
        self.begin(fields, Arrangement::neighbours(fields));
        self.offsets.push(u32::MAX);
        #[cfg(target_arch = "x86_64")]
        if self.split_wide(chunk, form, separator) {
            return;
        }
        let masks = |block: &_| masks::masks(block, separator);
        self.split_blocks(chunk, form, masks, masks::positions);
    }

    fn begin(&mut self, fields: usize, arrangement: Arrangement) {
        self.fields = fields;
        self.arrangement = arrangement;
        self.count = 0;
        self.offsets.used = 0;
        self.malformed.clear();
        self.skipped.clear();
        self.lines = None;
        self.not_selected = 0;
        self.faults.clear();
    }

    /// Splits a chunk block by block. `masks` finds the separators of a block and the newlines among them,
    /// `positions` turns bits into positions, as the functions of [`masks`] do.
    #[inline(always)]
    fn split_blocks(
        &mut self,
        chunk: &[u8],
        form: LineForm,
        masks: impl Fn(&[u8; BLOCK]) -> (u32, u32),
        positions: impl Fn(u32, u32, &mut [u32; BLOCK]),
    ) {
        let (blocks, rest) = chunk.as_chunks::<BLOCK>();
        // The rest is padded with bytes that separate nothing.
        let mut last = [0; BLOCK];
        last[..rest.len()].copy_from_slice(rest);
        for (number, block) in blocks.iter().chain([&last]).enumerate() {
            let at = number * BLOCK;
            let (mut separators, mut newlines) = masks(block);
            while newlines != 0 {
                // The bits up to the first newline.
                let line = newlines ^ (newlines - 1);
                self.offsets.append(separators & line, at, &positions);
                self.end_record(chunk, at + newlines.trailing_zeros() as usize, form);
                separators &= !line;
                newlines &= !line;
            }
            self.offsets.append(separators, at, &positions);
        }
        // Without its newline, the last record is incomplete.
        self.offsets.used = self.count * self.arrangement.step;
    }

    /// Splits a chunk line by line, where more than one byte is between fields.
    fn split_lines(&mut self, chunk: &[u8], form: LineForm) {
        let mut start = 0;
        for newline in memchr::memchr_iter(b'\n', chunk) {
            self.split_line(chunk, start..newline, form);
            start = newline + 1;
        }
    }

    fn split_line(&mut self, chunk: &[u8], line: Range<usize>, form: LineForm) {
        let Range {
            start,
            end: newline,
        } = line;
        if form.skips && self.skip(chunk, start, newline, form) {
            return;
        }
        let carriage_return = newline > start && chunk[newline - 1] == b'\r';
        let end = newline - usize::from(carriage_return);
        let before = self.offsets.used;
        self.offsets.push_span(start..end);
        let mut found = 0;
        for field in form.separator.fields(&chunk[start..end]) {
            if found < self.fields {
                self.offsets
                    .push_span(start + field.start..start + field.end);
            }
            found += 1;
        }
        match shape_fault(form, carriage_return, found, self.fields, start == end) {
            Some(fault) => {
                self.offsets.used = before;
                let end = if form.ending == LineEnding::Lf {
                    newline
                } else {
                    end
                };
                self.push_malformed(start..end, fault);
            }
            None => self.count += 1,
        }
    }

    /// Ends the record before the newline at `newline`; its offsets are the last ones.
    #[inline(always)]
    fn end_record(&mut self, chunk: &[u8], newline: usize, form: LineForm) {
        let ending = form.ending;
        let before = self.count * self.arrangement.step;
        let found = self.offsets.used - before - 1;
        let start = self.offsets.all()[before].wrapping_add(1) as usize;
        if form.skips && self.skip(chunk, start, newline, form) {
            self.offsets.used = before;
            self.offsets.push(offset(newline));
            return;
        }
        let carriage_return = newline > start && chunk[newline - 1] == b'\r';
        let end = newline - usize::from(carriage_return);
        let fault = shape_fault(form, carriage_return, found, self.fields, start == end);
        if let Some(fault) = fault {
            self.offsets.used = before;
            // A carriage return that isn't part of the ending is part of the row.
            let end = if ending == LineEnding::Lf {
                newline
            } else {
                end
            };
            self.push_malformed(start..end, fault);
        } else {
            self.offsets.room[before + self.fields] = offset(end);
            self.count += 1;
        }
        self.offsets.push(offset(newline));
    }

    /// Notes a line that is no record; false if it is one.
    #[cold]
    fn skip(&mut self, chunk: &[u8], start: usize, newline: usize, form: LineForm) -> bool {
        let is_header = form.header && start == 0;
        let is_comment = start < newline && chunk.get(start).copied() == form.comment;
        if is_header || is_comment {
            self.skipped.push(self.count + self.malformed.len());
        }
        is_header || is_comment
    }

    /// The number of lines that are no records.
    #[must_use]
    pub fn skipped(&self) -> usize {
        self.skipped.len()
    }

    /// Moves rejects, whose lines count records alone, to the lines that they are in.
    pub(crate) fn count_skipped(&self, rejects: &mut [Reject]) {
        let mut skipped = self.skipped.iter().peekable();
        let mut before = 0;
        for reject in rejects {
            let record = reject.line();
            while skipped.next_if(|at| **at <= record).is_some() {
                before += 1;
            }
            reject.move_to_line(record + before);
        }
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
        self.offsets.room.drain(..self.arrangement.step);
        self.offsets.used -= self.arrangement.step;
        self.count -= 1;
        self.malformed
            .insert(0, Reject::of_shape(start..end, fault));
    }

    /// Keeps the records that `is_selected` is true for, and those where it returns the position of a field and its
    /// fault, which makes them rejects. It gets the index of a record and these records.
    pub fn retain(
        &mut self,
        mut is_selected: impl FnMut(usize, &Self) -> Result<bool, (usize, Fault)>,
    ) {
        let step = self.arrangement.step;
        let mut lines = Vec::new();
        let mut malformed = 0;
        let mut kept = 0;
        for record in 0..self.count {
            while self
                .malformed
                .get(malformed)
                .is_some_and(|one| one.line() <= record + malformed)
            {
                malformed += 1;
            }
            match is_selected(record, self) {
                Ok(true) => {}
                Ok(false) => continue,
                Err((position, fault)) => self.faults.push((kept, position, fault)),
            }
            // Records move towards the start, and what is read later isn't written over.
            let from = record * step;
            self.offsets
                .room
                .copy_within(from..from + step, kept * step);
            lines.push(offset(record + malformed));
            kept += 1;
        }
        self.not_selected = self.count - kept;
        self.count = kept;
        self.offsets.used = kept * step;
        self.lines = Some(lines);
    }

    /// How many records were removed because they aren't selected.
    #[must_use]
    pub fn not_selected(&self) -> usize {
        self.not_selected
    }

    /// Faults of the fields that select records, by record: the record, the position of its field, and the fault.
    pub(crate) fn faults(&self) -> &[(usize, usize, Fault)] {
        &self.faults
    }

    /// The line of well-formed record `index`, if it can't be told from the malformed ones before it.
    pub(crate) fn line(&self, index: usize) -> Option<usize> {
        let lines = self.lines.as_ref()?;
        lines.get(index).map(|&line| line as usize)
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
        let step = self.arrangement.step;
        FieldOffsets {
            offsets: &self.offsets.all()[records.start * step..records.end * step],
            step,
            field: self.arrangement.of_field(field),
        }
    }

    /// The start and end of a field of well-formed record `index`.
    #[must_use]
    #[inline(always)]
    pub fn field(&self, index: usize, field: usize) -> (usize, usize) {
        let Arrangement { step, .. } = self.arrangement;
        between(&self.offsets.all()[index * step + self.arrangement.of_field(field)..])
    }

    /// The start and end of well-formed record `index`, without its line ending.
    #[must_use]
    pub fn record(&self, index: usize) -> (usize, usize) {
        match self.arrangement.has_spans {
            true => between(&self.offsets.all()[index * self.arrangement.step..]),
            false => (self.field(index, 0).0, self.field(index, self.fields - 1).1),
        }
    }
}

/// How the offsets of a record are arranged.
#[derive(Debug, Default, Clone, Copy)]
struct Arrangement {
    /// Offsets of a record.
    step: usize,
    /// Whether the record and each field have a pair of offsets: the one before the start, and the end. Otherwise a
    /// field is between two neighbouring offsets, since only one byte is between fields.
    has_spans: bool,
}

impl Arrangement {
    fn neighbours(fields: usize) -> Self {
        Self {
            step: fields + 1,
            has_spans: false,
        }
    }

    fn spans(fields: usize) -> Self {
        Self {
            step: 2 * (fields + 1),
            has_spans: true,
        }
    }

    /// The place of a field's offsets among those of its record.
    #[inline(always)]
    fn of_field(self, field: usize) -> usize {
        if self.has_spans {
            2 * (field + 1)
        } else {
            field
        }
    }
}

/// What is wrong with the shape of a record.
#[inline(always)]
fn shape_fault(
    form: LineForm,
    carriage_return: bool,
    found: usize,
    expected: usize,
    is_empty: bool,
) -> Option<Fault> {
    if carriage_return != (form.ending == LineEnding::CrLf) && !is_empty {
        Some(Fault::LineEnding)
    } else if is_empty {
        Some(Fault::BlankLine)
    } else if found != expected {
        Some(Fault::FieldCount {
            found: offset(found),
            expected: offset(expected),
        })
    } else {
        None
    }
}

/// Offsets into a chunk.
#[derive(Debug, Default)]
struct Offsets {
    /// Longer than what is used: reused room isn't cleared.
    room: Vec<u32>,
    used: usize,
}

impl Offsets {
    /// The offsets in use; the rest of the room may be from another chunk.
    #[inline(always)]
    fn all(&self) -> &[u32] {
        &self.room[..self.used]
    }

    #[inline(always)]
    fn push(&mut self, offset: u32) {
        self.next_block()[0] = offset;
        self.used += 1;
    }

    /// Adds the offset before a range and that of its end.
    fn push_span(&mut self, range: Range<usize>) {
        self.push(offset(range.start).wrapping_sub(1));
        self.push(offset(range.end));
    }

    /// Appends the positions of the bits of a mask; the lowest one is at `at`.
    #[inline(always)]
    fn append(&mut self, mask: u32, at: usize, positions: impl Fn(u32, u32, &mut [u32; BLOCK])) {
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
    use tracelake_core::instructions::plainly;

    fn fields<'a>(chunk: &'a [u8], records: &Records, record: usize) -> Vec<&'a [u8]> {
        (0..records.fields)
            .map(|field| {
                let (start, end) = records.field(record, field);
                &chunk[start..end]
            })
            .collect()
    }

    #[test]
    fn splits_records_and_keeps_malformed_ones_apart() {
        let chunk = b"a,b\n\nc\nd,\nx,y,z\n,\ncut,";
        let mut records = Records::default();
        records.split(chunk, 2, LineEnding::Lf);
        assert_eq!(records.len(), 3);
        assert_eq!(fields(chunk, &records, 1), [&b"d"[..], b""]);
        assert_eq!(fields(chunk, &records, 2), [&b""[..], b""]);
        let malformed: Vec<_> = records
            .malformed()
            .iter()
            .map(|reject| (reject.line(), reject.fault))
            .collect();
        let count = |found| Fault::FieldCount { found, expected: 2 };
        assert_eq!(
            malformed,
            [(1, Fault::BlankLine), (2, count(1)), (4, count(3))]
        );
    }

    #[test]
    fn lines_that_are_no_records_are_counted_apart() {
        let csv = Csv {
            header: true,
            separator: Separator::Byte(b';'),
            comment: Some(b'#'),
        };
        let chunk = b"a;b\n1;2\n# no; row\n#\n3\n4;,\n";
        let mut records = Records::default();
        records.split(chunk, 2, LineForm::of(csv, LineEnding::Lf, true));
        assert_eq!((records.len(), records.skipped()), (2, 3));
        assert_eq!(fields(chunk, &records, 1), [&b"4"[..], b","]);
        let mut malformed = records.malformed().to_vec();
        assert_eq!(malformed[0].line(), 1);
        records.count_skipped(&mut malformed);
        assert_eq!(malformed[0].line(), 4);
    }

    #[test]
    fn fields_can_have_several_bytes_between_them() {
        let form = |separator, comment| {
            let csv = Csv {
                header: false,
                separator,
                comment,
            };
            LineForm::of(csv, LineEnding::Lf, false)
        };
        let chunk = b"; comment\n  1   -1\n2\t3 \n\n \n4\n5 6 7\n8 9\nunended 1";
        let mut records = Records::default();
        records.split(chunk, 2, form(Separator::Blanks, Some(b';')));
        assert_eq!((records.len(), records.skipped()), (3, 1));
        assert_eq!(fields(chunk, &records, 0), [&b"1"[..], b"-1"]);
        assert_eq!(fields(chunk, &records, 1), [&b"2"[..], b"3"]);
        let (start, end) = records.record(0);
        assert_eq!(&chunk[start..end], b"  1   -1");
        let second: Vec<_> = records.column(1, 1..3).iter().collect();
        assert_eq!(second.len(), 2);
        assert_eq!(&chunk[second[1].0..second[1].1], b"9");
        let count = |found| Fault::FieldCount { found, expected: 2 };
        let malformed = records.malformed().iter();
        let malformed: Vec<_> = malformed.map(|one| (one.line(), one.fault)).collect();
        let blank = Fault::BlankLine;
        assert_eq!(
            malformed,
            [(2, blank), (3, count(0)), (4, count(1)), (5, count(3))]
        );
        records.retain(|record, _| Ok(record == 2));
        assert_eq!(fields(chunk, &records, 0), [&b"8"[..], b"9"]);

        let chunk = b"a;\tb\n;\t\nc;d\n";
        records.split(chunk, 2, form(Separator::Text(";\t"), None));
        assert_eq!(fields(chunk, &records, 0), [&b"a"[..], b"b"]);
        assert_eq!(fields(chunk, &records, 1), [&b""[..], b""]);
        assert_eq!(records.malformed()[0].fault, count(1));
        records.refuse_first(Fault::ByteOrderMark);
        assert_eq!(fields(chunk, &records, 0), [&b""[..], b""]);
    }

    #[test]
    fn the_first_record_can_be_refused() {
        let chunk = b"a,b\nc,d\n\n";
        let mut records = Records::default();
        records.split(chunk, 2, LineEnding::Lf);
        for _ in 0..2 {
            records.refuse_first(Fault::ByteOrderMark);
            assert_eq!(fields(chunk, &records, 0), [&b"c"[..], b"d"]);
            let malformed: Vec<_> = records.malformed().iter().map(Reject::line).collect();
            assert_eq!(malformed, [0, 2]);
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

    /// A line that is blank but for a carriage return is blank, and that of another ending is part of the row.
    #[test]
    fn malformed_rows_are_those_of_the_lines() {
        let chunk = b"\n\r\na\na,b\r\na\r\n";
        let lines: Vec<&[u8]> = chunk.split_inclusive(|&byte| byte == b'\n').collect();
        let malformed = |ending: LineEnding| {
            let mut records = Records::default();
            records.split(chunk, 2, ending);
            let mut rejects = Vec::new();
            for reject in records.malformed() {
                let (row, fault) = (&chunk[reject.row()], reject.fault);
                if !matches!(fault, Fault::FieldCount { .. }) {
                    assert_eq!(ending.body(lines[reject.line()]), (row, Some(fault)));
                }
                rejects.push((row, fault));
            }
            rejects
        };
        let count = Fault::FieldCount {
            found: 1,
            expected: 2,
        };
        let (blank, other) = (Fault::BlankLine, Fault::LineEnding);
        assert_eq!(
            malformed(LineEnding::Lf),
            [
                (&b""[..], blank),
                (b"\r", blank),
                (b"a", count),
                (b"a,b\r", other),
                (b"a\r", other)
            ]
        );
        assert_eq!(
            malformed(LineEnding::CrLf),
            [
                (&b""[..], blank),
                (b"", blank),
                (b"a", other),
                (b"a", count)
            ]
        );
    }

    fn chunks() -> impl Strategy<Value = Vec<u8>> {
        let line = "[a,]{0,9}|[a-z]{0,40}(,[0-9]{0,30}){2}\r?|,{30,70}";
        let lines = prop::collection::vec(line, 0..40);
        lines.prop_map(|lines| lines.join("\n").into_bytes())
    }

    fn endings() -> impl Strategy<Value = LineEnding> {
        prop_oneof![Just(LineEnding::Lf), Just(LineEnding::CrLf)]
    }

    fn equals_the_plain_twin(chunk: &[u8], ending: LineEnding) -> Result<(), TestCaseError> {
        let (mut split, mut plain) = (Records::default(), Records::default());
        plain.begin(3, Arrangement::neighbours(3));
        plain.offsets.push(u32::MAX);
        plain.split_blocks(
            chunk,
            ending.into(),
            |block| masks::plain(block, b','),
            masks::positions,
        );
        split.split(chunk, 3, ending);
        prop_assert_eq!(split.count, plain.count);
        prop_assert_eq!(split.offsets.all(), plain.offsets.all());
        prop_assert_eq!(&split.malformed, &plain.malformed);
        Ok(())
    }

    proptest! {
        #[test]
        #[cfg_attr(not(avx512_vbmi2), ignore = "needs a processor with AVX-512 and VBMI2")]
        fn splitting_with_avx_512_equals_the_plain_twin(chunk in chunks(), ending in endings()) {
            equals_the_plain_twin(&chunk, ending)?;
        }

        #[test]
        #[cfg_attr(not(target_arch = "x86_64"), ignore = "needs SSE2; this would be the plain twin twice")]
        fn splitting_with_sse2_equals_the_plain_twin(chunk in chunks(), ending in endings()) {
            plainly(|| equals_the_plain_twin(&chunk, ending))?;
        }

        /// A separator of one byte is also one of a text.
        #[test]
        fn texts_of_one_byte_split_as_the_byte_does(chunk in chunks(), ending in endings()) {
            let (mut byte, mut text) = (Records::default(), Records::default());
            byte.split(&chunk, 3, ending);
            let csv = Csv { separator: Separator::Text(","), ..Csv::PLAIN };
            text.split(&chunk, 3, LineForm::of(csv, ending, false));
            prop_assert_eq!(byte.count, text.count);
            prop_assert_eq!(&byte.malformed, &text.malformed);
            for record in 0..byte.count {
                prop_assert_eq!(byte.record(record), text.record(record));
                for field in 0..3 {
                    prop_assert_eq!(byte.field(record, field), text.field(record, field));
                }
            }
        }

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
