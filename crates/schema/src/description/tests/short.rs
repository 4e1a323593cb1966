//! Short forms and what they are short for.

use super::*;
use crate::{Files, Kind, Obfuscation, Zone};

const SHORT: &str = r#"
family = "bikes"
[[table]]
name = "trips"
file = "trips.csv"
csv.header = true
columns = { trip = "integer", "Start Time" = "date-time", bike = { kind = "text", doc = "A bike." }, a = "float" }
"#;

const LONG: &str = r#"
family = "bikes"
licence = "LicenseRef-Unknown"
citation = "Unknown"
[[trace]]
name = "bikes"
title = "bikes"
document = "Unknown"
[[table]]
name = "trips"
summary = "Rows of trips."
files = "whole"
names = ["trips.csv"]
[table.csv]
header = true
[[table.column]]
name = "trip"
content = "trip"
kind = "integer"
obfuscation = "unchanged"
doc = "trip."
[[table.column]]
name = "start_time"
content = "Start Time"
kind = "date-time"
zone = "none"
obfuscation = "unchanged"
doc = "Start Time."
[[table.column]]
name = "bike"
content = "bike"
kind = "text"
obfuscation = "unchanged"
doc = "A bike."
[[table.column]]
name = "a"
content = "a"
kind = "float"
obfuscation = "unchanged"
doc = "a."
"#;

#[test]
fn short_forms_are_those_that_they_are_short_for() {
    let short = parse(SHORT).unwrap();
    assert_eq!(short, parse(LONG).unwrap());
    // The columns in tables of their own, and in the long form without what has a default.
    let columns = "[table.columns]\ntrip = \"integer\"\n\"Start Time\" = \"date-time\"\n\
                   [table.columns.bike]\nkind = \"text\"\ndoc = \"A bike.\"\n[table.columns.a]\nkind = \"float\"\n";
    let at = SHORT.find("columns").unwrap();
    let tables = format!("{}{columns}", &SHORT[..at]);
    assert_eq!(short, parse(&tables).unwrap());
    let list: String = [
        "name = \"trip\"\nkind = \"integer\"",
        "content = \"Start Time\"\nkind = \"date-time\"",
        "name = \"bike\"\nkind = \"text\"\ndoc = \"A bike.\"",
        "name = \"a\"\nkind = \"float\"",
    ]
    .iter()
    .map(|column| format!("[[table.column]]\n{column}\n"))
    .collect();
    assert_eq!(short, parse(&format!("{}{list}", &SHORT[..at])).unwrap());
    let table = &short[0].tables[0];
    assert_eq!(table.files, Files::Whole);
    let column = &table.columns[1];
    assert_eq!(column.kind, Kind::DateTime(Zone::None));
    assert_eq!(
        (column.format.as_str(), column.obfuscation),
        ("", Obfuscation::Unchanged)
    );
}

#[test]
fn an_item_has_a_name_by_default() {
    let text = SHORT.replacen("csv.header = true", "syntax = \"json\"", 1).replacen(
        "a = \"float\"",
        "ids = { kind = \"list\", field = [{ kind = \"struct\", field = [{ name = \"x\", kind = \"text\" }] }] }",
        1,
    );
    let traces = parse(&text).unwrap();
    let item = &traces[0].tables[0].columns[3].fields[0];
    assert_eq!(
        (&*item.name, &*item.content, &*item.fields[0].content),
        ("item", "item", "x")
    );
}

#[test]
fn mistakes_in_short_forms_have_their_lines() {
    for (piece, by, message) in [
        (
            "trip = \"integer\"",
            "trip = \"int\"",
            "line 7: trips: trip: kind \"int\" is not one of integer, float, boolean, text, code",
        ),
        (
            "a = \"float\"",
            "\"%\" = \"float\"",
            "line 7: trips: %: it has no letter for a name in the lake: give the column a `name`",
        ),
        (
            "a = \"float\"",
            "\"start-time\" = \"float\"",
            "line 4: trips: the column start_time occurs twice",
        ),
        ("a = \"float\"", "a = 5", "line 7: `columns = {"),
        (
            "a = \"float\"",
            "a = 5",
            "a kind such as \"integer\", or a table with a kind",
        ),
        (
            "a = \"float\"",
            "a = { kind = \"float\", content = \"b\" }",
            "the key is the content of the column",
        ),
        (
            "a = \"float\"",
            "a = { kind = \"float\", unti = \"s\" }",
            "unknown field `unti`",
        ),
        (
            "a = \"float\"",
            "a = { unit = \"s\" }",
            "missing field `kind`",
        ),
        (
            "csv.header = true",
            "[[table.column]]\nkind = \"text\"\n[table.x]\n",
            "unknown field `x`",
        ),
        (
            "columns = {",
            "column = [{ kind = \"text\" }]\n#",
            "trips: a column has neither a name nor a content",
        ),
        (
            "columns = {",
            "column = [{ name = \"b\", kind = \"text\" }]\ncolumns = {",
            "line 4: trips: columns: the columns are either here or in [[table.column]]",
        ),
        (
            "csv.header = true",
            "names = [\"x.csv\"]",
            "line 4: trips: file: the name of its one file, without `names`",
        ),
        (
            "csv.header = true",
            "files = \"named\"",
            "file: the name of its one file",
        ),
    ] {
        assert!(SHORT.contains(piece));
        wrong(&SHORT.replacen(piece, by, 1), message);
    }
}
