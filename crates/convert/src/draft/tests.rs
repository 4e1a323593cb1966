//! Drafts of small samples. `tests/described/drafts.rs` converts the samples with their drafts.

use super::*;
use tracelake_schema::Separator;
use tracelake_schema::description::read;

/// The draft of a file of this name.
fn named(text: &str, file: &str, has_more: bool) -> String {
    let table = text::of_start(text, has_more).unwrap();
    description::text(file, None, &[(Files::whole(file), table)]).unwrap()
}

fn drafted(text: &str) -> String {
    named(text, "My trips-1.csv.gz", false)
}

#[test]
fn a_draft_is_a_description_of_its_sample() {
    let text =
        drafted("Id;when;Cost x;rest\n1;2023-01-01 00:00:00;\\N;\n2.0;2023-01-02 00:00:00;1.5;x\n");
    let traces = read(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let table = &traces[0].tables[0];
    assert_eq!(
        (&*traces[0].name, &*table.name),
        ("my-trips-1", "my_trips_1")
    );
    let names: Vec<&str> = table.columns.iter().map(|column| &*column.name).collect();
    assert_eq!(names, ["id", "when", "cost_x", "rest"]);
    let form = (table.csv.header, table.csv.separator);
    assert_eq!(
        form,
        (tracelake_schema::Header::InOrder, Separator::Byte(b';'))
    );
    assert_eq!(*table.columns[2].spelling.nulls, ["\\N"]);
    let kinds: Vec<&str> = text
        .lines()
        .filter(|line| line.starts_with("kind"))
        .collect();
    assert_eq!(
        kinds,
        [
            "kind = \"integer\"  # guess",
            "kind = \"date-time\"  # guess",
            "kind = \"float\"  # guess",
            "kind = \"text\"  # guess",
        ]
    );
}

#[test]
fn a_draft_renames_columns_that_queries_add() {
    let text = drafted("filename,cell,file_number,file_row_number\n1,2,3,4\n");
    let traces = read(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let columns = &traces[0].tables[0].columns;
    let names: Vec<&str> = columns.iter().map(|column| &*column.name).collect();
    assert_eq!(
        names,
        ["filename_2", "cell_2", "file_number_2", "file_row_number_2"]
    );
}

#[test]
fn without_a_header_columns_are_numbered() {
    let text = drafted("1,a\n2,b\n");
    let traces = read(&text).unwrap();
    assert_eq!(traces[0].tables[0].columns[1].name, "column_2");
    let header = traces[0].tables[0].csv.header;
    assert_eq!(header, tracelake_schema::Header::None);
}

/// The separator cuts each line into as many fields, and not one that only the first line has often.
#[test]
fn the_separator_fits_every_line() {
    let text = drafted("a,b,c,d;e\n1,5;2\n");
    let table = &read(&text).unwrap()[0].tables[0];
    assert!(table.csv.separator == tracelake_schema::Separator::Byte(b';'));
}

/// A column is of a kind if all of its values are, or of one that has them all.
#[test]
fn kinds_of_values_make_a_kind_of_columns() {
    let text = drafted("a,b,c,d\n1,1,1,0.5\n2,0.5,x,2023-01-01 00:00:00\n");
    let kinds: Vec<&str> = text
        .lines()
        .filter_map(|line| line.strip_prefix("kind = "))
        .collect();
    let expected = ["integer", "float", "text", "text"].map(|kind| format!("\"{kind}\"  # guess"));
    assert_eq!(kinds, expected);
}

/// The lines of a draft that say how lines are written.
fn form_of(text: &str) -> String {
    let form = text.split("[table.csv]\n").nth(1).unwrap();
    form.split("\n\n").next().unwrap().to_owned()
}

/// The kinds of the columns.
fn kinds_of(draft: &str) -> Vec<&str> {
    let kinds = draft
        .lines()
        .filter_map(|line| line.strip_prefix("kind = \""));
    kinds.map(|kind| kind.split('"').next().unwrap()).collect()
}

/// The published names of the columns.
fn contents_of(draft: &str) -> Vec<&str> {
    let contents = draft
        .lines()
        .filter_map(|line| line.strip_prefix("content = \""));
    contents
        .map(|content| content.split('"').next().unwrap())
        .collect()
}

#[test]
fn values_keep_all_that_they_spell() {
    for (sample, kind, remark) in [
        (
            "18446744073709551615\n1\n",
            "text",
            "such as 18446744073709551615: an integer has at most 64 bits.",
        ),
        (
            "1\n-9223372036854775809\n",
            "text",
            "such as -9223372036854775809: an integer has at most 64 bits.",
        ),
        (
            "00123\n5\n",
            "text",
            "such as 00123: a number would lose the zeros in front.",
        ),
        (
            "1.5\nnan\n",
            "text",
            "such as nan: a lake has no such number; it may be a spelling of `null`.",
        ),
        ("1\n9223372036854775807\n", "integer", ""),
        ("1.5\n9007199254740993\n", "text", ""),
        ("1.5\n-0\n1e5\n", "float", ""),
    ] {
        let draft = drafted(sample);
        assert_eq!(kinds_of(&draft), [kind], "{sample}");
        let remarks = draft
            .lines()
            .filter(|line| line.starts_with("# guess: a text"));
        let remarks: Vec<&str> = remarks.collect();
        assert_eq!(remarks.is_empty(), remark.is_empty(), "{draft}");
        assert!(remarks.iter().all(|line| line.ends_with(remark)), "{draft}");
    }
}

#[test]
fn a_header_is_known_by_its_words() {
    for (sample, contents) in [
        (",a,b\n0,1,2\n", ["", "a", "b"]),
        (",a,b\n0,x,y\n1,u,v\n", ["", "a", "b"]),
        ("a,b,a\n1,2,3\n", ["a", "b", "a"]),
        ("a,b,c\n18446744073709551615,00123,x\n", ["a", "b", "c"]),
        ("a,b,c\n1,2,3\n4,5,6,7\n", ["a", "b", "c"]),
        ("# c\na,b,c\n1,2,3\n", ["a", "b", "c"]),
        ("a, b,c \n1,2,3\n", ["a", " b", "c "]),
        ("a, b,c \n1,\t2,3\n", ["a", "b", "c"]),
        (
            "when,% cpu,1st\n2024-05-01 08:00:00,1,2\n",
            ["when", "% cpu", "1st"],
        ),
    ] {
        let draft = drafted(sample);
        assert!(
            form_of(&draft).starts_with("header = true  # guess"),
            "{draft}"
        );
        assert_eq!(contents_of(&draft), contents, "{draft}");
        let mut names: Vec<&str> = draft
            .lines()
            .filter(|line| line.starts_with("name = "))
            .collect();
        names.sort_unstable();
        names.dedup();
        // The trace, the table and the columns.
        assert_eq!(names.len(), 5, "{draft}");
        assert!(read(&draft).is_ok(), "{draft}");
    }
}

#[test]
fn a_row_is_no_header() {
    for sample in [
        "1,bob\n2,ann\n",
        "NA,bob\n2,ann\n",
        ",bob,5\n2,ann,6\n",
        "nan,1\n0.5,2\n",
        "18446744073709551615,1\n1,2\n",
        "00123,x\n00124,y\n",
        "run,x\nstop,y\nrun,z\n",
        "3f2a9c00de11f0aa7d,x\n9f2a9c00de11f0aa7d,y\n",
        "0,1\n1,2\n",
        "1e999,1\n0.5,2\n",
        "bob,5,6\nann,7,8\n",
        "5\n",
        "5,6\n",
        "5,bob\n",
        "a,b\n1,2,3\n4,5,6\n",
    ] {
        let draft = drafted(sample);
        assert!(
            form_of(&draft).starts_with("header = false  # guess"),
            "{draft}"
        );
        assert!(!draft.contains("may be a header"), "{draft}");
    }
}

/// A person decides; until then, `convert` stops at the line.
#[test]
fn a_line_that_may_be_a_header_is_left_open() {
    for sample in [
        "name,city\nbob,paris\n",
        "name\nbob\n",
        "a,b,a\nx,y,z\n",
        "a,b\n",
        "id,2021,2022\n7,5,6\n",
        "land,2021,2022\nFR,5,6\nDE,5,6\n",
        "land,2024-05-01\nFR,5\nDE,6\n",
        "id,2021\n",
        "0,1,2\n7,5,6\n",
        ",0\n0,7\n",
        ",,\n1,2,3\n",
    ] {
        let draft = drafted(sample);
        assert!(
            form_of(&draft)
                .starts_with("header = \"\"  # guess: line 1 may be a header: write true")
        );
        let error = read(&draft).unwrap_err();
        let line = draft.lines().nth(error.line().unwrap() - 1).unwrap();
        assert!(line.starts_with("header = \"\""), "{error}\n{draft}");
        assert!(error.message().contains("may be a header"), "{error}");
    }
    let draft = drafted("# made in May\nname,city\nbob,paris\n");
    assert!(draft.contains("line 2 may be a header"), "{draft}");
    for answer in ["true", "false"] {
        let decided = draft.replace("header = \"\"", &format!("header = {answer}"));
        let table = &read(&decided).unwrap()[0].tables[0];
        let header = table.csv.header == tracelake_schema::Header::InOrder;
        assert_eq!(header, answer == "true");
        assert_eq!(
            (&*table.columns[0].content, &*table.columns[1].content),
            ("name", "city")
        );
    }
}

#[test]
fn lines_are_written_as_the_sample_s() {
    for (sample, form) in [
        ("1,\t2\n3,\t4\n", "separator = \",\\t\"  # guess"),
        ("1\t2\n3\t4\n", "separator = \"\\t\"  # guess"),
        ("1|a,b\n3|c\n", "separator = \"|\"  # guess"),
        (
            "1\t; x\n3\t;y\n",
            "separator = \";\"  # guess: \"\\t\" separates every line evenly, too\ntrim = true  # guess: the blanks \
             around a field aren't part of it",
        ),
        (
            "1,5;2\n3,5;4\n",
            "separator = \",\"  # guess: \";\" separates every line evenly, too",
        ),
        ("  1  2\n10 20\n", "separator = \"blanks\"  # guess"),
        ("1 2\n10 20\n", "separator = \"blanks\"  # guess"),
        ("1 2 3\n10  20\n", "separator = \" \"  # guess"),
        ("1 2 3\n", "separator = \"blanks\"  # guess"),
        (
            "1, 2\n3,4\n",
            "trim = true  # guess: the blanks around a field aren't part of it",
        ),
        (
            "1, x\n3,y\n",
            "trim = false  # guess: the blanks at the ends of texts are part of them",
        ),
        ("\u{feff}1,2\n3,4\n", "bom = true"),
        ("# c\n1,2\n", "comment = \"#\"  # guess"),
        ("% c\n1,2\n", "comment = \"%\"  # guess"),
        (
            "; c\n1 2\n",
            "separator = \"blanks\"  # guess\ncomment = \";\"  # guess",
        ),
        (";1;2\n3;4;5\n", "separator = \";\"  # guess"),
    ] {
        let draft = drafted(sample);
        let written = form_of(&draft);
        assert_eq!(written.split_once('\n').unwrap().1, form, "{sample}");
    }
    for plain in ["new york\nsan marino\n", "1,2\n3,4\n", "#1,2\n#3,4\n"] {
        assert!(!form_of(&drafted(plain)).contains("separator"), "{plain}");
    }
}

/// A line that might be a row isn't skipped without a question, and the names in a comment aren't lost.
#[test]
fn comments_may_be_rows_or_headers() {
    let draft = drafted("#a,x\nb,y\n");
    let doubt = "comment = false  # guess: line 1 may be a row: write \"#\", or remove this key";
    assert!(draft.contains(doubt), "{draft}");
    let error = read(&draft).unwrap_err();
    assert!(error.message().contains("line 1 may be a row"), "{error}");
    let draft = drafted("# from May\nname,n\nbob,1\n#ann,2\n");
    assert!(
        draft.contains("comment = false  # guess: line 4 may be a row"),
        "{draft}"
    );
    let draft = drafted("# from May\n# id,name\n1,bob\n# the end\n");
    let says = "# guess: line 2 is a comment that may be a header, so the columns have its names.";
    assert!(draft.contains(says), "{draft}");
    let columns = &read(&draft).unwrap()[0].tables[0].columns;
    assert_eq!((&*columns[0].name, &*columns[1].content), ("id", "name"));
}

#[test]
fn lines_that_convert_stops_at_are_named() {
    for (sample, says) in [
        (
            "a,b\n1,2\n3,4,5\n",
            "line 3 has 3 fields, and most lines have 2.",
        ),
        (
            "My export\na,b\n1,2\n3,4\n",
            "line 1 has 1 field, and most lines have 2.",
        ),
        ("1,2\n\n3,4\n", "line 2 is blank."),
        (
            "1,2\r\n3,4\n",
            "line 2 doesn't end as the first line does, with LF or CR LF.",
        ),
        (
            "1,a\n3,b\0\n",
            "line 2 has the control character U+0000 in a field.",
        ),
        (
            "x,a\ny,b\t\n",
            "line 2 has the control character U+0009 in a field.",
        ),
    ] {
        let draft = drafted(sample);
        let stops = "convert stops there (exit 4); --on-bad-row reject sets such rows aside.";
        assert!(
            draft.contains(&format!("\n# guess: {says} {stops}\n")),
            "{draft}"
        );
    }
    let draft = drafted("1,a\t\n3,b\n5 ,c\n");
    assert!(
        draft.contains("trim = true") && !draft.contains("control character"),
        "{draft}"
    );
}

/// A word for NULL in a column of texts may be a text.
#[test]
fn spellings_of_null_are_those_of_columns_of_numbers() {
    let draft = drafted("1,NA,\\N\nNA,x,\\N\n");
    let columns = &read(&draft).unwrap()[0].tables[0].columns;
    let nulls = [0, 1, 2].map(|index| &*columns[index].spelling.nulls);
    assert_eq!(nulls, [&["NA"][..], &[], &[]], "{draft}");
    for null in ["\"NA\"", "\"\\\\N\""] {
        let says = format!("# guess: if {null} means that there is no value, add null = [{null}].");
        assert!(draft.contains(&says), "{draft}");
    }
}

#[test]
fn many_equal_names_and_names_of_files_are_no_mistake() {
    let header = vec!["a"; 200].join(",");
    let row = vec!["1"; 200].join(",");
    let draft = drafted(&format!("{header}\n{row}\n"));
    let columns = &read(&draft).unwrap()[0].tables[0].columns;
    assert_eq!((&*columns[1].name, &*columns[199].name), ("a_2", "a_200"));
    let built_in = &tracelake_schema::TRACES[0].name;
    for (number, file) in [
        "a\nb = 1.csv",
        "a\"b.csv",
        "a\\b.csv",
        "[[a]].csv",
        "{n}.csv",
        ".csv",
        "",
        "a'b c.csv",
        "1.csv",
        "ü.csv",
        "a\u{202e}b.csv",
        "schema.csv",
        built_in,
    ]
    .into_iter()
    .enumerate()
    {
        let draft = named("1,2\n3,4\n", file, true);
        let traces = read(&draft).unwrap_or_else(|error| panic!("{error}\n{draft}"));
        let names = &traces[0].tables[0].naming.patterns;
        let is_found = ![0, 2, 4, 5, 6, 10, 11].contains(&number);
        assert_eq!(
            names.iter().any(|name| name.text == file),
            is_found,
            "{file}"
        );
        assert_eq!(
            draft.contains("doesn't find a file of this name"),
            !is_found,
            "{file}"
        );
        assert!(draft.contains("the first 2 rows") && draft.contains("the file has more rows"));
    }
}
