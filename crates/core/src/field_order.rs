//! Which field of a file is which column of its table.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::iter;
use std::sync::{Arc, LazyLock};

use tracelake_schema::{Column, Extra, Kind, Table};

use crate::error::{Error, ErrorKind, Result};
use crate::options::Accept;
use crate::selection::Sample;

/// The fields of a table's files, in their order there.
#[derive(Debug, Clone)]
pub struct FieldOrder {
    /// The table, with the columns that the lake has.
    pub table: Arc<Table>,
    /// The table with all columns.
    pub whole: Arc<Table>,
    /// The fields of a row, in order, including those that the lake doesn't have.
    pub fields: Vec<Field>,
    /// Which rows the lake has.
    pub rules: RowRules,
    /// Where the order comes from, for people: `schema.csv` or the trace's name.
    pub origin: String,
    /// The columns whose values come from the name of the file, each with its value.
    pub captured: Vec<(usize, String)>,
    /// Deviations from the published form that are accepted.
    pub accept: Accept,
    /// Whether the fields are those of a file, found by the names in its header.
    pub is_found: bool,
}

/// Why the columns of a table can't be found by the names in a header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HeaderFault {
    /// No column has the name at this place, from 0.
    Unknown(usize),
    /// The column of the name at this place was before it.
    Double(usize),
    /// The header lacks this field of [`FieldOrder::fields`].
    Missing(usize),
}

/// Which rows of a table a lake has: those that all rules select.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RowRules {
    /// By the hash of a key.
    pub sample: Option<SampleRule>,
    /// By the time of the row.
    pub time: Option<TimeRule>,
}

impl RowRules {
    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.sample.is_none() && self.time.is_none()
    }

    /// The fields that the rules look at.
    pub fn fields(&self) -> impl Iterator<Item = &RuleField> {
        let sample = self.sample.iter().map(|rule| &rule.field);
        sample.chain(self.time.iter().map(|rule| &rule.field))
    }

    fn fields_mut(&mut self) -> impl Iterator<Item = &mut RuleField> {
        let sample = self.sample.iter_mut().map(|rule| &mut rule.field);
        sample.chain(self.time.iter_mut().map(|rule| &mut rule.field))
    }
}

/// Selects rows by the hash of a key.
#[derive(Debug, Clone, PartialEq)]
pub struct SampleRule {
    /// The class to select.
    pub sample: Sample,
    /// The field of the key.
    pub field: RuleField,
}

/// Selects rows by their time.
#[derive(Debug, Clone, PartialEq)]
pub struct TimeRule {
    /// The first time to select.
    pub from: i64,
    /// The time after the last one to select; `None` if there is no last one.
    pub to: Option<i64>,
    /// The field of the time.
    pub field: RuleField,
}

impl TimeRule {
    /// Whether rows of this time are selected. Times with a special meaning are, NULL is not.
    #[must_use]
    pub fn selects(&self, time: Option<i64>) -> bool {
        time.is_some_and(|time| {
            let mut special = self.field.column.sentinels.iter();
            let is_before_end = self.to.is_none_or(|to| time < to);
            self.from <= time && is_before_end || special.any(|known| known.value == time)
        })
    }

    /// Whether rows of this time are selected, like [`TimeRule::selects`]; the time may have a fraction.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "times of floats are below 2^53")]
    pub fn selects_float(&self, time: Option<f64>) -> bool {
        time.is_some_and(|time| {
            let sentinels = self.field.column.sentinels.iter();
            let mut special = sentinels.map(|known| known.value as f64);
            let is_before_end = self.to.is_none_or(|to| time < to as f64);
            self.from as f64 <= time && is_before_end
                || special.any(|known| known.to_bits() == time.to_bits())
        })
    }
}

/// The field that a rule looks at.
#[derive(Debug, Clone, PartialEq)]
pub struct RuleField {
    /// The column.
    pub column: Arc<Column>,
    /// Its index in the table with all columns.
    pub index: usize,
    /// The position of the field in a row; `None` if the files lack it, and it is always NULL.
    pub position: Option<usize>,
    /// Whether it may not be empty.
    pub mandatory: bool,
    /// Spellings that are accepted on request.
    pub accept: Accept,
}

impl RuleField {
    /// Whether a field with this text is NULL.
    #[inline]
    #[must_use]
    pub fn is_null(&self, text: &[u8]) -> bool {
        text.is_empty() || self.accept.is_null_in(&self.column, text)
    }
}

/// One field of a row.
#[derive(Debug, Clone)]
pub struct Field {
    /// The index of its column in the table; `None` if the lake doesn't have the column.
    pub index: Option<usize>,
    /// Its column.
    pub column: Arc<Column>,
    /// Which item it is of its column, if that is a list of fields.
    pub item: Option<u32>,
    /// Whether it may not be empty.
    pub mandatory: bool,
}

/// The first column of a file that pandas saved, which no table has.
static INDEX: LazyLock<Arc<Column>> = LazyLock::new(|| Arc::new(Column::plain("", Kind::Text)));

/// A column of a header that the table doesn't have, and that is ignored.
static IGNORED: LazyLock<Arc<Column>> = LazyLock::new(|| Arc::new(Column::plain("", Kind::Text)));

impl Field {
    /// A field of a column that the lake doesn't have.
    fn left_out(column: &Arc<Column>) -> Self {
        Self {
            index: None,
            column: Arc::clone(column),
            item: None,
            mandatory: false,
        }
    }

    /// Its published name.
    #[must_use]
    pub fn content(&self) -> Cow<'_, str> {
        match (self.item, &self.column.spelling.run) {
            (Some(item), Some(run)) => run.name(item),
            _ => Cow::Borrowed(&self.column.content),
        }
    }

    /// The names that a header may have for it, the published one first.
    pub fn names(&self) -> impl Iterator<Item = Cow<'_, str>> {
        let also = self.column.spelling.also.iter();
        iter::once(self.content()).chain(also.map(|name| name.into()))
    }

    /// The column of its value: its own, or the item of a list of fields.
    #[inline]
    #[must_use]
    pub fn of_value(&self) -> &Arc<Column> {
        let item = self.item.and_then(|_| self.column.fields.first());
        item.unwrap_or(&self.column)
    }

    /// A field of a header that the table doesn't have, and that is ignored.
    #[must_use]
    pub fn ignored() -> Self {
        Self::left_out(&IGNORED)
    }
}

impl FieldOrder {
    /// The order that a table has where no `schema.csv` says otherwise.
    #[must_use]
    pub fn built_in(table: &Arc<Table>, origin: &str) -> Self {
        let fields = table.row_fields().map(|(index, item)| {
            let field = Field {
                index: Some(index),
                column: Arc::clone(&table.columns[index]),
                item,
                mandatory: false,
            };
            Field {
                mandatory: field.of_value().mandatory,
                ..field
            }
        });
        Self::new(table, fields.collect(), origin)
    }

    /// The order of these fields, with all columns and rows.
    #[must_use]
    pub fn new(table: &Arc<Table>, fields: Vec<Field>, origin: &str) -> Self {
        Self {
            table: Arc::clone(table),
            whole: Arc::clone(table),
            fields,
            rules: RowRules::default(),
            origin: origin.to_owned(),
            captured: Vec::new(),
            accept: Accept::default(),
            is_found: false,
        }
    }

    /// This order for a file whose header has these names: its fields are those of the header.
    ///
    /// # Errors
    /// When a name isn't one of the table, or one is missing that may not be absent.
    pub fn by_name<'n>(
        &self,
        names: impl IntoIterator<Item = &'n [u8]>,
    ) -> std::result::Result<Self, HeaderFault> {
        let known = self.fields.iter().enumerate();
        let known: BTreeMap<Cow<'_, str>, usize> = known
            .flat_map(|(place, field)| field.names().map(move |name| (name, place)))
            .collect();
        let known = |name: &[u8]| known.get(str::from_utf8(name).ok()?);
        let mut is_found = vec![false; self.fields.len()];
        let mut fields = Vec::new();
        for (at, name) in names.into_iter().enumerate() {
            let field = match (known(name), self.table.csv.extra) {
                (Some(&place), _) if is_found[place] => return Err(HeaderFault::Double(at)),
                (Some(&place), _) => {
                    is_found[place] = true;
                    self.fields[place].clone()
                }
                (None, Extra::Ignore) => Field::ignored(),
                (None, Extra::Refuse) => return Err(HeaderFault::Unknown(at)),
            };
            fields.push(field);
        }
        // A header lacks all of a run, or nothing of it.
        let begun: BTreeSet<&str> = fields.iter().map(|field| &*field.column.name).collect();
        let may_lack = |field: &Field| {
            field.column.spelling.may_be_absent && !begun.contains(&*field.column.name)
        };
        let mut places = self.fields.iter().zip(&is_found);
        match places.position(|(field, is_found)| !is_found && !may_lack(field)) {
            Some(missing) => Err(HeaderFault::Missing(missing)),
            None => Ok(self.clone().of_header(fields)),
        }
    }

    /// This order with the fields of a header.
    #[must_use]
    pub fn of_header(mut self, fields: Vec<Field>) -> Self {
        for rule in self.rules.fields_mut() {
            let mut fields = fields.iter();
            rule.position = fields.position(|field| field.column.name == rule.column.name);
        }
        self.fields = fields;
        self.is_found = true;
        self
    }

    /// The order for a file of this path: with the values that its name gives to columns.
    ///
    /// # Errors
    /// [`ErrorKind::Misfit`] if the name isn't one of the table's.
    pub fn of_file(&self, path: &str) -> Result<Cow<'_, Self>> {
        if !self.table.has_captures() {
            return Ok(Cow::Borrowed(self));
        }
        let columns = self.table.columns.iter().enumerate();
        let found: std::result::Result<Vec<_>, _> = columns
            .filter_map(|(index, column)| {
                let capture = column.spelling.capture.as_deref()?;
                let value = self.table.captured(path, capture);
                Some(value.map(|value| (index, value)).ok_or(capture))
            })
            .collect();
        let captured = found.map_err(|capture| {
            let patterns = self.table.naming.patterns.iter();
            let names: Vec<&str> = patterns.map(|pattern| &*pattern.text).collect();
            let reason = format!("its name doesn't say {{{capture}}}, which is a column");
            Error::new(ErrorKind::Misfit, reason)
                .at(path)
                .field(&*self.table.name)
                .hint(format!("name it {}", names.join(" or ")))
        })?;
        Ok(Cow::Owned(Self {
            captured,
            ..self.clone()
        }))
    }

    /// The value that the name of the file gives to a column.
    #[must_use]
    pub fn captured(&self, column: usize) -> Option<&str> {
        let mut captured = self.captured.iter();
        let found = captured.find(|(index, _)| *index == column);
        found.map(|(_, value)| &value[..])
    }

    /// Whether a line of plain CSV, without its ending, has the published names of the fields.
    #[must_use]
    pub fn is_header(&self, line: &[u8]) -> bool {
        let found = self.table.csv.fields(line);
        let mut names = self.fields.iter().map(Field::content);
        let mut found = found.map(|range| &line[range]);
        loop {
            match (found.next(), names.next()) {
                (Some(found), Some(name)) if found == name.as_bytes() => {}
                (found, name) => return found.is_none() && name.is_none(),
            }
        }
    }

    /// This order after an index, if a text whose first line has these fields has one: it is one field more than the
    /// table has, without a name in a header and with a number in a row.
    #[must_use]
    pub fn with_index_of<'f>(&self, mut fields: impl Iterator<Item = &'f [u8]>) -> Option<Self> {
        let is_index = fields.next()?.iter().all(u8::is_ascii_digit);
        (is_index && fields.count() == self.fields.len()).then(|| self.clone().with_index())
    }

    /// This order after an index.
    #[must_use]
    pub fn with_index(mut self) -> Self {
        self.fields.insert(0, Field::left_out(&INDEX));
        for field in self.rules.fields_mut() {
            field.position = field.position.map(|position| position + 1);
        }
        self
    }

    /// Whether the first field is an index that was accepted.
    #[must_use]
    pub fn has_index(&self) -> bool {
        let first = self.fields.first();
        first.is_some_and(|field| Arc::ptr_eq(&field.column, &INDEX))
    }

    /// Whether a line of plain CSV, without its ending, has the published names after that of an index.
    #[must_use]
    pub fn is_header_after_index(&self, line: &[u8]) -> bool {
        self.clone().with_index().is_header(line)
    }

    /// This order for a table with some of the columns.
    #[must_use]
    pub fn with_columns(mut self, table: &Arc<Table>) -> Self {
        for field in &mut self.fields {
            field.index = table.column(&field.column.name).map(|(index, _)| index);
        }
        self.table = Arc::clone(table);
        self
    }

    /// The field of a column, which a rule looks at; `None` if the table has no such column.
    #[must_use]
    pub fn rule_field(&self, name: &str) -> Option<RuleField> {
        let (index, column) = self.whole.column(name)?;
        let mut fields = self.fields.iter();
        let position = fields.position(|field| field.column.name == name);
        Some(RuleField {
            mandatory: position.map_or(column.mandatory, |at| self.fields[at].mandatory),
            column: Arc::clone(column),
            index,
            position,
            accept: self.accept.clone(),
        })
    }
}

#[cfg(test)]
mod tests {
    use tracelake_schema::TRACES;

    use super::*;

    #[test]
    fn a_header_has_all_names_in_their_order() {
        let mut traces = TRACES.iter().filter(|trace| trace.in_parts());
        let table = traces.find_map(|trace| trace.table("machine_events"));
        let order = FieldOrder::built_in(table.unwrap(), "the catalog");
        let names: Vec<&str> = order
            .fields
            .iter()
            .map(|field| &*field.column.content)
            .collect();
        let line = |names: &[&str]| names.join(",").into_bytes();
        assert!(order.is_header(&line(&names)));
        let swapped = [&[names[1], names[0]], &names[2..]].concat();
        for other in [&names[1..], &swapped, &["0", "1", "2"], &[]] {
            assert!(!order.is_header(&line(other)), "{other:?}");
        }
    }
}
