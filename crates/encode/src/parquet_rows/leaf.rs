//! The values of a leaf, row group by row group.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use parquet::column::page::{Page, PageReader};
use parquet::errors::Result;
use parquet::file::metadata::RowGroupMetaData;
use parquet::file::reader::ChunkReader;
use parquet::file::serialized_reader::SerializedPageReader;
use tracelake_core::fault::Fault;

use super::cast::Stored;
use super::fields::{LeafField, Meaning};
use super::pages::{DataPage, PageValues, PlainValues, broken};
use crate::typed_rows::{LeafValues, TypedValues};

/// The most entries of a leaf that are read at once. A row of more items of a list isn't one of a trace.
const MOST_ENTRIES: usize = 1 << 22;

/// A leaf of a file.
pub(super) struct LeafReader<R: ChunkReader> {
    pub(super) field: LeafField,
    pages: Option<SerializedPageReader<R>>,
    page: Option<DataPage>,
    dictionary: Option<Dictionary>,
    /// Reused.
    levels: Vec<u8>,
    indices: Vec<u32>,
}

/// The dictionary of a column chunk, as values of the leaf.
struct Dictionary {
    values: Arc<TypedValues>,
    /// The values that the column can't have, by index.
    faults: BTreeMap<u32, (Fault, Bytes)>,
}

/// A leaf in some rows of a file.
#[derive(Debug, Clone)]
pub(super) struct LeafChunk {
    pub(super) values: LeafValues,
    /// In the order of the values, each of which has something in its place.
    pub(super) faults: Vec<ValueFault>,
}

/// A value that its column can't have.
#[derive(Debug, Clone)]
pub(super) struct ValueFault {
    /// Its number among the values.
    pub(super) value: usize,
    pub(super) fault: Fault,
    /// The value as a text; `None` if it is missing.
    pub(super) text: Option<Bytes>,
    /// The steps of the path to the column that has the fault.
    pub(super) steps: usize,
}

impl LeafChunk {
    pub(super) fn is_text(&self) -> bool {
        self.values.are_texts()
    }
}

impl<R: ChunkReader> LeafReader<R> {
    pub(super) fn new(field: LeafField) -> Self {
        Self {
            field,
            pages: None,
            page: None,
            dictionary: None,
            levels: Vec::new(),
            indices: Vec::new(),
        }
    }

    /// Begins with a row group.
    pub(super) fn start(&mut self, file: &Arc<R>, group: &RowGroupMetaData) -> Result<()> {
        let column = group.column(self.field.index);
        let rows = usize::try_from(group.num_rows()).map_err(|error| broken(error.to_string()))?;
        let pages = SerializedPageReader::new(Arc::clone(file), column, rows, None)?;
        (self.pages, self.page, self.dictionary) = (Some(pages), None, None);
        Ok(())
    }

    /// Ends a row group.
    ///
    /// # Errors
    /// If there are more values.
    pub(super) fn end(&mut self) -> Result<()> {
        match self.open_page()? {
            true => Err(broken("has more rows than its row group")),
            false => Ok(()),
        }
    }

    /// Reads the next rows.
    ///
    /// # Errors
    /// If there are fewer.
    pub(super) fn read(&mut self, rows: usize) -> Result<LeafChunk> {
        let mut chunk = LeafChunk {
            values: LeafValues::new(&self.field.leaf),
            faults: Vec::new(),
        };
        let found = match self.field.descriptor.max_rep_level() {
            0 => self.read_flat(rows, &mut chunk)?,
            _ => self.read_lists(rows, &mut chunk)?,
        };
        if found < rows {
            return Err(broken("has fewer rows than its row group"));
        }
        chunk.values.levels.end_row(rows);
        Ok(chunk)
    }

    /// Reads rows of one entry each; returns how many there are.
    fn read_flat(&mut self, rows: usize, chunk: &mut LeafChunk) -> Result<usize> {
        let mut found = 0;
        while found < rows && self.open_page()? {
            let Some(page) = &mut self.page else { break };
            let count = page.left.min(rows - found);
            page.left -= count;
            found += count;
            self.levels.clear();
            if let Some(definition) = &mut page.definition {
                let levels = &mut self.levels;
                // Levels have at most eight bits: a table isn't nested deeper.
                let push = |level| levels.push(u8::try_from(level).unwrap_or(u8::MAX));
                definition
                    .read(count, push)
                    .ok_or_else(|| broken("has too few levels"))?;
            }
            let most = self.field.meanings.len() - 1;
            if self.levels.iter().all(|level| usize::from(*level) == most) {
                chunk.values.levels.push_rows(count);
                self.take_values(count, chunk)?;
                continue;
            }
            let mut values = 0;
            for entry in 0..count {
                self.take_entry(self.levels[entry], 0, &mut values, chunk)?;
            }
            self.take_values(values, chunk)?;
        }
        Ok(found)
    }

    /// Reads rows with lists; returns how many there are. A row ends where the next one begins.
    fn read_lists(&mut self, rows: usize, chunk: &mut LeafChunk) -> Result<usize> {
        let mut begun = 0;
        while self.open_page()? {
            let Some(page) = &mut self.page else { break };
            let Some(lists) = page.lists.take() else {
                break;
            };
            let start = lists.definition.len() - page.left;
            let mut end = start;
            for repetition in &lists.repetition[start..] {
                if *repetition == 0 {
                    if begun == rows {
                        break;
                    }
                    begun += 1;
                } else if begun == 0 {
                    return Err(broken("begins within a list"));
                }
                end += 1;
            }
            page.left -= end - start;
            self.take_lists(
                &lists.definition[start..end],
                &lists.repetition[start..end],
                rows,
                chunk,
            )?;
            let Some(page) = &mut self.page else { break };
            page.lists = Some(lists);
            if page.left > 0 {
                break;
            }
        }
        Ok(begun)
    }

    /// Adds entries of lists.
    fn take_lists(
        &mut self,
        definition: &[u8],
        repetition: &[u8],
        rows: usize,
        chunk: &mut LeafChunk,
    ) -> Result<()> {
        let levels = &mut chunk.values.levels;
        if levels.entries() + definition.len() > MOST_ENTRIES {
            return Err(broken(format!(
                "has more than {MOST_ENTRIES} items of lists in {rows} rows"
            )));
        }
        let most = self.field.descriptor.max_rep_level();
        if repetition.iter().any(|level| i16::from(*level) > most) {
            return Err(broken("has a level that its column doesn't have"));
        }
        let meanings = &self.field.meanings;
        let meaning = |level: &u8| meanings.get(usize::from(*level));
        let is_plain = |level| matches!(meaning(level), Some(Meaning::Value | Meaning::Null(_)));
        let mut values = 0;
        if definition.iter().all(is_plain) {
            let value_level = self.field.leaf.most.definition;
            let level = |level: &u8| match meaning(level) {
                Some(Meaning::Null(level)) => *level,
                _ => value_level,
            };
            values = levels.extend(definition.iter().map(level), repetition);
        } else {
            for (definition, repetition) in definition.iter().zip(repetition) {
                self.take_entry(*definition, *repetition, &mut values, chunk)?;
            }
        }
        self.take_values(values, chunk)
    }

    /// Adds an entry. The values of `values` entries before it are still to be taken.
    fn take_entry(
        &mut self,
        definition: u8,
        repetition: u8,
        values: &mut usize,
        chunk: &mut LeafChunk,
    ) -> Result<()> {
        match self.field.meanings.get(usize::from(definition)) {
            Some(Meaning::Value) => {
                *values += 1;
                chunk.values.levels.push_value(repetition);
            }
            Some(Meaning::Null(level)) => chunk.values.levels.push(*level, repetition),
            Some(&Meaning::Absent(steps)) => {
                self.take_values(std::mem::take(values), chunk)?;
                chunk.faults.push(ValueFault {
                    value: chunk.values.data_len(),
                    fault: Fault::Absent,
                    text: None,
                    steps,
                });
                chunk.values.levels.push_value(repetition);
                chunk.values.values().push_filler();
            }
            None => return Err(broken("has a level that its column doesn't have")),
        }
        Ok(())
    }

    /// Takes values of the current page.
    fn take_values(&mut self, count: usize, chunk: &mut LeafChunk) -> Result<()> {
        let Some(page) = self.page.as_mut().filter(|_| count > 0) else {
            return Ok(());
        };
        let (before, steps) = (chunk.values.data_len(), self.field.path.len());
        let LeafChunk { values, faults } = chunk;
        let PageValues::Indices(runs) = &mut page.values else {
            let (into, cast, column) = (values.values(), self.field.cast, &self.field.leaf.column);
            let mut value = before;
            return page.values.read(count, |stored| {
                if let Err(fault) = cast.push(&stored, into) {
                    let text = Some(cast.text(&stored, column));
                    faults.push(ValueFault {
                        value,
                        fault,
                        text,
                        steps,
                    });
                    into.push_filler();
                }
                value += 1;
            });
        };
        let dictionary = self.dictionary.as_ref();
        let dictionary = dictionary.ok_or_else(|| broken("has indices, and no dictionary"))?;
        self.indices.clear();
        let read = runs.read(count, |index| self.indices.push(index));
        read.ok_or_else(|| broken("has a page with too few values"))?;
        let known = dictionary.values.len();
        if self.indices.iter().any(|index| *index as usize >= known) {
            return Err(broken("has an index that its dictionary doesn't have"));
        }
        if !dictionary.faults.is_empty() {
            for (value, index) in (before..).zip(&self.indices) {
                if let Some((fault, text)) = dictionary.faults.get(index) {
                    faults.push(ValueFault {
                        value,
                        fault: *fault,
                        text: Some(text.clone()),
                        steps,
                    });
                }
            }
        }
        values.extend_indices(&dictionary.values, &self.indices);
        Ok(())
    }

    /// Opens the next page unless entries of this one are left; false after the last one.
    fn open_page(&mut self) -> Result<bool> {
        while self.page.as_ref().is_none_or(|page| page.left == 0) {
            let Some(pages) = &mut self.pages else {
                return Ok(false);
            };
            self.page = None;
            match pages.get_next_page()? {
                None => {
                    self.pages = None;
                    return Ok(false);
                }
                Some(page @ Page::DictionaryPage { .. }) => self.take_dictionary(page)?,
                Some(page) => self.page = Some(DataPage::of(page, &self.field.descriptor)?),
            }
        }
        Ok(true)
    }

    fn take_dictionary(&mut self, page: Page) -> Result<()> {
        if self.dictionary.is_some() {
            return Err(broken("has a second dictionary"));
        }
        let physical = self.field.descriptor.physical_type();
        let (count, mut plain) = PlainValues::of_dictionary(page, physical)?;
        let mut values = TypedValues::new(self.field.leaf.column.kind);
        let mut faults = BTreeMap::new();
        for index in 0..u32::try_from(count).map_err(|error| broken(error.to_string()))? {
            let stored: Option<Stored> = plain.next();
            let stored = stored.ok_or_else(|| broken("has a dictionary with too few values"))?;
            if let Err(fault) = self.field.cast.push(&stored, &mut values) {
                let text = self.field.cast.text(&stored, &self.field.leaf.column);
                faults.insert(index, (fault, text));
                values.push_filler();
            }
        }
        self.dictionary = Some(Dictionary {
            values: Arc::new(values),
            faults,
        });
        Ok(())
    }
}
