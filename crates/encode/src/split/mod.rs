//! A chunk of whole lines to the offsets of its records and fields. Pure: no I/O.

mod line_form;
pub(crate) mod masks;
mod offsets;
mod tests;

use std::ops::Range;

use tracelake_core::fault::Fault;
use tracelake_core::line_ending::LineEnding;

use crate::reject::Reject;
use line_form::shape_fault;
use masks::BLOCK;
use offsets::{Arrangement, Offsets, between, offset};

pub use line_form::LineForm;
pub use offsets::FieldOffsets;

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
    /// When `chunk` is 4 GiB or longer, or shorter than what precedes the first record, or `fields` is 0.
    pub fn split(&mut self, chunk: &[u8], fields: usize, form: impl Into<LineForm>) {
        let form = form.into();
        assert!(
            u32::try_from(chunk.len()).is_ok(),
            "a chunk is shorter than 4 GiB"
        );
        assert!(fields > 0, "a record has a field");
        let Some(separator) = form.csv.one_byte() else {
            self.begin(fields, Arrangement::spans(fields), form);
            self.split_lines(chunk, form);
            return;
        };
        self.begin(fields, Arrangement::neighbours(fields), form);
        #[cfg(target_arch = "x86_64")]
        if tracelake_core::instructions::has_avx512_vbmi2() {
            // SAFETY: the processor has what the function is compiled for.
            #[expect(unsafe_code, reason = "measured in `masks`")]
            unsafe {
                self.split_blocks_wide(chunk, form, separator);
            }
            return;
        }
        let masks = |block: &_| masks::masks(block, separator);
        self.split_blocks(chunk, form, masks, masks::positions);
    }

    fn begin(&mut self, fields: usize, arrangement: Arrangement, form: LineForm) {
        self.fields = fields;
        self.arrangement = arrangement;
        self.count = 0;
        self.offsets.used = 0;
        if !arrangement.has_spans {
            self.offsets.push(offset(form.first).wrapping_sub(1));
        }
        self.malformed.clear();
        self.skipped.clear();
        self.skipped.resize(form.first_lines, 0);
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
        let (blocks, rest) = chunk[form.first..].as_chunks::<BLOCK>();
        // The rest is padded with bytes that separate nothing.
        let mut last = [0; BLOCK];
        last[..rest.len()].copy_from_slice(rest);
        for (number, block) in blocks.iter().chain([&last]).enumerate() {
            let at = form.first + number * BLOCK;
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

    /// Splits a chunk with AVX-512.
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx512bw,avx512vl,avx512vbmi2,bmi1,popcnt")]
    fn split_blocks_wide(&mut self, chunk: &[u8], form: LineForm, separator: u8) {
        use masks::wide::{masks_wide, positions_wide};
        let positions = |mask, at, into: &mut _| positions_wide(mask, at, into);
        self.split_blocks(chunk, form, |block| masks_wide(block, separator), positions);
    }

    /// Splits a chunk line by line, where more than one byte is between fields.
    fn split_lines(&mut self, chunk: &[u8], form: LineForm) {
        let mut next = form.first;
        for newline in memchr::memchr_iter(b'\n', &chunk[form.first..]) {
            let (start, newline) = (next, form.first + newline);
            next = newline + 1;
            if form.csv.comment.is_some() && form.is_comment(chunk, start, newline) {
                self.skipped.push(self.count + self.malformed.len());
                continue;
            }
            let carriage_return = newline > start && chunk[newline - 1] == b'\r';
            let end = newline - usize::from(carriage_return);
            let before = self.offsets.used;
            self.offsets.push_span(start..end);
            let mut found = 0;
            for field in form.csv.fields(&chunk[start..end]) {
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
    }

    /// Ends the record before the newline at `newline`; its offsets are the last ones.
    #[inline(always)]
    fn end_record(&mut self, chunk: &[u8], newline: usize, form: LineForm) {
        let ending = form.ending;
        let before = self.count * self.arrangement.step;
        let found = self.offsets.used - before - 1;
        let start = self.offsets.all()[before].wrapping_add(1) as usize;
        if form.csv.comment.is_some() && form.is_comment(chunk, start, newline) {
            self.skipped.push(self.count + self.malformed.len());
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
