//! Spellings of values, and mistakes in them.

use super::*;

/// The small table with another column of this kind, in files of a syntax.
fn with(kind: &str, syntax: &str) -> String {
    let text = format!(
        "{SMALL}[[table.column]]\nname = \"x\"\ncontent = \"x\"\nformat = \"X\"\nobfuscation = \"unchanged\"\n\
         doc = \"x\"\n{kind}\n"
    );
    text.replacen(
        "parts = 1",
        &format!("parts = 1\nsyntax = \"{syntax}\"\nnull = [\"\", \"NA\"]"),
        1,
    )
}

const SYNTAXES: [&str; 3] = ["csv", "quoted-csv", "json"];

#[test]
fn every_syntax_has_spellings() {
    for syntax in SYNTAXES {
        let text = with(
            "kind = \"boolean\"\nwords = { true = [\"yes\", \"True\"], false = [\"no\"] }",
            syntax,
        );
        let table = &parse(&text).unwrap()[0].tables[0];
        let spelling = &table.columns[2].spelling;
        let found = [&b"yes"[..], b"True", b"no", b"1"].map(|word| spelling.truth(word));
        assert_eq!(found, [Some(true), Some(true), Some(false), None]);
        let text = with(
            "kind = \"integer\"\nintegral_floats = true\nnull = [\"-\"]",
            syntax,
        );
        let table = &parse(&text).unwrap()[0].tables[0];
        let own = &table.columns[2].spelling;
        assert!(own.integral_floats && own.is_null(b"-") && !own.is_null(b"NA"));
        let other = &table.columns[0].spelling;
        // In CSV, an empty field is NULL without being looked up.
        assert!(other.is_null(b"NA") && other.is_null(b"") == (syntax != "csv"));
    }
}

#[test]
fn fields_have_the_spellings_of_their_table_or_their_own() {
    let item = "[[table.column.field]]\nname = \"item\"\ncontent = \"item\"\nformat = \"X\"\n\
                obfuscation = \"unchanged\"\ndoc = \"x\"\nkind = \"float\"\n";
    let of_item = |more: &str| {
        let text = with(&format!("kind = \"list\"\n{item}{more}"), "json");
        let nulls = parse(&text).unwrap()[0].tables[0].columns[2].fields[0]
            .spelling
            .nulls
            .clone();
        nulls.to_vec()
    };
    assert_eq!(of_item(""), ["", "NA"]);
    assert_eq!(of_item("null = [\"nan\"]"), ["nan"]);
}

#[test]
fn mistakes_in_spellings_are_explained() {
    let boolean = |words: &str| format!("kind = \"boolean\"\nwords = {words}");
    for (kind, message) in [
        (
            "kind = \"text\"\nwords = { true = [\"yes\"] }".to_owned(),
            "days: x: words: only a column of kind boolean has them",
        ),
        (
            boolean("{}"),
            "words: 1 to 16 spellings of `true`, of `false` or of both",
        ),
        (boolean("{ true = [\"\"] }"), "words: a spelling is empty"),
        (
            boolean("{ true = [\"y\"], false = [\"y\"] }"),
            "words: the spelling y occurs twice",
        ),
        (
            boolean("{ true = [\"0\"] }"),
            "words: \"0\" can't mean true",
        ),
        (
            boolean("{ false = [\"True\"] }"),
            "words: \"True\" can't mean false",
        ),
        (
            boolean("{ true = [\"NA\"] }"),
            "words: \"NA\" is a spelling of NULL, too",
        ),
        (
            boolean("{ yes = [\"y\"] }"),
            "unknown field `yes`, expected `true` or `false`",
        ),
        (
            boolean("{ true = [\"\\u001b\"] }"),
            "has the character U+001B",
        ),
        (boolean("\"yes\""), "invalid type"),
        (
            "kind = \"float\"\nintegral_floats = true".to_owned(),
            "only a column of kind integer has integral_floats",
        ),
        (
            "kind = \"integer\"\nnumbers = true".to_owned(),
            "x: numbers: only of a column of kind text",
        ),
        (
            "kind = \"text\"\ncapture = \"x\"".to_owned(),
            "x: capture: {x} is not a capture of the table's names",
        ),
    ] {
        wrong(&with(&kind, "json"), message);
    }
    let twice = with("kind = \"text\"", "csv").replacen(
        "[table.published]",
        "[table.csv]\nnull = [\"-\"]\n[table.published]",
        1,
    );
    let says = "days: null: say it once, in [[table]] or in [table.csv]";
    wrong(&twice, says);
}

/// The small table with these zones, and a date-time with this zone.
fn zoned(zones: &str, zone: &str) -> String {
    let text = with(&format!("kind = \"date-time\"\nzone = \"{zone}\""), "csv");
    text.replacen("[[trace]]", &format!("[zones]\n{zones}\n[[trace]]"), 1)
}

#[test]
fn zones_have_names() {
    let text = zoned("PDT = \"-07:00\"\nIST = \"+05:30\"", "published");
    let table = &parse(&text).unwrap()[0].tables[0];
    let zones = &table.columns[2].spelling.zones;
    assert_eq!(**zones, [("IST".to_owned(), 330), ("PDT".to_owned(), -420)]);
    assert!(table.columns[0].spelling.zones.is_empty());
    for (zones, zone, message) in [
        (
            "PDT = \"-07:00\"",
            "none",
            "zones is not used: no column has zone = \"published\"",
        ),
        (
            "PDT = \"-7:00\"",
            "published",
            "zones: PDT: \"-7:00\" is not an offset from UTC such as \"-07:00\"",
        ),
        ("PDT = \"-24:00\"", "published", "is not an offset"),
        ("PDT = \"07:00\"", "published", "is not an offset"),
        ("PDT = \"\"", "published", "is not an offset"),
        ("PDT = -7", "published", "invalid type"),
        (
            "Z = \"+00:00\"",
            "published",
            "zones: \"Z\" is not a name of at most 10 letters",
        ),
        (
            "\"P DT\" = \"+00:00\"",
            "published",
            "\"P DT\" is not a name",
        ),
    ] {
        wrong(&zoned(zones, zone), message);
    }
}

#[test]
fn only_traces_of_the_program_are_joined_with_another_lake() {
    let query = "[[query_table]]\nname = \"both\"\nsummary = \"s\"\nneeds = [\"days\"]\ncolumn = []\n\
                 with = { family = \"moon\", tables = [\"nights\"] }\n\
                 sql = 'SELECT 1 FROM days, \"with\".nights'\n";
    let text = format!("{SMALL}{query}");
    parse(&text).unwrap();
    let refused = read(&text).unwrap_err().to_string();
    let says = "with: only traces that come with the program read another lake";
    assert!(refused.contains(says), "{refused}");
    let unread = text.replace("\"with\".nights", "days");
    wrong(&unread, "with: the query doesn't read every table");
}
