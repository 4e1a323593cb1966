//! How lines of plain CSV may be written: byte order marks, blanks around fields, comments before a header.

use std::fs;

use tracelake_testkit::{Scratch, convert, manifest, read_output, value_text, verify_well};

use super::describe;
use super::language::{INTEGER, TEXT, converted, misfit, one_table};

const FLOAT: &str = "kind = \"float\"";

/// The rows of the lake, fields joined by bars.
fn rows(scratch: &Scratch) -> Vec<String> {
    let manifest = manifest(&scratch.out());
    let parts = manifest["tables"][0]["parts"].as_array().unwrap().clone();
    let mut rows = Vec::new();
    for part in parts {
        let path = part["output"]["path"].as_str().unwrap();
        let batch = read_output(&scratch.out().join(path));
        for row in 0..batch.num_rows() {
            let values = batch.columns().iter().map(|column| value_text(column, row));
            rows.push(values.collect::<Vec<_>>().join("|"));
        }
    }
    rows
}

/// A description of a day and a sky, with these lines in `[table.csv]`.
fn skies(csv: &str) -> String {
    let table = format!("files = \"whole\"\n[table.csv]\n{csv}");
    one_table(&table, &[("day", INTEGER), ("sky", TEXT)])
}

/// The description of [`skies`], for quoted CSV.
fn quoted_skies(csv: &str) -> String {
    skies(csv).replace("[table.csv]", "syntax = \"quoted-csv\"\n[table.csv]")
}

/// Expects rows from a text, also where every part has one row.
#[track_caller]
fn gives(text: &str, csv: &str, expected: &[&str]) {
    gives_by(text, &skies(csv), expected);
}

#[track_caller]
fn gives_by(text: &str, description: &str, expected: &[&str]) {
    let scratch = Scratch::new();
    scratch.file("readings.csv", text.as_bytes());
    converted(&scratch, description);
    assert_eq!(rows(&scratch), expected, "{text:?}");
    let cut = Scratch::new();
    cut.file("readings.csv", text.as_bytes());
    let file = describe(&cut, "weather.toml", description);
    cut.convert_well(&["--trace", file.to_str().unwrap(), "--part-rows", "1"]);
    assert_eq!(rows(&cut), expected, "{text:?}");
    verify_well(&cut.out(), &cut.src());
}

/// Expects that a text is refused, with this in the message.
#[track_caller]
fn refuses(text: &str, csv: &str, says: &str) {
    refuses_by(text, &skies(csv), says);
}

#[track_caller]
fn refuses_by(text: &str, description: &str, says: &str) {
    let scratch = Scratch::new();
    scratch.file("readings.csv", text.as_bytes());
    let run = misfit(&scratch, description);
    assert_eq!(run.code, 4, "{}", run.stderr);
    assert!(run.message().contains(says), "{says}: {}", run.message());
}

#[test]
fn a_file_may_begin_with_a_byte_order_mark() {
    let both = &["1|blue", "2|grey"];
    for (text, csv) in [
        ("\u{feff}1,blue\n2,grey\n", ""),
        ("\u{feff}1,blue\r\n2,grey", ""),
        ("\u{feff}1;\tblue\n2;\tgrey\n", "separator = \";\\t\""),
        ("\u{feff} 1  blue\n2 grey\n", "separator = \"blanks\""),
        ("\u{feff} 1 ,blue\n2, grey\n", "trim = true"),
        ("\u{feff}# a\n1,blue\n# b\n2,grey\n", "comment = \"#\""),
        ("\u{feff}day,sky\n1,blue\n2,grey\n", "header = true"),
        (
            "\u{feff}# a\nday,sky\n1,blue\n2,grey\n",
            "header = true\ncomment = \"#\"",
        ),
    ] {
        gives(text, &format!("bom = true\n{csv}"), both);
    }
    gives(
        "\u{feff}1,\u{feff}blue\n",
        "bom = true",
        &["1|\u{feff}blue"],
    );
    let none = "begins with no byte order mark, and the description says bom = true";
    refuses("1,blue\n", "bom = true", none);
    refuses("day,sky\n1,blue\n", "bom = true\nheader = true", none);
    refuses("\u{feff}\u{feff}1,blue\n", "bom = true", "not an integer");
    refuses(
        "\u{feff}\n1,blue\n",
        "bom = true",
        "readings.csv:1:1: readings: ",
    );
    let hint = "write bom = true in [table.csv] of the description";
    refuses("\u{feff}1,blue\n", "", hint);
    refuses("\u{feff}day,sky\n1,blue\n", "header = true", hint);
    refuses(
        "\u{feff}day,sky\n1,blue\nx,grey\n",
        "bom = true\nheader = true",
        "readings.csv:3:1: ",
    );
}

#[test]
fn a_separator_at_the_end_of_a_line_may_begin_no_field() {
    let both = &["1|blue", "2|NULL", "3|grey"];
    gives("1,blue,\n2,,\n3,grey\n", "trailing = true", both);
    gives("1,blue,\r\n2,,\r\n3,grey,", "trailing = true", both);
    gives(
        "day,sky,\n1,blue,\n2,,\n3,grey,\n",
        "trailing = true\nheader = true",
        both,
    );
    gives(
        "# a,\nday, sky\n1, blue,\n2,,\n3 ,grey,\n",
        "trailing = true\nheader = \"by-name\"\ntrim = true\ncomment = \"#\"",
        both,
    );
    gives(
        "1;\tblue;\t\n2;\t;\t\n3;\tgrey;\t\n",
        "trailing = true\nseparator = \";\\t\"",
        both,
    );
    // A row that lacks its last field isn't one whose last field is empty, nor is one with a field more.
    for row in ["1,", "1", "1,blue,,", "1,blue,x", "1,blue,x,"] {
        let fields = row.trim_end_matches(',').split(',').count();
        let fields = if row == "1,blue,," { 3 } else { fields };
        let says = format!("{fields} field");
        refuses(&format!("{row}\n"), "trailing = true", &says);
    }
    refuses("1,blue,\n", "", "3 fields");
}

#[test]
fn quoted_fields_may_have_any_separator() {
    for separator in [";", "\t", ";\t", "::", ";;;"] {
        let text = |rows: &[[&str; 2]]| -> String {
            let lines = rows.iter().map(|row| row.join(separator) + "\n");
            lines.collect()
        };
        let blue = format!("\"blue{separator}\"\"sky\"\"\"");
        let good = text(&[
            ["\"day\"", "sky"],
            ["1", &blue],
            ["2", ""],
            ["\"3\"", "\"two\nlines\""],
            ["4", "a,b:c"],
        ]);
        let blue = format!("1|blue{separator}\"sky\"");
        let expected = [&blue, "2|NULL", "3|two\nlines", "4|a,b:c"];
        for header in ["", "header = true\n", "header = \"by-name\"\n"] {
            let description = quoted_skies(&format!("{header}separator = {separator:?}"));
            gives_by(&good, &description, &expected);
            for (field, says) in [
                ("\"blue\"x", "a quote where none belongs"),
                ("bl\"ue", "a quote where none belongs"),
                ("\"blue", "a quoted field that does not end"),
                ("blue,grey", "2:1: "),
            ] {
                let day = if says == "2:1: " { "one" } else { "1" };
                refuses_by(&text(&[["day", "sky"], [day, field]]), &description, says);
            }
            refuses_by("day,sky\n1,blue\n", &description, "readings.csv:1:");
            // Bad rows among good ones; verify reads both by itself.
            let scratch = Scratch::new();
            let bad = text(&[
                ["day", "sky"],
                ["1", "\"blue\"x"],
                ["2", "bl\"ue"],
                ["3", &format!("a{separator}b")],
                ["4", "\"two\nlines\""],
                ["5", "\"\"\"open"],
            ]);
            scratch.file("readings.csv", bad.as_bytes());
            let file = describe(&scratch, "weather.toml", &description);
            let arguments = ["--trace", file.to_str().unwrap(), "--on-bad-row", "reject"];
            convert(&scratch.src(), &scratch.out(), &arguments).exits(3);
            assert_eq!(rows(&scratch), ["4|two\nlines"]);
            verify_well(&scratch.out(), &scratch.src());
        }
    }
}

#[test]
fn blanks_around_fields_may_be_trimmed() {
    let both = &["1|blue sky", "2|NULL", "3|x"];
    gives(" 1 ,\tblue sky \n2,  \n\t3,x\n", "trim = true", both);
    gives(
        "1\t blue sky\n2\t \n 3 \t x\n",
        "trim = true\nseparator = \"\\t\"",
        both,
    );
    gives(
        "1 ,\tblue sky\n2,\t\n3,\tx \n",
        "trim = true\nseparator = \",\\t\"",
        both,
    );
    gives(
        " day, sky\n1,blue sky\n2, NA \n3,x\n",
        "trim = true\nheader = true\nnull = [\"NA\"]",
        both,
    );
    gives("1, x \n", "", &["1| x "]);
    refuses(
        " 1,x\n",
        "",
        "write trim = true in [table.csv] of the description",
    );
    refuses(
        " day, sky\n1,x\n",
        "header = true",
        "the header has ' day' as column 1, not 'day'",
    );
    refuses(
        "1 ,x\n 2 3,x\n",
        "trim = true",
        "readings.csv:2:2: readings.day: not an integer in decimal digits: '2 3'",
    );
    // What is rejected is found in the source by `verify`.
    let scratch = Scratch::new();
    scratch.file("readings.csv", b" 1 , x\n 2\n x , y\n 3 ,z \n");
    let file = describe(&scratch, "weather.toml", &skies("trim = true"));
    let options = ["--trace", file.to_str().unwrap(), "--on-bad-row", "reject"];
    scratch.convert(&options).exits(3);
    verify_well(&scratch.out(), &scratch.src());
    assert_eq!(rows(&scratch), ["1|x", "3|z"]);
    let entry = fs::read_dir(scratch.out().join("_tracelake/rejects/readings"))
        .unwrap()
        .next();
    let rejects = fs::read_to_string(entry.unwrap().unwrap().path()).unwrap();
    assert!(
        rejects.contains("\"line\":3,\"byte\":10,\"column\":\"day\""),
        "{rejects}"
    );
}

#[test]
fn comments_may_be_before_a_header() {
    let csv = "header = true\ncomment = \"#\"";
    gives(
        "# a\n#\nday,sky\n# b\n1,blue\n2,grey\n",
        csv,
        &["1|blue", "2|grey"],
    );
    // More than a chunk of them.
    let comments = "# comment\n".repeat(50_000);
    gives(&format!("{comments}day,sky\n1,blue\n"), csv, &["1|blue"]);
    refuses(
        &format!("{comments}day,clouds\n"),
        csv,
        "readings.csv:50001:5: readings: the header has 'clouds'",
    );
    refuses(
        &format!("{comments}day,sky\n1,x\ny,z\n"),
        csv,
        "readings.csv:50003:1: ",
    );
    refuses(
        "# a\n1,blue\n",
        csv,
        "readings.csv:2:1: readings: the header has '1' as column 1",
    );
    refuses("# a\n", csv, "there is no header");
    refuses(
        "# a\nday,sky\n1,x\n",
        "header = true",
        "the header has '# a' as column 1",
    );
}

#[test]
fn a_header_may_have_a_name_twice_and_empty_ones() {
    let scratch = Scratch::new();
    let description = one_table(
        "files = \"whole\"\n[table.csv]\nheader = true",
        &[("a", INTEGER), ("b", TEXT), ("c", FLOAT)],
    );
    let description = description.replace("content = \"a\"", "content = \"\"");
    let description = description.replace("content = \"c\"", "content = \"b\"");
    scratch.file("readings.csv", b",b,b\n0,x,0.5\n");
    converted(&scratch, &description);
    assert_eq!(rows(&scratch), ["0|x|0.5"]);
    for header in ["a,b,b", ",b,c", "b,,b"] {
        let scratch = Scratch::new();
        scratch.file("readings.csv", format!("{header}\n0,x,0.5\n").as_bytes());
        assert_eq!(misfit(&scratch, &description).code, 4, "{header}");
    }
}

#[test]
fn a_column_may_have_its_own_spellings_of_null() {
    let scratch = Scratch::new();
    let integer = format!("{INTEGER}\nnull = [\"-\", \"NA\"]");
    let table = "files = \"whole\"\n[table.csv]\nnull = [\"?\"]";
    let never = format!("{TEXT}\nnull = []");
    let columns = [("day", &integer[..]), ("sky", &never), ("wind", FLOAT)];
    scratch.file("readings.csv", b"-,-,?\nNA,?,0.5\n,,\n");
    converted(&scratch, &one_table(table, &columns));
    assert_eq!(
        rows(&scratch),
        ["NULL|-|NULL", "NULL|?|0.5", "NULL|NULL|NULL"]
    );
    let bad = Scratch::new();
    bad.file("readings.csv", b"?,-,?\n");
    let refused = misfit(&bad, &one_table(table, &columns));
    assert!(
        refused.code == 4 && refused.message().contains("readings.day"),
        "{}",
        refused.stderr
    );
}
