//! A row that can't be converted, as offsets into its chunk.

use std::ops::Range;
use std::sync::Arc;

use tracelake_core::fault::Fault;
use tracelake_schema::Column;

/// A row that can't be converted, with the position of its fault.
///
/// It's built from the inside out: a parser knows the bytes at fault, and its callers add the item, the
/// column, the row and the line that these are in.
///
/// # Memory
/// 56 bytes, because a chunk can consist of 131,072 blank lines.
#[derive(Debug, Clone, PartialEq)]
pub struct Reject {
    line: u32,
    row: Range<u32>,
    field: Range<u32>,
    /// The column of the faulty field; `None` if the row's shape is wrong.
    pub column: Option<Arc<Column>>,
    /// The part of the column, such as `.cpus` or `[1].name`; empty if the column is a single value.
    pub inner: Box<str>,
    /// The fault.
    pub fault: Fault,
}

const _: () = assert!(size_of::<Reject>() <= 56);

impl Reject {
    /// A fault in the bytes `field` of a row.
    pub fn new(field: Range<usize>, fault: Fault) -> Self {
        Self {
            line: 0,
            row: 0..0,
            field: to_u32(field),
            column: None,
            inner: Box::default(),
            fault,
        }
    }

    /// A row with the bytes `row` of its chunk, whose shape is wrong.
    pub(crate) fn of_shape(row: Range<usize>, fault: Fault) -> Self {
        Self::new(0..row.len(), fault).in_row(row)
    }

    /// The line of the chunk that the row starts in, from 0.
    #[must_use]
    pub fn line(&self) -> usize {
        self.line as usize
    }

    /// The bytes of the row in the chunk, without its line ending.
    #[must_use]
    pub fn row(&self) -> Range<usize> {
        to_usize(&self.row)
    }

    /// The bytes of the faulty field in the row; all of them if the row's shape is wrong.
    #[must_use]
    pub fn field(&self) -> Range<usize> {
        to_usize(&self.field)
    }

    /// Moves the fault to the bytes `field`.
    pub(crate) fn with_field(mut self, field: Range<usize>) -> Self {
        self.field = to_u32(field);
        self
    }

    /// The fault is in a column of the table.
    pub(crate) fn in_column(mut self, column: &Arc<Column>) -> Self {
        self.column = Some(Arc::clone(column));
        self
    }

    /// The fault is in a field of a struct.
    pub(crate) fn in_struct_field(mut self, field: &Column) -> Self {
        self.inner = format!(".{}{}", field.name, self.inner).into();
        self
    }

    /// The fault is in an item of a list, counted from 0.
    pub(crate) fn in_item(mut self, item: usize) -> Self {
        self.inner = format!("[{item}]{}", self.inner).into();
        self
    }

    /// Moves the row to another line of the chunk.
    pub(crate) fn move_to_line(&mut self, line: usize) {
        self.line = offset(line);
    }

    /// The row has the bytes `row` of the chunk.
    pub fn in_row(mut self, row: Range<usize>) -> Self {
        self.row = to_u32(row);
        self
    }

    /// The row starts in a line of the chunk, counted from 0.
    pub fn in_line(mut self, line: usize) -> Self {
        self.line = offset(line);
        self
    }
}

fn to_u32(range: Range<usize>) -> Range<u32> {
    offset(range.start)..offset(range.end)
}

fn to_usize(range: &Range<u32>) -> Range<usize> {
    range.start as usize..range.end as usize
}

fn offset(at: usize) -> u32 {
    u32::try_from(at).expect("a chunk is shorter than 4 GiB")
}
