//! Writes rows as Parquet files, with the settings that a file of Google's has.
//!
//! Everything may be NULL, integers and codes are INT64, floats DOUBLE and texts UTF-8; pages are compressed with gzip
//! and have the encodings of Parquet 1.0. How Google writes a list is unverified, since no such file was at hand: here it
//! is written as parquet-cpp 10 does, the writer that Google's files name.

use std::io::{self, Write};
use std::sync::Arc;

use bytes::Bytes;
use parquet::basic::{
    Compression, ConvertedType, GzipLevel, LogicalType, Repetition, Type as Physical,
};
use parquet::errors::{ParquetError, Result};
use parquet::file::properties::{EnabledStatistics, WriterProperties, WriterVersion};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::{Type, TypePtr};
use serde_json::Value;
use tracelake_schema::{Column, Kind, Table};

use crate::parquet_leaf::{Leaf, Levels};

/// The rows of a row group, which are in memory until they are written.
const GROUP_ROWS: usize = 65_536;

/// A Parquet file that rows are appended to.
pub(crate) struct ParquetFile<W: Write + Send> {
    writer: SerializedFileWriter<W>,
    columns: Vec<Arc<Column>>,
    /// The leaves of all columns.
    leaves: Vec<Leaf>,
    /// Rows of the current row group.
    rows: usize,
}

impl<W: Write + Send> ParquetFile<W> {
    pub(crate) fn create(file: W, table: &Table) -> io::Result<Self> {
        let columns: Vec<Arc<Column>> = table
            .fields
            .iter()
            .map(|&index| Arc::clone(&table.columns[index]))
            .collect();
        let fields = columns.iter().map(|column| field(&column.content, column));
        let fields = fields.collect::<Result<_>>().map_err(disk_error)?;
        let schema = Type::group_type_builder("schema").with_fields(fields);
        let schema = Arc::new(schema.build().map_err(disk_error)?);
        let properties = WriterProperties::builder()
            .set_writer_version(WriterVersion::PARQUET_1_0)
            .set_compression(Compression::GZIP(GzipLevel::default()))
            // In the footer and in each page.
            .set_statistics_enabled(EnabledStatistics::Page)
            .set_write_page_header_statistics(true)
            .build();
        let writer = SerializedFileWriter::new(file, schema, Arc::new(properties));
        let writer = writer.map_err(disk_error)?;
        let leaves = writer.schema_descr().columns().iter();
        Ok(Self {
            leaves: leaves.map(Leaf::new).collect(),
            writer,
            columns,
            rows: 0,
        })
    }

    /// The file that is written to.
    pub(crate) fn file(&self) -> &W {
        self.writer.inner()
    }

    /// Appends rows, which are whole lines of JSON.
    pub(crate) fn write_lines(&mut self, lines: &[u8]) -> io::Result<()> {
        for line in lines
            .split(|&byte| byte == b'\n')
            .filter(|line| !line.is_empty())
        {
            let row: Value = serde_json::from_slice(line)?;
            let mut leaf = 0;
            for column in &self.columns {
                let leaves = &mut self.leaves[leaf..];
                leaf += append(leaves, column, row.get(&column.name), Levels::default());
            }
            self.rows += 1;
            if self.rows == GROUP_ROWS {
                self.write_group().map_err(disk_error)?;
            }
        }
        Ok(())
    }

    /// Writes the footer, and returns the complete file.
    pub(crate) fn finish(&mut self) -> io::Result<&mut W> {
        if self.rows > 0 {
            self.write_group().map_err(disk_error)?;
        }
        self.writer.finish().map_err(disk_error)?;
        Ok(self.writer.inner_mut())
    }

    fn write_group(&mut self) -> Result<()> {
        let properties = self.writer.properties().clone();
        let mut group = self.writer.next_row_group()?;
        for leaf in &mut self.leaves {
            let (bytes, closed) = leaf.take_chunk(&properties)?;
            group.append_column(&Bytes::from(bytes), closed)?;
        }
        group.close()?;
        self.rows = 0;
        Ok(())
    }
}

/// Appends a value of a column to its leaves, which are the first of these; returns how many it has.
fn append(leaves: &mut [Leaf], column: &Column, value: Option<&Value>, at: Levels) -> usize {
    let value = value.filter(|value| !is_null(value));
    match column.kind {
        Kind::Struct => {
            let inner = at.below(value.is_some());
            column.fields.iter().fold(0, |leaf, field| {
                let value = value.and_then(|fields| fields.get(&field.name));
                leaf + append(&mut leaves[leaf..], field, value, inner)
            })
        }
        Kind::List => {
            let [item] = &column.fields[..] else {
                unreachable!("a list has one kind of item");
            };
            let items = value.and_then(Value::as_array);
            let (first, others) = match items.and_then(|items| items.split_first()) {
                Some((first, others)) => (Some(first), others),
                None => (None, &[][..]),
            };
            // The list, and the repeated field in it.
            let inner = at.below(items.is_some()).below(first.is_some()).in_list();
            let count = append(leaves, item, first, inner);
            for value in others {
                append(leaves, item, Some(value), inner.again());
            }
            count
        }
        Kind::Integer
        | Kind::Float
        | Kind::Boolean
        | Kind::Text
        | Kind::Code
        | Kind::DateTime(_) => {
            leaves[0].append(value, at);
            1
        }
    }
}

/// Whether a value is NULL. The publisher's export has no empty texts.
fn is_null(value: &Value) -> bool {
    value.is_null() || value.as_str() == Some("")
}

/// The type of a column.
fn field(name: &str, column: &Column) -> Result<TypePtr> {
    let group = |name| Type::group_type_builder(name);
    let optional = Repetition::OPTIONAL;
    let physical = match column.kind {
        Kind::Struct => {
            let fields = column
                .fields
                .iter()
                .map(|inner| field(&inner.content, inner));
            let fields = fields.collect::<Result<_>>()?;
            let group = group(name).with_repetition(optional).with_fields(fields);
            return group.build().map(Arc::new);
        }
        Kind::List => {
            let items = column.fields.iter().map(|item| field("item", item));
            let repeated = group("list")
                .with_repetition(Repetition::REPEATED)
                .with_fields(items.collect::<Result<_>>()?)
                .build()?;
            let list = group(name)
                .with_repetition(optional)
                .with_logical_type(Some(LogicalType::List))
                .with_converted_type(ConvertedType::LIST)
                .with_fields(vec![Arc::new(repeated)]);
            return list.build().map(Arc::new);
        }
        Kind::Integer | Kind::Code => Physical::INT64,
        Kind::Float => Physical::DOUBLE,
        Kind::Boolean => Physical::BOOLEAN,
        // No table that is published as Parquet has date-times.
        Kind::Text | Kind::DateTime(_) => Physical::BYTE_ARRAY,
    };
    let leaf = Type::primitive_type_builder(name, physical).with_repetition(optional);
    let leaf = match physical {
        Physical::BYTE_ARRAY => leaf
            .with_logical_type(Some(LogicalType::String))
            .with_converted_type(ConvertedType::UTF8),
        _ => leaf,
    };
    leaf.build().map(Arc::new)
}

/// Takes the error of the disk out of one of the Parquet crate.
fn disk_error(error: ParquetError) -> io::Error {
    match error {
        ParquetError::External(source) => match source.downcast() {
            Ok(disk) => *disk,
            Err(source) => io::Error::other(source),
        },
        error => io::Error::other(error),
    }
}

#[cfg(test)]
mod tests {
    use parquet::file::reader::FileReader;
    use parquet::file::serialized_reader::SerializedFileReader;
    use tracelake_schema::TRACES;

    use super::*;

    /// A table with a list of structs.
    fn table() -> &'static Table {
        let mut tables = TRACES.iter().flat_map(|trace| &trace.tables);
        let is_nested = |table: &&Arc<Table>| table.parquet && table.column("constraint").is_some();
        tables.find(is_nested).expect("such a table")
    }

    #[test]
    fn absent_empty_and_partial_values_are_kept_apart() {
        let mut file = ParquetFile::create(Vec::new(), table()).unwrap();
        let given = [
            ("{}", "null"),
            (r#"{"constraint":[]}"#, "[]"),
            (
                r#"{"constraint":[{}]}"#,
                "[{name: null, value: null, relation: null}]",
            ),
            (
                r#"{"constraint":[{"name":"a","value":""},{"relation":"7"}]}"#,
                r#"[{name: "a", value: null, relation: null}, {name: null, value: null, relation: 7}]"#,
            ),
        ];
        for (line, _) in given {
            file.write_lines(format!("{line}\n").as_bytes()).unwrap();
        }
        let bytes = Bytes::from(std::mem::take(file.finish().unwrap()));
        let reader = SerializedFileReader::new(bytes).unwrap();
        let rows = reader.get_row_iter(None).unwrap().map(|row| {
            let row = row.unwrap();
            let mut columns = row.get_column_iter();
            let (_, found) = columns.find(|(name, _)| *name == "constraint").unwrap();
            found.to_string()
        });
        assert_eq!(
            rows.collect::<Vec<_>>(),
            given.map(|(_, expected)| expected)
        );
    }

    /// A disk without space.
    struct Full;

    impl Write for Full {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::ErrorKind::StorageFull.into())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn an_error_of_the_disk_stays_one() {
        let mut file = ParquetFile::create(Full, table()).unwrap();
        let kind = file.finish().err().map(|error| error.kind());
        assert_eq!(kind, Some(io::ErrorKind::StorageFull));
    }
}
