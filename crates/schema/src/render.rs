//! Descriptions of a trace and its tables for people, for programs and for databases.
//!
//! Each function takes a trace and, to describe only one table, that table. The text ends with a
//! newline and depends only on the arguments.

mod checks;
mod delta;
mod json;
mod markdown;
mod sql;
mod text;

pub use checks::checks;
pub use delta::delta_schema_json;
pub use json::json;
pub use markdown::{anomalies, dictionary, markdown, markdown_text, table_section};
pub use sql::{
    LakeFile, duckdb, duckdb_of_lake, duckdb_pattern, duckdb_views, spark, spark_named,
    spark_of_lake, spark_pattern,
};
pub use text::{WIDTH, overview, text};

use crate::{Column, Files, Kind, Published, Table, Trace};

/// A column that the directories of a partitioned lake add to a table.
struct Partition {
    name: &'static str,
    doc: String,
    /// Its value, from the name of a file in DuckDB; NULL where the name doesn't say.
    in_duckdb: &'static str,
    spark_type: &'static str,
}

/// The columns that the directories of a partitioned lake add to a table, the outermost first.
fn partitions(trace: &Trace, table: &Table) -> Vec<Partition> {
    const PLACE: &str = "It is in the path of the file, not in the file.";
    let cell = trace.cells_of(table).map(|cells| Partition {
        name: "cell",
        doc: format!("{} {PLACE}", cells.doc),
        in_duckdb: "NULLIF(regexp_extract(filename, \
                 '[/\\\\]cell=([a-z0-9_]+)[/\\\\](file_number=[0-9]+[/\\\\])?[^/\\\\]*$', 1), '')",
        spark_type: "STRING",
    });
    let number = Partition {
        name: "file_number",
        doc: format!("Number of the part that the row was published in. {PLACE}"),
        in_duckdb: "CAST(regexp_extract(filename, 'part-([0-9]+)[^/\\\\]*$', 1) AS INTEGER)",
        spark_type: "INT",
    };
    cell.into_iter().chain([number]).collect()
}

/// The one table that was asked for, or all tables with the derived ones last.
fn chosen_tables<'a>(trace: &'a Trace, table: Option<&'a Table>) -> Vec<&'a Table> {
    match table {
        Some(table) => vec![table],
        None => trace.all_tables().map(|table| &**table).collect(),
    }
}

/// The number of a column's field in a file, counted from 1; `None` if the files lack the column.
fn field_number(table: &Table, column: usize) -> Option<usize> {
    let position = table.row_fields().position(|(index, _)| index == column);
    position.map(|position| position + 1)
}

/// A column and everything nested in it, each with its path, such as `usage.cpus`. `[]` is the path of
/// a list's item.
fn with_nested(column: &Column) -> Vec<(String, &Column)> {
    let mut found = vec![(column.name.to_owned(), column)];
    for field in &column.fields {
        for (path, nested) in with_nested(field) {
            let path = match column.kind {
                Kind::List => format!(
                    "{}[]{}",
                    column.name,
                    path.strip_prefix(&*field.name).unwrap_or_default()
                ),
                _ => format!("{}.{path}", column.name),
            };
            found.push((path, nested));
        }
    }
    found
}

/// How a table was published: `500 parts`, `1 file`.
fn extent(table: &Table) -> String {
    match (table.files, table.parts) {
        (Files::Parts | Files::Shards | Files::Named, 1) => "1 part".to_owned(),
        (Files::Parts | Files::Shards | Files::Named, 0) => "an unknown number of parts".to_owned(),
        (Files::Parts | Files::Shards | Files::Named, parts) => format!("{parts} parts"),
        (Files::Whole, _) => "1 file".to_owned(),
        (Files::Derived, _) => "no file, because it is derived".to_owned(),
    }
}

/// How many rows were published, and who counted them.
fn published(table: &Table) -> String {
    match &table.published {
        Some(Published {
            rows,
            confidence,
            source,
            ..
        }) => format!(
            "Published rows: {} ({}). {source}",
            group_digits(*rows),
            confidence.name()
        ),
        None => "The number of published rows is unknown.".to_owned(),
    }
}

/// Known facts about the shards of single cells, a sentence per cell.
fn shards(table: &Table) -> Vec<String> {
    let sentences = table.shards.iter().map(|one| {
        let plural = if one.count == 1 { "" } else { "s" };
        let end = one.rows.as_ref().map_or(".".to_owned(), |rows| {
            let (count, confidence) = (group_digits(rows.rows), rows.confidence.name());
            format!(", {count} rows ({confidence}). {}", rows.source)
        });
        format!(
            "Cell {}: {} shard{plural}{end}",
            one.cell,
            group_digits(u64::from(one.count))
        )
    });
    sentences.collect()
}

/// A number with commas between its thousands.
///
/// ```
/// assert_eq!(tracelake_schema::render::group_digits(1_232_799_308), "1,232,799,308");
/// assert_eq!(tracelake_schema::render::group_digits(999), "999");
/// ```
#[must_use]
pub fn group_digits(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Meaning, unit, codes and special values of a column in one text, for formats that have one comment
/// per column.
#[must_use]
pub fn remark(column: &Column) -> String {
    let mut remark = column.comment();
    for (sort, values) in named_values(column) {
        let values = values
            .iter()
            .map(|(value, name, _)| format!("{value} {name}"));
        remark.push_str(&format!(
            " {sort}: {}.",
            values.collect::<Vec<_>>().join(", ")
        ));
    }
    if !column.invalid.is_empty() {
        remark.push_str(&format!(" Invalid: {}.", invalid(column)));
    }
    remark
}

/// The values of a column that have names, by sort: each with its name and its meaning. A range has bounds such as
/// `100 to 115` or `from 360`.
fn named_values(
    column: &Column,
) -> impl Iterator<Item = (&'static str, Vec<(String, &str, &str)>)> {
    let codes = column.codes.iter();
    let codes = codes.map(|one| (one.value.to_string(), &*one.name, &*one.doc));
    let sentinels = column.sentinels.iter();
    let sentinels = sentinels.map(|one| (one.value.to_string(), &*one.name, &*one.doc));
    let ranges = column.ranges.iter().map(|range| {
        let span = match range.to {
            Some(to) if to == range.from => to.to_string(),
            Some(to) => format!("{} to {to}", range.from),
            None => format!("from {}", range.from),
        };
        (span, &*range.name, &*range.doc)
    });
    let sorts = [
        ("Codes", codes.collect::<Vec<_>>()),
        ("Special values", sentinels.collect()),
        ("Ranges", ranges.collect()),
    ];
    sorts.into_iter().filter(|(_, values)| !values.is_empty())
}

/// The values that mark a measurement as invalid, separated by commas.
fn invalid(column: &Column) -> String {
    let values = column.invalid.iter().map(i64::to_string);
    values.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TRACES;

    fn terminal(trace: &Trace, table: Option<&Table>) -> String {
        text(trace, table, WIDTH)
    }

    /// A function that describes a trace or one of its tables.
    type Render = fn(&Trace, Option<&Table>) -> String;

    #[test]
    fn every_form_describes_every_table_and_ends_with_a_line_break() {
        let forms: [Render; 5] = [terminal, json, markdown, duckdb, spark];
        for trace in TRACES {
            for form in forms {
                let whole = form(trace, None);
                assert!(whole.ends_with('\n') && !whole.ends_with("\n\n"));
                for table in &trace.tables {
                    let alone = form(trace, Some(table));
                    assert!(alone.ends_with('\n') && !alone.ends_with("\n\n"));
                    for column in &*table.columns {
                        assert!(whole.contains(&*column.name), "{}", column.name);
                        assert!(alone.contains(&*column.name), "{}", column.name);
                    }
                }
            }
        }
    }

    #[test]
    fn numbers_have_commas() {
        let written = [0, 999, 1_000, 37_780, 1_232_799_308].map(group_digits);
        assert_eq!(written, ["0", "999", "1,000", "37,780", "1,232,799,308"]);
    }

    #[test]
    fn published_counts_have_a_source() {
        for trace in TRACES {
            for table in &trace.tables {
                let forms: [Render; 2] = [terminal, markdown];
                // A text for a terminal is wrapped.
                let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
                for form in forms {
                    assert!(words(&form(trace, Some(table))).contains(&words(&published(table))));
                }
            }
        }
        let mut table = (*TRACES[0].tables[0]).clone();
        table.published = None;
        assert!(text(&TRACES[0], Some(&table), WIDTH).contains("published rows is unknown"));
    }

    #[test]
    fn fields_are_counted_from_one() {
        let table = &TRACES[0].tables[0];
        assert_eq!(field_number(table, table.fields[0]), Some(1));
        assert_eq!(field_number(table, table.columns.len()), None);
    }
}
