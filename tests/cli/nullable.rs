//! Which columns may be empty: all of them, unless the catalog says why one never is.

use std::fs;

use arrow_array::Array;
use tracelake_schema::{Files, TRACES};

use tracelake_testkit::{
    Scratch, output_path, outside, plain_whole_tables, read_output, rows, shared,
};

/// Without proof that a column always has a value, a row of nothing but NULLs is a row.
#[test]
fn a_table_without_mandatory_columns_accepts_a_row_of_empty_fields() {
    let open = plain_whole_tables().filter(|table| table.required.is_none());
    let mut seen = 0;
    for table in open {
        let text = rows::sample(table, 0, 5) + &",".repeat(table.fields.len() - 1) + "\n";
        let scratch = Scratch::new();
        scratch.file(&format!("{}.csv", table.name), text.as_bytes());
        scratch.convert_well(&[]);
        let lake = read_output(&scratch.out().join(whole_output(&table.name)));
        assert_eq!(lake.num_rows(), 6, "{}", table.name);
        assert!(lake.columns().iter().all(|column| column.is_null(5)));
        seen += 1;
    }
    assert!(seen > 0);
}

fn whole_output(table: &str) -> String {
    output_path(table, 0, 1).replace("-of-00001", "")
}

/// The first rows of the published container_usage, most of which name no container.
#[test]
#[cfg_attr(
    not(published_data),
    ignore = "needs the published data in ../shared/data"
)]
fn the_published_head_of_container_usage_converts() {
    let text = fs::read_to_string(shared("alibaba-2018-head/container_usage.csv")).unwrap();
    let nameless = text.lines().filter(|line| line.starts_with(',')).count();
    assert!(nameless > 1_000);
    let scratch = Scratch::new();
    scratch.file("container_usage.csv", text.as_bytes());
    scratch.convert_well(&[]);
    let lake = read_output(&scratch.out().join(whole_output("container_usage")));
    assert_eq!(lake.num_rows(), text.lines().count());
    assert_eq!(lake.column(0).null_count(), nameless);
}

/// Published rows fill the columns that the catalog makes mandatory.
#[test]
#[cfg_attr(
    not(published_data),
    ignore = "needs the published data in ../shared/data"
)]
fn published_rows_fill_their_mandatory_columns() {
    let mut lines = 0;
    for trace in TRACES {
        for table in &trace.tables {
            let path = outside("data").join(format!("{}/{}.csv", trace.family, table.name));
            if table.files != Files::Whole || !path.exists() {
                continue;
            }
            let text = fs::read_to_string(path).unwrap();
            for line in text.lines() {
                for (&index, field) in table.fields.iter().zip(line.split(',')) {
                    let column = &table.columns[index];
                    assert!(!column.mandatory || !field.is_empty(), "{line}");
                }
                lines += 1;
            }
        }
    }
    assert!(lines > 0);
}
