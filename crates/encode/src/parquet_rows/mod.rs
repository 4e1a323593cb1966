//! Rows of a Parquet file as rows of a table: the columns advance together, page by page.
//!
//! The file may be of any writer. `fields` finds the table's leaves in its schema, `pages` takes pages apart,
//! `leaf` reads the next rows of a leaf, and `cast` makes the table's values of the file's. Dictionaries stay
//! dictionaries: a value of one is looked at once.

mod cast;
mod columns;
mod deltas;
mod fields;
mod leaf;
mod pages;
mod row_json;
mod runs;
mod tests;

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use parquet::basic::Compression;
use parquet::errors::ParquetError;
use parquet::file::metadata::ParquetMetaData;
use parquet::file::reader::ChunkReader;
use rayon::prelude::*;
use tracelake_core::error::{Error, ErrorKind, Result, escape};
use tracelake_core::fault::Fault;
use tracelake_core::field_order::{FieldOrder, RowRules};
use tracelake_schema::{Column, Kind};

use crate::cell::Cell;
use crate::nodes::{Leaf, Node, leaves};
use crate::rows::CHUNK_BYTES;
use crate::selection::selects;
use crate::typed_rows::{LeafValues, TypedRows, TypedValues};
use crate::value::{self, OtherSpellings};

use cast::Cast;
pub use columns::{FileColumn, columns_of};
use fields::{LeafField, Step, WrongField};
use leaf::{LeafChunk, LeafReader, ValueFault};

/// Rows that are read at once.
const CHUNK_ROWS: u64 = 1024;

/// The rows of a Parquet file.
///
/// # Memory
/// A page and a dictionary for each column that is read, and some thousand rows; not the row group.
pub struct ParquetRows<R: ChunkReader + 'static> {
    file: Arc<R>,
    footer: Arc<ParquetMetaData>,
    /// The columns of the lake, and then those that only rules look at.
    nodes: Vec<Node>,
    sources: Vec<LeafSource<R>>,
    in_lake: usize,
    rules: RowRules,
    /// The current row group, from 1; 0 before the first one.
    group: usize,
    /// Rows of the row group that are still to be read.
    left: u64,
    /// Rows that were read.
    before: u64,
    split: VecDeque<RowChunk>,
}

/// Where the values of a leaf come from.
enum LeafSource<R: ChunkReader> {
    File(Box<LeafReader<R>>),
    /// The name of the file, which gives each row this value.
    Name(Leaf, TypedValues),
    /// Absent: every row is NULL.
    Absent(Leaf),
}

/// Some rows of a file.
#[derive(Debug, Clone)]
pub struct RowChunk {
    /// The rows that are selected and have no fault.
    pub rows: TypedRows,
    /// The bad ones, in the order of the file.
    pub rejects: Vec<RowReject>,
    /// How many the rules of the table don't select.
    pub not_selected: u64,
}

impl RowChunk {
    /// How many rows of the file these are.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.rows.len() as u64 + self.rejects.len() as u64 + self.not_selected
    }
}

/// A row that can't be converted.
#[derive(Debug, Clone)]
pub struct RowReject {
    /// Its row group, from 1.
    pub row_group: u64,
    /// Its number in the file, from 1.
    pub row: u64,
    /// The column of the faulty value.
    pub column: Arc<Column>,
    /// The part of the column, such as `.cpus` or `[1].name`; empty if the column is a single value.
    pub inner: String,
    /// The fault.
    pub fault: Fault,
    /// The faulty value; empty if it is missing.
    pub value: Vec<u8>,
    /// The row as JSON.
    pub raw: Vec<u8>,
}

impl<R: ChunkReader + 'static> ParquetRows<R> {
    /// Finds the columns of a table in a file whose footer was read. Warnings name columns that the table doesn't have.
    ///
    /// # Errors
    /// [`ErrorKind::Misfit`] if a column is missing or of another type, or compressed by a codec that isn't read.
    pub fn new(
        file: R,
        footer: Arc<ParquetMetaData>,
        order: &FieldOrder,
    ) -> Result<(Self, Vec<String>)> {
        let schema = footer.file_metadata().schema_descr();
        let misfit = |(name, reason): WrongField| {
            let column = order
                .whole
                .columns
                .iter()
                .find(|column| column.content == name);
            let name = column.map_or_else(|| name.clone(), |column| column.name.to_owned());
            Error::new(ErrorKind::Misfit, reason)
                .field(format!("{}.{name}", order.table.name))
                .hint("take the published file, or describe the file as its own trace")
        };
        let mut nodes = Node::of(&order.table.columns);
        let mut sources = Vec::new();
        for (index, node) in nodes.iter().enumerate() {
            let is_in_file = order.fields.iter().any(|field| field.index == Some(index));
            if is_in_file {
                let found = fields::leaves_of(node, schema, &order.accept).map_err(misfit)?;
                sources.extend(found.into_iter().map(LeafSource::of));
                continue;
            }
            for leaf in leaves(std::slice::from_ref(node)) {
                sources.push(match order.captured(index) {
                    Some(value) => {
                        let values = captured(&leaf, value);
                        LeafSource::Name(leaf, values)
                    }
                    None => LeafSource::Absent(leaf),
                });
            }
        }
        let in_lake = sources.len();
        for field in order.rules.fields() {
            let is_known = nodes
                .iter()
                .any(|node| node.column.name == field.column.name);
            if field.position.is_none() || is_known {
                continue;
            }
            let column = &order.whole.columns[field.index];
            let [mut node] = <[Node; 1]>::try_from(Node::of(std::slice::from_ref(column)))
                .expect("a column has a node");
            node.leaves = sources.len()..sources.len() + 1;
            let found = fields::leaves_of(&node, schema, &order.accept).map_err(misfit)?;
            sources.extend(found.into_iter().map(LeafSource::of));
            nodes.push(node);
        }
        check_codecs(&footer, &sources)?;
        let unknown = fields::unknown(&order.whole.columns, schema);
        let warnings = unknown.map(|name| {
            let name = escape(name.as_bytes(), 80);
            format!(
                "the column '{name}' isn't one of {}, and left out",
                order.table.name
            )
        });
        let warnings = warnings.collect();
        let made = Self {
            file: Arc::new(file),
            footer,
            nodes,
            sources,
            in_lake,
            rules: order.rules.clone(),
            group: 0,
            left: 0,
            before: 0,
            split: VecDeque::new(),
        };
        Ok((made, warnings))
    }

    /// The number of rows that were read.
    #[must_use]
    pub fn position(&self) -> u64 {
        self.before
    }

    /// The next rows; `None` after the last ones.
    ///
    /// # Errors
    /// If the file is damaged.
    pub fn next_chunk(&mut self) -> parquet::errors::Result<Option<RowChunk>> {
        if let Some(chunk) = self.split.pop_front() {
            return Ok(Some(chunk));
        }
        while self.left == 0 {
            if !self.next_group()? {
                return Ok(None);
            }
        }
        let count = self.left.min(CHUNK_ROWS);
        let rows = usize::try_from(count).expect("a chunk has few rows");
        let group = self.group;
        let leaves: parquet::errors::Result<Vec<LeafChunk>> = self
            .sources
            .par_iter_mut()
            .map(|source| source.read(rows).map_err(|error| source.at(group, error)))
            .collect();
        let chunk = self.chunk(leaves?, rows);
        self.left -= count;
        self.before += count;
        self.split.extend(split(chunk));
        Ok(self.split.pop_front())
    }

    /// Begins with the next row group; false after the last one.
    fn next_group(&mut self) -> parquet::errors::Result<bool> {
        let (footer, number) = (Arc::clone(&self.footer), self.group);
        for source in &mut self.sources {
            if let LeafSource::File(leaf) = source
                && number > 0
            {
                leaf.end().map_err(|error| source.at(number, error))?;
            }
        }
        let Some(group) = footer.row_groups().get(number) else {
            return Ok(false);
        };
        self.group += 1;
        self.left = u64::try_from(group.num_rows())
            .map_err(|_| pages::broken("has a row group with fewer than no rows"))?;
        for source in &mut self.sources {
            if let LeafSource::File(leaf) = source {
                let started = leaf.start(&self.file, group);
                started.map_err(|error| source.at(number + 1, error))?;
            }
        }
        Ok(true)
    }

    /// Tells good rows from others.
    fn chunk(&self, leaves: Vec<LeafChunk>, rows: usize) -> RowChunk {
        // Of each faulty row the first fault, in the order of the leaves.
        let mut faults: BTreeMap<usize, (usize, usize)> = BTreeMap::new();
        for (index, leaf) in leaves.iter().enumerate() {
            for (number, fault) in leaf.faults.iter().enumerate() {
                let row = leaf.values.levels.row_of(fault.value);
                faults.entry(row).or_insert((index, number));
            }
        }
        let selected = (!self.rules.is_empty()).then(|| self.selected(&leaves, rows));
        let mut not_selected = 0;
        let mut is_kept = vec![true; rows];
        for (row, is_selected) in selected.into_iter().flatten().enumerate() {
            // `None` is a key or a time with a fault.
            if is_selected == Some(false) {
                is_kept[row] = false;
                not_selected += 1;
                faults.remove(&row);
            }
        }
        let rejects = faults.iter().map(|(&row, &(leaf, fault))| {
            self.reject(&leaves, leaf, &leaves[leaf].faults[fault], row)
        });
        let rejects: Vec<RowReject> = rejects.collect();
        for row in faults.keys() {
            is_kept[*row] = false;
        }
        let in_lake = leaves.into_iter().take(self.in_lake);
        let mut good = TypedRows {
            leaves: in_lake.map(|leaf| leaf.values).collect(),
            rows,
            others: OtherSpellings::default(),
        };
        if !rejects.is_empty() || not_selected > 0 {
            good.retain(&is_kept);
        }
        for (leaf, source) in good.leaves.iter().zip(&self.sources) {
            if source.counts_floats() {
                good.others.integral_floats += leaf.levels.values() as u64;
            }
        }
        RowChunk {
            rows: good,
            rejects,
            not_selected,
        }
    }

    /// Whether rules select each row; `None` where the key or the time has a fault.
    fn selected(&self, leaves: &[LeafChunk], rows: usize) -> Vec<Option<bool>> {
        let fields = self.rules.fields().filter_map(|field| {
            let mut nodes = self.nodes.iter();
            let node = nodes.find(|node| node.column.name == field.column.name)?;
            let leaf = &leaves[node.leaves.start];
            Some((
                &*field.column.name,
                leaf,
                leaf.values.levels.values_by_row(),
            ))
        });
        let fields: Vec<_> = fields.collect();
        let is_selected = |row: usize| {
            let found = selects(&self.rules, |field| {
                let mut fields = fields.iter();
                match fields.find(|(name, ..)| **name == field.column.name) {
                    Some((_, leaf, values)) => cell(leaf, values[row]),
                    None => Ok(Cell::Null),
                }
            });
            found.ok()
        };
        (0..rows).map(is_selected).collect()
    }

    fn reject(
        &self,
        leaves: &[LeafChunk],
        leaf: usize,
        fault: &ValueFault,
        row: usize,
    ) -> RowReject {
        let LeafSource::File(reader) = &self.sources[leaf] else {
            unreachable!("only values of the file have faults");
        };
        let in_file = |node: &&Node| matches!(self.sources[node.leaves.start], LeafSource::File(_));
        let nodes: Vec<Node> = self.nodes.iter().filter(in_file).cloned().collect();
        RowReject {
            row_group: self.group as u64,
            row: self.before + row as u64 + 1,
            column: Arc::clone(&reader.field.column),
            inner: inner(&reader.field, &leaves[leaf].values, fault),
            fault: fault.fault,
            value: fault
                .text
                .as_ref()
                .map(|text| text.to_vec())
                .unwrap_or_default(),
            raw: row_json::row_json(&nodes, leaves, row),
        }
    }
}

impl<R: ChunkReader + 'static> LeafSource<R> {
    fn of(field: LeafField) -> Self {
        Self::File(Box::new(LeafReader::new(field)))
    }

    fn read(&mut self, rows: usize) -> parquet::errors::Result<LeafChunk> {
        let values = match self {
            Self::File(leaf) => return leaf.read(rows),
            Self::Name(leaf, value) => LeafValues::of_rows(leaf, rows, Some(value)),
            Self::Absent(leaf) => LeafValues::of_rows(leaf, rows, None),
        };
        Ok(LeafChunk {
            values,
            faults: Vec::new(),
        })
    }

    /// Whether its values are integers that were accepted as floats.
    fn counts_floats(&self) -> bool {
        match self {
            Self::File(leaf) => {
                let is_described = leaf.field.leaf.column.spelling.integral_floats;
                matches!(leaf.field.cast, Cast::Integral { .. }) && !is_described
            }
            Self::Name(..) | Self::Absent(_) => false,
        }
    }

    /// Says in an error where it is.
    fn at(&self, group: usize, error: ParquetError) -> ParquetError {
        let Self::File(leaf) = self else { return error };
        match error {
            ParquetError::External(_) => error,
            error => {
                let column = leaf.field.descriptor.path();
                pages::broken(format!("row group {group}, column {column}: {error}"))
            }
        }
    }
}

/// The codecs that are read.
fn check_codecs<R: ChunkReader>(footer: &ParquetMetaData, sources: &[LeafSource<R>]) -> Result<()> {
    for (group, source) in footer
        .row_groups()
        .iter()
        .flat_map(|group| sources.iter().map(move |source| (group, source)))
    {
        let LeafSource::File(leaf) = source else {
            continue;
        };
        let codec = group.column(leaf.field.index).compression();
        let is_read = matches!(
            codec,
            Compression::UNCOMPRESSED
                | Compression::SNAPPY
                | Compression::GZIP(_)
                | Compression::ZSTD(_)
                | Compression::LZ4_RAW
        );
        if !is_read {
            let reason = format!("is compressed with {codec}, which isn't read");
            let hint = "write it again with zstd, gzip, snappy, LZ4_RAW, or without compression";
            return Err(Error::new(ErrorKind::Misfit, reason).hint(hint));
        }
    }
    Ok(())
}

/// The value that the name of a file gives to a column.
fn captured(leaf: &Leaf, value: &str) -> TypedValues {
    match leaf.column.kind {
        Kind::Integer => {
            TypedValues::Integers(vec![value::integer(value.as_bytes()).unwrap_or_default()])
        }
        _ => TypedValues::Texts(vec![value.to_owned().into()]),
    }
}

/// The value of a leaf that isn't in a list.
fn cell(leaf: &LeafChunk, value: Option<usize>) -> std::result::Result<Cell, ()> {
    let Some(value) = value else {
        return Ok(Cell::Null);
    };
    let faults = &leaf.faults;
    if faults
        .binary_search_by_key(&value, |fault| fault.value)
        .is_ok()
    {
        return Err(());
    }
    let (values, index) = leaf.values.at(value);
    Ok(match values {
        TypedValues::Integers(values) => Cell::Integer(values[index]),
        TypedValues::Floats(values) => Cell::Float(values[index]),
        TypedValues::Booleans(values) => Cell::Boolean(values[index]),
        TypedValues::Texts(values) => {
            Cell::Text(String::from_utf8_lossy(&values[index]).into_owned())
        }
    })
}

/// Where in its column a fault is, such as `.cpus` or `[1].name`.
fn inner(field: &LeafField, values: &LeafValues, fault: &ValueFault) -> String {
    // For each list around the value, the number of the item.
    let mut items = vec![0_usize; 1 + usize::from(values.levels.most_repetition())];
    let mut value = 0;
    for (definition, repetition) in values.levels.iter() {
        match usize::from(repetition) {
            0 => items.fill(0),
            level => {
                items[level] += 1;
                items[level + 1..].fill(0);
            }
        }
        if values.levels.is_value(definition) {
            if value == fault.value {
                break;
            }
            value += 1;
        }
    }
    let mut lists = 0;
    let steps = field.path.iter().take(fault.steps).map(|step| match step {
        Step::Field(name) => format!(".{name}"),
        Step::Item => {
            lists += 1;
            format!("[{}]", items.get(lists).copied().unwrap_or_default())
        }
    });
    steps.collect()
}

/// Splits a chunk whose values take much more memory than those of a chunk of text.
fn split(chunk: RowChunk) -> Vec<RowChunk> {
    let rows = chunk.rows.len();
    if rows < 2 || chunk.rows.decoded_bytes() <= CHUNK_BYTES {
        return vec![chunk];
    }
    let half = |is_kept: &dyn Fn(usize) -> bool| {
        let mut half = chunk.rows.clone();
        half.retain(&(0..rows).map(is_kept).collect::<Vec<_>>());
        half
    };
    let (first, mut second) = (half(&|row| row < rows / 2), half(&|row| row >= rows / 2));
    // Counted once.
    second.others = OtherSpellings::default();
    let first = RowChunk {
        rows: first,
        ..chunk
    };
    let second = RowChunk {
        rows: second,
        rejects: Vec::new(),
        not_selected: 0,
    };
    split(first).into_iter().chain(split(second)).collect()
}
