//! The fields of one column to a column chunk, in memory.
//!
//! This is the way of one value. [`LookUp`] takes its field and asks a [`cache`] whether the row group
//! had one with the same bytes: then the index of the value is known, and nothing is parsed. Otherwise
//! [`kind`] parses it. Once the faults of all columns are known, [`Append`] adds the row: a new value
//! gets the next index of the [`dictionary`], and the index goes into the [`page`]. When the page is
//! full, [`choice`] encodes it, as indices or as PLAIN values, and compresses it. [`chunk`] collects
//! the pages and what the footer says about them. [`encoder`] holds all of this together. On processors
//! with AVX-512, the caches take eight fields at once (`crate::wide`).
//!
//! Pages are encoded here and not by the Parquet crate, because its writer takes values, and would hash
//! each of them again. Their headers are written here too, because the crate's have no checksum. Statistics, the
//! page index, bloom filters and the footer are the crate's.

mod boolean;
mod cache;
mod choice;
mod chunk;
mod compress;
mod dictionary;
mod digit_cache;
mod double;
mod encode;
mod encoder;
mod found;
mod header;
mod integer;
mod key;
mod kind;
mod min_max;
mod page;
mod phases;
mod tests;
mod text;
mod text_cache;

use std::ops::Range;

use parquet::errors::ParquetError;
use parquet::schema::types::ColumnDescPtr;
use tracelake_core::fault::Fault;
use tracelake_core::options::{Accept, Codec};
use tracelake_schema::{Column, Kind, Zone};

use crate::row_fields::LeafFields;
use crate::split::FieldOffsets;
use crate::value::OtherSpellings;
pub(crate) use chunk::EncodedChunk;
pub(crate) use double::whole;
use encoder::Encoder;

pub use choice::{
    LONG_TEXT, STORE_UNCOMPRESSED_ABOVE_PERCENT, TELLING_BYTES, TRY_PLAIN_IDS_BELOW_REPEATS,
};
pub use encode::MOST_GROUPS;
pub use encoder::{BLOOM_FILTER_REPEATS, PLAIN_PAGE_BYTES, UNREPEATED_BUT_ONE_IN, UNREPEATED_ROWS};
pub use page::SPARE_INDICES;
pub use text::STATISTICS_TEXT_BYTES;

type Result<T> = std::result::Result<T, ParquetError>;

/// A page ends after the chunk of text that brings it to this many rows. Smaller pages let readers skip more of what
/// they don't want.
pub const PAGE_ROWS: usize = 1 << 15;

/// The rows of a page that decides on the encoding of its column chunk, instead of [`PAGE_ROWS`]: fewer rows say too
/// little about the other pages. With pages of 16,384 rows throughout, task_usage was 12 % larger.
pub const CHOOSING_PAGE_ROWS: usize = 1 << 16;

/// The page of an id is the whole row group, so that what repeats every five minutes is in one page: a part of
/// task_usage of 2.4 million rows took 53.4 MB with small pages for all columns, 50.5 MB with large ones for ids, and
/// 49.3 MB with these on whole bytes, in the same time.
const ID_PAGE_ROWS: usize = 1 << 20;

/// A page of items of lists ends after as many of them. The first page decides on the encoding, and with as few items
/// as other columns have rows, most of them were new: a list of eleven floats became PLAIN and took 1.7 times as many
/// bytes.
pub const PAGE_ITEMS: usize = 1 << 18;

/// The fields of a column in a chunk of text.
#[derive(Debug, Clone, Copy)]
pub(crate) enum ChunkFields<'a> {
    /// A field of each record.
    Records(FieldOffsets<'a>, SourceField),
    /// The values of a leaf of rows that were read as JSON.
    Leaf(&'a LeafFields),
    /// The name of the file, which gives each row this value.
    Name(&'a [u8]),
}

/// Where the fields of a column are in a file.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SourceField {
    /// The position in a record, from 0.
    pub(crate) position: usize,
    /// Whether an empty field is a fault; otherwise it is NULL.
    pub(crate) mandatory: bool,
    /// Spellings that are accepted, and counted.
    pub(crate) accept: Accept,
}

/// One column of a table on its way to column chunks, one for each row group.
pub(crate) trait ColumnEncoder: Send {
    /// Starts with a chunk of text.
    fn start<'a>(&'a mut self, text: &'a [u8], fields: ChunkFields<'a>)
    -> Box<dyn LookUp<'a> + 'a>;

    /// Starts with a chunk of text of which the column is NULL in each row.
    fn start_absent<'a>(&'a mut self) -> Box<dyn LookUp<'a> + 'a>;

    /// Makes a column chunk of the rows since the last one, and starts over.
    ///
    /// # Errors
    /// When a page cannot be encoded.
    fn finish(&mut self) -> Result<EncodedChunk>;

    /// The size of the column chunk so far, in bytes: its pages before they were compressed, the dictionary, and
    /// the values of the open page as they are kept; in a list, also the values as readers have them.
    fn bytes(&self) -> usize;

    /// How many values are spelled differently, since the beginning.
    fn others(&self) -> OtherSpellings;

    /// The smallest and the largest integer of all finished column chunks; `None` for other kinds.
    fn integers(&self) -> Option<(i64, i64)>;
}

/// Phase one of a chunk of text: fields are looked up, a few records at a time.
pub(crate) trait LookUp<'a>: Send {
    /// Looks up this column's field in each record of `range`, which follows the one before.
    fn look_up(&mut self, range: Range<usize>);

    /// Parses the fields that weren't found. Nothing that lasts is changed yet.
    fn parse(self: Box<Self>) -> Box<dyn Append + 'a>;
}

/// Phase two of a chunk of text: the faults of the column are known.
pub(crate) trait Append: Send {
    /// The records whose field is faulty, in order.
    fn faults(&self) -> &[(usize, Fault)];

    /// Adds all records but the faulty ones of all columns, which are sorted.
    ///
    /// # Errors
    /// When a page cannot be encoded.
    fn append(self: Box<Self>, faulty: &[usize]) -> Result<()>;
}

/// The encoder of a column.
pub(crate) fn encoder(
    column: &'static Column,
    descriptor: ColumnDescPtr,
    codec: Codec,
    accept: Accept,
) -> Box<dyn ColumnEncoder> {
    macro_rules! of {
        ($kind:ty) => {
            Box::new(Encoder::<$kind>::new(column, descriptor, codec, accept))
        };
    }
    match column.kind {
        Kind::DateTime(Zone::Published) => of!(integer::Instant),
        Kind::DateTime(Zone::None) => of!(integer::DateTime),
        Kind::Integer => of!(integer::Int64),
        Kind::Code => of!(integer::Int32),
        Kind::Float => of!(double::Double),
        Kind::Boolean => of!(boolean::Boolean),
        Kind::Text => of!(text::Text),
        Kind::Struct | Kind::List => {
            unreachable!("the leaves of structs and lists have encoders")
        }
    }
}

/// Whether the values of a column identify something: integers that measure nothing.
fn is_id(column: &Column) -> bool {
    column.kind == Kind::Integer && column.unit.is_none()
}
