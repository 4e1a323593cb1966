//! Headers by name, columns that they may lack, and runs of columns.

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
fn a_column_has_other_names_in_headers() {
    let text = table("csv.header = \"by-name\"", ", also = [\"clouds\", \"\"]");
    let columns = &parse(&text).unwrap()[0].tables[0].columns;
    assert_eq!(*columns[1].spelling.also, ["clouds", ""]);
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
            "csv.header = true",
            ", also = [\"clouds\"]",
            "sky: also: only with header = \"by-name\"",
        ),
        (
            "csv.header = \"by-name\"",
            ", also = [\"time\"]",
            "the content time occurs twice",
        ),
        (
            "csv.header = \"by-name\"",
            ", also = [\"sky\"]",
            "the content sky occurs twice",
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
            "csv: comment, bom, trim and trailing are for syntax = \"csv\"",
        ),
        (
            "syntax = \"quoted-csv\"\ncsv.header = false",
            "",
            "csv: header: a file of syntax = \"quoted-csv\" has one",
        ),
        (
            "syntax = \"quoted-csv\"\ncsv.separator = \"blanks\"",
            "",
            "csv: separator = \"blanks\" is for syntax = \"csv\"",
        ),
        (
            "syntax = \"json\"\ncsv.header = \"by-name\"",
            "",
            "csv: only for syntax = \"csv\"",
        ),
    ] {
        wrong(&table(lines, keys), message);
    }
    let twice = "family = \"f\"\n[[table]]\nname = \"t\"\nfile = \"t.csv\"\ncsv.header = \"by-name\"\n\
                 column = [{ name = \"a\", content = \"x\", kind = \"text\" }, \
                 { name = \"b\", content = \"x\", kind = \"text\" }]\n";
    assert!(parse(&twice.replace("\"by-name\"", "true")).is_ok());
    wrong(twice, "content");
}

/// A table with two lists of columns.
fn runs(lines: &str, first: &str, second: &str) -> String {
    format!(
        "family = \"f\"\n[[table]]\nname = \"t\"\nfile = \"t.csv\"\n{lines}\n[table.columns]\nid = \"text\"\n\
         a = {{ kind = \"list\", columns = {first}, field = [{{ kind = \"integer\" }}] }}\n\
         b = {{ kind = \"list\", columns = {second}, field = [{{ kind = \"float\" }}] }}\n"
    )
}

#[test]
fn runs_are_ranges_or_names() {
    let table = &parse(&runs("", "\"08..10\"", "[\"x\", \"\"]")).unwrap()[0].tables[0];
    let names = table
        .columns
        .iter()
        .filter_map(|it| it.spelling.run.as_ref());
    let names: Vec<_> = names.flat_map(crate::Run::names).collect();
    assert_eq!(names, ["08", "09", "10", "x", ""]);
    let fields: Vec<_> = table.row_fields().collect();
    let (first, last) = (fields[..2].to_vec(), fields.last());
    assert_eq!(first, [(0, None), (1, Some(0))]);
    assert_eq!((last, table.width()), (Some(&(2, Some(1))), 6));
}

#[test]
fn mistakes_about_runs_are_explained() {
    let (range, named) = ("\"1..3\"", "[\"x\"]");
    let flat = runs("", range, named);
    for (text, message) in [
        (
            runs("", "\"3..1\"", named),
            "a: columns: \"3..1\" has no number in it, or more than 10000",
        ),
        (
            runs("", "\"1..10001\"", named),
            "a: columns: \"1..10001\" has no number in it, or more than 10000",
        ),
        (
            runs("", "\"0..18446744073709551615\"", named),
            "or more than 10000",
        ),
        (
            runs("", "\"all\"", named),
            "\"all\" is not a range of numbers",
        ),
        (runs("", "[]", named), "a: columns: a run has a column"),
        (runs("", "[\"x\\n\"]", "[\"y\"]"), "columns: "),
        (runs("", "7", named), "a list of values, or a range such as"),
        (
            runs("", "\"1..9999\"", "\"10000..10001\""),
            "columns: the runs of a table have at most 10000 columns, and there are 10001",
        ),
        (runs("", range, "[\"2\"]"), "the content 2 occurs twice"),
        (
            runs("csv.header = \"by-name\"", range, "[\"id\"]"),
            "the content id occurs twice",
        ),
        (
            runs("syntax = \"json\"", range, named),
            "a: columns: only with syntax = \"csv\" or \"quoted-csv\"",
        ),
        (
            flat.replace("file = \"t.csv\"", "parts = 1"),
            "and not with files = \"parts\"",
        ),
        (
            flat.replace("\"integer\" }", "\"list\", field = [{ kind = \"text\" }] }"),
            "only of a list whose item is no",
        ),
        (
            flat.replace("\"text\"", "{ kind = \"text\", columns = \"1..2\" }"),
            "id: columns: only of a list",
        ),
        (
            flat.replace("columns = [\"x\"], ", ""),
            "no list but one with `columns`",
        ),
        (
            flat.replace("\"integer\" }", "\"integer\", columns = \"1..2\" }"),
            "columns: only of a column, and not of a field in it",
        ),
    ] {
        wrong(&text, message);
    }
    assert!(parse(&runs("csv.header = true", range, "[\"2\", \"2\"]")).is_ok());
}
