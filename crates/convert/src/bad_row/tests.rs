use super::*;

fn row(raw: &[u8], fault: Fault) -> BadRow<'_> {
    BadRow {
        place: Place::Line {
            line: 1,
            byte: 0,
            field: 0,
        },
        raw: raw.into(),
        value: raw.into(),
        column: None,
        inner: "".into(),
        fault,
        first_chunk: None,
    }
}

/// The commas of an object separate no fields, and an array of rows is no CSV.
#[test]
fn a_row_of_json_is_no_header() {
    let mut tables = TRACES.iter().flat_map(|trace| &trace.tables);
    let json = tables.find(|table| table.syntax == Syntax::Json).unwrap();
    let order = FieldOrder::built_in(json, "the catalog");
    let hint = |raw: &[u8]| {
        let error = row(raw, Fault::NotJson).to_error(Path::new("x"), &order);
        error.advice().unwrap().to_owned()
    };
    let values = json.columns.iter();
    let values: Vec<String> = values
        .map(|column| format!("\"{}\":x", column.name))
        .collect();
    let object = format!("{{{}}}", values.join(","));
    let of_object = hint(object.as_bytes());
    assert!(!of_object.contains("header"), "{of_object}");
    let of_array = hint(format!("[{object},").as_bytes());
    assert!(of_array.contains("a JSON array"), "{of_array}");
    let of_csv = hint(b"1,2,3");
    assert!(of_csv.contains("CSV, and"), "{of_csv}");
}

#[test]
fn nearly_all_rows_are_nine_of_ten() {
    let shares = [
        (9, 9, false),
        (9, 10, true),
        (8, 10, false),
        (18, 19, true),
        (17, 19, false),
        (90, 100, true),
        (89, 100, false),
        (u64::MAX, u64::MAX, true),
    ];
    for (bad, rows, expected) in shares {
        assert_eq!(
            BadShare { bad, rows }.is_nearly_all(),
            expected,
            "{bad} of {rows}"
        );
    }
}
