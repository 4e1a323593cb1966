use super::*;

mod forms;
mod headers;
mod mutated;
mod short;
mod spellings;

const SMALL: &str = r#"
family = "small"
licence = "CC0-1.0"
citation = "nobody"
[[trace]]
name = "small-1"
title = "one"
document = "a letter"
[[codes.mood]]
value = 0
name = "GOOD"
doc = "good"
[[sentinels.time]]
value = 0
name = "BEFORE"
also = "18446744073709551615"
doc = "before"
[[ranges.hour]]
from = 0
name = "EARLY"
doc = "early"
[[ranges.hour]]
from = 10
name = "LATE"
doc = "late"
[[table]]
name = "days"
summary = "days"
parts = 1
required = "a look at all of them"
entity = ["time"]
primary_key = ["time"]
[table.published]
rows = 7
confidence = "measured"
source = "a count"
[[table.references]]
columns = ["mood"]
table = "days"
to = ["time"]
[[table.column]]
name = "time"
content = "time"
kind = "integer"
format = "INTEGER"
mandatory = true
obfuscation = "unchanged"
sentinels = "time"
ranges = "hour"
doc = "when"
[[table.column]]
name = "mood"
content = "mood"
kind = "code"
format = "INTEGER"
obfuscation = "unchanged"
codes = "mood"
doc = "how"
"#;

/// Expects that a description is refused with this message.
#[track_caller]
fn wrong(text: &str, message: &str) {
    let error = parse(text)
        .err()
        .map(|error| error.to_string())
        .unwrap_or_default();
    assert!(
        error.contains(message),
        "{error:?} does not say {message:?}"
    );
}

/// Replaces one piece of the small description and expects an error that holds `message`.
#[track_caller]
fn refuses(piece: &str, by: &str, message: &str) {
    assert!(SMALL.contains(piece));
    wrong(&SMALL.replacen(piece, by, 1), message);
}

#[test]
fn a_small_description_is_read() {
    let traces = parse(SMALL).unwrap();
    assert_eq!(traces[0].tables[0].fields, [0, 1]);
    assert_eq!(traces[0].tables[0].columns[1].codes[0].name, "GOOD");
    let ranges = &traces[0].tables[0].columns[0].ranges;
    let bounds: Vec<_> = ranges.iter().map(|range| (range.from, range.to)).collect();
    assert_eq!(bounds, [(0, Some(9)), (10, None)]);
    let published = |text: &str| parse(text).unwrap()[0].tables[0].published.clone();
    assert_eq!(published(SMALL).map(|count| count.rows), Some(7));
    let other = SMALL.replace("\"a count\"", "\"a count\"\nnot_of = [\"small-1\"]");
    assert_eq!(published(&other), None);
}

#[test]
fn slips_are_refused_with_their_place() {
    refuses(
        "kind = \"code\"",
        "kind = \"cod\"",
        "days: mood: kind \"cod\" is not one of",
    );
    refuses(
        "name = \"mood\"",
        "name = \"time\"",
        "days: the column time occurs twice",
    );
    refuses(
        "codes = \"mood\"\n",
        "",
        "days: mood: a column of kind code, and no other",
    );
    refuses(
        "codes = \"mood\"",
        "codes = \"moods\"",
        "days: mood: no codes.moods",
    );
    refuses(
        "kind = \"integer\"",
        "kind = \"text\"",
        "days: time: only a column of kind",
    );
    refuses("sentinels = \"time\"\n", "", "sentinels.time is not used");
    refuses("ranges = \"hour\"\n", "", "ranges.hour is not used");
    refuses(
        "from = 10",
        "from = 0",
        "ranges.hour: the bounds must ascend",
    );
    refuses(
        "from = 0\n",
        "from = 0\nto = 10\n",
        "ranges.hour: the bounds must ascend",
    );
    refuses(
        "required = \"a look at all of them\"\n",
        "",
        "days: a table with mandatory columns, and no other, says in `required`",
    );
    refuses(
        "primary_key = [\"time\"]",
        "primary_key = [\"day\"]",
        "days has no column day",
    );
    refuses(
        "table = \"days\"",
        "table = \"nights\"",
        "days: references: there is no table nights",
    );
    refuses(
        "to = [\"time\"]",
        "to = [\"time\", \"mood\"]",
        "days: references: as many columns here as in days",
    );
    refuses(
        "document = \"a letter\"\n",
        "document = \"a letter\"\n[[trace.archive]]\nnames = [\"a.tar.gz\"]\nsha256 = \"12\"\nsize = \"1G\"\n",
        "archive: \"12\" is not a SHA-256",
    );
    refuses(
        "18446744073709551615",
        "12",
        "BEFORE: also = \"12\" must be",
    );
    refuses(
        "confidence = \"measured\"",
        "confidence = \"sure\"",
        "line 35: `confidence = \"sure\"`: unknown variant `sure`, expected one of `publisher`, `measured`, `reported`",
    );
    refuses(
        "source = \"a count\"",
        "source = \"a count\"\nnot_of = [\"x\"]",
        "days: published: not_of: there is no trace x",
    );
    refuses("doc = \"when\"", "dock = \"when\"", "dock");
    refuses(
        "document = \"a letter\"",
        "document = \"a letter\"\npublished = \"2011-5-1\"",
        "\"2011-5-1\" is not a date",
    );
    refuses(
        "name = \"mood\"",
        "name = \"filename\"",
        "days: filename: a column can't have the name",
    );
    refuses(
        "summary = \"days\"",
        "summary = \"da\\u001bys\"",
        "days: summary: \"da\\u{1b}ys\" has the character U+001B",
    );
    refuses(
        "doc = \"how\"",
        "doc = \"how\"\nempty = 1.5",
        "days: mood: empty is a share",
    );
    refuses(
        "doc = \"how\"",
        "doc = \"how\"\ninvalid = [-1]",
        "days: mood: only a column of kind integer or float",
    );
    refuses(
        "doc = \"when\"",
        "doc = \"when\"\ninvalid = [101, -1]",
        "days: time: the invalid values must ascend",
    );
    refuses(
        "doc = \"when\"",
        "doc = \"when\"\nabsent_in = [\"small-1\"]",
        "cannot be mandatory",
    );
    refuses(
        "doc = \"how\"",
        "doc = \"how\"\nabsent_in = [\"x\"]",
        "there is no trace x",
    );
    let cells = |names: &str, directory: &str| {
        let fields = format!("names = [{names}]\ndirectory = \"{directory}\"\ndoc = \"a cell\"");
        format!("document = \"a letter\"\n[trace.cells]\n{fields}")
    };
    for (names, directory, message) in [
        (
            "\"b\", \"a\"",
            "small_{cell}",
            "cells: names: 1 to 1000 cells, in ascending order",
        ),
        (
            "\"a\", \"a\"",
            "small_{cell}",
            "cells: the cell a occurs twice",
        ),
        ("\"../a\"", "small_{cell}", "cells: \"../a\" is not made of"),
        (
            "\"a\"",
            "small",
            "cells: the directory \"small\" is not a name with {cell} in one place",
        ),
        (
            "\"a\"",
            "small/{cell}",
            "cells: the directory \"small/{cell}\" is not a name with",
        ),
        (
            "\"a\"",
            "..{cell}",
            "cells: the directory \"..{cell}\" is not a name with",
        ),
    ] {
        refuses("document = \"a letter\"", &cells(names, directory), message);
    }
    refuses(
        "entity = [\"time\"]",
        "entity = [\"time\"]\nshards = [{ cell = \"z\", count = 1 }]",
        "days: shards: there is no cell z",
    );
}

/// The whole message of each sort of mistake.
#[test]
fn a_mistake_has_its_line_its_key_and_what_is_expected() {
    for (piece, by, message) in [
        (
            "kind = \"code\"",
            "kind = \"cod\"",
            "line 52: days: mood: kind \"cod\" is not one of integer, float, boolean, text, code, date-time, struct, list",
        ),
        (
            "parts = 1",
            "parts = \"one\"",
            "line 29: `parts = \"one\"`: invalid type: string \"one\", expected u32",
        ),
        (
            "parts = 1",
            "files = \"moon\"",
            "line 29: `files = \"moon\"`: unknown variant `moon`, expected one of `parts`, `shards`, `named`, `whole`, `derived`",
        ),
        (
            "name = \"small-1\"",
            "name = \"../small\"",
            "line 6: ../small: its name must begin with that of its family, small",
        ),
        (
            "family = \"small\"",
            "family = \"..\"",
            "family: \"..\" is not a name of at most 100 letters, digits, points, - and _ that begins with a-z",
        ),
    ] {
        let error = parse(&SMALL.replacen(piece, by, 1)).unwrap_err();
        assert_eq!(error.to_string(), message);
    }
}

#[test]
fn a_mistake_on_an_empty_line_shows_no_line() {
    let error = parse("").unwrap_err();
    assert_eq!(error.to_string(), "line 1: missing field `family`");
}

#[test]
fn words_that_an_enum_lacks_are_refused_with_those_that_it_has() {
    refuses(
        "obfuscation = \"unchanged\"",
        "obfuscation = \"mixed\"",
        "`obfuscation = \"mixed\"`: unknown variant `mixed`, expected one of `unchanged`, `hashed`, `ordered`, `rescaled`, `hashed-or-ordered`",
    );
    let about = "name = \"c\"\ntitle = \"t\"\ncaption = \"c\"\nx = \"x\"\ny = \"y\"\nsql = \"SELECT 1 FROM days\"\n";
    let cases = [
        (
            "plot = \"dots\"\nneeds = [\"days\"]",
            "`plot = \"dots\"`: unknown variant `dots`, expected one of `lines`, `areas`, `bars`, `stacks`, `numbers`",
        ),
        (
            "plot = \"lines\"\nneeds = [\"days some\"]",
            "the parts \"some\" are not any, unbroken, same or all",
        ),
    ];
    for (keys, message) in cases {
        wrong(&format!("{SMALL}[[figure]]\n{about}{keys}\n"), message);
    }
    let table = "[derived.table]\nname = \"steps\"\nsummary = \"s\"\nfiles = \"derived\"\nrequired = \"r\"\n\
                 [[derived.table.column]]\nname = \"a\"\ncontent = \"a\"\nkind = \"integer\"\nformat = \"I\"\n\
                 obfuscation = \"unchanged\"\ndoc = \"d\"\nmandatory = true\n";
    let derived = format!("{SMALL}[[derived]]\nrule = \"tree\"\nfrom = \"days\"\n{table}");
    wrong(
        &derived,
        "`rule = \"tree\"`: unknown variant `tree`, expected `dag`",
    );
}

#[test]
fn what_would_grow_without_bound_is_refused() {
    let trace = "[[trace]]\nname = \"small-1\"\ntitle = \"one\"\ndocument = \"a letter\"\n";
    let many = SMALL.replace(trace, &trace.repeat(17));
    wrong(&many, "at most 16 versions");
    let check = format!(
        "[[check]]\nname = \"c\"\nsentence = \"s\"\ndocument = \"d\"\neach = [{}]\nneeds = [\"{{table}}\"]\n\
         sql = \"SELECT {}\"\n",
        "\"days\", ".repeat(100),
        "{table} ".repeat(10_000),
    );
    wrong(
        &format!("{SMALL}{check}"),
        "each: the queries have more than",
    );
}
