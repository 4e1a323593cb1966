//! A Parquet file of a source as JSON lines, read by the record batch reader of the Parquet crate: none of the
//! converter's decoders is in it. So the rows take the way of those of JSON.

use std::io::{self, Read, Write};
use std::ops::Range;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, TimestampMicrosecondType,
    TimestampMillisecondType, TimestampNanosecondType,
};
use arrow_array::{Array, ArrayRef, RecordBatch, StructArray};
use arrow_schema::{ArrowError, DataType, TimeUnit};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::ParquetRecordBatchReader;
use tracelake_convert::lake_file::{WIDE_ROWS, Writer, open_parquet, source_damaged};
use tracelake_core::Context;
use tracelake_core::error::{Error, Result};
use tracelake_core::field_order::FieldOrder;
use tracelake_location::Location;
use tracelake_schema::calendar::day_since_1970;
use tracelake_schema::{Column, Kind, Zone};
use tracelake_source::WholeFile;

/// The lines of a Parquet file.
pub(super) struct ParquetText {
    batches: ParquetRecordBatchReader,
    columns: Vec<Arc<Column>>,
    lines: Vec<u8>,
    read: usize,
}

impl ParquetText {
    /// Opens a file; returns also the rows that each of its row groups ends before.
    pub(super) fn open(
        context: &Context,
        path: &Location,
        order: &FieldOrder,
    ) -> Result<(Self, Vec<u64>)> {
        let damaged = |error| source_damaged(path, error);
        let file = WholeFile::open(context, path, &std::env::temp_dir())?.file;
        let file = open_parquet(file, Writer::Any).map_err(damaged)?;
        let mut ends = Vec::new();
        for group in file.metadata().row_groups() {
            let rows = u64::try_from(group.num_rows()).unwrap_or_default();
            ends.push(ends.last().copied().unwrap_or_default() + rows);
        }
        // As in a rejects file: the columns of the lake, and then those by which rows are selected.
        let in_file = |index| order.fields.iter().any(|field| field.index == Some(index));
        let columns = order.table.columns.iter().enumerate();
        let columns = columns
            .filter(|(index, _)| in_file(*index))
            .map(|(_, column)| column);
        let rules = order.rules.fields().filter(|field| {
            field.position.is_some() && order.table.column(&field.column.name).is_none()
        });
        let columns: Vec<Arc<Column>> = columns
            .chain(rules.map(|field| &order.whole.columns[field.index]))
            .cloned()
            .collect();
        let names = columns.iter().map(|column| &*column.content);
        let mask = ProjectionMask::columns(file.parquet_schema(), names);
        let batches = file
            .with_projection(mask)
            .with_batch_size(WIDE_ROWS)
            .build();
        let text = Self {
            batches: batches.map_err(damaged)?,
            columns,
            lines: Vec::new(),
            read: 0,
        };
        Ok((text, ends))
    }

    fn write(&mut self, batch: RecordBatch) {
        let rows = StructArray::from(batch);
        for row in 0..rows.len() {
            write_group(
                &self.columns,
                |column| &column.content,
                &rows,
                row,
                &mut self.lines,
            );
            self.lines.push(b'\n');
        }
    }
}

impl Read for ParquetText {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        while self.read == self.lines.len() {
            let Some(batch) = self.batches.next() else {
                return Ok(0);
            };
            self.lines.clear();
            self.read = 0;
            self.write(batch.map_err(failed)?);
        }
        let read = (&self.lines[self.read..]).read(into)?;
        self.read += read;
        Ok(read)
    }
}

fn failed(error: ArrowError) -> io::Error {
    match error {
        ArrowError::IoError(_, disk) => disk,
        ArrowError::ExternalError(source) => match source.downcast::<Error>() {
            Ok(ours) => io::Error::other(ours),
            Err(other) => io::Error::other(other.to_string()),
        },
        error => io::Error::other(error.to_string()),
    }
}

/// Writes the values of a row or a struct that aren't NULL, as JSON; `name` is that of a column among the values.
pub(super) fn write_group(
    columns: &[Arc<Column>],
    name: fn(&Column) -> &str,
    values: &StructArray,
    row: usize,
    out: &mut Vec<u8>,
) {
    let mut separator = "{";
    for column in columns {
        let Some(array) = values.column_by_name(name(column)) else {
            continue;
        };
        let field = values
            .fields()
            .iter()
            .find(|field| field.name() == name(column));
        // A list that can't be NULL is absent in JSON where it is empty.
        let is_absent = field.is_some_and(|field| !field.is_nullable())
            && array
                .as_list_opt::<i32>()
                .is_some_and(|lists| lists.value_length(row) == 0);
        if array.is_null(row) || is_absent {
            continue;
        }
        out.extend_from_slice(separator.as_bytes());
        separator = ",";
        write_text(name(column).as_bytes(), out);
        out.push(b':');
        write_value(column, name, array, row, out);
    }
    if separator == "{" {
        out.push(b'{');
    }
    out.push(b'}');
}

/// Writes a value that isn't NULL.
fn write_value(
    column: &Column,
    name: fn(&Column) -> &str,
    array: &dyn Array,
    row: usize,
    out: &mut Vec<u8>,
) {
    let written = match array.data_type() {
        DataType::Int8 => write!(out, "{}", array.as_primitive::<Int8Type>().value(row)),
        DataType::Int16 => write!(out, "{}", array.as_primitive::<Int16Type>().value(row)),
        DataType::Int32 => write!(out, "{}", array.as_primitive::<Int32Type>().value(row)),
        DataType::Int64 => write!(out, "{}", array.as_primitive::<Int64Type>().value(row)),
        DataType::Float32 => {
            let value = array.as_primitive::<Float32Type>().value(row);
            write_float(value.into(), out)
        }
        DataType::Float64 => write_float(array.as_primitive::<Float64Type>().value(row), out),
        DataType::Boolean => write!(out, "{}", array.as_boolean().value(row)),
        DataType::Utf8 => {
            write_text(array.as_string::<i32>().value(row).as_bytes(), out);
            Ok(())
        }
        DataType::Binary => {
            write_text(array.as_binary::<i32>().value(row), out);
            Ok(())
        }
        DataType::Timestamp(unit, _) => {
            let nanoseconds = match unit {
                TimeUnit::Millisecond => {
                    i128::from(array.as_primitive::<TimestampMillisecondType>().value(row))
                        * 1_000_000
                }
                TimeUnit::Microsecond => {
                    i128::from(array.as_primitive::<TimestampMicrosecondType>().value(row)) * 1_000
                }
                _ => array
                    .as_primitive::<TimestampNanosecondType>()
                    .value(row)
                    .into(),
            };
            write_time(column, nanoseconds, out)
        }
        DataType::Struct(_) => {
            write_group(&column.fields, name, array.as_struct(), row, out);
            Ok(())
        }
        DataType::List(_) | DataType::Map(..) => {
            let items: ArrayRef = match array.as_map_opt() {
                Some(maps) => Arc::new(maps.value(row)),
                None => array.as_list::<i32>().value(row),
            };
            out.push(b'[');
            for item in 0..items.len() {
                if item > 0 {
                    out.push(b',');
                }
                match (items.is_null(item), &column.fields[..]) {
                    (false, [of, ..]) => write_value(of, name, &items, item, out),
                    _ => out.extend_from_slice(b"null"),
                }
            }
            out.push(b']');
            Ok(())
        }
        other => {
            write_text(format!("a value of the type {other}").as_bytes(), out);
            Ok(())
        }
    };
    written.expect("memory takes any text");
}

/// Writes a number; as a text where JSON has no such number.
fn write_float(value: f64, out: &mut Vec<u8>) -> io::Result<()> {
    match value.is_finite() {
        true => write!(out, "{value:?}"),
        false => write!(out, "\"{value:?}\""),
    }
}

/// Writes a text with quotes, and its bytes as they are where they aren't UTF-8.
fn write_text(bytes: &[u8], out: &mut Vec<u8>) {
    out.push(b'"');
    for chunk in bytes.utf8_chunks() {
        let quoted = serde_json::to_string(chunk.valid()).unwrap_or_default();
        let inside: Range<usize> = 1..quoted.len().saturating_sub(1);
        out.extend_from_slice(quoted.as_bytes().get(inside).unwrap_or_default());
        out.extend_from_slice(chunk.invalid());
    }
    out.push(b'"');
}

/// Writes a date-time, with a zone where its column has one.
fn write_time(column: &Column, nanoseconds: i128, out: &mut Vec<u8>) -> io::Result<()> {
    const SECOND: i128 = 1_000_000_000;
    let (seconds, fraction) = (
        nanoseconds.div_euclid(SECOND),
        nanoseconds.rem_euclid(SECOND),
    );
    let seconds = i64::try_from(seconds).unwrap_or(i64::MAX);
    let (year, month, day) = day_since_1970(seconds.div_euclid(86_400));
    let clock = seconds.rem_euclid(86_400);
    let (hour, minute, second) = (clock / 3600, clock / 60 % 60, clock % 60);
    let zone = match column.kind {
        Kind::DateTime(Zone::Published) => "Z",
        _ => "",
    };
    write!(
        out,
        "\"{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}.{fraction:09}{zone}\""
    )
}
