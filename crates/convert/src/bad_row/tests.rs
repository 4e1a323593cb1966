use super::*;

fn order() -> FieldOrder {
    let table = TRACES.iter().find_map(|trace| trace.table("job_events"));
    FieldOrder::built_in(table.unwrap(), "schema.csv")
}

fn row(raw: &[u8], fault: Fault) -> BadRow<'_> {
    BadRow {
        line: 1,
        byte: 0,
        raw: raw.into(),
        field: 0..raw.len(),
        column: None,
        inner: "".into(),
        fault,
        first_chunk: None,
    }
}

fn fields(found: u32) -> Fault {
    Fault::FieldCount { found, expected: 8 }
}

#[test]
fn hints_say_what_a_file_seems_to_be() {
    let cases: [(&[u8], Fault, &str); 8] = [
        (b"\xef\xbb\xbf0,,1", fields(3), "byte order mark"),
        (b"\xff\xfe0\0,\0", fields(2), "UTF-16"),
        (b"time,missing info,job ID", Fault::NotInteger, "a header"),
        (
            b"time,type,collection_id,instance_index,machine_id",
            fields(5),
            "instance_events exported as CSV",
        ),
        (b"0;;1;0;;;;", fields(1), "separated by ';'"),
        (b"0\t\t1\t0\t\t\t\t", fields(1), "separated by '\\t'"),
        (
            b"0,,1,2,,0,u,2,9,,,,",
            fields(13),
            "task_events has 13 fields",
        ),
        (b"0,,1,0\0,", fields(5), "binary"),
    ];
    for (raw, fault, expected) in cases {
        let error = row(raw, fault)
            .to_error(Path::new("x"), &order())
            .to_string();
        assert!(error.contains(expected), "{error}");
    }
}

/// The commas of an object separate no fields, and an array of rows is no CSV.
#[test]
fn a_row_of_json_is_no_header() {
    let mut tables = TRACES.iter().flat_map(|trace| trace.tables);
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
fn a_reject_loses_nothing() {
    let json = row(b"a\xff\"\t\n", Fault::Quote).to_json().unwrap();
    let value: serde_json::Value = serde_json::from_slice(&json).unwrap();
    assert_eq!(
        STANDARD
            .decode(value["raw_base64"].as_str().unwrap())
            .unwrap(),
        b"a\xff\"\t\n"
    );
    let json = row("ü\u{0}".as_bytes(), Fault::Quote).to_json().unwrap();
    let value: serde_json::Value = serde_json::from_slice(&json).unwrap();
    assert_eq!(value["raw"], "ü\u{0}");
    assert_eq!(value.get("raw_base64"), None);
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
