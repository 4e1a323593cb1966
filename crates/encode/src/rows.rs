//! Records to column chunks, column by column, and to rejects. Memory only.

use std::collections::BTreeSet;

use parquet::errors::ParquetError;
use parquet::schema::types::SchemaDescriptor;
use rayon::prelude::*;
use tracelake_core::error::{Error, Result};
use tracelake_core::fault::Fault;
use tracelake_core::field_order::{Field, FieldOrder};
use tracelake_core::options::{Accept, Codec};

use crate::column::{self, Append, ChunkFields, ColumnEncoder, EncodedChunk, SourceField};
use crate::nodes::{Node, leaves};
use crate::output::{BlockBuilder, RowSource, parquet_error};
use crate::reject::Reject;
use crate::row_fields::RowFields;
use crate::run_fields::{RunFields, RunSource};
use crate::split::Records;
use crate::typed_rows::TypedRows;
use crate::value::OtherSpellings;

/// A row group ends after the chunk of text that brings its times to this many bytes: 131,072 rows that all have
/// different ones. Such tables are of events, whose other columns take few bytes, and readers skip whole row groups.
pub(crate) const ROW_GROUP_TIME_BYTES: usize = 1 << 20;

/// The most bytes that a chunk of text adds to them. A chunk can be one line of 1 MiB. An empty field, one byte
/// with its comma, takes eight in an Arrow array; a digit, two bytes, takes twelve with its index.
pub(crate) const CHUNK_BYTES: usize = 8 << 20;

/// Records that are looked up in one column before the next one: their text stays in the first-level
/// cache.
const TILE: usize = 128;

/// Columns that one thread takes at a time.
const GROUP: usize = 3;

/// Where the values of a column come from.
enum ValueSource {
    /// A field of the file.
    Field(SourceField),
    /// Fields of the file that are the items of a list.
    Run(RunSource),
    /// The name of the file, which gives each row this value.
    Name(Vec<u8>),
    /// Absent: every row is NULL.
    Absent,
}

/// A row group.
pub struct RowGroup {
    pub(crate) chunks: Vec<EncodedChunk>,
    /// Whether its rows are in the order of the table's time.
    pub(crate) is_sorted: bool,
}

/// Builds row groups from the records of one table.
///
/// The columns are independent, so idle threads take some of them; the result doesn't depend on it.
///
/// # Memory
/// The encoded row group, at most 64 MiB, and what each `ColumnEncoder` takes.
pub struct RowGroupBuilder {
    fields: Vec<Field>,
    /// In the order of the table.
    columns: Vec<Box<dyn ColumnEncoder>>,
    /// Where the values of each column come from, in a table without structs and lists.
    sources: Vec<ValueSource>,
    /// The index of the column that orders rows in time.
    time: Option<usize>,
    /// Values that were mapped to a sentinel, and integers that were spelled `5.0`, before they came here.
    others: OtherSpellings,
    /// The most rows in a row group, and the most bytes.
    most_rows: usize,
    most_bytes: usize,
    /// Good rows since the last row group, and before.
    rows: usize,
    before: u64,
}

impl RowGroupBuilder {
    /// Prepares for a file with at most this many rows and bytes in a row group; `schema` is the Parquet schema of its table.
    pub(crate) fn new(
        rows: RowSource<'_>,
        schema: &SchemaDescriptor,
        codec: Codec,
        (most_rows, most_bytes): (usize, usize),
    ) -> Self {
        let table = rows.table();
        let nodes = Node::of(&table.columns);
        let (fields, sources, accept) = match rows {
            RowSource::Fields(order) => {
                (order.fields.clone(), sources(order, &nodes), &order.accept)
            }
            RowSource::Rows(_) => (Vec::new(), Vec::new(), &Accept::default()),
        };
        let with_descriptors = leaves(&nodes).into_iter().zip(schema.columns());
        let columns = with_descriptors.map(|(leaf, descriptor)| {
            column::encoder_of(leaf.column, descriptor.clone(), codec, accept)
        });
        Self {
            fields,
            columns: columns.collect(),
            sources,
            time: table.time.map(|time| nodes[time].leaves.start),
            others: OtherSpellings::default(),
            most_rows,
            most_bytes,
            rows: 0,
            before: 0,
        }
    }
}

/// Finds out where the values of each column come from; `nodes` are those of the columns.
fn sources(order: &FieldOrder, nodes: &[Node]) -> Vec<ValueSource> {
    let columns = nodes.iter().enumerate().map(|(index, node)| {
        if let Some(run) = RunSource::new(order, index, node) {
            return ValueSource::Run(run);
        }
        let mut fields = order.fields.iter().enumerate();
        let field = fields.find(|(_, field)| field.index == Some(index));
        match (field, order.captured(index)) {
            (Some((position, field)), _) => ValueSource::Field(SourceField {
                position,
                mandatory: field.mandatory,
                accept: order.accept.clone(),
            }),
            (None, Some(value)) => ValueSource::Name(value.as_bytes().to_vec()),
            (None, None) => ValueSource::Absent,
        }
    });
    columns.collect()
}

impl BlockBuilder for RowGroupBuilder {
    type Block = RowGroup;

    fn is_full(&self, rows: usize) -> bool {
        let bytes: usize = self.columns.iter().map(|column| column.bytes()).sum();
        let time_bytes = self.time.map_or(0, |time| self.columns[time].bytes());
        self.rows > 0
            && (self.rows + rows > self.most_rows
                || bytes + CHUNK_BYTES > self.most_bytes
                || time_bytes >= ROW_GROUP_TIME_BYTES)
    }

    fn push_fields(
        &mut self,
        _: &FieldOrder,
        chunk: &[u8],
        records: &Records,
    ) -> Result<Vec<Reject>> {
        let runs: Vec<Option<RunFields<'_>>> = self
            .sources
            .iter()
            .map(|source| match source {
                ValueSource::Run(run) => Some(run.fields(chunk, records)),
                _ => None,
            })
            .collect();
        let groups: Vec<_> = self
            .columns
            .par_chunks_mut(GROUP)
            .zip(self.sources.par_chunks(GROUP))
            .zip(runs.par_chunks(GROUP))
            .map(|((columns, sources), runs)| look_up(columns, sources, runs, chunk, records))
            .collect();
        let mut faults: Vec<(usize, usize, Fault)> = Vec::new();
        let columns = self.sources.iter().zip(&runs).enumerate();
        for (index, (source, fields)) in columns {
            let found = groups[index / GROUP][index % GROUP].faults();
            match (source, fields) {
                (ValueSource::Run(run), Some(fields)) => run.add_faults(fields, found, &mut faults),
                (ValueSource::Field(field), _) => {
                    let placed = found
                        .iter()
                        .map(|(record, fault)| (*record, field.position, *fault));
                    faults.extend(placed);
                }
                _ => {}
            }
        }
        let (rejects, faulty) = rejects(&self.fields, faults, records);
        append(groups, &faulty)?;
        for fields in runs.iter().flatten() {
            self.others += fields.others(&faulty);
        }
        self.rows += records.len() - faulty.len();
        Ok(rejects)
    }

    fn push_rows(&mut self, text: &[u8], rows: &RowFields) -> Result<Vec<usize>> {
        let groups: Vec<Vec<_>> = self
            .columns
            .par_chunks_mut(GROUP)
            .zip(rows.leaves.par_chunks(GROUP))
            .map(|(columns, leaves)| {
                let parsed = columns.iter_mut().zip(leaves).map(|(column, leaf)| {
                    let mut started = column.start(text, ChunkFields::Leaf(leaf));
                    started.look_up(0..leaf.levels.values());
                    started.parse()
                });
                parsed.collect()
            })
            .collect();
        let columns = groups.iter().flatten().zip(&rows.leaves);
        let faulty: BTreeSet<usize> = columns
            .flat_map(|(column, leaf)| {
                let faults = column.faults().iter();
                faults.map(|(value, _)| leaf.levels.row_of(*value))
            })
            .collect();
        if faulty.is_empty() {
            append(groups, &[])?;
            self.rows += rows.len();
            self.others += rows.others();
        }
        Ok(faulty.into_iter().collect())
    }

    fn push_typed(&mut self, rows: &TypedRows) -> Result<()> {
        let columns = self
            .columns
            .par_chunks_mut(GROUP)
            .zip(rows.leaves.par_chunks(GROUP));
        let pushed = columns.try_for_each(|(columns, leaves)| {
            let mut with_leaves = columns.iter_mut().zip(leaves);
            with_leaves.try_for_each(|(column, leaf)| column.push_typed(leaf))
        });
        pushed.map_err(encode_error)?;
        self.rows += rows.len();
        self.others += rows.others;
        Ok(())
    }

    fn finish(&mut self) -> Result<Option<RowGroup>> {
        if self.rows == 0 {
            return Ok(None);
        }
        self.before += std::mem::take(&mut self.rows) as u64;
        let chunks = self.columns.par_iter_mut().map(|column| column.finish());
        let chunks: Vec<EncodedChunk> = chunks
            .collect::<std::result::Result<_, _>>()
            .map_err(encode_error)?;
        let is_sorted = self.time.is_some_and(|time| chunks[time].is_ascending);
        Ok(Some(RowGroup { chunks, is_sorted }))
    }

    fn pushed(&self) -> u64 {
        self.before + self.rows as u64
    }

    fn others(&self) -> OtherSpellings {
        let mut others = self.others;
        self.columns
            .iter()
            .for_each(|column| others += column.others());
        others
    }

    fn time(&self) -> Option<(i64, i64)> {
        self.columns[self.time?].integers()
    }
}

/// Adds the rows of a chunk to groups of columns, but for the faulty ones.
fn append(groups: Vec<Vec<Box<dyn Append + '_>>>, faulty: &[usize]) -> Result<()> {
    let appended = groups.into_par_iter().try_for_each(|group| {
        let mut columns = group.into_iter();
        columns.try_for_each(|column| column.append(faulty))
    });
    appended.map_err(encode_error)
}

fn encode_error(error: ParquetError) -> Error {
    parquet_error(error, "encode")
}

/// Looks up and parses the fields of some columns.
fn look_up<'a>(
    columns: &'a mut [Box<dyn ColumnEncoder>],
    sources: &'a [ValueSource],
    runs: &'a [Option<RunFields<'a>>],
    chunk: &'a [u8],
    records: &'a Records,
) -> Vec<Box<dyn Append + 'a>> {
    let mut started: Vec<_> = columns
        .iter_mut()
        .zip(sources.iter().zip(runs))
        .map(|(column, (source, run))| match (source, run) {
            (_, Some(run)) => column.start(chunk, ChunkFields::Items(run)),
            (ValueSource::Field(field), None) => {
                let fields = records.column(field.position, 0..records.len());
                column.start(chunk, ChunkFields::Records(fields, field))
            }
            (ValueSource::Name(value), None) => column.start(chunk, ChunkFields::Name(value)),
            (ValueSource::Run(_) | ValueSource::Absent, None) => {
                column.start(chunk, ChunkFields::Absent)
            }
        })
        .collect();
    for start in (0..records.len()).step_by(TILE) {
        let tile = start..records.len().min(start + TILE);
        for column in &mut started {
            column.look_up(tile.clone());
        }
    }
    started.into_iter().map(|column| column.parse()).collect()
}

/// Lists the rejects of a chunk in order, and the numbers of the well-formed records among them.
/// `faults` are those of all columns, each with the number of its record and the position of its field.
pub(crate) fn rejects(
    fields: &[Field],
    mut faults: Vec<(usize, usize, Fault)>,
    records: &Records,
) -> (Vec<Reject>, Vec<usize>) {
    // A field that selects records need not be one of the lake.
    faults.extend_from_slice(records.faults());
    // By row, then by field in the order of the file.
    faults.sort_by_key(|&(record, position, _)| (record, position));
    faults.dedup_by_key(|&mut (record, ..)| record);
    // Both lists are in the order of the file, so merging them gives each record its line.
    let mut malformed = records.malformed().iter().peekable();
    let mut rejects = Vec::with_capacity(faults.len() + malformed.len());
    let mut faulty = Vec::with_capacity(faults.len());
    for (record, position, fault) in faults {
        let known = records.line(record);
        let mut line = known.unwrap_or(record + rejects.len() - faulty.len());
        while let Some(before) = malformed.next_if(|before| before.line() <= line) {
            rejects.push(before.clone());
            line += usize::from(known.is_none());
        }
        let (row_start, row_end) = records.record(record);
        let (start, end) = records.field(record, position);
        let reject = Reject::new(start - row_start..end - row_start, fault);
        let reject = match fields[position].item {
            Some(item) => reject.in_item(item as usize),
            None => reject,
        };
        let reject = reject
            .in_column(&fields[position].column)
            .in_row(row_start..row_end)
            .in_line(line);
        rejects.push(reject);
        faulty.push(record);
    }
    rejects.extend(malformed.cloned());
    records.count_skipped(&mut rejects);
    (rejects, faulty)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::ROW_GROUP_BYTES;
    use crate::samples::{order, parquet_schema, split};

    #[test]
    fn rejects_are_in_the_order_of_the_file() {
        let text = "5,7,0,p,0.5,0.25\n3,7,x,p,0.5,y\nshort\n9,7,0,p,0.5,z\n";
        let (order, schema) = (order(), parquet_schema());
        let mut rows = RowGroupBuilder::new(
            RowSource::of(&order),
            &schema,
            Codec::DEFAULT,
            (10, ROW_GROUP_BYTES),
        );
        let rejects = rows
            .push_fields(&order, text.as_bytes(), &split(text))
            .unwrap();
        let places: Vec<(usize, &str)> = rejects
            .iter()
            .map(|reject| (reject.line(), &text[reject.row().clone()]))
            .collect();
        let expected = [(1, "3,7,x,p,0.5,y"), (2, "short"), (3, "9,7,0,p,0.5,z")];
        assert_eq!(places, expected);
        assert_eq!(rows.pushed(), 1);
    }
}
