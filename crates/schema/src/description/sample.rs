//! The keys that tables can be sampled by.

use std::sync::Arc;

use super::fault::{Result, Within, bail, ensure};
use super::spec::TableSpec;
use super::words::identifier;
use crate::{KeyColumn, SampleKey};

/// The kinds of columns that have one canonical text for each value.
const KINDS: [&str; 2] = ["integer", "text"];

/// The keys of all tables, in the order in which the tables name them.
pub(super) fn keys(tables: &[&TableSpec]) -> Result<Arc<[SampleKey]>> {
    let mut keys: Vec<SampleKey> = Vec::new();
    for table in tables {
        for (name, column) in &table.sample_keys {
            let column = key_column(table, name, column).within_named(&table.name)?;
            let name = identifier(name).within_named(&table.name)?;
            match keys.iter_mut().find(|known| known.name == name) {
                Some(key) => key.columns.push(column),
                None => keys.push(SampleKey {
                    name,
                    columns: vec![column],
                }),
            }
        }
        check_default(table).within_named(&table.name)?;
    }
    Ok(keys.into())
}

fn key_column(table: &TableSpec, key: &str, name: &str) -> Result<KeyColumn> {
    let Some(column) = table.column.iter().find(|column| *column.name == *name) else {
        bail!("sample_keys: there is no column {name:?} for the key {key:?}");
    };
    ensure!(
        KINDS.contains(&&*column.kind),
        "sample_keys: {name} is neither an integer nor a text"
    );
    ensure!(
        column.capture.is_none(),
        "sample_keys: {name} comes from the names of files"
    );
    Ok(KeyColumn {
        table: table.name.to_string(),
        column: name.to_owned(),
        is_default: table.sample_by.as_deref() == Some(key),
    })
}

fn check_default(table: &TableSpec) -> Result<()> {
    let Some(name) = &table.sample_by else {
        return Ok(());
    };
    ensure!(
        table.sample_keys.contains_key(name),
        "sample_by: {name:?} is not one of its sample_keys"
    );
    Ok(())
}
