//! Every value of a part against its source, by the standard library.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::path::{Path, PathBuf};

use arrow::array::{Array, AsArray, RecordBatch};
use arrow::datatypes::{Float64Type, Int32Type, Int64Type};
use csv::ByteRecord;
use tracelake_schema::{Column, Kind, Syntax, Table};

use super::corrupt;
use super::nested;
use super::plain::{GoodLines, PlainRows, open_text};
use crate::error::{Result, escape};
use crate::lake_file::LakeFile;
use crate::layout::Layout;
use crate::manifest::{Manifest, PartFacts};
use crate::plan::Plan;
use crate::source::{self, Fingerprint};

/// A source file that is being compared with the parts made from it, in their order.
pub(super) struct Original<'a> {
    layout: &'a Layout,
    path: PathBuf,
    /// Whether it is cut into parts.
    is_cut: bool,
    /// Of each length that it was read up to.
    fingerprints: BTreeMap<u64, Fingerprint>,
    /// Rows in a part, if it is cut.
    part_rows: Option<u64>,
    /// `None` before the first part.
    text: Option<GoodLines>,
}

impl<'a> Original<'a> {
    /// The source of parts of one table.
    pub(super) fn find(
        plan: &'a Plan,
        manifest: &Manifest,
        table: &'static Table,
        parts: &[&PartFacts],
    ) -> Result<Self> {
        let missing = |part: &PartFacts| {
            corrupt(format!(
                "its source {} is not there",
                escape(part.source.path.as_bytes(), 200)
            ))
            .at(&part.output.path)
            .field(table.name)
            .hint("name the directory that the lake was made from")
        };
        let index = plan
            .tables
            .iter()
            .position(|planned| planned.layout.table.name == table.name);
        let stream = index.and_then(|index| plan.stream_of(index));
        let found = index.zip(parts.first()).and_then(|(index, part)| {
            let planned = &plan.tables[index];
            let mut parts = planned.parts.iter();
            let part = parts.find(|found| found.file_number == part.file_number);
            let source = part
                .map(|part| &part.source)
                .or(stream.map(|stream| &stream.source));
            Some((&planned.layout, plan.source.join(source?)))
        });
        let Some((layout, path)) = found else {
            return Err(parts
                .first()
                .map_or_else(|| corrupt("a table of no parts"), |p| missing(p)));
        };
        let is_cut = stream.is_some();
        let lengths: BTreeSet<u64> = parts.iter().map(|part| part.digested(is_cut)).collect();
        let fingerprints = source::fingerprints(&path, &lengths, None)?;
        Ok(Self {
            layout,
            path,
            is_cut,
            fingerprints: lengths.into_iter().zip(fingerprints).collect(),
            part_rows: stream.and(manifest.origin.options.part_rows),
            text: None,
        })
    }

    /// The rows of a part, counted from 0; whatever the last one has belongs to it.
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

/// Compares every value of a part with its source.
pub(super) fn verify_values(
    original: &mut Original<'_>,
    table: &'static Table,
    part: &PartFacts,
    (output, rejects): (&Path, Option<&Path>),
    lake: LakeFile,
) -> Result<u64> {
    let length = part.digested(original.is_cut);
    let now = original.fingerprints.get(&length).map(|now| &now.sha256);
    if now != Some(&part.source.sha256) {
        let reason = format!(
            "has SHA-256 {}, but the lake was made from {}",
            now.map_or("", |now| now),
            part.source.sha256
        );
        return Err(corrupt(reason).at(&original.path).field(table.name));
    }
    let text = match original.text.take() {
        Some(text) => text,
        None => open_text(&original.path, table.name)?,
    };
    let rows = original.rows(part);
    let mut rows = PlainRows::new(text, &original.path, original.layout, rows, rejects)?;
    let compared = compare_rows(original, table, part, output, lake, &mut rows);
    original.text = Some(rows.into_text());
    compared
}

/// Compares the rows of a part with those of its source.
fn compare_rows(
    Original { layout, path, .. }: &Original<'_>,
    table: &'static Table,
    part: &PartFacts,
    output: &Path,
    lake: LakeFile,
    rows: &mut PlainRows,
) -> Result<u64> {
    let field_of = |index| layout.fields.iter().position(|field| field.index == index);
    let fields: Vec<Option<usize>> = (0..table.columns.len()).map(field_of).collect();
    let broken = |error: String| corrupt(format!("cannot be read: {error}")).at(output);
    let batches = lake.batches(None);
    let batches = batches.map_err(|error| broken(error.to_string()))?;
    let (mut seen, mut mapped) = (0, 0);
    for batch in batches {
        let batch = batch.map_err(|error| broken(error.to_string()))?;
        for row in 0..batch.num_rows() {
            if !rows.advance()? {
                let reason = format!("has {} rows, but its source {seen}", part.rows_out);
                return Err(corrupt(reason).at(output).field(table.name));
            }
            let compared = match table.syntax {
                Syntax::Csv => compare(layout, &fields, &rows.record, &batch, row)
                    .map(|()| spelled_otherwise(layout, &rows.record)),
                Syntax::Json | Syntax::QuotedCsv => {
                    compare_nested(layout, &rows.record, &batch, row)
                }
            };
            mapped += compared.map_err(|(column, reason)| {
                corrupt(format!(
                    "{reason}, in row {} of {}",
                    seen + 1,
                    output.display()
                ))
                .at(path)
                .line(rows.line(), None)
                .field(format!("{}.{}", table.name, column.name))
            })?;
            seen += 1;
        }
    }
    if rows.advance()? {
        let reason = format!("has {seen} rows, but its source more");
        return Err(corrupt(reason).at(output).field(table.name));
    }
    if rows.rejected() != part.rows_rejected {
        let reason = format!(
            "{} rows are rejected, the manifest says {}",
            rows.rejected(),
            part.rows_rejected
        );
        return Err(corrupt(reason).at(output).field(table.name));
    }
    if mapped != part.sentinels_mapped {
        let reason = format!(
            "{mapped} sentinels are spelled otherwise, the manifest says {}",
            part.sentinels_mapped
        );
        return Err(corrupt(reason).at(output).field(table.name));
    }
    Ok(seen * table.columns.len() as u64)
}

/// How many fields of a row spell a sentinel in another way.
fn spelled_otherwise(layout: &Layout, record: &ByteRecord) -> u64 {
    let spelled = layout.fields.iter().zip(record).filter(|(field, text)| {
        let others = field
            .column
            .sentinels
            .iter()
            .filter_map(|sentinel| sentinel.also);
        others.into_iter().any(|also| also.as_bytes() == *text)
    });
    spelled.count() as u64
}

/// Compares one row of the source with one of the lake; `fields` has the field of each column.
fn compare(
    layout: &Layout,
    fields: &[Option<usize>],
    record: &ByteRecord,
    batch: &RecordBatch,
    row: usize,
) -> std::result::Result<(), (&'static Column, String)> {
    let columns = layout.table.columns;
    if record.len() != layout.fields.len() {
        let reason = format!("the source has {} fields", record.len());
        return Err((&columns[0], reason));
    }
    for (index, column) in columns.iter().enumerate() {
        let text = fields[index]
            .and_then(|field| record.get(field))
            .unwrap_or_default();
        let array = batch.column(index);
        let found = if array.is_null(row) {
            None
        } else {
            Some(array)
        };
        let equal = match (text, found) {
            (b"", None) => true,
            (b"", Some(_)) | (_, None) => false,
            (text, Some(array)) => equals(column, text, array.as_ref(), row),
        };
        if !equal {
            return Err((column, difference(text, array, row)));
        }
    }
    Ok(())
}

/// The same where values may hold others; gives how many spell a sentinel in another way.
fn compare_nested(
    layout: &Layout,
    record: &ByteRecord,
    batch: &RecordBatch,
    row: usize,
) -> std::result::Result<u64, (&'static Column, String)> {
    let columns = layout.table.columns;
    let values = nested::values(layout, record).map_err(|reason| (&columns[0], reason))?;
    let mut mapped = 0;
    for (column, (value, array)) in columns.iter().zip(values.iter().zip(batch.columns())) {
        if !nested::equals(column, value, array, row) {
            let text = value.to_string();
            return Err((column, difference(text.as_bytes(), array, row)));
        }
        mapped += nested::spelled_otherwise(column, value);
    }
    Ok(mapped)
}

/// What the source has and what the lake has.
fn difference(source: &[u8], array: &dyn Array, row: usize) -> String {
    let shown = arrow::util::display::array_value_to_string(array, row);
    let lake = if array.is_null(row) {
        "NULL".to_owned()
    } else {
        shown.unwrap_or_default()
    };
    format!("the source has '{}', the lake {lake}", escape(source, 80))
}

/// Whether a field that is not empty means the value of an array, by the standard library.
fn equals(column: &Column, text: &[u8], array: &dyn Array, row: usize) -> bool {
    let Ok(text) = str::from_utf8(text) else {
        return false;
    };
    match column.kind {
        Kind::Integer => {
            let sentinel = column
                .sentinels
                .iter()
                .find(|sentinel| sentinel.also == Some(text));
            let expected =
                sentinel.map_or_else(|| text.parse().ok(), |sentinel| Some(sentinel.value));
            expected == Some(array.as_primitive::<Int64Type>().value(row))
        }
        Kind::Code => text.parse() == Ok(array.as_primitive::<Int32Type>().value(row)),
        Kind::Float => text.parse().is_ok_and(|expected: f64| {
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
    use tracelake_schema::arrow::arrow_schema;

    use super::*;
    use crate::cell::Cell;
    use crate::cell::tests::{TABLE, json_object, mutations, quoted_line};
    use crate::manifest::FileFacts;
    use crate::output::{Encoding, Format};
    use crate::part::{Text, convert_part};
    use crate::source::Source;

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
        ];
        let mut empty = vec![Cell::Null; 8];
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

    /// A source and the lake that was made of it, in one directory.
    struct Pair {
        directory: tempfile::TempDir,
        layout: Layout,
        part: PartFacts,
    }

    impl Pair {
        fn new(table: &'static Table, text: &str) -> Self {
            let directory = tempfile::tempdir().unwrap();
            let layout = Layout::built_in(table, "here");
            let path = directory.path().join("source");
            std::fs::write(&path, text).unwrap();
            let mut source = Source::open(&path).unwrap();
            let mut rejects = Vec::new();
            let mut reading = Text::new(&mut source, &layout, None);
            assert!(reading.next_part().unwrap());
            let (converted, parquet) = convert_part(
                &mut reading,
                &layout,
                &arrow_schema(table),
                Encoding::DEFAULT,
                Vec::new(),
                &mut |bad| {
                    rejects.extend(bad.to_json()?);
                    Ok(())
                },
                &mut |_| Ok(()),
            )
            .unwrap();
            std::fs::write(directory.path().join("lake"), parquet).unwrap();
            std::fs::write(directory.path().join("rejects"), rejects).unwrap();
            let none = || FileFacts {
                path: String::new(),
                bytes: 0,
                sha256: String::new(),
            };
            let part = PartFacts {
                file_number: 0,
                of: None,
                left_out: None,
                source: none(),
                rows_in: converted.rows_in,
                rows_out: converted.rows_out,
                rows_rejected: converted.rows_rejected,
                sentinels_mapped: converted.sentinels_mapped,
                time_min: None,
                time_max: None,
                output: none(),
                rejects: None,
            };
            Self {
                directory,
                layout,
                part,
            }
        }

        /// Holds the lake against another text than the one that it was made of.
        fn verify(&mut self, text: &str) -> Result<u64> {
            let path = |name: &str| self.directory.path().join(name);
            std::fs::write(path("source"), text).unwrap();
            let fingerprint = source::fingerprint(&path("source")).unwrap();
            self.part.source.sha256.clone_from(&fingerprint.sha256);
            let mut original = Original {
                is_cut: false,
                layout: &self.layout,
                path: path("source"),
                fingerprints: [(u64::MAX, fingerprint)].into(),
                part_rows: None,
                text: None,
            };
            let (output, rejects) = (path("lake"), path("rejects"));
            let lake = LakeFile::open(&output, Format::Parquet).unwrap();
            let files = (output.as_path(), Some(rejects.as_path()));
            verify_values(&mut original, self.layout.table, &self.part, files, lake)
        }
    }

    #[test]
    fn every_mutation_of_a_nested_value_is_found() {
        for table in [&JSON, &QUOTED] {
            let rows = rows();
            let mut pair = Pair::new(table, &text(table, &rows));
            assert_eq!(pair.part.rows_out, 3);
            assert_eq!(pair.verify(&text(table, &rows)).unwrap(), 24);
            let mut tried = 0;
            for (row, cells) in rows.iter().enumerate() {
                for (index, column) in table.columns.iter().enumerate() {
                    for other in mutations(&cells[index], column) {
                        let mut mutated = rows.clone();
                        mutated[row][index] = other;
                        let error = pair.verify(&text(table, &mutated)).unwrap_err();
                        let expected = format!("{}.{}", table.name, column.name);
                        assert_eq!(error.place().field, Some(expected), "{error}");
                        // The first row has two lines of its own.
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

    #[test]
    fn rejected_rows_are_left_out_whole() {
        let good = text(&QUOTED, &rows());
        let bad = "x,,,,\"two\nlines\",,,\n\n1,,,,a\"b,,,\n";
        let text = good.clone() + bad + good.split_once('\n').unwrap().1;
        let mut pair = Pair::new(&QUOTED, &text);
        assert_eq!((pair.part.rows_in, pair.part.rows_rejected), (9, 3));
        assert_eq!(pair.verify(&text).unwrap(), 48);
        let error = pair
            .verify(&text.replace("two\nlines", "two\nlinez"))
            .unwrap_err();
        assert!(
            error.to_string().contains("not as in the rejects file"),
            "{error}"
        );
    }
}
