//! Names of files, the form of their lines, and spellings of values.

use super::*;

/// Makes the small table's files those that names say.
fn named(names: &str, more: &str) -> String {
    SMALL.replacen(
        "parts = 1\n",
        &format!("files = \"named\"\nnames = [{names}]\n{more}\n"),
        1,
    )
}

#[test]
fn names_of_files_are_read() {
    let text = named(
        "\"days-{n}-of-{total}.csv.gz\", \"{when}_{n}.csv\"",
        "first = 1\ncaptures.when = [\"now\", \"then\"]",
    );
    let table = &parse(&text).unwrap()[0].tables[0];
    assert_eq!((table.files, table.naming.first), (crate::Files::Named, 1));
    let claims = table.naming.claims("then_07.csv.gz");
    assert_eq!((claims.len(), claims[0].number), (1, 7));
    assert_eq!(
        table.captured("then_07.csv.gz", "when").as_deref(),
        Some("then")
    );
    assert_eq!(table.captured("days-3-of-9.csv", "n").as_deref(), Some("3"));
    assert_eq!(table.parts, 0);
    // Without numbers, the names say how many parts there are.
    let two = &parse(&named("\"a.csv\", \"b.csv\"", "")).unwrap()[0].tables[0];
    assert_eq!(
        (two.parts, two.naming.name_of(1, 2).as_deref()),
        (2, Some("b.csv"))
    );
}

#[test]
fn names_may_begin_with_directories() {
    let text = named(
        "\"Days/cell={cell}/day={day}/hour={hour}/part-000.csv\"",
        "captures = { cell = [\"Earth\", \"moon\"], day = \"8..12\", hour = \"00..23\" }",
    );
    let table = &parse(&text).unwrap()[0].tables[0];
    let naming = &table.naming;
    let path = "anywhere/Days/cell=moon/day=10/hour=07/part-000.csv.gz";
    let claims = naming.claims(path);
    assert_eq!(claims.len(), 1);
    // By hand: five days of 24 hours each.
    assert_eq!(claims[0].number, (5 + 2) * 24 + 7);
    assert_eq!((claims[0].total, naming.count()), (None, None));
    assert_eq!(table.captured(path, "cell").as_deref(), Some("moon"));
    assert_eq!(table.captured(path, "hour").as_deref(), Some("07"));
    assert_eq!(
        naming.name_of(claims[0].number, 0).unwrap(),
        "Days/cell=moon/day=10/hour=07/part-000.csv"
    );
    // A partial download doesn't begin with the first possible part.
    assert_eq!(naming.first_of([200, 175].into_iter()), 175);
    for other in [
        "part-000.csv",
        "day=10/hour=07/part-000.csv",
        "Days/cell=moon/day=13/hour=07/part-000.csv",
        "Days/cell=moon/day=10/hour=7/part-000.csv",
        "Days/cell=moon/day=10/hour=24/part-000.csv",
        "Days/cell=mars/day=10/hour=07/part-000.csv",
        "Days/cell=moon/day=10/x/hour=07/part-000.csv",
        "xDays/cell=moon/day=10/hour=07/part-000.csv",
    ] {
        assert!(naming.claims(other).is_empty(), "{other}");
    }
    for (directory, leads) in [
        ("Days", true),
        ("a source/Days", true),
        ("Days/cell=moon", true),
        ("/data/Days/cell=Earth/day=8", true),
        ("/data/Days/cell=Earth/day=8/hour=00", true),
        ("/data/Days/cell=Earth/day=8/hour=00/part-000.csv", false),
        ("cell=moon", false),
        ("Days/cell=mars", false),
        ("Days/cell=", false),
        ("days", false),
        ("", false),
    ] {
        assert_eq!(naming.leads_to(directory), leads, "{directory}");
    }
}

#[test]
fn mistakes_in_directories_and_ranges_are_explained() {
    let range = |range: &str| named("\"day={day}/a.csv\"", &format!("captures.day = {range}"));
    for (text, says) in [
        (
            range("\"a..b\""),
            "captures: day: \"a..b\" is not a range of numbers",
        ),
        (
            range("\"1\""),
            "\"1\" is not a range of numbers, such as \"0..99\" or \"00..23\"",
        ),
        (range("\"-1..2\""), "is not a range of numbers"),
        (
            range("\"5..4\""),
            "\"5..4\" has no number in it, or more than 10000",
        ),
        (
            range("\"0..10000\""),
            "has no number in it, or more than 10000",
        ),
        (
            range("7"),
            "a list of values, or a range such as \"00..23\"",
        ),
        (
            named(
                "\"{a}/{b}/{c}.csv\"",
                "captures = { a = \"0..999\", b = \"0..999\", c = \"0..99\" }",
            ),
            "together they have 100000000 values, and a table has at most 1000000 parts",
        ),
        (
            named("\"/a.csv\"", ""),
            "\"/a.csv\" is not the name of a file",
        ),
        (
            named("\"a//b.csv\"", ""),
            "none of them is empty or begins with a point",
        ),
        (
            named("\"../b.csv\"", ""),
            "none of them is empty or begins with a point",
        ),
        (
            SMALL.replacen(
                "parts = 1\n",
                "files = \"whole\"\nnames = [\"a/b.csv\"]\n",
                1,
            ),
            "those of a table in one file have no braces and no slash",
        ),
    ] {
        wrong(&text, says);
    }
}

#[test]
fn parquet_is_a_part_by_itself() {
    let text = |files: &str| {
        let parquet = format!("syntax = \"parquet\"\n{files}");
        SMALL.replacen("parts = 1\n", &parquet, 1)
    };
    let table = &parse(&text("files = \"named\"\nnames = [\"a.parquet\"]\n")).unwrap()[0].tables[0];
    assert!(table.is_published_as_parquet() && !table.parquet);
    for files in ["parts = 1\n", "files = \"whole\"\n"] {
        wrong(&text(files), "a Parquet file is a part");
    }
    let shards = text("files = \"shards\"\n");
    parse(&shards).unwrap();
    wrong(
        &shards.replacen("syntax", "parquet = true\nsyntax", 1),
        "parquet: only of a table with files = \"shards\" and syntax = \"json\"",
    );
    let archive =
        "document = \"a letter\"\n[[trace.archive]]\nnames = [\"a.tar.gz\"]\nsize = \"1G\"\n";
    wrong(
        &shards.replacen("document = \"a letter\"\n", archive, 1),
        "Parquet is read in a zip archive only",
    );
}

#[test]
fn files_may_have_other_names() {
    let text = named(
        "\"days-{n}-of-{total}.csv.gz\"",
        "also = [\"x_days_of-{total}-{n}.csv.gz\"]",
    );
    let naming = &parse(&text).unwrap()[0].tables[0].naming;
    assert_eq!(
        naming.claims("x_days_of-9-7.csv"),
        naming.claims("days-7-of-9.csv.gz")
    );
    let says = "also: one name for each of `names`, in the same order and with the same braces";
    for also in ["\"x_{n}.csv\"", "\"a_{n}_{total}\", \"b_{n}_{total}\""] {
        wrong(
            &named("\"{n}-{total}.csv\"", &format!("also = [{also}]")),
            says,
        );
    }
    wrong(
        &named("\"a.csv\"", "also = [\"a.csv\"]"),
        "also: the name a.csv occurs twice",
    );
}

#[test]
fn mistakes_in_names_are_explained() {
    for (names, more, message) in [
        ("", "", "files = \"named\" needs names"),
        ("\"../days.csv\"", "", "is not the name of a file"),
        ("\".days.csv\"", "", "is not the name of a file"),
        ("\"days{n.csv\"", "", "a brace isn't closed"),
        ("\"daysn}.csv\"", "", "a brace isn't opened"),
        (
            "\"{x}.csv\"",
            "",
            "{x} is not {n}, {total}, {date} or one of [table.captures]",
        ),
        ("\"{n}-{n}.csv\"", "", "{n} is in the name twice"),
        (
            "\"{n}{total}.csv\"",
            "",
            "two numbers need a text between them",
        ),
        ("\"of-{total}.csv\"", "", "{total} needs {n}"),
        (
            "\"a.csv\", \"{n}.csv\"",
            "",
            "either all of them have captures, or none has",
        ),
        ("\"a.csv\", \"a.csv\"", "", "the name a.csv occurs twice"),
        ("\"{n}.csv\"", "captures.x = [\"a\"]", "no name has {x}"),
        ("\"{x}.csv\"", "captures.x = []", "a capture has 1 to"),
        (
            "\"{x}.csv\"",
            "captures.x = [\"a\", \"a\"]",
            "the value a occurs twice",
        ),
        (
            "\"{x}.csv\"",
            "captures.x = [\"a/b\"]",
            "can't be a piece of a file name",
        ),
        (
            "\"{n}.csv\"",
            "captures.n = [\"1\"]",
            "{n} stands for digits",
        ),
        (
            "\"{x}.csv\", \"{n}.csv\"",
            "captures.x = [\"a\"]",
            "either all of them have {n}, or none has",
        ),
    ] {
        wrong(&named(names, more), message);
    }
    wrong(
        &SMALL.replacen("parts = 1", "parts = 1\nnames = [\"a.csv\"]", 1),
        "names are for files",
    );
    wrong(
        &SMALL.replacen("parts = 1", "parts = 1\nfirst = 1", 1),
        "captures, first and also are for",
    );
    wrong(
        &SMALL.replacen("parts = 1", "parts = 1\nsparse = true", 1),
        "sparse: only with one name, whose captures number the files",
    );
    let whole = "files = \"whole\"\nnames = [\"{n}.csv\"]";
    wrong(
        &SMALL.replacen("parts = 1", whole, 1),
        "a table in one file have no braces",
    );
}

#[test]
fn the_form_of_lines_is_read_and_checked() {
    let with = |csv: &str| {
        SMALL.replacen(
            "[table.published]",
            &format!("[table.csv]\n{csv}\n[table.published]"),
            1,
        )
    };
    let text = with("header = true\nseparator = \"\\t\"\ncomment = \"#\"\nnull = [\"\", \"NA\"]");
    let table = &parse(&text).unwrap()[0].tables[0];
    let expected = crate::Csv {
        header: crate::Header::InOrder,
        separator: crate::Separator::Byte(b'\t'),
        comment: Some(b'#'),
        ..crate::Csv::PLAIN
    };
    assert_eq!(table.csv, expected);
    assert_eq!(*table.columns[0].spelling.nulls, ["NA"]);
    for (written, separator) in [
        ("blanks", crate::Separator::Blanks),
        (";\\t", crate::Separator::several(";\t")),
    ] {
        let text = with(&format!("separator = \"{written}\""));
        assert_eq!(parse(&text).unwrap()[0].tables[0].csv.separator, separator);
    }
    for (csv, message) in [
        (
            "separator = \"ab\"",
            "csv: separator \"ab\" is not \"blanks\" or 1 to 4 ASCII characters",
        ),
        ("separator = \";;;;;\"", "is not \"blanks\" or 1 to 4"),
        ("separator = \"\"", "is not \"blanks\" or 1 to 4"),
        ("separator = \"é\"", "is not \"blanks\" or 1 to 4"),
        (
            "separator = \";\\t\"\ncomment = \";\"",
            "csv: comment \";\" is also the separator",
        ),
        (
            "separator = \"blanks\"\ncomment = \" \"",
            "csv: comment \" \" is also the separator",
        ),
        (
            "separator = \"1\"",
            "is not one ASCII character that is no letter, digit",
        ),
        ("comment = \"\"", "csv: comment"),
        ("null = [\"a\", \"a\"]", "the spelling a occurs twice"),
        ("headers = true", "unknown field `headers`"),
        ("header = 1", "not true, false or \"by-name\""),
        ("bom = \"yes\"", "invalid type"),
        (
            "separator = \"blanks\"\ntrim = true",
            "csv: trim: separator = \"blanks\" leaves no blanks around a field",
        ),
        (
            "separator = \"blanks\"\ntrailing = true",
            "csv: trailing: with separator = \"blanks\"",
        ),
    ] {
        wrong(&with(csv), message);
    }
    let json = with("header = true").replacen("parts = 1", "parts = 1\nsyntax = \"json\"", 1);
    wrong(&json, "csv: only for syntax = \"csv\"");
    let csv = parse(&with("bom = true\ntrim = true")).unwrap()[0].tables[0].csv;
    assert!(csv.bom && csv.trim);
    assert!(!expected.bom && !expected.trim);
}

/// A name that a header has twice, or an empty one, is still the name of a column of plain CSV.
#[test]
fn a_header_may_have_a_name_twice_or_an_empty_one() {
    let twice = SMALL.replacen("content = \"mood\"", "content = \"time\"", 1);
    wrong(&twice, "the content time occurs twice");
    let header = "[table.csv]\nheader = true\n[table.published]";
    let with_header = twice.replacen("[table.published]", header, 1);
    let columns = |text: &str| Arc::clone(&parse(text).unwrap()[0].tables[0].columns);
    let contents = |text: &str| -> Vec<String> {
        let columns = columns(text);
        columns
            .iter()
            .map(|column| column.content.clone())
            .collect()
    };
    assert_eq!(contents(&with_header), ["time", "time"]);
    let empty = with_header.replace("content = \"time\"", "content = \"\"");
    assert_eq!(contents(&empty), ["", ""]);
}

#[test]
fn a_column_may_have_spellings_of_null_of_its_own() {
    let text = SMALL.replacen(
        "[table.published]",
        "[table.csv]\nnull = [\"NA\"]\n[table.published]",
        1,
    );
    let text = text.replacen("doc = \"how\"", "doc = \"how\"\nnull = [\"-\", \"\"]", 1);
    let columns = &parse(&text).unwrap()[0].tables[0].columns;
    let nulls = [0, 1].map(|index| &*columns[index].spelling.nulls);
    assert_eq!(nulls, [["NA"], ["-"]]);
    wrong(
        &text.replacen("[\"-\", \"\"]", "[\"-\", \"-\"]", 1),
        "days: mood: null: the spelling - occurs twice",
    );
}

#[test]
fn columns_are_read_in_other_spellings() {
    let with =
        |kind: &str| SMALL.replacen("kind = \"integer\"\nformat", &format!("{kind}\nformat"), 1);
    let plain = |text: &str| text.replace("sentinels = \"time\"\nranges = \"hour\"\n", "");
    let unused = |text: String| {
        let (before, rest) = text.split_once("[[sentinels.time]]").unwrap();
        let table = &rest[rest.find("[[table]]").unwrap()..];
        format!("{before}{table}")
    };
    let zoned = unused(plain(&with("kind = \"date-time\"\nzone = \"published\"")));
    let timed = zoned.replacen("parts = 1", "parts = 1\ntime = \"time\"", 1);
    let table = &parse(&timed).unwrap()[0].tables[0];
    assert_eq!(
        table.columns[0].kind,
        crate::Kind::DateTime(crate::Zone::Published)
    );
    assert_eq!(table.time, Some(0));
    for (kind, message) in [
        (
            "kind = \"integer\"\nzone = \"none\"",
            "only a column of kind date-time has a zone",
        ),
        (
            "kind = \"date-time\"\nzone = \"UTC\"",
            "`zone = \"UTC\"`: unknown variant `UTC`, expected `published` or `none`",
        ),
        (
            "kind = \"float\"\nintegral_floats = true",
            "only a column of kind integer has integral_floats",
        ),
        (
            "kind = \"text\"\ncapture = \"x\"",
            "{x} is not a capture of the table's names",
        ),
    ] {
        wrong(&unused(plain(&with(kind))), message);
    }
    for syntax in ["json", "quoted-csv"] {
        let text = timed.replacen("parts = 1", &format!("parts = 1\nsyntax = {syntax:?}"), 1);
        parse(&text).unwrap();
    }
    wrong(
        &SMALL.replacen("parts = 1", "parts = 1\ntime = \"mood\"", 1),
        "time names mood, which is not an integer, float or date-time column",
    );
    let captured = named("\"{x}.csv\"", "captures.x = [\"a\"]").replacen(
        "doc = \"how\"",
        "doc = \"how\"\ncapture = \"x\"",
        1,
    );
    wrong(
        &captured,
        "only a column of kind text or integer can be one",
    );
}

#[test]
fn a_million_columns_are_refused() {
    let column = "[[table.column]]\nname = \"cN\"\ncontent = \"cN\"\nkind = \"text\"\nformat = \"T\"\n\
                  obfuscation = \"unchanged\"\ndoc = \"d\"\n";
    let columns: String = (0..3_000)
        .map(|number| column.replace('N', &number.to_string()))
        .collect();
    wrong(
        &format!("{SMALL}{columns}"),
        "a table has at most 999 columns",
    );
    // SMALL has two columns.
    let list = "[[table.column]]\nname = \"l\"\ncontent = \"l\"\nkind = \"list\"\nformat = \"L\"\n\
                obfuscation = \"unchanged\"\ndoc = \"d\"\n[[table.column.field]]\nname = \"item\"\n\
                content = \"item\"\nkind = \"float\"\nformat = \"F\"\nobfuscation = \"unchanged\"\ndoc = \"d\"\n";
    let with = |flat: usize, list: &str| {
        let columns = (0..flat).map(|number| column.replace('N', &number.to_string()));
        let columns: String = columns.collect();
        let small = match list {
            "" => SMALL.to_owned(),
            _ => SMALL.replacen("parts = 1", "parts = 1\nsyntax = \"json\"", 1),
        };
        parse(&format!("{small}{columns}{list}")).map(|_| ())
    };
    assert_eq!(with(997, ""), Ok(()));
    assert!(with(998, "").is_err());
    assert_eq!(with(994, list), Ok(()));
    let error = with(995, list).unwrap_err().to_string();
    assert!(error.contains("at most 999"), "{error}");
    let million = format!("{SMALL}{}", column.repeat(1_000_000));
    wrong(&million, "a description has at most 1048576 bytes");
}

#[test]
fn a_description_has_no_built_in_name() {
    let taken = crate::trace_names().next().unwrap();
    let family = SMALL.replacen("family = \"small\"", &format!("family = \"{taken}\""), 1);
    let text = family.replacen("name = \"small-1\"", &format!("name = \"{taken}\""), 1);
    let error = crate::read_new(&text).unwrap_err();
    assert_eq!(error.line(), Some(6));
    assert!(
        error.to_string().contains("a built-in trace has this name"),
        "{error}"
    );
    // A lake that was made before may have it.
    let traces = read(&text).unwrap();
    assert_eq!(traces[0].name, taken);
    assert_eq!(traces[0].description.as_ref().unwrap().text, text);
}

#[test]
fn a_description_may_have_cells() {
    let cells = "document = \"a letter\"\n[trace.cells]\nnames = [\"east\", \"west\"]\n\
                 directory = \"small_{cell}\"\ndoc = \"A side.\"";
    let text = SMALL.replacen("document = \"a letter\"", cells, 1);
    let traces = read(&text).unwrap();
    let cells = traces[0].cells.as_ref().unwrap();
    assert_eq!(cells.of_directory("small_west"), Some("west"));
    assert_eq!(cells.find("north"), None);
    let digest = "0".repeat(64);
    let archive =
        format!("[[trace.archive]]\nnames = [\"all.tar\"]\nsha256 = \"{digest}\"\nsize = \"1\"\n");
    let with_archive = text.replacen("[[table]]", &format!("{archive}[[table]]"), 1);
    wrong(
        &with_archive,
        "small-1: archive: a trace with cells has none",
    );
}

/// The small table with a column of texts that says this of its values.
fn looking(more: &str) -> String {
    let column = "name = \"place\"\ncontent = \"place\"\nkind = \"text\"\nformat = \"STRING\"";
    format!(
        "{SMALL}[[table.column]]\n{column}\nobfuscation = \"unchanged\"\ndoc = \"where\"\n{more}\n"
    )
}

#[test]
fn columns_say_what_their_values_look_like() {
    let text = looking("looks_like = [\"m_{digits}\", \"{hex 24}\", \"Running\"]");
    let traces = parse(&text).unwrap();
    let (_, column) = traces[0].tables[0].column("place").unwrap();
    let looks = &column.looks;
    let fits = [
        "m_5",
        "0123456789abcdef01234567",
        "Running",
        "running",
        "m_",
    ]
    .map(|text| {
        looks
            .pattern_of(text.as_bytes())
            .map(|pattern| &*pattern.text)
    });
    assert_eq!(
        fits,
        [
            Some("m_{digits}"),
            Some("{hex 24}"),
            Some("Running"),
            None,
            None
        ]
    );
}

#[test]
fn mistakes_in_looks_are_explained() {
    for (more, message) in [
        ("looks_like = [\"\"]", "has no letter"),
        ("looks_like = [\"{\"]", "a brace isn't closed"),
        (
            "looks_like = [\"{n}\"]",
            "{n} is not {digits}, {hex N} or {base64 N}",
        ),
        ("looks_like = [\"{hex 0}\"]", "{hex 0} is not"),
        ("looks_like = [\"{base64 999}\"]", "{base64 999} is not"),
        (
            "within = [0, 1]",
            "within: only a column of kind integer or float",
        ),
        (
            "multiple_of = 5",
            "multiple_of: only for a column of kind integer",
        ),
    ] {
        wrong(&looking(more), message);
    }
    let numbers = |more: &str| {
        SMALL.replacen(
            "kind = \"integer\"",
            &format!("kind = \"integer\"\n{more}"),
            1,
        )
    };
    assert!(parse(&numbers("within = [0, 2.5]\nmultiple_of = 5")).is_ok());
    wrong(
        &numbers("within = [2, 1]"),
        "within: the first number must not be above the second",
    );
    wrong(&numbers("multiple_of = 0"), "multiple_of must be above 0");
    wrong(
        &numbers("looks_like = [\"a\"]"),
        "looks_like: only a column of kind text",
    );
}
