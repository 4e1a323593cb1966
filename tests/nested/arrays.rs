//! Texts that are one JSON array: the rows of the same lines, whole and in parts.

use std::sync::{Arc, LazyLock};

use arrow_array::RecordBatch;
use arrow_select::concat::concat_batches;
use serde_json::Value;
use tracelake_core::error::ErrorKind;
use tracelake_schema::{Extra, Json, Table};

use tracelake_testkit::nested::{JSON, Part, convert, convert_text, row};

static ARRAY: LazyLock<Arc<Table>> = LazyLock::new(|| {
    Arc::new(Table {
        json: Json {
            array: true,
            extra: Extra::Refuse,
        },
        ..(**JSON).clone()
    })
});

/// The rows of a text, with a bad one now and then.
fn rows(count: usize) -> Vec<String> {
    let row = |number: usize| match number % 100 {
        99 => "{\"time\": [\"bad\"]}".to_owned(),
        _ => row(&JSON, number).trim_end().to_owned(),
    };
    (0..count).map(row).collect()
}

fn in_parts(
    threads: usize,
    table: &'static Arc<Table>,
    text: &str,
    part_rows: Option<u64>,
) -> Vec<Part> {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("text");
    std::fs::write(&path, text).unwrap();
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
    pool.unwrap()
        .install(|| convert(&path, table, part_rows).unwrap())
}

fn all(parts: &[Part]) -> RecordBatch {
    let batches: Vec<RecordBatch> = parts.iter().map(Part::rows).collect();
    concat_batches(&batches[0].schema(), &batches).unwrap()
}

/// The rows as an array, in the forms that programs write.
fn forms(rows: &[String]) -> Vec<String> {
    let values: Vec<Value> = rows
        .iter()
        .map(|row| serde_json::from_str(row).unwrap())
        .collect();
    let pretty = serde_json::to_string_pretty(&values).unwrap();
    vec![
        pretty.replace('\n', "\r\n"),
        pretty + "\n\n  \n",
        format!("[\n{}\n]\n", rows.join(",\n")),
        // Some elements on each line.
        format!(
            "  [{}]",
            rows.chunks(7)
                .map(|rows| rows.join(", "))
                .collect::<Vec<_>>()
                .join("\n,")
        ),
    ]
}

#[test]
fn an_array_has_the_rows_of_its_elements() {
    for (count, parts) in [
        (12_000, &[None, Some(5_000), Some(12_000)][..]),
        (20, &[Some(1), Some(7), Some(10)]),
    ] {
        let rows = rows(count);
        let lines = rows.join("\n") + "\n";
        let expected = &in_parts(1, &JSON, &lines, None)[0];
        for text in forms(&rows) {
            for &part_rows in parts {
                let found = in_parts(4, &ARRAY, &text, part_rows);
                let most = part_rows.map_or(count, |rows| usize::try_from(rows).unwrap());
                assert_eq!(found.len(), count.div_ceil(most), "{part_rows:?}");
                assert!(all(&found) == expected.rows());
                let rejects: Vec<&Value> = found.iter().flat_map(|part| &part.rejects).collect();
                assert_eq!(rejects.len(), expected.rejects.len());
                for (reject, of_line) in rejects.iter().zip(&expected.rejects) {
                    assert_eq!(
                        reject["reason"]
                            .as_str()
                            .map(|it| it.contains("not an integer")),
                        Some(true)
                    );
                    assert_eq!(reject["column"], of_line["column"]);
                    let byte = usize::try_from(reject["byte"].as_u64().unwrap()).unwrap();
                    assert!(text[byte..].starts_with(reject["raw"].as_str().unwrap()));
                    let line = text[..byte].matches('\n').count() as u64 + 1;
                    assert_eq!(reject["line"], line);
                }
                let one = in_parts(1, &ARRAY, &text, part_rows);
                let pairs = one.iter().zip(&found);
                assert!(pairs.clone().all(|(one, four)| one.parquet == four.parquet));
            }
        }
    }
}

#[test]
fn every_cut_of_an_array_is_refused() {
    for text in forms(&rows(3)) {
        let end = text.trim_end().len();
        for cut in 0..=text.len() {
            let part = convert_text(&text.as_bytes()[..cut], &ARRAY);
            match part {
                Ok(part) => assert!(cut >= end && part.converted.rows_out == 3, "{cut}"),
                Err(error) => {
                    assert!(cut < end, "{cut}: {error}");
                    assert_eq!(error.kind(), ErrorKind::Misfit);
                    let says = if cut <= text.find('[').unwrap() {
                        "the text doesn't begin with ["
                    } else {
                        "the array has no end: the text is cut off"
                    };
                    assert!(error.to_string().contains(says), "{error}");
                }
            }
        }
    }
    for empty in ["[]", " [\n]\r\n"] {
        let part = convert_text(empty.as_bytes(), &ARRAY).unwrap();
        assert_eq!((part.converted.rows_in, part.rows().num_columns()), (0, 4));
    }
}

/// The last line of JSON lines may be blank, also where it would be a part of its own.
#[test]
fn a_blank_last_line_is_no_row() {
    let rows = rows(6_000);
    for ending in ["\n", "\r\n"] {
        let lines = rows.join(ending) + ending;
        for (text, part_rows, parts) in [
            (lines.clone() + ending, None, 1),
            (lines.clone() + ending, Some(1_000), 6),
            (lines.clone() + ending, Some(6_000), 1),
        ] {
            let found = in_parts(2, &JSON, &text, part_rows);
            assert_eq!(found.len(), parts);
            assert_eq!(
                found.iter().map(|part| part.converted.rows_in).sum::<u64>(),
                6_000
            );
            assert!(all(&found) == in_parts(2, &JSON, &lines, None)[0].rows());
        }
        // Another one before it is bad.
        let found = in_parts(2, &JSON, &(lines + ending + ending), Some(6_000));
        assert_eq!((found.len(), found[1].rejects.len()), (2, 1));
        assert_eq!(found[1].rejects[0]["reason"], "a blank line");
        assert_eq!(found[1].rejects[0]["line"], 6_001);
    }
    let part = convert_text(b"\n", &JSON).unwrap();
    assert_eq!((part.converted.rows_in, part.rejects.len()), (0, 0));
}
