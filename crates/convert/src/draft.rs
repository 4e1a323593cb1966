//! A first description of a trace, drafted from a sample of one of its tables.

use std::fmt::Write as _;

use tracelake_core::Context;
use tracelake_core::error::{Error, ErrorKind, Result};
use tracelake_encode::value;
use tracelake_location::Location;
use tracelake_schema::Zone;
use tracelake_schema::description::{ADDED_COLUMNS, MAX_BYTES, MOST_COLUMNS, snake_case};
use tracelake_source::{Chunk, Magic, Source};

/// How many rows of the sample are looked at.
const MOST_ROWS: usize = 10_000;

/// Separators that are tried, the most common first.
const SEPARATORS: &[u8] = b",;\t|";

/// Spellings of NULL that are recognised where all other fields of a column are numbers or times.
const NULLS: &[&str] = &["\\N", "NULL", "null", "NA", "N/A", "None", "-"];

/// Drafts the description of a trace that has one table, from a file with rows of it: columns and kinds. What is
/// guessed is marked so.
///
/// # Errors
/// [`ErrorKind::Misfit`] if the file isn't CSV with at least one row; if it can't be read.
pub fn draft(context: &Context, sample: &Location) -> Result<String> {
    let misfit = |reason: &str| Error::new(ErrorKind::Misfit, reason).at(sample);
    let mut source = Source::open(context, sample)?;
    if source.is_archive() {
        return Err(misfit("an archive").hint("unpack it, and name a file of one table"));
    }
    let mut chunk = Chunk::default();
    if !source.next_chunk(&mut chunk)? {
        return Err(misfit("has no row").hint("name a file with some rows"));
    }
    if let Some(magic) = Magic::of(chunk.lines()) {
        return Err(misfit("not CSV").hint(magic.advice()));
    }
    let Ok(text) = str::from_utf8(chunk.lines()) else {
        return Err(misfit("not UTF-8").hint("convert it to UTF-8"));
    };
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let rows = text.lines().filter(|line| !line.is_empty());
    let lines: Vec<&str> = rows.take(MOST_ROWS).collect();
    if lines.iter().any(|line| line.contains('"')) {
        return Err(misfit("has quotes").hint(
            "a table with quoted fields has syntax = \"quoted-csv\"; write its description by hand",
        ));
    }
    let sample = Sample::of(&lines).ok_or_else(|| misfit("has no row"))?;
    if sample
        .rows
        .first()
        .is_some_and(|row| row.len() > MOST_COLUMNS)
    {
        return Err(misfit("has more fields than a table can have columns"));
    }
    let name = source.location().name().unwrap_or("table.csv").to_owned();
    let text = sample.describe(&name);
    match text.len() <= MAX_BYTES {
        true => Ok(text),
        false => Err(misfit("has too many columns for a description")),
    }
}

/// The rows of a sample.
struct Sample<'a> {
    separator: u8,
    comment: Option<char>,
    header: Option<Vec<&'a str>>,
    rows: Vec<Vec<&'a str>>,
}

impl<'a> Sample<'a> {
    fn of(lines: &[&'a str]) -> Option<Self> {
        let comment = ['#', '%']
            .into_iter()
            .find(|mark| lines.first().is_some_and(|line| line.starts_with(*mark)));
        let is_row = |line: &&&str| comment.is_none_or(|mark| !line.starts_with(mark));
        let lines: Vec<&str> = lines.iter().filter(is_row).copied().collect();
        let fields = |line: &str, separator: u8| 1 + line.matches(char::from(separator)).count();
        // The separator that cuts every line into equally many fields, and the most.
        let separator = SEPARATORS.iter().copied().max_by_key(|&separator| {
            let first = lines.first().map_or(0, |line| fields(line, separator));
            let is_even = lines.iter().all(|line| fields(line, separator) == first);
            (is_even && first > 1, first, separator == b',')
        })?;
        let mut rows: Vec<Vec<&str>> = lines
            .iter()
            .map(|line| line.split(char::from(separator)).collect())
            .collect();
        let is_word = |text: &&str| kind_of(text) == Guess::Text && !text.is_empty();
        let first = rows.first()?;
        let differ = first
            .iter()
            .enumerate()
            .all(|(at, name)| !first[..at].contains(name));
        // Names are words, and the rows after them aren't all words.
        let has_header = rows.len() > 1
            && differ
            && first.iter().all(is_word)
            && rows[1..].iter().any(|row| !row.iter().all(is_word));
        let header = has_header.then(|| rows.remove(0));
        Some(Self {
            separator,
            comment,
            header,
            rows,
        })
    }

    /// The description, for a file of this name.
    fn describe(&self, file: &str) -> String {
        let stem = file.split('.').next().unwrap_or(file);
        let table = identifier(stem, "table");
        let family = table.replace('_', "-");
        let mut text = format!(
            "# A draft by `tracelake schema --new {file}`, from {} rows. Lines marked as guesses need a look; see\n\
             # docs/describe-a-trace.md for every key.\n\n\
             family = \"{family}\"\n\
             licence = \"LicenseRef-Unknown\"  # guess: the licence of the data, as an SPDX expression\n\
             citation = \"Unknown\"  # guess: how to cite the data\n\n\
             [[trace]]\nname = \"{family}\"\ntitle = \"{family}\"  # guess: a title of one line\n\
             document = \"Unknown\"  # guess: the publisher's document\n\n\
             [[table]]\nname = \"{table}\"\nsummary = \"Rows of {file}.\"  # guess: one sentence\n\
             files = \"whole\"  # guess: one file; see `names` for several\nnames = [{}]\n",
            self.rows.len(),
            quoted(file),
        );
        let nulls = self.nulls();
        if self.header.is_some()
            || self.separator != b','
            || self.comment.is_some()
            || !nulls.is_empty()
        {
            text += "\n[table.csv]\n";
            if self.header.is_some() {
                text += "header = true\n";
            }
            if self.separator != b',' {
                let _ = writeln!(
                    text,
                    "separator = {}  # guess",
                    quoted(&char::from(self.separator).to_string())
                );
            }
            if let Some(comment) = self.comment {
                let _ = writeln!(text, "comment = \"{comment}\"  # guess");
            }
            if !nulls.is_empty() {
                let spelled: Vec<String> = nulls.iter().map(|null| quoted(null)).collect();
                let _ = writeln!(text, "null = [{}]  # guess", spelled.join(", "));
            }
        }
        let widths = self.header.iter().chain(&self.rows).map(Vec::len);
        let columns = widths.max().unwrap_or(0);
        let mut names: Vec<String> = Vec::new();
        for at in 0..columns {
            let content = match self.header.as_ref().and_then(|header| header.get(at)) {
                Some(name) => (*name).to_owned(),
                None => format!("column {}", at + 1),
            };
            let mut name = identifier(&content, &format!("column_{}", at + 1));
            while names.contains(&name) || ADDED_COLUMNS.contains(&&name[..]) {
                name += "_2";
            }
            text += &self.column(at, &name, &content, &nulls);
            names.push(name);
        }
        text
    }

    /// A column.
    fn column(&self, at: usize, name: &str, content: &str, nulls: &[&str]) -> String {
        let guess = self.guess(at, nulls);
        let guessed = if self.header.is_none() {
            "  # guess: the published name"
        } else {
            ""
        };
        let (kind, format) = match guess {
            Guess::Integer => ("kind = \"integer\"", "INTEGER"),
            Guess::IntegralFloat => ("kind = \"integer\"\nintegral_floats = true", "INTEGER"),
            Guess::Float => ("kind = \"float\"", "FLOAT"),
            Guess::DateTime(Zone::None) => ("kind = \"date-time\"\nzone = \"none\"", "DATE_TIME"),
            Guess::DateTime(Zone::Published) => {
                ("kind = \"date-time\"\nzone = \"published\"", "DATE_TIME")
            }
            Guess::Empty | Guess::Text => ("kind = \"text\"", "STRING"),
        };
        let doubt = if guess == Guess::Empty {
            ": it has no value in the sample"
        } else {
            ""
        };
        let mark = format!("  # guess{doubt}");
        let marked_kind = match kind.split_once('\n') {
            Some((first, second)) => format!("{first}{mark}\n{second}"),
            None => format!("{kind}{mark}"),
        };
        format!(
            "\n[[table.column]]\nname = \"{name}\"\ncontent = {}{guessed}\n{marked_kind}\nformat = \"{format}\"\n\
             obfuscation = \"unchanged\"  # guess\ndoc = {}  # guess: its meaning; add `unit` if it has one\n",
            quoted(content),
            quoted(&format!("{content}.")),
        )
    }

    /// The values of a column that aren't empty.
    fn values(&self, at: usize) -> impl Iterator<Item = &'a str> {
        let fields = self.rows.iter().filter_map(move |row| row.get(at).copied());
        fields.filter(|field| !field.is_empty())
    }

    fn guess(&self, at: usize, nulls: &[&str]) -> Guess {
        let values = self.values(at).filter(|value| !nulls.contains(value));
        values
            .map(kind_of)
            .reduce(Guess::with)
            .unwrap_or(Guess::Empty)
    }

    /// Spellings of NULL in columns whose other values are no texts.
    fn nulls(&self) -> Vec<&'static str> {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let is_null = |null: &&&str| {
            (0..columns).any(|at| {
                let is_there = self.values(at).any(|value| value == **null);
                is_there && !matches!(self.guess(at, NULLS), Guess::Text | Guess::Empty)
            })
        };
        NULLS.iter().filter(is_null).copied().collect()
    }
}

/// The kind of a column, as far as values tell.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Guess {
    Empty,
    Integer,
    IntegralFloat,
    Float,
    DateTime(Zone),
    Text,
}

impl Guess {
    /// The kind that has values of both.
    fn with(self, other: Self) -> Self {
        use Guess::{Float, Integer, IntegralFloat, Text};
        match (self, other) {
            (one, other) if one == other => one,
            (Integer, IntegralFloat) | (IntegralFloat, Integer) => IntegralFloat,
            (Integer | IntegralFloat | Float, Integer | IntegralFloat | Float) => Float,
            _ => Text,
        }
    }
}

fn kind_of(text: &str) -> Guess {
    let bytes = text.as_bytes();
    if value::integer(bytes).is_ok() {
        Guess::Integer
    } else if value::integral(bytes).is_ok() {
        Guess::IntegralFloat
    } else if value::float(bytes).is_ok() {
        Guess::Float
    } else if value::date_time(bytes, Zone::None).is_ok() {
        Guess::DateTime(Zone::None)
    } else if value::date_time(bytes, Zone::Published).is_ok() {
        Guess::DateTime(Zone::Published)
    } else {
        Guess::Text
    }
}

/// A name that may be in a path or a query, made of a text.
fn identifier(text: &str, otherwise: &str) -> String {
    let snake: String = snake_case(text).chars().take(60).collect();
    let is_named = snake.starts_with(|letter: char| letter.is_ascii_lowercase());
    if is_named {
        snake
    } else {
        otherwise.to_owned()
    }
}

/// A string of TOML.
fn quoted(text: &str) -> String {
    let mut quoted = String::from('"');
    for letter in text.chars() {
        match letter {
            '"' | '\\' => quoted.extend(['\\', letter]),
            '\t' => quoted += "\\t",
            letter if letter.is_control() => {
                let _ = write!(quoted, "\\u{:04X}", u32::from(letter));
            }
            letter => quoted.push(letter),
        }
    }
    quoted + "\""
}

#[cfg(test)]
mod tests {
    use super::*;
    use tracelake_schema::description::intern;

    fn drafted(text: &str) -> String {
        let lines: Vec<&str> = text.lines().collect();
        Sample::of(&lines).unwrap().describe("My trips-1.csv.gz")
    }

    #[test]
    fn a_draft_is_a_description_of_its_sample() {
        let text = drafted(
            "Id;when;Cost \"x\";rest\n1;2023-01-01 00:00:00;\\N;\n2.0;2023-01-02 00:00:00;1.5;x\n",
        );
        let traces = intern(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
        let table = &traces[0].tables[0];
        assert_eq!((traces[0].name, table.name), ("my-trips-1", "my_trips_1"));
        let names: Vec<&str> = table.columns.iter().map(|column| column.name).collect();
        assert_eq!(names, ["id", "when", "cost_x", "rest"]);
        assert!(table.csv.header && table.csv.separator == tracelake_schema::Separator::Byte(b';'));
        assert_eq!(table.columns[2].spelling.nulls, ["\\N"]);
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
        let traces = intern(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
        let columns = traces[0].tables[0].columns;
        let names: Vec<&str> = columns.iter().map(|column| column.name).collect();
        assert_eq!(
            names,
            ["filename_2", "cell_2", "file_number_2", "file_row_number_2"]
        );
    }

    #[test]
    fn without_a_header_columns_are_numbered() {
        let text = drafted("1,a\n2,b\n");
        let traces = intern(&text).unwrap();
        assert_eq!(traces[0].tables[0].columns[1].name, "column_2");
        assert!(!traces[0].tables[0].csv.header);
    }

    /// The separator cuts each line into as many fields, and not one that only the first line has often.
    #[test]
    fn the_separator_fits_every_line() {
        let text = drafted("a,b,c,d;e\n1,5;2\n");
        let table = &intern(&text).unwrap()[0].tables[0];
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
        let expected =
            ["integer", "float", "text", "text"].map(|kind| format!("\"{kind}\"  # guess"));
        assert_eq!(kinds, expected);
    }
}
