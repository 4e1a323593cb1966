//! Every value of a part against its source.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use arrow_array::types::{Float64Type, Int32Type, Int64Type, TimestampMicrosecondType};
use arrow_array::{Array, RecordBatch, cast::AsArray};
use arrow_schema::DataType;
use csv::ByteRecord;
use tracelake_convert::plan::{PartPlan, Plan};
use tracelake_core::Context;
use tracelake_core::error::{Result, escape};
use tracelake_core::field_order::FieldOrder;
use tracelake_core::part_key::{CellName, PartKey};
use tracelake_lake::manifest::{Manifest, PartFacts};
use tracelake_location::Location;
use tracelake_schema::{Column, Files, Kind, Syntax, Table};
use tracelake_source as source;
use tracelake_source::Fingerprint;

use super::output::Output;
use super::text::{PartRows, SourceText, failed};
use super::{archive, corrupt, number, parsed, selected};

/// The files of a source, found by table, cell and file number.
pub(super) struct Sources<'a> {
    plan: &'a Plan,
    parts: BTreeMap<(&'static str, PartKey), &'a PartPlan>,
    cells: BTreeSet<Option<CellName>>,
}

impl<'a> Sources<'a> {
    pub(super) fn new(plan: &'a Plan, manifest: &Manifest) -> Self {
        let one_cell = |cells: BTreeSet<Option<CellName>>| match cells.len() {
            1 => cells.first().copied(),
            _ => None,
        };
        let of_source = one_cell(plan.parts().map(|(_, part)| part.key.cell).collect());
        // A source whose name doesn't say its cell is of the only one in the lake. A lake may also have
        // been made without cells, before the directory was named after one.
        let only = match (of_source, one_cell(manifest.cells())) {
            (Some(None), lake) | (Some(Some(_)), lake @ Some(None)) => lake,
            _ => None,
        };
        let parts = plan.parts().map(|(planned, part)| {
            let table = planned.order.table;
            let cell = only.unwrap_or(part.key.cell);
            let file_number = part.key.file_number;
            ((table.name, PartKey { cell, file_number }), part)
        });
        let by_key: BTreeMap<_, _> = parts.collect();
        let cells = by_key.keys().map(|(_, key)| key.cell).collect();
        Self {
            plan,
            parts: by_key,
            cells,
        }
    }

    /// Whether the source is of the part's cell. Parts of no cell are of any source.
    pub(super) fn has_cell(&self, part: &PartFacts) -> bool {
        part.cell.is_none() || self.cells.contains(&part.cell)
    }

    /// How many parts, and files that are cut into parts, a lake lacks.
    pub(super) fn not_converted(&self, manifest: &Manifest) -> usize {
        let parts = manifest.parts();
        let converted: BTreeSet<_> = parts.map(|(table, part)| (table, part.key())).collect();
        let tables: BTreeSet<&str> = converted.iter().map(|(table, _)| *table).collect();
        let lacking = self.parts.keys().filter(|part| !converted.contains(*part));
        let streams = self.plan.streams.iter().filter(|stream| {
            let mut planned = self.plan.tables_of(stream);
            !planned.any(|table| tables.contains(table.order.table.name))
        });
        lacking.count() + streams.count()
    }
}

/// A source file that is being compared with the parts made from it, in their order.
pub(super) struct SourceFile {
    context: Context,
    order: FieldOrder,
    path: Location,
    /// Whether it is cut into parts.
    is_cut: bool,
    /// Whether it is an archive of parts.
    holds_parts: bool,
    /// One for each length that a part was made of.
    fingerprints: BTreeMap<u64, Fingerprint>,
    /// Rows in a part, if it is cut.
    part_rows: Option<u64>,
    /// `None` before the first part.
    text: Option<SourceText>,
    /// An archive of parts, after the first of them.
    archive: Option<archive::Parts>,
}

impl SourceFile {
    /// Finds the source of `parts`, which are of one table.
    pub(super) fn find(
        context: &Context,
        sources: &Sources<'_>,
        manifest: &Manifest,
        table: &'static Table,
        parts: &[&PartFacts],
    ) -> Result<Self> {
        let plan = sources.plan;
        let first = parts
            .first()
            .expect("parts of one source are at least one part");
        let mut tables = plan.tables.iter();
        let planned = tables.find(|planned| planned.order.table.name == table.name);
        let stream = planned.and_then(|planned| plan.stream_of(planned.index));
        let part = sources.parts.get(&(table.name, first.key()));
        let source = part
            .map(|part| &part.source)
            .or(stream.map(|stream| &stream.source));
        let Some((planned, source)) = planned.zip(source) else {
            let path = escape(first.source.path.as_bytes(), 200);
            return Err(corrupt(format!("its source {path} is missing"))
                .at(&first.output.path)
                .field(table.name)
                .hint("pass the directory that the lake was made from"));
        };
        let path = plan.source.join(source);
        let is_cut = stream.is_some();
        let holds_parts = is_cut && table.files == Files::Named;
        let order = match holds_parts {
            // The names of its members have the captures.
            true => planned.order.clone(),
            false => planned.order.of_file(source)?.into_owned(),
        };
        let lengths: BTreeSet<u64> = parts.iter().map(|part| part.digested(is_cut)).collect();
        Ok(Self {
            context: context.clone(),
            fingerprints: source::fingerprints(context, &path, &lengths)?,
            order,
            path,
            is_cut,
            holds_parts,
            part_rows: stream
                .filter(|_| !holds_parts)
                .and(manifest.origin.options.part_rows),
            text: None,
            archive: None,
        })
    }

    /// The rows of a part, counted from 0; the last part has all that are left.
    fn rows(&self, part: &PartFacts) -> Range<u64> {
        let Some(rows) = self.part_rows else {
            return 0..u64::MAX;
        };
        let number = u64::from(part.file_number);
        let start = number.saturating_mul(rows);
        let is_last = part.of.is_some_and(|of| number + 1 == u64::from(of));
        let end = if is_last {
            u64::MAX
        } else {
            start.saturating_add(rows)
        };
        start..end
    }
}

/// Compares every value of a part with its source; returns how many there are.
pub(super) fn verify_values(
    file: &mut SourceFile,
    table: &'static Table,
    part: &PartFacts,
    output: Output,
    rejects: Option<&Location>,
) -> Result<u64> {
    let length = part.digested(file.is_cut);
    let now = file.fingerprints.get(&length).map(|now| now.sha256);
    if now != Some(part.source.sha256) {
        let reason = format!(
            "has SHA-256 {}, but the lake was made from {}",
            now.map_or_else(String::new, |now| now.to_string()),
            part.source.sha256
        );
        return Err(corrupt(reason).at(&file.path).field(table.name));
    }
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
        let order = file.order.of_file(&path)?;
        let mut rows = PartRows::new(&mut text, &order, range, rejects)?;
        let place = file.path.join(&path);
        return compare_rows(&file.context, &order, &place, part, output, &mut rows);
    }
    let text = match &mut file.text {
        Some(text) => text,
        None => file
            .text
            .insert(SourceText::open(&file.context, &file.path, &file.order)?),
    };
    let mut rows = PartRows::new(text, &file.order, range, rejects)?;
    compare_rows(
        &file.context,
        &file.order,
        &file.path,
        part,
        output,
        &mut rows,
    )
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
    let table = order.table;
    let field_of = |index| {
        let mut fields = order.fields.iter();
        fields.position(|field| field.index == Some(index))
    };
    let fields: Vec<Option<usize>> = (0..table.columns.len()).map(field_of).collect();
    let place = output.path.clone();
    let wrong = |reason: String| Err(corrupt(reason).at(&place).field(table.name));
    let (mut seen, mut mapped, mut floats) = (0, 0, 0);
    let headers = rows.headers_accepted();
    let mut not_selected = 0;
    let mut advance = |rows: &mut PartRows<'_>| {
        while rows.advance()? {
            let is_selected = order.rules.is_empty() || {
                let selected = selected::is_selected(order, &rows.record);
                let at = |reason| corrupt(reason).at(path).line(rows.line(), None);
                selected.map_err(|reason| at(reason).field(table.name))?
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
                return wrong(format!("has {} rows, but its source {seen}", part.rows_out));
            }
            let compared = match table.syntax {
                Syntax::Csv => {
                    floats += count_floats(order, &rows.record);
                    compare(order, &fields, &rows.record, &batch, row)
                        .map(|()| count_other_spellings(order, &rows.record))
                }
                Syntax::Json | Syntax::QuotedCsv => {
                    compare_parsed(order, &rows.record, &batch, row)
                }
            };
            mapped += compared.map_err(|(column, reason)| {
                let row = seen + 1;
                corrupt(format!("{reason}, in row {row} of {}", place))
                    .at(path)
                    .line(rows.line(), None)
                    .field(format!("{}.{}", table.name, column.name))
            })?;
            seen += 1;
        }
    }
    if advance(rows)? {
        return wrong(format!("has {seen} rows, but its source more"));
    }
    if not_selected != part.rows_not_selected.unwrap_or(0) {
        return wrong(format!(
            "{not_selected} rows are not selected, the manifest says {}",
            part.rows_not_selected.unwrap_or(0)
        ));
    }
    if rows.rejected() != part.rows_rejected {
        return wrong(format!(
            "{} rows are rejected, the manifest says {}",
            rows.rejected(),
            part.rows_rejected
        ));
    }
    if mapped != part.sentinels_mapped {
        return wrong(format!(
            "{mapped} values use another spelling of a sentinel, the manifest says {}",
            part.sentinels_mapped
        ));
    }
    if (headers, floats) != (part.headers_accepted, part.integral_floats_accepted) {
        return wrong(format!(
            "{headers} headers and {floats} integers spelled as floats are accepted, the manifest says {} and {}",
            part.headers_accepted, part.integral_floats_accepted
        ));
    }
    Ok(seen * table.columns.len() as u64)
}

/// How many integers of a row are spelled as floats and were accepted on request.
fn count_floats(order: &FieldOrder, record: &ByteRecord) -> u64 {
    if !order.accept.integral_floats {
        return 0;
    }
    let fields = order.fields.iter().zip(record);
    let floats = fields.filter(|(field, text)| {
        let column = field.column;
        let is_kind = matches!(column.kind, Kind::Integer | Kind::Code);
        let is_null = column
            .spelling
            .nulls
            .iter()
            .any(|null| null.as_bytes() == *text);
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
        let sentinels = field.column.sentinels.iter();
        let mut spellings = sentinels.filter_map(|sentinel| sentinel.also);
        spellings.any(|spelling| spelling.as_bytes() == *text)
    });
    others.count() as u64
}

/// Compares one row of the source with one of the lake; `fields` has the field of each column.
fn compare(
    order: &FieldOrder,
    fields: &[Option<usize>],
    record: &ByteRecord,
    batch: &RecordBatch,
    row: usize,
) -> std::result::Result<(), (&'static Column, String)> {
    let columns = order.table.columns;
    if record.len() != order.fields.len() {
        let reason = format!("the source has {} fields", record.len());
        return Err((&columns[0], reason));
    }
    for (index, column) in columns.iter().enumerate() {
        let captured = order.captured(index).map(str::as_bytes);
        let text = fields[index]
            .and_then(|field| record.get(field))
            .or(captured)
            .unwrap_or_default();
        let array = batch.column(index);
        let mut nulls = column.spelling.nulls.iter();
        let is_null = captured.is_none() && nulls.any(|null| null.as_bytes() == text);
        let value = if is_null { &[] } else { text };
        let equal = match (value, array.is_null(row)) {
            (b"", is_null) => is_null,
            (_, true) => false,
            (text, false) => equals(order, column, text, array.as_ref(), row),
        };
        if !equal {
            return Err((column, difference(text, array, row)));
        }
    }
    Ok(())
}

/// Compares one row whose values may be structs and lists; returns how many values use another
/// spelling of a sentinel.
fn compare_parsed(
    order: &FieldOrder,
    record: &ByteRecord,
    batch: &RecordBatch,
    row: usize,
) -> std::result::Result<u64, (&'static Column, String)> {
    let columns = order.table.columns;
    let values = parsed::values(order, record).map_err(|reason| (&columns[0], reason))?;
    let mut others = 0;
    for (column, (value, array)) in columns.iter().zip(values.iter().zip(batch.columns())) {
        if !parsed::equals(column, value, array, row) {
            let text = value.to_string();
            return Err((column, difference(text.as_bytes(), array, row)));
        }
        others += parsed::count_other_spellings(column, value);
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
    match array.data_type() {
        DataType::Timestamp(..) => {
            let values = array.as_primitive::<TimestampMicrosecondType>();
            format!("{} microseconds since 1970", values.value(row))
        }
        DataType::Int64 => array.as_primitive::<Int64Type>().value(row).to_string(),
        DataType::Int32 => array.as_primitive::<Int32Type>().value(row).to_string(),
        DataType::Float64 => format!("{:?}", array.as_primitive::<Float64Type>().value(row)),
        DataType::Boolean => array.as_boolean().value(row).to_string(),
        DataType::Utf8 => array.as_string::<i32>().value(row).to_owned(),
        DataType::List(_) => {
            let items = array.as_list::<i32>().value(row);
            let texts: Vec<_> = (0..items.len()).map(|item| shown(&items, item)).collect();
            format!("[{}]", texts.join(", "))
        }
        DataType::Struct(fields) => {
            let columns = array.as_struct().columns();
            let members = fields.iter().zip(columns);
            let texts: Vec<_> = members
                .map(|(field, column)| format!("{}: {}", field.name(), shown(column, row)))
                .collect();
            format!("{{{}}}", texts.join(", "))
        }
        other => format!("a value of type {other}"),
    }
}

/// Whether a field that isn't empty has the value of an array.
fn equals(order: &FieldOrder, column: &Column, text: &[u8], array: &dyn Array, row: usize) -> bool {
    let Ok(text) = str::from_utf8(text) else {
        return false;
    };
    let is_lenient = order.accept.integral_floats || column.spelling.integral_floats;
    let read = |text| match is_lenient {
        true => number::integral(text),
        false => number::integer(text),
    };
    match column.kind {
        Kind::DateTime(zone) => {
            let values = array.as_primitive::<TimestampMicrosecondType>();
            number::date_time(text, zone) == Some(values.value(row))
        }
        Kind::Integer => {
            let mut sentinels = column.sentinels.iter();
            let sentinel = sentinels.find(|sentinel| sentinel.also == Some(text));
            let expected = sentinel.map_or_else(|| read(text), |sentinel| Some(sentinel.value));
            expected == Some(array.as_primitive::<Int64Type>().value(row))
        }
        Kind::Code => read(text) == Some(i64::from(array.as_primitive::<Int32Type>().value(row))),
        Kind::Float => number::float(text).is_some_and(|expected| {
            expected.to_bits() == array.as_primitive::<Float64Type>().value(row).to_bits()
        }),
        Kind::Boolean => {
            let value = array.as_boolean().value(row);
            text == if value { "1" } else { "0" }
        }
        Kind::Text | Kind::Struct | Kind::List => text == array.as_string::<i32>().value(row),
    }
}

#[cfg(test)]
mod tests {
    use tracelake_convert::part::{ReadProgress, TableText, convert_part};
    use tracelake_core::digest::Digest;
    use tracelake_core::options::Format;
    use tracelake_encode::cell::Cell;
    use tracelake_encode::cell::tests::{TABLE, json_object, mutations, quoted_line};
    use tracelake_encode::output::Encoding;
    use tracelake_lake::manifest::FileFacts;
    use tracelake_schema::arrow::arrow_schema;
    use tracelake_source::Source;

    use super::*;

    static JSON: Table = TABLE;
    static QUOTED: Table = Table {
        syntax: Syntax::QuotedCsv,
        ..TABLE
    };

    fn rows() -> Vec<Vec<Cell>> {
        let text = |text: &str| Cell::Text(text.to_owned());
        let rule = |name, relation| Cell::Struct(vec![text(name), relation]);
        let full = vec![
            Cell::Integer(9_007_199_254_740_993),
            Cell::Code(-1),
            Cell::Float(0.1 + 0.2),
            Cell::Boolean(true),
            text("a \"b\",\nc"),
            Cell::Struct(vec![Cell::Float(1e-5), Cell::Null]),
            Cell::List(vec![
                rule("it's \"\\é", Cell::Code(3)),
                rule("", Cell::Null),
            ]),
            Cell::List([1, 2, 2].map(Cell::Integer).to_vec()),
            text("2024-02-29T23:59:58.000001+08:00"),
        ];
        let mut empty = vec![Cell::Null; full.len()];
        empty[0] = Cell::Integer(1);
        let mut hollow = empty.clone();
        hollow[5] = Cell::Struct(vec![Cell::Null, Cell::Null]);
        hollow[6] = Cell::List(vec![]);
        vec![full, empty, hollow]
    }

    fn text(table: &Table, rows: &[Vec<Cell>]) -> String {
        if table.syntax == Syntax::Json {
            let lines = rows.iter().map(|row| json_object(row, table.columns));
            return lines.map(|line| format!("{line}\n")).collect();
        }
        let header = table.columns.iter().map(|column| column.content);
        let mut text = header.collect::<Vec<_>>().join(",") + "\n";
        for (index, row) in rows.iter().enumerate() {
            text += &(quoted_line(row, index % 2 == 0, false) + "\n");
        }
        text
    }

    /// A source and the lake made from it, in one directory.
    struct Pair {
        directory: tempfile::TempDir,
        order: FieldOrder,
        part: PartFacts,
    }

    impl Pair {
        fn new(table: &'static Table, text: &str) -> Self {
            let directory = tempfile::tempdir().unwrap();
            let order = FieldOrder::built_in(table, "here");
            let path = directory.path().join("source");
            std::fs::write(&path, text).unwrap();
            let mut source = Source::open(&Context::new(), &path).unwrap();
            let mut rejects = Vec::new();
            let mut reading = TableText::new(&mut source, &order, None);
            assert!(reading.next_part().unwrap());
            let (converted, parquet) = convert_part(
                &mut reading,
                &order,
                &arrow_schema(table),
                Encoding::DEFAULT,
                Vec::new(),
                &mut |bad| {
                    rejects.extend(bad.to_json()?);
                    Ok(())
                },
                &mut ReadProgress::new(&Context::new()),
            )
            .unwrap();
            std::fs::write(directory.path().join("lake"), parquet).unwrap();
            std::fs::write(directory.path().join("rejects"), rejects).unwrap();
            let none = || FileFacts {
                path: String::new(),
                bytes: 0,
                sha256: Digest::of(b""),
            };
            let key = PartKey {
                cell: None,
                file_number: 0,
            };
            let mut part = PartFacts::new(key, none(), none());
            part.rows_in = converted.rows_in;
            part.rows_out = converted.rows_out;
            part.rows_rejected = converted.rows_rejected;
            part.sentinels_mapped = converted.sentinels_mapped;
            Self {
                directory,
                order,
                part,
            }
        }

        /// Compares the lake with another text than the one that it was made from.
        fn verify(&mut self, text: &str) -> Result<u64> {
            let path = |name: &str| self.directory.path().join(name);
            std::fs::write(path("source"), text).unwrap();
            let fingerprint = source::fingerprint(&Context::new(), path("source")).unwrap();
            self.part.source.sha256 = fingerprint.sha256;
            let mut file = SourceFile {
                context: Context::new(),
                is_cut: false,
                holds_parts: false,
                order: self.order.clone(),
                path: path("source").into(),
                fingerprints: [(u64::MAX, fingerprint)].into(),
                part_rows: None,
                text: None,
                archive: None,
            };
            let output = Output::open(&path("lake").into(), Format::Parquet).unwrap();
            output.check_statistics(&Context::new()).unwrap();
            let rejects = path("rejects");
            verify_values(
                &mut file,
                self.order.table,
                &self.part,
                output,
                Some(&rejects.clone().into()),
            )
        }
    }

    #[test]
    fn every_mutation_of_a_nested_value_is_found() {
        for table in [&JSON, &QUOTED] {
            let rows = rows();
            let mut pair = Pair::new(table, &text(table, &rows));
            assert_eq!(pair.part.rows_out, 3);
            assert_eq!(pair.verify(&text(table, &rows)).unwrap(), 27);
            let mut tried = 0;
            for (row, cells) in rows.iter().enumerate() {
                for (index, column) in table.columns.iter().enumerate() {
                    for other in mutations(&cells[index], column) {
                        let mut mutated = rows.clone();
                        mutated[row][index] = other;
                        let error = pair.verify(&text(table, &mutated)).unwrap_err();
                        let expected = format!("{}.{}", table.name, column.name);
                        assert_eq!(error.place().field, Some(expected), "{error}");
                        // The first row takes two lines.
                        let quoted = table.syntax == Syntax::QuotedCsv;
                        let lines = text(table, &mutated[..row]).lines().count();
                        assert_eq!(
                            error.place().line,
                            Some(lines as u64 + 1),
                            "{error} {quoted}"
                        );
                        tried += 1;
                    }
                }
                let mut dropped = rows.clone();
                dropped.remove(row);
                pair.verify(&text(table, &dropped)).unwrap_err();
            }
            assert!(tried > 40, "{tried}");
        }
    }

    /// Spellings that the documented rule allows and that libraries read in another way or not at all.
    #[test]
    fn honest_spellings_are_no_findings() {
        let (numbers, [first, second]) = (|text: &str| text.to_owned(), [0, 7]);
        let contents = |column: usize| TABLE.columns[column].content;
        let json = format!(
            "{{\"{}\":-0,\"{}\":[\"007\",-0,\"00\"]}}\n",
            contents(first),
            contents(second)
        );
        let mut header = TABLE
            .columns
            .iter()
            .map(|column| column.content)
            .collect::<Vec<_>>()
            .join(",");
        let inner = TABLE.columns[5].fields[0].content;
        header.push('\n');
        let quoted = format!("{header}-0,007,007,,,\"{{'{inner}': 007}}\",,\"[007, 00, -0]\",\n");
        for (table, text) in [(&JSON, numbers(&json)), (&QUOTED, numbers(&quoted))] {
            let mut pair = Pair::new(table, &text);
            assert_eq!(
                (pair.part.rows_out, pair.part.rows_rejected),
                (1, 0),
                "{text}"
            );
            assert_eq!(pair.verify(&text).unwrap(), 9, "{text}");
            let other = text.replace("007", "008");
            pair.verify(&other).unwrap_err();
        }
    }

    #[test]
    fn rejected_rows_are_left_out_whole() {
        let good = text(&QUOTED, &rows());
        let bad = "x,,,,\"two\nlines\",,,,\n\n1,,,,a\"b,,,,\n";
        let text = good.clone() + bad + good.split_once('\n').unwrap().1;
        let mut pair = Pair::new(&QUOTED, &text);
        assert_eq!((pair.part.rows_in, pair.part.rows_rejected), (9, 3));
        assert_eq!(pair.verify(&text).unwrap(), 54);
        let error = pair
            .verify(&text.replace("two\nlines", "two\nlinez"))
            .unwrap_err();
        assert!(
            error.to_string().contains("not as in the rejects file"),
            "{error}"
        );
    }
}
