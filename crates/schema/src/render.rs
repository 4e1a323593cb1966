//! Descriptions of a trace and its tables for people, for programs and for databases.
//!
//! Each function takes a trace and, if only one is asked for, one of its tables; the text ends with
//! a line break and depends on nothing but its arguments.

mod json;
mod markdown;
mod sql;
mod text;

pub use json::json;
pub use markdown::{anomalies, dictionary, markdown, table_section};
pub use sql::{duckdb, spark};
pub use text::{overview, text};

use crate::{Column, Table, Trace};

/// The column that the directories of a partitioned lake add to every table.
const PARTITION: &str = "file_number";
const PARTITION_DOC: &str = "Number of the part that the row was published in; it comes from the \
                             directory, the files do not hold it.";

/// The table that is asked for, or all of them.
fn asked<'a>(trace: &'a Trace, table: Option<&'a Table>) -> &'a [Table] {
    table.map_or(trace.tables, std::slice::from_ref)
}

/// The number of a column's field in a file, from 1, as `schema.csv` counts; none if it is absent.
fn field_number(table: &Table, column: usize) -> Option<usize> {
    table
        .fields
        .iter()
        .position(|index| *index == column)
        .map(|position| position + 1)
}

/// Meaning, unit, codes and special values in one text, for places that hold one text per column.
#[must_use]
pub fn remark(column: &Column) -> String {
    let mut remark = column.comment();
    if !column.codes.is_empty() {
        let codes = column
            .codes
            .iter()
            .map(|code| format!("{} {}", code.value, code.name));
        remark.push_str(&format!(
            " Codes: {}.",
            codes.collect::<Vec<_>>().join(", ")
        ));
    }
    if !column.sentinels.is_empty() {
        let values = column
            .sentinels
            .iter()
            .map(|one| format!("{} {}", one.value, one.name));
        remark.push_str(&format!(
            " Special values: {}.",
            values.collect::<Vec<_>>().join(", ")
        ));
    }
    remark
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TRACES;

    /// A way to describe a trace or one table of it.
    type Render = fn(&Trace, Option<&Table>) -> String;

    #[test]
    fn every_form_describes_every_table_and_ends_with_a_line_break() {
        let forms: [Render; 5] = [text, json, markdown, duckdb, spark];
        for trace in TRACES {
            for form in forms {
                let whole = form(trace, None);
                assert!(whole.ends_with('\n') && !whole.ends_with("\n\n"));
                for table in trace.tables {
                    let alone = form(trace, Some(table));
                    assert!(alone.ends_with('\n') && !alone.ends_with("\n\n"));
                    for column in table.columns {
                        assert!(whole.contains(column.name), "{}", column.name);
                        assert!(alone.contains(column.name), "{}", column.name);
                    }
                }
            }
        }
    }

    #[test]
    fn fields_are_counted_from_one() {
        let table = &TRACES[0].tables[0];
        assert_eq!(field_number(table, table.fields[0]), Some(1));
        assert_eq!(field_number(table, table.columns.len()), None);
    }
}
