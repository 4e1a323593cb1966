//! A trace with some of its columns.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::{Column, Derived, Table, Trace};

/// The columns of some tables, by the names of both.
type Selected = BTreeMap<String, BTreeSet<String>>;

impl Trace {
    /// The trace with these columns of these tables; tables that aren't named keep all columns. The columns stay in
    /// the order of their table, and names that the trace doesn't have are ignored: they may be those of any manifest.
    ///
    /// Keys, references and the time of a row go with the columns that they need.
    ///
    /// # Memory
    /// A copy of the texts of the trace, and of the tables that lose columns.
    ///
    /// # Example
    ///
    /// ```
    /// # let (trace, table) = (&tracelake_schema::TRACES[0], &tracelake_schema::TRACES[0].tables[0]);
    /// let column = &*table.columns[1].name;
    /// let selected = trace.with_columns([(&*table.name, column)]);
    /// assert_eq!(selected.table(&table.name).unwrap().columns.len(), 1);
    /// assert_eq!(selected.whole.as_ref(), Some(trace));
    /// ```
    #[must_use]
    pub fn with_columns<'a>(
        self: &Arc<Self>,
        columns: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Arc<Self> {
        let whole = self.whole.as_ref().unwrap_or(self);
        let mut selected = Selected::new();
        for (table, column) in columns {
            let known = whole.table(table);
            if known.is_some_and(|table| table.column(column).is_some()) {
                let columns = selected.entry(table.to_owned()).or_default();
                columns.insert(column.to_owned());
            }
        }
        match selected.is_empty() {
            true => Arc::clone(whole),
            false => Arc::new(select(whole, &selected)),
        }
    }
}

fn select(whole: &Arc<Trace>, selected: &Selected) -> Trace {
    let project = |table: &Arc<Table>| match selected.get(&table.name) {
        Some(columns) => Arc::new(project(table, columns)),
        None => Arc::clone(table),
    };
    let derived = whole.derived.iter().map(|derived| {
        Arc::new(Derived {
            table: project(&derived.table),
            ..(**derived).clone()
        })
    });
    Trace {
        tables: whole.tables.iter().map(project).collect(),
        derived: derived.collect(),
        whole: Some(Arc::clone(whole)),
        ..(**whole).clone()
    }
}

fn project(table: &Table, names: &BTreeSet<String>) -> Table {
    let are_kept = |list: &[String]| list.iter().all(|name| names.contains(name));
    let kept = |list: &[String]| match are_kept(list) {
        true => list.to_vec(),
        false => Vec::new(),
    };
    let kept_columns = table.columns.iter().filter(|it| names.contains(&it.name));
    let columns: Arc<[Arc<Column>]> = kept_columns.cloned().collect();
    let index = |old: usize| {
        let name = &table.columns[old].name;
        columns.iter().position(|column| column.name == *name)
    };
    let references = table.references.iter();
    let has_mandatory = columns.iter().any(|column| column.mandatory);
    Table {
        fields: table.fields.iter().copied().filter_map(index).collect(),
        required: table.required.clone().filter(|_| has_mandatory),
        entity: kept(&table.entity),
        primary_key: kept(&table.primary_key),
        references: references
            .filter(|one| are_kept(&one.columns))
            .cloned()
            .collect(),
        time: table.time.and_then(index),
        requests: table
            .requests
            .as_ref()
            .and_then(|requests| requests.of_columns(|name| names.contains(name))),
        columns: Arc::clone(&columns),
        ..table.clone()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use crate::TRACES;

    #[test]
    fn a_selection_keeps_the_order_of_the_table_and_what_needs_only_its_columns() {
        let trace = &TRACES[0];
        let table = &trace.tables[0];
        let names: Vec<&str> = table.columns.iter().map(|column| &*column.name).collect();
        let time = table.time.expect("the first table has a time");
        let (first, last) = (names[0], names[names.len() - 1]);
        let selected = trace.with_columns([(&*table.name, last), (&*table.name, first)]);
        let projected = selected.table(&table.name).unwrap();
        let found: Vec<&str> = projected
            .columns
            .iter()
            .map(|column| &*column.name)
            .collect();
        assert_eq!(found, [first, last]);
        assert_eq!(projected.fields, [0, 1]);
        let is_kept = names[time] == first || names[time] == last;
        assert_eq!(projected.time.is_some(), is_kept);
        let other = &trace.tables[1];
        assert_eq!(selected.table(&other.name), Some(other));
        let again = trace.with_columns([(&*table.name, last), (&*table.name, first)]);
        assert_eq!(selected, again);
        assert!(Arc::ptr_eq(&selected.with_columns([]), trace));
        // What a manifest may name, and no trace has.
        let odd = [
            (&*table.name, "no such column"),
            ("no such table", first),
            (&*table.name, last),
            (&*table.name, last),
            (&*table.name, first),
        ];
        assert_eq!(trace.with_columns(odd), selected);
    }
}
