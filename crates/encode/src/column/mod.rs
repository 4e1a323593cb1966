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

use std::sync::Arc;

use parquet::schema::types::ColumnDescPtr;
use tracelake_core::options::{Accept, Codec};
use tracelake_schema::{Column, Kind, Zone};

use encoder::Encoder;

pub(crate) use chunk::EncodedChunk;
pub(crate) use double::whole;
pub(crate) use phases::{Append, ChunkFields, ColumnEncoder, SourceField};

/// Makes the encoder of a column.
pub(crate) fn encoder_of(
    column: Arc<Column>,
    descriptor: ColumnDescPtr,
    codec: Codec,
    accept: &Accept,
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
