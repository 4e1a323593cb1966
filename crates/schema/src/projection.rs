//! A trace with some of its columns.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};

use crate::{Column, Derived, Reference, Table, Trace};

/// The columns of some tables, by the names of both.
type Selected = BTreeMap<&'static str, BTreeSet<&'static str>>;

/// The traces that were made: each lives as long as the process, so the same one isn't made twice.
static MADE: Mutex<Vec<(&'static Trace, Selected, &'static Trace)>> = Mutex::new(Vec::new());

impl Trace {
    /// The trace with these columns of these tables; tables that aren't named keep all columns. The columns stay in
    /// the order of their table, and names that the trace doesn't have are ignored: they may be those of any manifest.
    ///
    /// Keys, references and the time of a row go with the columns that they need.
    ///
    /// # Memory
    /// A copy of the tables, once for each selection of a process.
    ///
    /// # Example
    ///
    /// ```
    /// # let (trace, table) = (&tracelake_schema::TRACES[0], &tracelake_schema::TRACES[0].tables[0]);
    /// let column = table.columns[1].name;
    /// let selected = trace.with_columns([(table.name, column)]);
    /// assert_eq!(selected.table(table.name).unwrap().columns.len(), 1);
    /// assert_eq!(selected.whole, Some(trace));
    /// ```
    #[must_use]
    pub fn with_columns<'a>(
        &'static self,
        columns: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> &'static Self {
        let whole = self.whole.unwrap_or(self);
        let all = whole.all_tables().flat_map(|table| {
            let names = table.columns.iter().map(|column| column.name);
            names.map(|name| ((table.name, name), (table.name, name)))
        });
        let by_name: BTreeMap<(&str, &str), (&'static str, &'static str)> = all.collect();
        let mut selected = Selected::new();
        for pair in columns {
            if let Some((table, column)) = by_name.get(&pair) {
                selected.entry(table).or_default().insert(column);
            }
        }
        if selected.is_empty() {
            return whole;
        }
        let mut made = MADE.lock().unwrap_or_else(PoisonError::into_inner);
        let known = made
            .iter()
            .find(|(trace, columns, _)| std::ptr::eq(*trace, whole) && *columns == selected);
        if let Some((_, _, trace)) = known {
            return trace;
        }
        let trace: &'static Self = Box::leak(Box::new(select(whole, &selected)));
        made.push((whole, selected, trace));
        trace
    }
}

fn select(whole: &'static Trace, selected: &Selected) -> Trace {
    let project = |table: &Table| match selected.get(table.name) {
        Some(columns) => project(table, columns),
        None => *table,
    };
    let tables: Vec<Table> = whole.tables.iter().map(project).collect();
    let derived = whole.derived.iter().map(|derived| Derived {
        table: project(&derived.table),
        ..*derived
    });
    let derived: Vec<Derived> = derived.collect();
    Trace {
        tables: tables.leak(),
        derived: derived.leak(),
        whole: Some(whole),
        ..whole.clone()
    }
}

fn project(table: &Table, names: &BTreeSet<&str>) -> Table {
    let is_kept = |name: &str| names.contains(name);
    let kept = |list: &'static [&'static str]| -> &'static [&'static str] {
        if list.iter().all(|name| is_kept(name)) {
            list
        } else {
            &[]
        }
    };
    let kept_columns = table.columns.iter().filter(|column| is_kept(column.name));
    let columns: &'static [Column] = kept_columns.copied().collect::<Vec<_>>().leak();
    let index = |old: usize| {
        let name = table.columns[old].name;
        columns.iter().position(|column| column.name == name)
    };
    let fields = table.fields.iter().filter_map(|&field| index(field));
    let references: Vec<Reference> = table
        .references
        .iter()
        .filter(|one| one.columns.iter().all(|name| is_kept(name)))
        .copied()
        .collect();
    Table {
        columns,
        fields: fields.collect::<Vec<_>>().leak(),
        required: table
            .required
            .filter(|_| columns.iter().any(|column| column.mandatory)),
        entity: kept(table.entity),
        primary_key: kept(table.primary_key),
        references: references.leak(),
        time: table.time.and_then(index),
        ..*table
    }
}

#[cfg(test)]
mod tests {
    use crate::TRACES;

    #[test]
    fn a_selection_keeps_the_order_of_the_table_and_what_needs_only_its_columns() {
        let trace = &TRACES[0];
        let table = &trace.tables[0];
        let names: Vec<&str> = table.columns.iter().map(|column| column.name).collect();
        let time = table.time.expect("the first table has a time");
        let (first, last) = (names[0], names[names.len() - 1]);
        let selected = trace.with_columns([(table.name, last), (table.name, first)]);
        let projected = selected.table(table.name).unwrap();
        let found: Vec<&str> = projected.columns.iter().map(|column| column.name).collect();
        assert_eq!(found, [first, last]);
        assert_eq!(projected.fields, [0, 1]);
        let is_kept = names[time] == first || names[time] == last;
        assert_eq!(projected.time.is_some(), is_kept);
        let other = &trace.tables[1];
        assert_eq!(selected.table(other.name), Some(other));
        let again = trace.with_columns([(table.name, last), (table.name, first)]);
        assert!(std::ptr::eq(selected, again));
        assert!(std::ptr::eq(selected.with_columns([]), trace));
        // What a manifest may name, and no trace has.
        let odd = [
            (table.name, "no such column"),
            ("no such table", first),
            (table.name, last),
            (table.name, last),
            (table.name, first),
        ];
        assert!(std::ptr::eq(trace.with_columns(odd), selected));
    }
}
