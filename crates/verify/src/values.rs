//! Every value of a part against its source.

use std::sync::Arc;

use arrow_array::{Array, RecordBatch, cast::AsArray};
use arrow_schema::DataType;
use csv::ByteRecord;
use tracelake_core::Context;
use tracelake_core::error::{Result, escape};
use tracelake_core::field_order::{Field, FieldOrder};
use tracelake_core::options::Accepted;
use tracelake_core::words::{group_digits, several};
use tracelake_lake::manifest::PartFacts;
use tracelake_location::Location;
use tracelake_schema::{Column, Kind, Syntax, Table};

use super::file::OTHER_LAKE;
use super::finding::{corrupt, failed};
use super::output::Output;
use super::scalar::{Scalar, scalar};
use super::sources::SourceFile;
use super::text::{PartRows, SourceText};
use super::{archive, parsed, selected};

/// Compares every value of a part with its source; returns how many there are.
pub(super) fn verify_values(
    file: &mut SourceFile,
    table: &Arc<Table>,
    part: &PartFacts,
    output: Output,
    rejects: Option<&Location>,
) -> Result<u64> {
    verify_source(file, part).map_err(|error| error.field(&*table.name))?;
    let range = file.rows(part);
    if file.holds_parts {
        let archive = match &mut file.archive {
            Some(archive) => archive,
            None => {
                let opened = archive::Parts::open(&file.context, &file.path, table)?;
                file.archive
                    .insert(opened.map_err(|error| failed(&file.path, error))?)
            }
        };
        let found = archive.part(part.file_number)?;
        let mut text = SourceText::of_member(&file.path, &file.order, found)?;
        let path = text.member.clone().unwrap_or_default();
        let found = text.order.clone();
        let order = found.as_ref().unwrap_or(&file.order).of_file(&path)?;
        let mut rows = PartRows::new(&mut text, &order, range, rejects)?;
        let place = file.path.join(&path);
        return compare_rows(&file.context, &order, &place, part, output, &mut rows);
    }
    let text = match &mut file.text {
        Some(text) => text,
        None => file.text.insert(match file.is_parquet {
            true => SourceText::of_parquet(&file.context, &file.path, &file.order)?,
            false => SourceText::open(&file.context, &file.path, &file.order)?,
        }),
    };
    let found = text.order.clone();
    let order = found.as_ref().unwrap_or(&file.order);
    let mut rows = PartRows::new(text, order, range, rejects)?;
    compare_rows(&file.context, order, &file.path, part, output, &mut rows)
}

/// Compares the size and the digest of a source with those that the part was made from.
fn verify_source(file: &SourceFile, part: &PartFacts) -> Result<()> {
    let length = part.digested(file.is_cut);
    let now = file.fingerprints.get(&length);
    let expected = &part.source;
    if let Some(now) = now
        && now.sha256 == expected.sha256
        && now.bytes != expected.bytes
    {
        let reason = format!(
            "has {} bytes, as its digest says, but the manifest says {}",
            now.bytes, expected.bytes
        );
        return Err(corrupt(reason).at(&file.path).hint(OTHER_LAKE));
    }
    let now = now.map(|now| now.sha256);
    if now != Some(expected.sha256) {
        let reason = format!(
            "has SHA-256 {}, but the lake was made from {}",
            now.map_or_else(String::new, |now| now.to_string()),
            expected.sha256
        );
        return Err(corrupt(reason).at(&file.path));
    }
    Ok(())
}

/// Compares the rows of a part with those of its source, at `path`.
fn compare_rows(
    context: &Context,
    order: &FieldOrder,
    path: &Location,
    part: &PartFacts,
    output: Output,
    rows: &mut PartRows<'_>,
) -> Result<u64> {
    let table = &order.table;
    let mut fields: Vec<Vec<usize>> = vec![Vec::new(); table.columns.len()];
    let mut placed: Vec<(usize, &Field)> = order.fields.iter().enumerate().collect();
    placed.sort_by_key(|(_, field)| field.item);
    for (place, field) in placed {
        if let Some(index) = field.index {
            fields[index].push(place);
        }
    }
    let place = output.path.clone();
    let wrong = |reason: String| Err(corrupt(reason).at(&place).field(&*table.name));
    let (mut seen, mut mapped, mut accepted) = (0, 0, rows.accepted());
    let mut not_selected = 0;
    let mut advance = |rows: &mut PartRows<'_>| {
        while rows.advance()? {
            let is_selected = order.rules.is_empty() || {
                let selected = selected::is_selected(order, &rows.record);
                let at = |reason| corrupt(reason).at(path).line(rows.line(), None);
                selected.map_err(|reason| at(reason).field(&*table.name))?
            };
            if is_selected {
                return Ok(true);
            }
            not_selected += 1;
        }
        Ok(false)
    };
    for batch in output.batches()? {
        context.check()?;
        let batch = batch?;
        for row in 0..batch.num_rows() {
            if !advance(rows)? {
                return wrong(format!(
                    "has {}, but its source {}",
                    several(part.rows_out, "row"),
                    group_digits(seen)
                ));
            }
            let compared = match table.syntax {
                Syntax::Csv => compare(order, &fields, &rows.record, &batch, row),
                Syntax::Json | Syntax::QuotedCsv | Syntax::Parquet => {
                    compare_parsed(order, &rows.record, &batch, row)
                }
            };
            let others = compared.map_err(|(column, reason)| {
                let row = seen + 1;
                corrupt(format!("{reason}, in row {row} of {}", place))
                    .at(path)
                    .line(rows.line(), None)
                    .field(format!("{}.{}", table.name, column.name))
            })?;
            mapped += others.sentinels;
            accepted.integral_floats += others.floats;
            accepted.nulls += rows.nulls;
            seen += 1;
        }
    }
    if advance(rows)? {
        return wrong(format!("has {}, but its source more", several(seen, "row")));
    }
    if not_selected != part.rows_not_selected.unwrap_or(0) {
        return wrong(format!(
            "not selected: {}, and the manifest says {}",
            several(not_selected, "row"),
            part.rows_not_selected.unwrap_or(0)
        ));
    }
    if rows.rejected() != part.rows_rejected {
        return wrong(format!(
            "rejected: {}, and the manifest says {}",
            several(rows.rejected(), "row"),
            part.rows_rejected
        ));
    }
    if mapped != part.sentinels_mapped {
        return wrong(format!(
            "in another spelling of a sentinel: {}, and the manifest says {}",
            several(mapped, "value"),
            part.sentinels_mapped
        ));
    }
    if accepted != part.accepted() {
        return wrong(format!(
            "accepted: {}, and the manifest says {}",
            counted(accepted),
            counted(part.accepted())
        ));
    }
    Ok(seen * table.columns.len() as u64)
}

fn counted(accepted: Accepted) -> String {
    let counts: Vec<String> = accepted.in_words().collect();
    match &counts[..] {
        [] => "nothing".to_owned(),
        counts => counts.join(", "),
    }
}

/// How many values of a row are in another spelling than the published one.
#[derive(Default)]
struct OtherSpellings {
    /// Of a sentinel.
    sentinels: u64,
    /// Of an integer, as a float that was accepted on request.
    floats: u64,
}

/// How many integers of a row are spelled as floats and were accepted on request.
fn count_floats(order: &FieldOrder, record: &ByteRecord) -> u64 {
    if !order.accept.integral_floats {
        return 0;
    }
    let fields = order.fields.iter().zip(record);
    let floats = fields.filter(|(field, text)| {
        let column = field.of_value();
        let is_kind = matches!(column.kind, Kind::Integer | Kind::Code);
        let is_null = column.spelling.is_null(text);
        let has_point = text.contains(&b'.');
        field.index.is_some()
            && is_kind
            && !is_null
            && has_point
            && !column.spelling.integral_floats
    });
    floats.count() as u64
}

/// How many fields of a row use another spelling of a sentinel.
fn count_other_spellings(order: &FieldOrder, record: &ByteRecord) -> u64 {
    let fields = order.fields.iter().zip(record);
    let known = fields.filter(|(field, _)| field.index.is_some());
    let others = known.filter(|(field, text)| {
        let sentinels = field.of_value().sentinels.iter();
        let mut spellings = sentinels.filter_map(|sentinel| sentinel.also.as_deref());
        spellings.any(|spelling| spelling.as_bytes() == *text)
    });
    others.count() as u64
}

/// Compares one row of the source with one of the lake; `fields` has the fields of each column. Returns how many values
/// are in another spelling.
fn compare<'a>(
    order: &'a FieldOrder,
    fields: &[Vec<usize>],
    record: &ByteRecord,
    batch: &RecordBatch,
    row: usize,
) -> std::result::Result<OtherSpellings, (&'a Column, String)> {
    let columns = &order.table.columns;
    if record.len() != order.fields.len() {
        let reason = format!("the source has {}", several(record.len() as u64, "field"));
        return Err((&*columns[0], reason));
    }
    for (index, column) in columns.iter().enumerate() {
        let captured = order.captured(index).map(str::as_bytes);
        let array = batch.column(index);
        if column.kind == Kind::List && !fields[index].is_empty() {
            let texts = fields[index].iter().filter_map(|at| record.get(*at));
            if !is_list(order, column, texts.clone(), array.as_ref(), row) {
                let text = texts.collect::<Vec<_>>().join(&b", "[..]);
                return Err((column, difference(&text, array, row)));
            }
            continue;
        }
        let text = fields[index].first().and_then(|field| record.get(*field));
        let text = text.or(captured).unwrap_or_default();
        let is_null = captured.is_none() && column.spelling.is_null(text);
        let value = if is_null { &[] } else { text };
        if !is_value(order, column, value, array.as_ref(), row) {
            return Err((column, difference(text, array, row)));
        }
    }
    Ok(OtherSpellings {
        sentinels: count_other_spellings(order, record),
        floats: count_floats(order, record),
    })
}

/// Whether a field has the value of an array; an empty one is NULL.
fn is_value(
    order: &FieldOrder,
    column: &Column,
    value: &[u8],
    array: &dyn Array,
    row: usize,
) -> bool {
    let truths = [&["0"][..], &["1"]];
    match str::from_utf8(value) {
        Ok("") => array.is_null(row),
        Ok(text) => parsed::is_value_of(order, column, text, truths, scalar(array, row)),
        Err(_) => false,
    }
}

/// Whether fields have the values of a list.
fn is_list<'t>(
    order: &FieldOrder,
    column: &Column,
    texts: impl Iterator<Item = &'t [u8]>,
    array: &dyn Array,
    row: usize,
) -> bool {
    let (Some(item), false) = (column.fields.first(), array.is_null(row)) else {
        return false;
    };
    let items = array.as_list::<i32>().value(row);
    let mut at = 0;
    for text in texts {
        let value = if item.spelling.is_null(text) {
            &[]
        } else {
            text
        };
        if at >= items.len() || !is_value(order, item, value, items.as_ref(), at) {
            return false;
        }
        at += 1;
    }
    at == items.len()
}

/// Compares one row whose values may be structs and lists; returns how many values are in another spelling.
fn compare_parsed<'a>(
    order: &'a FieldOrder,
    record: &ByteRecord,
    batch: &RecordBatch,
    row: usize,
) -> std::result::Result<OtherSpellings, (&'a Column, String)> {
    let columns = &order.table.columns;
    let values = parsed::values(order, record).map_err(|reason| (&*columns[0], reason))?;
    let mut others = OtherSpellings::default();
    for (column, (value, array)) in columns.iter().zip(values.iter().zip(batch.columns())) {
        if !parsed::equals(order, column, value, array, row) {
            let text = value.to_string();
            return Err((column, difference(text.as_bytes(), array, row)));
        }
        others.sentinels += parsed::count_other_spellings(column, value);
        if order.accept.integral_floats {
            others.floats += parsed::count_floats(column, value);
        }
    }
    Ok(others)
}

/// Describes a value of the source that isn't that of the lake.
fn difference(source: &[u8], array: &dyn Array, row: usize) -> String {
    let lake = escape(shown(array, row).as_bytes(), 80);
    format!("the source has '{}', the lake {lake}", escape(source, 80))
}

/// A value of the lake as a person reads it. (Arrow has this too, in a crate that takes more time to
/// build than all others but Parquet.)
fn shown(array: &dyn Array, row: usize) -> String {
    if array.is_null(row) {
        return "NULL".to_owned();
    }
    match (scalar(array, row), array.data_type()) {
        (Some(Scalar::Integer(value)), DataType::Timestamp(..)) => {
            format!("{value} microseconds since 1970")
        }
        (Some(Scalar::Integer(value)), _) => value.to_string(),
        (Some(Scalar::Float(value)), _) => format!("{value:?}"),
        (Some(Scalar::Boolean(value)), _) => value.to_string(),
        (Some(Scalar::Text(text)), _) => text.to_owned(),
        (None, DataType::List(_)) => {
            let items = array.as_list::<i32>().value(row);
            let texts: Vec<_> = (0..items.len()).map(|item| shown(&items, item)).collect();
            format!("[{}]", texts.join(", "))
        }
        (None, DataType::Struct(fields)) => {
            let columns = array.as_struct().columns();
            let members = fields.iter().zip(columns);
            let texts: Vec<_> = members
                .map(|(field, column)| format!("{}: {}", field.name(), shown(column, row)))
                .collect();
            format!("{{{}}}", texts.join(", "))
        }
        (None, other) => format!("a value of type {other}"),
    }
}

#[cfg(test)]
mod tests;
