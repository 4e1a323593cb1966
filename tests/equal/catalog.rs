//! The catalog says what the publisher's own schema says.

use std::fs;

use tracelake_schema::{TRACES, Trace};

use tracelake_testkit::outside;

#[test]
#[cfg_attr(not(published_data), ignore = "needs ../shared/data")]
fn the_catalog_equals_the_published_schema() {
    let mut compared = 0_u32;
    for (index, trace) in TRACES.iter().enumerate() {
        // A schema.csv is that of the newest version, which comes first.
        let is_newest = TRACES
            .iter()
            .take(index)
            .all(|newer| newer.family != trace.family);
        let path = outside("data").join(&trace.family).join("schema.csv");
        if is_newest && path.exists() {
            check(trace, &fs::read_to_string(path).unwrap());
            compared += 1;
        }
    }
    assert!(compared > 0);
}

#[track_caller]
fn check(trace: &Trace, schema_csv: &str) {
    let mut published = schema_csv.lines().skip(1);
    for table in &trace.tables {
        for (index, field) in table.fields.iter().enumerate() {
            let column = &table.columns[*field];
            let line: Vec<&str> = published.next().unwrap().split(',').collect();
            let mandatory = if column.mandatory { "YES" } else { "NO" };
            let number = (index + 1).to_string();
            assert!(
                line[0].starts_with(&format!("{}/part-", table.name)),
                "{line:?}"
            );
            assert_eq!(
                line[1..],
                [&number, &column.content, &column.format, mandatory]
            );
        }
    }
    assert_eq!(published.next(), None);
}
