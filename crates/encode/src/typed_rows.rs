//! Rows whose values are typed already, as those of a Parquet file are. Pure.

use std::sync::Arc;

use bytes::Bytes;
use tracelake_schema::{Kind, Table};

use crate::levels::Levels;
use crate::nodes::{Leaf, Node, leaves};
use crate::value::OtherSpellings;

/// Values of one leaf.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum TypedValues {
    /// Integers, codes, and the microseconds of date-times.
    Integers(Vec<i64>),
    Floats(Vec<f64>),
    Booleans(Vec<bool>),
    /// UTF-8.
    Texts(Vec<Bytes>),
}

impl TypedValues {
    /// No values of a kind that a leaf can have.
    pub(crate) fn new(kind: Kind) -> Self {
        match kind {
            Kind::Float => Self::Floats(Vec::new()),
            Kind::Boolean => Self::Booleans(Vec::new()),
            Kind::Text | Kind::Struct | Kind::List => Self::Texts(Vec::new()),
            Kind::Integer | Kind::Code | Kind::DateTime(_) => Self::Integers(Vec::new()),
        }
    }

    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Integers(values) => values.len(),
            Self::Floats(values) => values.len(),
            Self::Booleans(values) => values.len(),
            Self::Texts(values) => values.len(),
        }
    }

    /// Adds what takes the place of a value that can't be read.
    pub(crate) fn push_filler(&mut self) {
        match self {
            Self::Integers(values) => values.push(0),
            Self::Floats(values) => values.push(0.0),
            Self::Booleans(values) => values.push(false),
            Self::Texts(values) => values.push(Bytes::new()),
        }
    }

    /// Adds values of the same type by their indices.
    fn extend_from(&mut self, others: &Self, indices: &[u32]) {
        fn extend<T: Clone>(values: &mut Vec<T>, others: &[T], indices: &[u32]) {
            values.extend(indices.iter().map(|index| others[*index as usize].clone()));
        }
        match (self, others) {
            (Self::Integers(values), Self::Integers(others)) => extend(values, others, indices),
            (Self::Floats(values), Self::Floats(others)) => extend(values, others, indices),
            (Self::Booleans(values), Self::Booleans(others)) => extend(values, others, indices),
            (Self::Texts(values), Self::Texts(others)) => extend(values, others, indices),
            _ => unreachable!("a leaf has values of one type"),
        }
    }

    fn retain(&mut self, is_kept: &[bool]) {
        match self {
            Self::Integers(values) => retain(values, is_kept),
            Self::Floats(values) => retain(values, is_kept),
            Self::Booleans(values) => retain(values, is_kept),
            Self::Texts(values) => retain(values, is_kept),
        }
    }
}

fn retain<T>(values: &mut Vec<T>, is_kept: &[bool]) {
    let mut kept = is_kept.iter();
    values.retain(|_| kept.next().is_some_and(|is_kept| *is_kept));
}

/// The values of a leaf in some rows: each by itself, or as an index of a dictionary.
#[derive(Debug, Clone)]
pub(crate) enum LeafData {
    Values(TypedValues),
    /// Every index is one of the dictionary's values.
    Indices(Arc<TypedValues>, Vec<u32>),
}

/// A leaf in some rows.
#[derive(Debug, Clone)]
pub(crate) struct LeafValues {
    pub(crate) levels: Levels,
    pub(crate) data: LeafData,
}

impl LeafValues {
    /// No rows of a leaf.
    pub(crate) fn new(leaf: &Leaf) -> Self {
        Self {
            levels: Levels::new(leaf.most),
            data: LeafData::Values(TypedValues::new(leaf.column.kind)),
        }
    }

    /// Rows in which the leaf is NULL, or has the values `one`.
    pub(crate) fn of_rows(leaf: &Leaf, rows: usize, one: Option<&TypedValues>) -> Self {
        let mut made = Self::new(leaf);
        match one {
            Some(value) => {
                made.levels.push_rows(rows);
                made.data = LeafData::Indices(Arc::new(value.clone()), vec![0; rows]);
            }
            None => {
                for row in 1..=rows {
                    made.levels.push(0, 0);
                    made.levels.end_row(row);
                }
            }
        }
        made
    }

    /// Adds indices of a dictionary.
    pub(crate) fn extend_indices(&mut self, dictionary: &Arc<TypedValues>, new: &[u32]) {
        match &mut self.data {
            LeafData::Indices(known, indices) if Arc::ptr_eq(known, dictionary) => {
                indices.extend_from_slice(new);
            }
            LeafData::Values(values) if values.len() == 0 => {
                self.data = LeafData::Indices(Arc::clone(dictionary), new.to_vec());
            }
            _ => self.values().extend_from(dictionary, new),
        }
    }

    /// The values, each by itself from now on.
    pub(crate) fn values(&mut self) -> &mut TypedValues {
        if let LeafData::Indices(dictionary, indices) = &self.data {
            let mut values = match **dictionary {
                TypedValues::Integers(_) => TypedValues::Integers(Vec::new()),
                TypedValues::Floats(_) => TypedValues::Floats(Vec::new()),
                TypedValues::Booleans(_) => TypedValues::Booleans(Vec::new()),
                TypedValues::Texts(_) => TypedValues::Texts(Vec::new()),
            };
            values.extend_from(dictionary, indices);
            self.data = LeafData::Values(values);
        }
        match &mut self.data {
            LeafData::Values(values) => values,
            LeafData::Indices(..) => unreachable!("they were replaced"),
        }
    }

    /// The values that a value is one of, and its place there.
    pub(crate) fn at(&self, value: usize) -> (&TypedValues, usize) {
        match &self.data {
            LeafData::Values(values) => (values, value),
            LeafData::Indices(dictionary, indices) => (dictionary, indices[value] as usize),
        }
    }

    /// The number of values so far.
    pub(crate) fn data_len(&self) -> usize {
        match &self.data {
            LeafData::Values(values) => values.len(),
            LeafData::Indices(_, indices) => indices.len(),
        }
    }

    pub(crate) fn are_texts(&self) -> bool {
        match &self.data {
            LeafData::Values(values) => matches!(values, TypedValues::Texts(_)),
            LeafData::Indices(dictionary, _) => matches!(**dictionary, TypedValues::Texts(_)),
        }
    }

    /// The size of the entries as a reader has them in memory, in bytes.
    pub(crate) fn decoded_bytes(&self) -> usize {
        let texts = match &self.data {
            LeafData::Values(TypedValues::Texts(texts)) => texts.iter().map(Bytes::len).sum(),
            LeafData::Indices(dictionary, indices) => match &**dictionary {
                TypedValues::Texts(texts) => {
                    let lengths = indices.iter().map(|index| texts[*index as usize].len());
                    lengths.sum()
                }
                _ => 0,
            },
            LeafData::Values(_) => 0,
        };
        size_of::<u64>() * self.levels.entries() + texts
    }

    fn retain(&mut self, is_kept: &[bool]) {
        let kept_values = self.levels.retain(is_kept);
        match &mut self.data {
            LeafData::Values(values) => values.retain(&kept_values),
            LeafData::Indices(_, indices) => retain(indices, &kept_values),
        }
    }
}

/// Rows of a table whose values are typed.
#[derive(Debug, Clone)]
pub struct TypedRows {
    pub(crate) leaves: Vec<LeafValues>,
    pub(crate) rows: usize,
    /// Values that were spelled differently in the file.
    pub(crate) others: OtherSpellings,
}

impl TypedRows {
    /// No rows of a table.
    #[must_use]
    pub fn new(table: &Table) -> Self {
        let leaves = leaves(&Node::of(&table.columns)).into_iter();
        Self {
            leaves: leaves.map(|leaf| LeafValues::new(&leaf)).collect(),
            rows: 0,
            others: OtherSpellings::default(),
        }
    }

    /// The number of rows.
    #[must_use]
    pub fn len(&self) -> usize {
        self.rows
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// The size of the values as a reader has them in memory, in bytes.
    pub(crate) fn decoded_bytes(&self) -> usize {
        self.leaves.iter().map(LeafValues::decoded_bytes).sum()
    }

    /// Removes rows.
    pub(crate) fn retain(&mut self, is_kept: &[bool]) {
        self.rows = is_kept.iter().filter(|is_kept| **is_kept).count();
        for leaf in &mut self.leaves {
            leaf.retain(is_kept);
        }
    }
}
