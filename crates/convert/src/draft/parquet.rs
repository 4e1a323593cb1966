//! Drafts a Parquet file, whose columns have types.

use tracelake_core::Context;
use tracelake_core::error::{Result, escape};
use tracelake_core::words::several;
use tracelake_encode::parquet_rows::{FileColumn, columns_of};
use tracelake_location::{Location, RandomAccess};
use tracelake_schema::description::is_printable;
use tracelake_schema::{Kind, Zone};
use tracelake_source::{WholeFile, read_start};

use super::description::{Column, Table, misfit};
use crate::lake_file::{Writer, read_footer, source_damaged};

/// The first bytes of a Parquet file.
pub(super) const MAGIC: &[u8] = b"PAR1";

/// Whether a file begins like Parquet.
pub(super) fn is_parquet(file: &Location) -> bool {
    read_start(file).is_some_and(|start| start.starts_with(MAGIC))
}

/// The table of a Parquet file.
pub(super) fn table(context: &Context, location: &Location) -> Result<Table> {
    let plain = RandomAccess::open(location)?;
    let file = match plain.read_at(0, MAGIC.len()) {
        Ok(start) if start == MAGIC => plain,
        _ => WholeFile::open(context, location, &std::env::temp_dir())?.file,
    };
    let opened = read_footer(file, Writer::Any);
    let (_, footer) = opened.map_err(|error| source_damaged(location, error))?;
    let footer = footer.metadata();
    let rows = u64::try_from(footer.file_metadata().num_rows()).unwrap_or_default();
    of(rows, &columns_of(footer.file_metadata().schema_descr()))
}

/// The table of a file with these rows and columns.
fn of(rows: u64, found: &[FileColumn]) -> Result<Table> {
    let mut notes = Vec::new();
    let columns = columns(found, &mut notes);
    if columns.is_empty() {
        let reason = "has no column of a type that a lake has";
        return Err(misfit(reason, "write the columns with other types"));
    }
    Ok(Table {
        from: format!("the types of its columns; it has {}", several(rows, "row")),
        notes,
        syntax: Some("parquet"),
        form: String::new(),
        columns,
        is_named: true,
    })
}

/// The columns of a draft; `notes` says which are left out.
fn columns(found: &[FileColumn], notes: &mut Vec<String>) -> Vec<Column> {
    let columns = found.iter().filter_map(|column| {
        let left_out = match fault(column) {
            _ if !is_printable(&column.name) => Some("its name can't be printed".to_owned()),
            fault => fault.map(|what| format!("it has {what}, and a lake has no such type")),
        };
        if let Some(why) = left_out {
            let shown = escape(column.name.as_bytes(), 80);
            notes.push(format!("the column {shown} is left out: {why}."));
            return None;
        }
        let kind = match &column.kind {
            Ok(Kind::Integer | Kind::Code) => "\"integer\"",
            Ok(Kind::Float) => "\"float\"",
            Ok(Kind::Boolean) => "\"boolean\"",
            Ok(Kind::DateTime(Zone::None)) => "\"date-time\"\nzone = \"none\"",
            Ok(Kind::DateTime(Zone::Published)) => "\"date-time\"\nzone = \"published\"",
            Ok(Kind::Struct) => "\"struct\"",
            Ok(Kind::List) => "\"list\"",
            Ok(Kind::Text) | Err(_) => "\"text\"",
        };
        Some(Column {
            content: column.name.clone(),
            kind: format!("kind = {kind}\n"),
            fields: columns(&column.fields, notes),
            ..Column::default()
        })
    });
    columns.collect()
}

/// The type in a column that a lake doesn't have.
fn fault(column: &FileColumn) -> Option<String> {
    match &column.kind {
        Err(stored) => Some(stored.clone()),
        // A struct without fields is no column.
        Ok(Kind::Struct) if column.fields.is_empty() => Some("an empty group".to_owned()),
        Ok(_) => column.fields.iter().find_map(fault),
    }
}
