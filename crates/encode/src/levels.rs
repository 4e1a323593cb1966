//! The levels of a leaf's values and NULLs, as Parquet has them. Pure.

use crate::nodes::MaxLevels;

/// The levels of the entries of a leaf in some rows. An entry is a value, or NULL or an empty list in its place.
///
/// # Memory
/// A byte for each level.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Levels {
    most: MaxLevels,
    rows: usize,
    values: usize,
    /// The level of each entry, if there are others than that of values.
    definition: Vec<u8>,
    /// The level of each entry, if the leaf is in a list.
    repetition: Vec<u8>,
}

impl Levels {
    /// No rows of a leaf whose values have these levels.
    pub(crate) fn new(most: MaxLevels) -> Self {
        Self {
            most,
            rows: 0,
            values: 0,
            definition: Vec::new(),
            repetition: Vec::new(),
        }
    }

    pub(crate) fn rows(&self) -> usize {
        self.rows
    }

    pub(crate) fn values(&self) -> usize {
        self.values
    }

    /// The number of values and NULLs.
    pub(crate) fn entries(&self) -> usize {
        match self.most.definition {
            0 => self.values,
            _ => self.definition.len(),
        }
    }

    pub(crate) fn is_in_list(&self) -> bool {
        self.most.repetition > 0
    }

    /// Empty if every entry is a value.
    pub(crate) fn definition(&self) -> &[u8] {
        &self.definition
    }

    /// Empty if the leaf isn't in a list.
    pub(crate) fn repetition(&self) -> &[u8] {
        &self.repetition
    }

    /// The definition level and the repetition level of each entry.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u8, u8)> {
        (0..self.entries()).map(|entry| {
            let level = |levels: &[u8]| levels.get(entry).copied().unwrap_or_default();
            (level(&self.definition), level(&self.repetition))
        })
    }

    /// The number of lists that the leaf is in.
    pub(crate) fn most_repetition(&self) -> u8 {
        self.most.repetition
    }

    /// The number of the value of each row, if it has one; the leaf isn't in a list.
    pub(crate) fn values_by_row(&self) -> Vec<Option<usize>> {
        let mut values = 0..;
        let entries = self.iter().map(|(definition, _)| self.is_value(definition));
        entries
            .map(|is_value| is_value.then(|| values.next()).flatten())
            .collect()
    }

    /// Whether an entry of this level is a value.
    pub(crate) fn is_value(&self, definition: u8) -> bool {
        definition == self.most.definition
    }

    /// The row of a value.
    pub(crate) fn row_of(&self, value: usize) -> usize {
        if self.most.definition == 0 {
            return value;
        }
        let levels = self.definition.iter().enumerate();
        let mut values = levels.filter(|(_, level)| **level == self.most.definition);
        let entry = values.nth(value).map_or(0, |(entry, _)| entry);
        match self.repetition.get(..=entry) {
            Some(levels) => levels.iter().filter(|level| **level == 0).count() - 1,
            None => entry,
        }
    }

    /// Adds a value.
    #[inline]
    pub(crate) fn push_value(&mut self, repetition: u8) {
        self.values += 1;
        self.push(self.most.definition, repetition);
    }

    /// Adds NULL or an empty list, which no value is counted for.
    #[inline]
    pub(crate) fn push(&mut self, definition: u8, repetition: u8) {
        if self.most.definition > 0 {
            self.definition.push(definition);
        }
        if self.most.repetition > 0 {
            self.repetition.push(repetition);
        }
    }

    /// Adds rows of one value each; the leaf isn't in a list.
    pub(crate) fn push_rows(&mut self, rows: usize) {
        (self.rows, self.values) = (self.rows + rows, self.values + rows);
        if self.most.definition > 0 {
            let entries = self.definition.len() + rows;
            self.definition.resize(entries, self.most.definition);
        }
    }

    /// Adds entries of lists; returns how many of them are values.
    pub(crate) fn extend(
        &mut self,
        definition: impl Iterator<Item = u8>,
        repetition: &[u8],
    ) -> usize {
        let before = self.definition.len();
        self.definition.extend(definition);
        self.repetition.extend_from_slice(repetition);
        let most = self.most.definition;
        let added = self.definition[before..].iter();
        let values = added.filter(|level| **level == most).count();
        self.values += values;
        values
    }

    /// Removes rows; returns for each value whether it is kept.
    pub(crate) fn retain(&mut self, is_kept: &[bool]) -> Vec<bool> {
        let mut next = Self::new(self.most);
        let mut kept_values = Vec::with_capacity(self.values);
        let mut row = 0;
        for (entry, (definition, repetition)) in self.iter().enumerate() {
            row += usize::from(entry > 0 && repetition == 0);
            let (is_kept, is_value) = (is_kept[row], definition == self.most.definition);
            if is_value {
                kept_values.push(is_kept);
            }
            match is_kept {
                true if is_value => next.push_value(repetition),
                true => next.push(definition, repetition),
                false => {}
            }
        }
        next.rows = is_kept.iter().filter(|is_kept| **is_kept).count();
        *self = next;
        kept_values
    }

    /// Ends a row, so that there are `rows`.
    pub(crate) fn end_row(&mut self, rows: usize) {
        self.rows = rows;
    }

    pub(crate) fn clear(&mut self) {
        (self.rows, self.values) = (0, 0);
        self.definition.clear();
        self.repetition.clear();
    }

    /// Removes what was added since the last row ended.
    pub(crate) fn undo(&mut self) {
        if self.most.definition == 0 {
            self.values = self.rows;
            return;
        }
        let mut entries = self.rows;
        if self.most.repetition > 0 {
            let levels = self.repetition.iter().enumerate();
            let mut starts = levels.filter(|(_, level)| **level == 0);
            let next = starts.nth(self.rows).map(|(entry, _)| entry);
            entries = next.unwrap_or(self.repetition.len());
            self.repetition.truncate(entries);
        }
        let removed = self.definition.iter().skip(entries);
        let values = removed.filter(|level| **level == self.most.definition);
        self.values -= values.count();
        self.definition.truncate(entries);
    }
}
