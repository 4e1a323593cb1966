//! Rows to Parquet and Arrow files, in memory: [`syntax`] takes the bytes of a chunk of CSV, quoted CSV or JSON lines,
//! and adds its rows to a block of an [`output`]: a row group or a record batch.
//!
//! The value of a plain field passes through these hands: `split::Records` has its offsets, `column::LookUp` finds it
//! in the dictionary of its row group or parses it, `column::page` holds its index, `column::encode` packs the
//! indices of a page, and `parquet_file` writes the column chunk.
//!
//! ```
//! use tracelake_core::line_ending::LineEnding;
//! use tracelake_encode::split::Records;
//! use tracelake_encode::value;
//!
//! let text = b"600000000,,3418309\n600000000,,3418314\n";
//! let mut records = Records::default();
//! records.split(text, 3, LineEnding::Lf);
//! let (start, end) = records.field(1, 2);
//! assert_eq!(value::integer(&text[start..end]), Ok(3_418_314));
//! ```

pub mod arrow_file;
pub mod batch;
pub mod cell;
mod column;
mod column_values;
pub mod json;
mod key_hash;
mod levels;
mod nodes;
pub mod output;
pub mod packed_rows;
pub mod parquet_file;
mod parquet_footer;
pub mod parquet_rows;
mod plain_numbers;
pub mod quoted;
pub mod reject;
pub mod row_fields;
mod rows;
mod run_fields;
#[cfg(test)]
mod samples;
mod selection;
pub mod split;
mod splitting;
pub mod syntax;
pub mod thrift;
pub mod typed_rows;
pub mod value;
#[cfg(target_arch = "x86_64")]
mod wide;
