//! Row groups to one Parquet file: schema, footer and its key-values.
//!
//! The file has only what every reader reads: pages V1, PLAIN and dictionary encodings, statistics
//! and page index. It has no clock and no host name.

use std::cell::RefCell;
use std::io::{self, BufWriter, Write};
use std::sync::Arc;

use parquet::arrow::{ArrowSchemaConverter, add_encoded_arrow_schema_to_metadata};
use parquet::file::metadata::{KeyValue, SortingColumn};
use parquet::file::properties::{WriterProperties, WriterPropertiesPtr, WriterVersion};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::{ColumnPath, SchemaDescriptor, TypePtr};
use tracelake_core::error::{Error, Result};
use tracelake_schema::Table;
use tracelake_schema::arrow::{SPARK_KEY, arrow_schema, spark_schema_json};

use crate::output::{OutputFile, OutputSettings, RowOrder, RowSource, parquet_error};
use crate::parquet_footer::amend;
use crate::rows::{RowGroup, RowGroupBuilder};

/// How many bytes are written to the disk at once.
const WRITE_BYTES: usize = 32 << 10;

/// A Parquet file that is being written.
pub struct ParquetFile<W: Write + Send> {
    writer: SerializedFileWriter<HeldEnd<W>>,
    /// Whether all rows are in a declared order. If not, row groups may be in the order of the table's time.
    is_ordered: bool,
    /// Whether the rows of each row group are in the order that is declared.
    is_sorted: Vec<bool>,
}

impl<W: Write + Send> ParquetFile<W> {
    /// The Parquet schema.
    pub(crate) fn schema(&self) -> &SchemaDescriptor {
        self.writer.schema_descr()
    }
}

impl<W: Write + Send> OutputFile<W> for ParquetFile<W> {
    type Builder = RowGroupBuilder;

    fn create(out: W, table: &Arc<Table>, _: OutputSettings, order: RowOrder<'_>) -> Result<Self> {
        let head = Head::of(table, order).map_err(|error| parquet_error(error, "start"))?;
        // The Parquet crate writes 8 KiB at a time.
        let out = HeldEnd {
            out: BufWriter::with_capacity(WRITE_BYTES, out),
            end: None,
        };
        let writer = SerializedFileWriter::new(out, head.root, head.properties)
            .map_err(|error| parquet_error(error, "start"))?;
        Ok(Self {
            writer,
            is_ordered: matches!(order, RowOrder::By(_)),
            is_sorted: Vec::new(),
        })
    }

    fn builder(&self, rows: RowSource<'_>, output: OutputSettings) -> RowGroupBuilder {
        let most = (output.row_group_rows, output.row_group_bytes);
        RowGroupBuilder::new(rows, self.schema(), output.codec(), most)
    }

    fn write(&mut self, row_group: RowGroup) -> Result<()> {
        self.is_sorted.push(self.is_ordered || row_group.is_sorted);
        let write = || {
            let mut group = self.writer.next_row_group()?;
            for chunk in row_group.chunks {
                group.append_column(&chunk, chunk.close.clone())?;
            }
            group.close()
        };
        write()
            .map(|_| ())
            .map_err(|error| parquet_error(error, "write"))
    }

    fn finish(mut self) -> Result<W> {
        self.writer.inner_mut().end = Some(Vec::new());
        let HeldEnd { mut out, end: held } = self
            .writer
            .into_inner()
            .map_err(|error| parquet_error(error, "finish"))?;
        let mut end = held.expect("the end is held");
        amend(&mut end, &self.is_sorted).expect("the crate writes a footer that can be read");
        let failed = |error| Error::disk("finish a Parquet file", error);
        out.write_all(&end).map_err(failed)?;
        out.into_inner().map_err(|error| failed(error.into_error()))
    }
}

/// The schema and the settings that the files of a table share.
#[derive(Clone)]
struct Head {
    root: TypePtr,
    properties: WriterPropertiesPtr,
}

thread_local! {
    /// The head of the last file of each thread. Making it takes a tenth of the time of a part of a hundred rows.
    static LAST: RefCell<Option<(Arc<Table>, Head)>> = const { RefCell::new(None) };
}

impl Head {
    /// The head of the files of a table whose rows are in this order.
    fn of(table: &Arc<Table>, order: RowOrder<'_>) -> parquet::errors::Result<Self> {
        if !matches!(order, RowOrder::Published) {
            return Self::new(table, order);
        }
        LAST.with_borrow_mut(|last| match last {
            Some((of, head)) if Arc::ptr_eq(of, table) => Ok(head.clone()),
            _ => {
                let head = Self::new(table, order)?;
                *last = Some((Arc::clone(table), head.clone()));
                Ok(head)
            }
        })
    }

    fn new(table: &Table, order: RowOrder<'_>) -> parquet::errors::Result<Self> {
        let schema = arrow_schema(table);
        let descriptor = ArrowSchemaConverter::new().convert(&schema)?;
        let mut properties = properties(table, &descriptor, order);
        add_encoded_arrow_schema_to_metadata(&schema, &mut properties);
        Ok(Self {
            root: descriptor.root_schema_ptr(),
            properties: properties.into(),
        })
    }
}

/// An output whose end is held back, so that the footer can be amended.
struct HeldEnd<W: Write> {
    out: BufWriter<W>,
    /// The bytes written since the end began.
    end: Option<Vec<u8>>,
}

impl<W: Write> Write for HeldEnd<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.end {
            Some(end) => end.write(bytes),
            None => self.out.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// The settings of the crate's writer. All row groups are said to be sorted; see [`amend`].
fn properties(table: &Table, schema: &SchemaDescriptor, order: RowOrder<'_>) -> WriterProperties {
    let (columns, nulls_first) = match order {
        RowOrder::Published => (table.time.as_slice(), false),
        RowOrder::By(columns) => (columns, true),
    };
    let sorting = columns.iter().filter_map(|&column| {
        let path = ColumnPath::from(&*table.columns[column].name);
        let mut leaves = schema.columns().iter();
        let leaf = leaves.position(|leaf| *leaf.path() == path)?;
        Some(SortingColumn {
            column_idx: i32::try_from(leaf).ok()?,
            descending: false,
            nulls_first,
        })
    });
    let sorting: Vec<SortingColumn> = sorting.collect();
    // Spark reads column comments from its own key and nowhere else.
    let spark = KeyValue::new(SPARK_KEY.to_owned(), spark_schema_json(table));
    WriterProperties::builder()
        .set_writer_version(WriterVersion::PARQUET_1_0)
        .set_key_value_metadata(Some(vec![spark]))
        .set_sorting_columns((!sorting.is_empty()).then_some(sorting))
        .build()
}

#[cfg(test)]
mod tests {
    use tracelake_core::ErrorKind;

    use super::*;
    use crate::samples::machines;

    /// A disk that is full.
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
    fn a_full_disk_is_an_error() {
        let (output, order) = (OutputSettings::DEFAULT, RowOrder::Published);
        let file = ParquetFile::create(Full, machines(), output, order).unwrap();
        let error = file.finish().map(drop).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Failed);
    }
}
