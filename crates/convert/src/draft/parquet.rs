//! A drafted description of a Parquet file, whose columns have types.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use tracelake_core::Context;
use tracelake_core::error::{Result, escape};
use tracelake_core::words::several;
use tracelake_encode::parquet_rows::{FileColumn, columns_of};
use tracelake_location::{Location, RandomAccess};
use tracelake_schema::description::{ADDED_COLUMNS, MAX_BYTES, is_printable};
use tracelake_schema::{Kind, Zone};
use tracelake_source::WholeFile;

use super::description::{free_name, is_found, quoted, table};
use super::misfit;
use crate::lake_file::{Writer, read_footer, source_damaged};

/// The first bytes of a Parquet file.
pub(super) const MAGIC: &[u8] = b"PAR1";

/// The description of a Parquet file.
pub(super) fn describe(context: &Context, location: &Location) -> Result<String> {
    let plain = RandomAccess::open(location)?;
    let file = match plain.read_at(0, MAGIC.len()) {
        Ok(start) if start == MAGIC => plain,
        _ => WholeFile::open(context, location, &std::env::temp_dir())?.file,
    };
    let opened = read_footer(file, Writer::Any);
    let (_, footer) = opened.map_err(|error| source_damaged(location, error))?;
    let footer = footer.metadata();
    let file = location.name().unwrap_or("table.parquet");
    let rows = u64::try_from(footer.file_metadata().num_rows()).unwrap_or_default();
    let columns = columns_of(footer.file_metadata().schema_descr());
    let text = of(file, rows, &columns)?;
    if text.len() > MAX_BYTES {
        let hint = "describe it by hand, with shorter names";
        return Err(misfit("has too many columns for a description", hint));
    }
    Ok(text)
}

/// The description of a file with this name, these rows and these columns.
fn of(file: &str, rows: u64, columns: &[FileColumn]) -> Result<String> {
    if !is_found(file) {
        let reason = "has a name that a description can't have";
        return Err(misfit(
            reason,
            "rename it: a name has no braces and no backslash",
        ));
    }
    let mut text = format!(
        "# A draft by `tracelake schema --new {}`, from the types of its columns; it has {}.\n\
         # A line with `# guess` says what the types don't tell: check it, and correct it where it is wrong.\n\
         # docs/describe-a-trace.md explains every key.\n",
        escape(file.as_bytes(), 255),
        several(rows, "row"),
    );
    text += &table(
        file,
        "files = \"named\"  # guess: one part; see `names` for several\n",
    );
    text += "syntax = \"parquet\"\n";
    if add(&mut text, "[[table.column]]", &ADDED_COLUMNS, columns) == 0 {
        let reason = "has no column of a type that a lake has";
        return Err(misfit(reason, "write the columns with other types"));
    }
    Ok(text)
}

/// Adds columns below a heading; returns how many. They can't have the names `taken`.
fn add(text: &mut String, heading: &str, taken: &[&str], columns: &[FileColumn]) -> usize {
    let mut taken: BTreeSet<String> = taken.iter().map(|&name| name.to_owned()).collect();
    let mut added = 0;
    for (at, column) in columns.iter().enumerate() {
        let shown = escape(column.name.as_bytes(), 80);
        let left_out = match fault(column) {
            _ if !is_printable(&column.name) => Some("its name can't be printed".to_owned()),
            fault => fault.map(|what| format!("it has {what}, and a lake has no such type")),
        };
        if let Some(why) = left_out {
            let _ = writeln!(text, "\n# guess: the column {shown} is left out: {why}.");
            continue;
        }
        let name = free_name(&column.name, at + 1, &taken);
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
        let (content, doc) = (quoted(&column.name), quoted(format!("{}.", column.name)));
        let _ = write!(
            text,
            "\n{heading}\nname = \"{name}\"\ncontent = {content}\nkind = {kind}\n\
             obfuscation = \"unchanged\"  # guess\n\
             doc = {doc}  # guess: its meaning; add `unit` if it has one\n",
        );
        taken.insert(name);
        added += 1;
        let inner = heading.replace("]]", ".field]]");
        add(text, &inner, &[], &column.fields);
    }
    added
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
