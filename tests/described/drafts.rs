//! Drafts convert their own samples: `schema --new`, `convert` and a plain reader of the sample.

use std::fs;
use std::path::{Path, PathBuf};

use arrow_array::RecordBatch;
use arrow_schema::DataType;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use tracelake_testkit::{
    Run, Score, Scratch, convert, ensure, gzip, manifest, read_output, run, shared, value_text,
    verify_well, zstd,
};

/// How a sample is written; the plain reader knows it, and the draft has to find it out.
#[derive(Debug, Clone, Copy)]
struct Form<'a> {
    /// Between fields; a blank is any number of blanks.
    separator: &'a str,
    /// Lines before the header or the first row.
    comments: usize,
    header: bool,
}

const PLAIN: Form<'_> = Form {
    separator: ",",
    comments: 0,
    header: false,
};

const WITH_HEADER: Form<'_> = Form {
    header: true,
    ..PLAIN
};

/// The rows of a text: each with its line and its fields.
fn plain_rows<'a>(text: &'a str, form: Form<'_>) -> Vec<(usize, Vec<&'a str>)> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let lines = (1..).zip(text.split_terminator('\n'));
    let rows = lines.skip(form.comments + usize::from(form.header));
    rows.map(|(number, line)| {
        let line = line.strip_suffix('\r').unwrap_or(line);
        let fields = match form.separator {
            " " => line
                .split([' ', '\t'])
                .filter(|field| !field.is_empty())
                .collect(),
            separator => line.split(separator).collect(),
        };
        (number, fields)
    })
    .collect()
}

/// A sample file in a scratch directory, and its draft.
struct Drafted {
    scratch: Scratch,
    file: String,
    text: String,
    draft: String,
}

impl Drafted {
    fn of(file: &str, text: &str) -> Self {
        let scratch = Scratch::new();
        let bytes = match file.ends_with(".gz") {
            true => gzip(text.as_bytes()),
            false => text.as_bytes().to_owned(),
        };
        scratch.file(file, &bytes);
        let drafted = draft(&scratch.src().join(file));
        assert_eq!(drafted.code, 0, "{}", drafted.stderr);
        Self {
            scratch,
            file: file.to_owned(),
            text: text.to_owned(),
            draft: drafted.stdout,
        }
    }

    fn description(&self) -> PathBuf {
        self.scratch.path().join("draft.toml")
    }

    /// Converts the sample with the draft, and no other option than these.
    fn convert(&self, out: &Path, options: &[&str]) -> Run {
        fs::write(self.description(), &self.draft).unwrap();
        let description = self.description();
        let trace = ["--trace", description.to_str().unwrap()];
        convert(&self.scratch.src(), out, &[&trace, options].concat())
    }

    /// The property: the draft converts its sample to the rows and values that a plain reader finds. If the draft leaves
    /// a question open, `convert` asks it, and this answers. `convert` may stop only at bad rows that the draft names.
    fn check(mut self, form: Form<'_>) -> Result<(), String> {
        let out = self.scratch.out();
        let mark = self
            .text
            .trim_start_matches('\u{feff}')
            .chars()
            .next()
            .unwrap();
        // TOML is read in the order of keys.
        for (open, answer, says) in [
            (
                "comment = false",
                format!("comment = \"{mark}\""),
                "may be a row",
            ),
            (
                "header = \"\"",
                format!("header = {}", form.header),
                "may be a header",
            ),
        ] {
            if self.draft.contains(open) {
                let asks = self.convert(&out, &[]);
                let is_asked = asks.code == 2 && asks.message().contains(says);
                ensure(is_asked && self.draft.contains(says), || {
                    format!("{}\n{}", asks.stderr, self.draft)
                })?;
                self.draft = self.draft.replace(open, &answer);
            }
        }
        let rows = plain_rows(&self.text, form);
        let bad = self.bad_rows(&rows);
        let converted = self.convert(&out, &[]);
        let Some(line) = bad.first() else {
            ensure(converted.code == 0, || {
                format!("{}\n{}", converted.stderr, self.draft)
            })?;
            return self.has_values(&out, &rows);
        };
        let place = format!("{}:{line}:", self.file);
        let is_named = self.draft.contains(&format!("# guess: line {line} "));
        let is_refused = converted.code == 4 && converted.message().contains(&place);
        ensure(is_refused && is_named, || {
            format!("{}\n{}", converted.stderr, self.draft)
        })?;
        let out = self.scratch.path().join("rejecting");
        let converted = self.convert(&out, &["--on-bad-row", "reject"]);
        ensure(converted.code == 3, || {
            format!("{}\n{}", converted.stderr, self.draft)
        })?;
        let good: Vec<_> = rows
            .into_iter()
            .filter(|(line, _)| !bad.contains(line))
            .collect();
        self.has_values(&out, &good)
    }

    fn columns(&self) -> usize {
        self.draft.matches("[[table.column]]").count()
    }

    /// The lines of rows that have other fields than the draft has columns, or are blank.
    fn bad_rows(&self, rows: &[(usize, Vec<&str>)]) -> Vec<usize> {
        let is_bad = |row: &[&str]| row.len() != self.columns() || row == [""];
        let bad = rows.iter().filter(|(_, row)| is_bad(row));
        bad.map(|(line, _)| *line).collect()
    }

    /// Whether a lake has the values of these rows, and `verify` finds them, too.
    fn has_values(&self, out: &Path, rows: &[(usize, Vec<&str>)]) -> Result<(), String> {
        verify_well(out, &self.scratch.src());
        let fails = |why: String| format!("{why}\n{}\n{:?}", self.draft, self.text);
        let batches = outputs(out);
        let found: usize = batches.iter().map(RecordBatch::num_rows).sum();
        let width = self.columns();
        ensure(rows.len() == found, || {
            fails(format!("{found} rows, not {}", rows.len()))
        })?;
        let is_trimmed = self.draft.contains("\ntrim = true");
        let mut rows = rows.iter();
        for batch in &batches {
            ensure(batch.num_columns() == width, || {
                fails(format!("{} columns", batch.num_columns()))
            })?;
            for row in 0..batch.num_rows() {
                let (line, fields) = rows.next().unwrap();
                for (column, field) in batch.columns().iter().zip(fields) {
                    let field = match is_trimmed {
                        true => field.trim_matches([' ', '\t']),
                        false => field,
                    };
                    let value = value_text(column, row);
                    ensure(
                        is_same(column.data_type(), &value, column.is_null(row), field),
                        || fails(format!("line {line}: {field:?} became {value}")),
                    )?;
                }
            }
        }
        Ok(())
    }
}

fn draft(sample: &Path) -> Run {
    run(["schema".as_ref(), "--new".as_ref(), sample.as_os_str()])
}

/// The rows of a lake of one table, part by part.
fn outputs(out: &Path) -> Vec<RecordBatch> {
    let manifest = manifest(out);
    let parts = manifest["tables"][0]["parts"].as_array().unwrap().iter();
    let path = |part: &serde_json::Value| part["output"]["path"].as_str().unwrap().to_owned();
    parts
        .map(|part| read_output(&out.join(path(part))))
        .collect()
}

const NULLS: [&str; 7] = ["\\N", "NULL", "null", "NA", "N/A", "None", "-"];

/// Whether a value of a lake is what a field of a text spells.
fn is_same(kind: &DataType, value: &str, is_null: bool, field: &str) -> bool {
    let is_text = *kind == DataType::Utf8;
    if is_null || field.is_empty() {
        return is_null && (field.is_empty() || !is_text && NULLS.contains(&field));
    }
    match kind {
        DataType::Utf8 => value == field,
        DataType::Int64 => match field.split_once('.') {
            Some((whole, zeros)) => value == whole && zeros.bytes().all(|byte| byte == b'0'),
            None => value == field,
        },
        DataType::Float64 => {
            let spelled: f64 = field.parse().unwrap();
            let is_exact = !field
                .bytes()
                .all(|byte| byte.is_ascii_digit() || byte == b'-')
                || spelled.to_string() == field;
            value.parse::<f64>().unwrap().to_bits() == spelled.to_bits() && is_exact
        }
        DataType::Timestamp(_, None) => {
            let spelled = field.replacen(' ', "T", 1);
            let digits = |text: &str| match text.contains('.') {
                true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
                false => text.to_owned(),
            };
            digits(value) == digits(&spelled)
        }
        DataType::Timestamp(_, Some(_)) => value == format!("{} us in UTC", microseconds(field)),
        other => panic!("{other} is no type of a draft"),
    }
}

/// The microseconds since 1970 of a date-time with a zone, counted year by year.
fn microseconds(field: &str) -> i64 {
    let number = |range: std::ops::Range<usize>| field[range].parse::<i64>().unwrap();
    let is_leap = |year: i64| year % 4 == 0 && year % 100 != 0 || year % 400 == 0;
    let (year, month, day) = (number(0..4), number(5..7), number(8..10));
    let mut days: i64 = (1970..year)
        .map(|year| 365 + i64::from(is_leap(year)))
        .sum();
    let february = 28 + i64::from(is_leap(year));
    let months = [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    days += months
        .iter()
        .take(usize::try_from(month).unwrap() - 1)
        .sum::<i64>()
        + day
        - 1;
    let rest = &field[19..];
    let (fraction, zone) = rest.split_at(rest.find(['Z', '+', '-']).unwrap());
    let fraction = format!("{:0<6}", fraction.trim_start_matches('.'));
    let offset = match zone {
        "Z" => 0,
        zone => {
            let minutes =
                zone[1..3].parse::<i64>().unwrap() * 60 + zone[4..6].parse::<i64>().unwrap();
            if zone.starts_with('-') {
                -minutes
            } else {
                minutes
            }
        }
    };
    let minutes = (days * 24 + number(11..13)) * 60 + number(14..16) - offset;
    (minutes * 60 + number(17..19)) * 1_000_000 + fraction[..6].parse::<i64>().unwrap()
}

#[track_caller]
fn is_right(text: &str, form: Form<'_>) {
    if let Err(error) = Drafted::of("sample.csv", text).check(form) {
        panic!("{error}");
    }
}

/// Drafts once changed, lost or refused these values and headers.
#[test]
fn drafts_keep_the_values_and_headers_of_their_samples() {
    let comments = |comments| Form {
        comments,
        ..WITH_HEADER
    };
    let separated = |separator| Form { separator, ..PLAIN };
    for (text, form) in [
        ("a\n18446744073709551615\n1\n", WITH_HEADER),
        ("id,n\n00123,1\n5,2\n", WITH_HEADER),
        ("id,n\n-007,1\n-0,2\n", WITH_HEADER),
        (",a,b\n0,1,2\n1,3,4\n", WITH_HEADER),
        (",a,b\n0,x,y\n1,u,v\n", WITH_HEADER),
        ("a,b,a\n1,2,3\n", WITH_HEADER),
        ("a,b,a\nx,y,z\n", WITH_HEADER),
        ("name,city\nbob,paris\n", WITH_HEADER),
        ("bob,paris\nann,rome\n", PLAIN),
        ("# c\na,b\n1,2\n", comments(1)),
        (
            "# c\n# d\n1,2\n",
            Form {
                comments: 2,
                ..PLAIN
            },
        ),
        (
            "# id,name\n1,bob\n",
            Form {
                comments: 1,
                ..PLAIN
            },
        ),
        (
            "#a,x\nb,y\n",
            Form {
                comments: 1,
                ..PLAIN
            },
        ),
        ("\u{feff}# c\r\na,b\r\n1,2\r\n", comments(1)),
        ("1,\t2\n3,\t4\n", separated(",\t")),
        (
            "a,\tb\n1,\tx,y\n",
            Form {
                separator: ",\t",
                ..WITH_HEADER
            },
        ),
        ("1;\t\n3;\tx\n", separated(";\t")),
        ("a,b\n1,2\n3,4,5\n6,7\n", WITH_HEADER),
        ("a,b\n1,2\n\n6,7\n", WITH_HEADER),
        ("1 2 3\n40  5 6\n", separated(" ")),
        ("  1  x\n 20\t y\n", separated(" ")),
        (
            "id name\n1 bob\n2 ann\n",
            Form {
                separator: " ",
                ..WITH_HEADER
            },
        ),
        (" 1, 2\n10,20\n", PLAIN),
        ("id, name\n 1, bob\n10,  \n", WITH_HEADER),
        ("x, y\nz,w\nx, v\n", PLAIN),
        ("1\t; 2\n3 ;\t4\n", separated(";")),
        ("\u{feff}1,2\n3,4\n", PLAIN),
        ("\u{feff}a,b\r\n1,2\r\n3,4", WITH_HEADER),
        ("1,NA,NA\nNA,x,y\n", PLAIN),
        (
            "2024-05-01T08:00:00+05:30,1.0\n2024-02-29 08:00:00.25Z,2\n",
            PLAIN,
        ),
        ("a\n-0\n1.\n.5\n1e5\n-1E-3\n", WITH_HEADER),
        ("a\nnan\ninf\n1.5\n", WITH_HEADER),
        ("a,b\n", WITH_HEADER),
        ("a,b\n", PLAIN),
        ("5\n", PLAIN),
        ("0,1,2\n7,5,6\n", WITH_HEADER),
    ] {
        is_right(text, form);
    }
}

/// A sample that was made up.
#[derive(Debug, Clone)]
struct MadeUp {
    text: String,
    separator: &'static str,
    comments: usize,
    header: bool,
    /// Whether it has a line that is no comment.
    has_rows: bool,
}

/// Kinds of values, each with some of them.
fn value(kind: usize, number: u32) -> String {
    let pick = |values: &[&str]| values[number as usize % values.len()].to_owned();
    let (hours, minutes) = (number % 24, number / 24 % 60);
    let day = format!(
        "20{:02}-{:02}-{:02}",
        number % 100,
        1 + number % 12,
        1 + number % 28
    );
    match kind {
        0 => (i64::from(number % 2_000) - 1_000).to_string(),
        1 => pick(&[
            "9223372036854775807",
            "-9223372036854775808",
            "9007199254740993",
            "0",
            "1",
        ]),
        2 => pick(&[
            "18446744073709551615",
            "-9223372036854775809",
            "340282366920938463463374607431768211456",
            "7",
        ]),
        3 => format!("{:05}", number % 1_000),
        4 => pick(&[
            "1e5",
            "1.",
            ".5",
            "-0",
            "0.1",
            "2.50",
            "-1.5E-3",
            "1e300",
            "123456789.125",
            "0",
            "7",
            "1e+22",
        ]),
        5 => pick(&["nan", "inf", "-inf", "NaN", "1.5", "2"]),
        6 => day,
        7 => format!("{day} {hours:02}:{minutes:02}:59"),
        8 => format!(
            "{day}T{hours:02}:{minutes:02}:00.{:06}000",
            number % 1_000_000
        ),
        9 => format!(
            "{day}T{hours:02}:{minutes:02}:07{}",
            pick(&["Z", "+08:00", "-03:30"])
        ),
        10 => pick(&["true", "false"]),
        11 => format!(
            "{:016x}{:08x}",
            u64::from(number).wrapping_mul(0x9e37_79b9_7f4a_7c15),
            number
        ),
        12 => pick(&["new york", "san marino di sopra", "rome", "a  b"]),
        13 => pick(&["5.0", "-7.0", "12.00", "3"]),
        14 => pick(&["NULL", "NA", "3", "4"]),
        15 => pick(&["\\N", "x", "-", "None", "N/A"]),
        16 => pick(&["1e999", "1e-999", "9007199254740993.0", "0.5", "00.5"]),
        _ => String::new(),
    }
}

const KINDS: usize = 18;

/// Names of columns: words, numbers, empty ones, and some of them twice.
fn name(of: u32) -> &'static str {
    [
        "id",
        "name",
        "",
        "Day of Year",
        "2021",
        "% cpu",
        "id",
        "1st",
        "µs",
        "x/y",
        "Größe",
    ][of as usize % 11]
}

fn made_up() -> impl Strategy<Value = MadeUp> {
    let column = (0..KINDS, any::<u32>(), 0..4_u32);
    let columns = prop::collection::vec(column, 1..=8);
    let rows = prop::collection::vec(prop::collection::vec(any::<u32>(), 8), 0..12);
    let form = (
        0..6_usize,
        0..3_usize,
        0..3_usize,
        any::<[bool; 5]>(),
        0..40_usize,
    );
    (columns, rows, form).prop_map(|(columns, rows, form)| {
        let (separator, header, comments, [bom, cr_lf, padded, last, with_comments], ragged) = form;
        let separator = [",", ";", "\t", "|", " ", ",\t"][separator];
        let is_blank = separator == " ";
        let comments = if with_comments { comments } else { 0 };
        let ending = if cr_lf { "\r\n" } else { "\n" };
        let padded = padded && !is_blank;
        let pad = |field: &str, number: u32| match (padded, number % 4) {
            (false, _) | (true, 0) => field.to_owned(),
            (true, 1) => format!(" {field}"),
            (true, 2) => format!("{field}  "),
            (true, _) => format!(" {field} "),
        };
        let mut lines: Vec<String> = (0..comments)
            .map(|at| format!("# comment {at}: x"))
            .collect();
        // Blanks separate numbers, or no reader could tell.
        let kind = |at: usize| match (is_blank, columns[at].0) {
            (true, _) if at == 0 => 0,
            (true, 6..=9 | 12 | 17) => 11,
            (false, 17) if at == 0 => 3,
            (_, kind) => kind,
        };
        let has_header = header > 0;
        if has_header {
            let numbered = header == 2 && columns.len() > 2;
            let names =
                columns
                    .iter()
                    .enumerate()
                    .map(|(at, (_, of, _))| match (numbered, name(*of)) {
                        (true, _) => at.to_string(),
                        // Otherwise there would be fewer fields.
                        (_, _) if is_blank || at == 0 => ["id", "name", "µs"][at % 3].to_owned(),
                        // Otherwise the line would be a row like others.
                        (_, "2021") if kind(0) > 0 => "year".to_owned(),
                        (_, name) => pad(name, *of),
                    });
            lines.push(names.collect::<Vec<_>>().join(separator));
        }
        for (at, row) in rows.iter().enumerate() {
            let fields = (0..columns.len()).map(|at| {
                let (_, _, empty) = columns[at];
                let is_empty = !is_blank && at > 0 && row[at] % 5 < empty;
                let field = if is_empty {
                    String::new()
                } else {
                    value(kind(at), row[at] / 5)
                };
                pad(&field, row[at] / 7)
            });
            let mut fields: Vec<String> = fields.collect();
            if ragged == at + 1 && rows.len() > 3 && columns.len() > 1 {
                fields.push("9".to_owned());
            }
            lines.push(fields.join(separator));
        }
        let mut text = if bom {
            "\u{feff}".to_owned()
        } else {
            String::new()
        };
        text += &lines.join(ending);
        if last {
            text += ending;
        }
        MadeUp {
            text,
            separator,
            comments,
            header: has_header,
            has_rows: lines.len() > comments,
        }
    })
}

/// Samples of the property.
const SAMPLES: usize = 500;

/// The property of drafts, for samples that are always the same.
#[test]
fn drafts_convert_what_is_made_up() {
    let mut score = Score::one_in(7, "drafts of made-up samples");
    let mut runner = TestRunner::deterministic();
    let strategy = made_up();
    let mut samples = (0..).map(|number| {
        let tree = strategy.new_tree(&mut runner).unwrap();
        (number, tree.current())
    });
    for _ in 0..SAMPLES {
        let sample = samples.by_ref().find(|(_, sample)| sample.has_rows);
        let (number, sample): (usize, MadeUp) = sample.unwrap();
        if !score.is_due() {
            continue;
        }
        let form = Form {
            separator: sample.separator,
            comments: sample.comments,
            header: sample.header,
        };
        let outcome = Drafted::of("made up.csv", &sample.text).check(form);
        score.count(&format!("sample {number} {sample:?}"), outcome);
    }
    score.close();
}

/// Every file in a folder whose name is one of a table, with its path there.
pub(super) fn heads(folder: &Path, into: &mut Vec<PathBuf>, is_table: &dyn Fn(&str) -> bool) {
    let mut entries: Vec<PathBuf> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    entries.sort_unstable();
    for path in entries {
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        if path.is_dir() {
            heads(&path, into, is_table);
        } else if is_table(&name) {
            into.push(path);
        }
    }
}

/// Whether a file is CSV, or may be.
fn may_be_csv(name: &str) -> bool {
    let is_other =
        name.ends_with(".json") || name.ends_with(".jsonl") || name.ends_with(".parquet.gz");
    let is_prose =
        name.ends_with(".md") || ["SOURCE.txt", "README-record.txt", "columns.txt"].contains(&name);
    !is_other && !is_prose
}

/// Real rows of published traces; of long files the first ones.
#[test]
#[cfg_attr(not(published_data), ignore = "needs ../shared/data")]
fn drafts_convert_heads_of_published_files() {
    const LINES: usize = 2_000;
    let mut score = Score::new("drafts of published files");
    let mut files = Vec::new();
    heads(&shared(""), &mut files, &may_be_csv);
    for path in files {
        let bytes = fs::read(&path).unwrap();
        let text = match path.extension().is_some_and(|ending| ending == "gz") {
            true => std::io::read_to_string(flate2::read::MultiGzDecoder::new(&bytes[..])).unwrap(),
            false => String::from_utf8(bytes).unwrap(),
        };
        let text: String = text.split_inclusive('\n').take(LINES).collect();
        let name = path
            .file_name()
            .unwrap()
            .to_str()
            .unwrap()
            .trim_end_matches(".gz");
        // Those are drafted in another test.
        if text.contains('"') {
            continue;
        }
        let path = path.strip_prefix(shared("")).unwrap().to_str().unwrap();
        let without = [
            "google-2011/machine",
            "google-2011/job",
            "google-2011-",
            "alibaba-2018",
        ];
        let header = !without.iter().any(|start| path.starts_with(start));
        // A source has a file schema.csv for another reason.
        let name = name.replace("schema.csv", "fields.csv");
        let outcome = Drafted::of(&name, &text).check(Form { header, ..PLAIN });
        score.count(path, outcome);
    }
    score.close();
}

/// Strange samples and names give a draft that can be read, or an error that says why there is none.
#[test]
fn strange_samples_are_drafted_or_refused() {
    let many = |number: usize, of: &str| vec![of; number].join(",");
    let (long, longer) = ("x".repeat(300_000), "x".repeat((1 << 20) + 1));
    for (what, bytes, says) in [
        ("no byte", Vec::new(), "has no row"),
        ("a newline", b"\n".to_vec(), "has no row"),
        ("blank lines", b"\n\r\n\n".to_vec(), "has no row"),
        ("a byte order mark", b"\xef\xbb\xbf".to_vec(), "has no row"),
        ("a comment", b"# a\n".to_vec(), ""),
        ("a blank", b" \n".to_vec(), ""),
        ("a carriage return", b"\r".to_vec(), "has no row"),
        ("carriage returns", b"a\rb\rc\r".to_vec(), ""),
        ("separators", b",,,\n".to_vec(), ""),
        ("NUL", b"\0".to_vec(), ""),
        (
            "NUL in a header",
            b"a,b\0\n1,2\n".to_vec(),
            "that can't be printed",
        ),
        ("NUL in a row", b"a,b\n1,\0\n2,x\n".to_vec(), ""),
        (
            "a mark of direction",
            "a\u{202e},b\n1,2\n".into(),
            "that can't be printed",
        ),
        ("Latin-1", b"a,b\n1,\xe9\n".to_vec(), "not UTF-8"),
        ("UTF-16", b"\xff\xfea\0,\0b\0\n\0".to_vec(), "not UTF-8"),
        ("quotes", b"1,2\n1,\"x\"\n".to_vec(), "has quotes"),
        ("999 columns", format!("{}\n", many(999, "1")).into(), ""),
        (
            "999 columns of one name",
            format!("{}\n{}\n", many(999, "a"), many(999, "1")).into(),
            "",
        ),
        (
            "1,000 columns",
            format!("{}\n", many(1_000, "1")).into(),
            "at most 999 columns",
        ),
        ("a long field", format!("a,b\n1,{long}\n").into(), ""),
        ("a long name", format!("a,{long}\n1,2\n").into(), ""),
        (
            "several long names",
            format!("{long},{long}a,{long}b\n1,2,3\n").into(),
            "too many columns",
        ),
        (
            "a field without an end",
            longer.into_bytes(),
            "longer than 1048576 bytes",
        ),
        ("TOML", b"[[table]]\nname = 1\n".to_vec(), ""),
        ("a program, with zstd", zstd(b"\x7fELF\xff"), "not UTF-8"),
    ] {
        let scratch = Scratch::new();
        scratch.file("sample.csv", &bytes);
        let drafted = draft(&scratch.src().join("sample.csv"));
        if says.is_empty() {
            assert_eq!(drafted.code, 0, "{what}: {}", drafted.stderr);
            is_read(&scratch, &drafted.stdout, what);
        } else {
            assert_eq!(
                (drafted.code, &drafted.stdout[..]),
                (4, ""),
                "{what}: {}",
                drafted.stderr
            );
            assert!(
                drafted.message().contains(says),
                "{what}: {}",
                drafted.message()
            );
        }
    }
    for name in [
        "a b.csv",
        "it's.csv",
        "a\"b.csv",
        "[x].csv",
        "{n}.csv",
        ".csv",
        "a\\b.csv",
        "a\nb.csv",
        "ä.csv",
        "a",
        "1.csv.gz",
        "schema.csv",
    ] {
        let scratch = Scratch::new();
        let text = b"a,b\n1,2\n";
        scratch.file(
            name,
            &if name.ends_with(".gz") {
                gzip(text)
            } else {
                text.to_vec()
            },
        );
        let drafted = draft(&scratch.src().join(name));
        assert_eq!(drafted.code, 0, "{name}: {}", drafted.stderr);
        let run = is_read(&scratch, &drafted.stdout, name);
        let is_named = !drafted.stdout.contains("doesn't find a file of this name");
        assert_eq!(run.code == 0, is_named, "{name}: {}", run.stderr);
    }
}

/// Converts a sample by its draft: the draft is a description, but for a key that it leaves open.
fn is_read(scratch: &Scratch, draft: &str, what: &str) -> Run {
    let parsed = toml::from_str::<toml::Table>(draft);
    assert!(parsed.is_ok(), "{what}: {parsed:?}\n{draft}");
    let description = scratch.path().join("draft.toml");
    fs::write(&description, draft).unwrap();
    let run = convert(
        &scratch.src(),
        &scratch.out(),
        &["--trace", description.to_str().unwrap()],
    );
    let is_open =
        draft.contains("= \"\"  # guess") || draft.contains("= false  # guess: line 1 may");
    assert_eq!(run.code == 2, is_open, "{what}: {}\n{draft}", run.stderr);
    run
}
