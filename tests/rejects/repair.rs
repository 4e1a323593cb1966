//! Rejects that are mended and fed back, as docs/internals/reliability.md says.

use std::collections::BTreeMap;

use crate::rejects::account::rejects;
use tracelake_testkit::{
    Scratch, convert, output_path, part_path, read_output, rows, trace, value_text,
};

/// The rows of all parts of a table as text, counted.
fn rows_of(out: &std::path::Path, table: &str, total: u32, into: &mut BTreeMap<String, usize>) {
    for number in 0..total {
        let path = out.join(output_path(table, number, total));
        if !path.exists() {
            continue;
        }
        let batch = read_output(&path);
        for row in 0..batch.num_rows() {
            let columns = batch.columns().iter();
            let values = columns.map(|column| value_text(column, row));
            *into
                .entry(values.collect::<Vec<_>>().join("|"))
                .or_default() += 1;
        }
    }
}

#[test]
fn mended_rejects_make_the_lake_whole() {
    let (whole, broken, mended) = (Scratch::new(), Scratch::new(), Scratch::new());
    for table in &trace().tables {
        let total = table.parts.min(2);
        for number in 0..total {
            let text = rows::sample(table, number, 200);
            whole.part(&table.name, number, total, text.as_bytes());
            let broken_rows = text.lines().enumerate().map(|(row, line)| match row % 9 {
                2 => format!("{line},bad\n"),
                4 => format!("+{line}\n"),
                _ => format!("{line}\n"),
            });
            broken.part(
                &table.name,
                number,
                total,
                broken_rows.collect::<String>().as_bytes(),
            );
        }
    }
    whole.convert_well(&[]);
    broken.convert(&["--on-bad-row", "reject"]).exits(3);
    // The raw rows, mended, under the name of the part that they come from.
    let mut fed_back = 0;
    for table in &trace().tables {
        let total = table.parts.min(2);
        for number in 0..total {
            let raw = rejects(&broken.out(), &table.name, number, total);
            fed_back += raw.len();
            let rows = raw.iter().map(|reject| {
                let row = std::str::from_utf8(&reject.raw).unwrap();
                let row = row.trim_start_matches('+').trim_end_matches(",bad");
                format!("{row}\n")
            });
            let text: String = rows.collect();
            let path = part_path(&table.name, number, total);
            mended.file(&path, &tracelake_testkit::gzip(text.as_bytes()));
        }
    }
    convert(&mended.src(), &mended.out(), &["--allow-missing"]).well();
    for table in &trace().tables {
        let total = table.parts.min(2);
        let (mut expected, mut union) = (BTreeMap::new(), BTreeMap::new());
        rows_of(&whole.out(), &table.name, total, &mut expected);
        rows_of(&broken.out(), &table.name, total, &mut union);
        rows_of(&mended.out(), &table.name, total, &mut union);
        assert!(union == expected, "{} differs", table.name);
    }
    assert!(fed_back > 100, "{fed_back}");
}
