//! Headers by name, and columns that they may lack.

use super::*;
use crate::{Extra, Header};

/// A table of two columns, the second with these keys.
fn table(lines: &str, keys: &str) -> String {
    format!(
        "family = \"weather\"\n[[table]]\nname = \"readings\"\nfile = \"readings.csv\"\n{lines}\n[table.columns]\n\
         time = \"integer\"\nsky = {{ kind = \"text\"{keys} }}\n"
    )
}

#[test]
fn a_header_is_in_order_or_by_name() {
    let csv = |lines: &str| parse(&table(lines, "")).unwrap()[0].tables[0].csv;
    assert_eq!(csv("csv.header = false"), crate::Csv::PLAIN);
    assert_eq!(csv("csv.header = true").header, Header::InOrder);
    let by_name = csv("csv = { header = \"by-name\", extra = \"ignore\" }");
    assert_eq!(
        (by_name.header, by_name.extra),
        (Header::ByName, Extra::Ignore)
    );
    let text = table(
        "syntax = \"quoted-csv\"\ncsv.header = \"by-name\"",
        ", may_be_absent = true",
    );
    let columns = &parse(&text).unwrap()[0].tables[0].columns;
    let may_be_absent: Vec<bool> = columns.iter().map(|it| it.spelling.may_be_absent).collect();
    assert_eq!(may_be_absent, [false, true]);
}

#[test]
fn mistakes_about_headers_are_explained() {
    let absent = ", may_be_absent = true";
    let required = "required = \"Always.\"\ncsv.header = \"by-name\"";
    for (lines, keys, message) in [
        ("csv.header = \"\"", "", "not true, false or \"by-name\""),
        (
            "csv.header = true",
            absent,
            "sky: may_be_absent: only with header = \"by-name\"",
        ),
        (
            "syntax = \"json\"",
            absent,
            "sky: may_be_absent: only with header = \"by-name\"",
        ),
        (
            required,
            ", may_be_absent = true, mandatory = true",
            "may_be_absent: such a column is not mandatory",
        ),
        (
            "csv = { header = true, extra = \"ignore\" }",
            "",
            "csv: extra: only with header = \"by-name\"",
        ),
        (
            "csv = { header = \"by-name\", extra = \"keep\" }",
            "",
            "refuse",
        ),
        (
            "syntax = \"quoted-csv\"\ncsv = { header = \"by-name\", comment = \"#\" }",
            "",
            "csv: separator, comment, bom and trim are for syntax = \"csv\"",
        ),
        (
            "syntax = \"quoted-csv\"\ncsv.header = true",
            "",
            "or with header = \"by-name\" for syntax = \"quoted-csv\"",
        ),
        (
            "syntax = \"json\"\ncsv.header = \"by-name\"",
            "",
            "csv: only for syntax = \"csv\"",
        ),
    ] {
        let error = parse(&table(lines, keys))
            .err()
            .map(|error| error.to_string());
        let error = error.unwrap_or_default();
        assert!(
            error.contains(message),
            "{error:?} does not say {message:?}"
        );
    }
    let twice = "family = \"f\"\n[[table]]\nname = \"t\"\nfile = \"t.csv\"\ncsv.header = \"by-name\"\n\
                 column = [{ name = \"a\", content = \"x\", kind = \"text\" }, \
                 { name = \"b\", content = \"x\", kind = \"text\" }]\n";
    assert!(parse(&twice.replace("\"by-name\"", "true")).is_ok());
    assert!(parse(twice).unwrap_err().to_string().contains("content"));
}
