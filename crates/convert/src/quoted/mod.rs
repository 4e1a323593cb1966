//! Quoted CSV with a header to cells: fields may be quoted and then span lines (RFC 4180), and what
//! is a struct or a list is written as Python prints it. Pure.
//!
//! The csv crate says where records end and what their fields hold. It reads whatever it is given, so
//! each record is compared with its own text: written again, it has to give the same bytes.

mod python;

use std::io::Read;
use std::ops::Range;

use csv::{ByteRecord, ReaderBuilder, Terminator};
use tracelake_schema::Kind;

use crate::cell::{Cell, Row, number};
use crate::error::escape;
use crate::fault::Fault;
use crate::field_order::{Field, FieldOrder};
use crate::reject::Reject;
use crate::split::LineEnding;

/// What the csv crate reads first: it takes a byte order mark off the start of its text, which here
/// may be that of a value.
const BEFORE: &[u8] = b"-\n";

/// What it reads last: a record that is not whole takes it in.
const AFTER: &[u8] = b"-\n";

/// How much of a name in a header is shown, in bytes.
const SHOWN: usize = 80;

/// The records of a chunk of whole lines; reused from chunk to chunk.
///
/// # Memory
/// The text of the chunk once more, and some 200 bytes a record.
#[derive(Default)]
pub(crate) struct Records {
    places: Vec<Range<usize>>,
    /// Of each record its fields; there may be more from before.
    fields: Vec<ByteRecord>,
    /// Whether a quoted field of the last one does not end.
    open: bool,
}

impl Records {
    /// Splits a chunk of whole lines into at most `most` records; returns where the complete ones end. At
    /// the end of the file, the rest is a record too.
    pub(crate) fn split(&mut self, chunk: &[u8], is_last: bool, most: u64) -> usize {
        self.places.clear();
        self.open = false;
        let text = BEFORE.chain(chunk).chain(AFTER);
        let mut reader = ReaderBuilder::new()
            .has_headers(false)
            .flexible(true)
            .terminator(Terminator::Any(b'\n'))
            .from_reader(text);
        let mut fields = ByteRecord::new();
        let mut start = 0;
        while reader
            .read_byte_record(&mut fields)
            .expect("memory can be read, and bytes need not be text")
        {
            let end = usize::try_from(reader.position().byte());
            let end = end.expect("the position is within the chunk");
            let end = end.saturating_sub(BEFORE.len());
            // The csv crate passes over blank lines.
            while chunk.get(start) == Some(&b'\n') && (self.places.len() as u64) < most {
                self.push(start..start + 1, &mut ByteRecord::new());
                start += 1;
            }
            if self.places.len() as u64 >= most {
                return start;
            }
            if end > chunk.len() {
                break;
            }
            if end > start {
                self.push(start..end, &mut fields);
                start = end;
            }
        }
        if is_last && start < chunk.len() {
            self.push(start..chunk.len(), &mut fields);
            self.open = true;
            start = chunk.len();
        }
        start
    }

    fn push(&mut self, place: Range<usize>, fields: &mut ByteRecord) {
        let index = self.places.len();
        self.places.push(place);
        if self.fields.len() == index {
            self.fields.push(ByteRecord::new());
        }
        std::mem::swap(&mut self.fields[index], fields);
    }

    /// The range of each record in the chunk, with its line ending.
    pub(crate) fn places(&self) -> &[Range<usize>] {
        &self.places
    }

    /// Takes out the first record, which is the header. The error says what is wrong with it, and at
    /// which byte of it.
    pub(crate) fn take_header(
        &mut self,
        chunk: &[u8],
        order: &[Field],
        ending: LineEnding,
    ) -> Result<(), (usize, String)> {
        let Some(place) = self.places.first() else {
            return Err((0, "there is no header".to_owned()));
        };
        let (raw, fault) = ending.body(&chunk[place.clone()]);
        let checked = match fault {
            Some(fault) => Err(Reject::new(0..0, fault)),
            None => self.fields_of(0, raw, ending),
        };
        let names = checked.map_err(|reject| (reject.field().start, reject.fault.to_string()))?;
        for (at, field) in order.iter().enumerate() {
            let expected = field.column.content;
            let (start, found) = match names.get(at) {
                Some((place, name)) => (place.start, Some(*name)),
                None => (raw.len(), None),
            };
            if found != Some(expected.as_bytes()) {
                let found = found.map_or("nothing".to_owned(), |name| {
                    format!("'{}'", escape(name, SHOWN))
                });
                let reason = format!(
                    "field {} of the header is {found}, not '{expected}'",
                    at + 1
                );
                return Err((start, reason));
            }
        }
        if let Some((place, name)) = names.get(order.len()) {
            let reason = format!(
                "the header has {} fields where the table has {}; the first of them too many is '{}'",
                names.len(),
                order.len(),
                escape(name, SHOWN)
            );
            return Err((place.start, reason));
        }
        self.places.remove(0);
        self.fields.remove(0);
        Ok(())
    }

    /// Reads a record, whose bytes without the line ending are `raw`.
    pub(crate) fn row(
        &self,
        index: usize,
        raw: &[u8],
        order: &FieldOrder,
        ending: LineEnding,
    ) -> Result<Row, Reject> {
        let fields = self.fields_of(index, raw, ending)?;
        if fields.len() != order.fields.len() {
            let count = |count| u32::try_from(count).expect("a line has at most 1 MiB");
            let fault = Fault::FieldCount {
                found: count(fields.len()),
                expected: count(order.fields.len()),
            };
            return Err(Reject::new(0..raw.len(), fault));
        }
        let mut row = Row {
            cells: vec![Cell::Null; order.table.columns.len()],
            mapped: 0,
        };
        for (field, (place, text)) in order.fields.iter().zip(fields) {
            let cell = cell(field, text, &mut row.mapped).map_err(|reject| {
                let at = place_in(&raw[place.clone()], place.start, text, reject.field());
                reject.with_field(at).in_column(field.column)
            });
            row.cells[field.index] = cell?;
        }
        Ok(row)
    }

    /// The fields of a record with their places in it, quotes included; a fault where the record
    /// written again would not be the same bytes.
    fn fields_of(
        &self,
        index: usize,
        raw: &[u8],
        ending: LineEnding,
    ) -> Result<Vec<Placed<'_>>, Reject> {
        if self.open && index + 1 == self.places.len() {
            return Err(Reject::new(0..raw.len(), Fault::OpenQuote));
        }
        let record = &self.fields[index];
        let mut fields = Vec::with_capacity(record.len());
        let mut at = 0;
        for (number, field) in record.iter().enumerate() {
            let is_last = number + 1 == record.len();
            let field = match field.strip_suffix(b"\r") {
                // It belongs to the line ending, which the csv crate does not know of.
                Some(field) if is_last && ending == LineEnding::CrLf => field,
                _ => field,
            };
            let length = length(&raw[at..], field);
            let end = length.map(|length| at + length);
            let ended = end.filter(|&end| match raw.get(end) {
                Some(next) => !is_last && *next == b',',
                None => is_last,
            });
            let Some(end) = ended else {
                return Err(Reject::new(at..raw.len(), Fault::StrayQuote));
            };
            fields.push((at..end, field));
            at = end + 1;
        }
        Ok(fields)
    }
}

/// The range of a field in its record, and its value.
type Placed<'a> = (Range<usize>, &'a [u8]);

/// How many bytes a field takes as it is written at the start of a text; `None` if it is not there.
fn length(text: &[u8], field: &[u8]) -> Option<usize> {
    if text.first() != Some(&b'"') {
        let plain = memchr::memchr2(b'"', b'\r', field).is_none() && text.starts_with(field);
        return plain.then_some(field.len());
    }
    let mut at = 1;
    for (number, piece) in field.split(|&byte| byte == b'"').enumerate() {
        if number > 0 {
            at += text.get(at..)?.starts_with(b"\"\"").then_some(2)?;
        }
        at += text.get(at..)?.starts_with(piece).then_some(piece.len())?;
    }
    (text.get(at) == Some(&b'"')).then_some(at + 1)
}

/// Where in the record something of a field's text stands.
fn place_in(raw: &[u8], start: usize, text: &[u8], part: Range<usize>) -> Range<usize> {
    if !raw.starts_with(b"\"") {
        return start + part.start..start + part.end;
    }
    let place = |at: usize| {
        let quotes = text.iter().take(at).filter(|&&byte| byte == b'"').count();
        start + 1 + at + quotes
    };
    place(part.start)..place(part.end)
}

/// Reads one field; an empty one is NULL.
fn cell(field: &Field, text: &[u8], mapped: &mut u64) -> Result<Cell, Reject> {
    let bad = |fault| Reject::new(0..text.len(), fault);
    if text.is_empty() {
        return if field.mandatory {
            Err(bad(Fault::Empty))
        } else {
            Ok(Cell::Null)
        };
    }
    match field.column.kind {
        Kind::Struct | Kind::List => {
            let text = utf8(text).map_err(bad)?;
            python::read(text, field.column, mapped)
        }
        Kind::Text => {
            let text = utf8(text).map_err(bad)?;
            let control = text
                .bytes()
                .find(|byte| byte.is_ascii_control() && !matches!(byte, b'\n' | b'\r' | b'\t'));
            match control {
                Some(byte) => Err(bad(Fault::Control { byte })),
                None => Ok(Cell::Text(text.to_owned())),
            }
        }
        Kind::Boolean => match text {
            b"1" | b"True" => Ok(Cell::Boolean(true)),
            b"0" | b"False" => Ok(Cell::Boolean(false)),
            _ => Err(bad(Fault::NotTruth)),
        },
        Kind::Integer | Kind::Code | Kind::Float => number(field.column, text, mapped).map_err(bad),
    }
}

fn utf8(text: &[u8]) -> Result<&str, Fault> {
    str::from_utf8(text).map_err(|error| {
        let byte = text.get(error.valid_up_to()).copied().unwrap_or_default();
        Fault::NotUtf8 { byte }
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use tracelake_schema::{Column, Table};

    use super::*;
    use crate::cell::tests::{TABLE, quoted_line, told};

    fn order() -> FieldOrder {
        static QUOTED: Table = TABLE;
        FieldOrder::built_in(&QUOTED, "here")
    }

    const HEADER: &str = "time,event,share,done,user,usage,rules,after\n";

    /// All rows of a text, read as one chunk.
    fn rows(text: &str, ending: LineEnding) -> Vec<Result<Row, (String, String, Fault)>> {
        let (order, mut records) = (order(), Records::default());
        let text = [
            HEADER.replace(
                '\n',
                if ending == LineEnding::Lf {
                    "\n"
                } else {
                    "\r\n"
                },
            ),
            text.to_owned(),
        ]
        .concat();
        assert_eq!(records.split(text.as_bytes(), true, u64::MAX), text.len());
        records
            .take_header(text.as_bytes(), &order.fields, ending)
            .unwrap();
        let places = records.places().iter().enumerate();
        places
            .map(|(index, place)| {
                let (raw, fault) = ending.body(&text.as_bytes()[place.clone()]);
                match fault {
                    Some(fault) => Err(told(Reject::new(0..raw.len(), fault), raw)),
                    None => records
                        .row(index, raw, &order, ending)
                        .map_err(|reject| told(reject, raw)),
                }
            })
            .collect()
    }

    #[track_caller]
    fn one(text: &str) -> Result<Row, (String, String, Fault)> {
        let mut rows = rows(&format!("{text}\n"), LineEnding::Lf);
        assert_eq!(rows.len(), 1, "{text}");
        rows.remove(0)
    }

    #[test]
    fn cells_are_what_python_and_numpy_print() {
        let text = "7,3,1e-05,True,\"a \"\"b\"\",\nc\",\"{'cpus': 0.5, 'memory': None}\",\
                    \"[{'name': 'it\\'s', 'relation': 1}\n {'name': \"\"\\x41\"\", 'relation': None}]\",\
                    \"[1 -2\n  3]\"";
        let row = one(text).unwrap();
        let rule = |name: &str, relation| Cell::Struct(vec![Cell::Text(name.to_owned()), relation]);
        assert_eq!(
            row.cells,
            [
                Cell::Integer(7),
                Cell::Code(3),
                Cell::Float(1e-5),
                Cell::Boolean(true),
                Cell::Text("a \"b\",\nc".to_owned()),
                Cell::Struct(vec![Cell::Float(0.5), Cell::Null]),
                Cell::List(vec![rule("it's", Cell::Code(1)), rule("A", Cell::Null)]),
                Cell::List([1, -2, 3].map(Cell::Integer).to_vec()),
            ]
        );
        let row = one("18446744073709551615,,,,,{},[],\"[1, 2]\"").unwrap();
        assert_eq!(row.mapped, 1);
        assert_eq!(row.cells[5], Cell::Struct(vec![Cell::Null, Cell::Null]));
        assert_eq!(row.cells[6], Cell::List(vec![]));
        assert_eq!(row.cells[7], Cell::List([1, 2].map(Cell::Integer).to_vec()));
        assert_eq!(row.cells[4], Cell::Null);
    }

    #[test]
    fn a_fault_names_its_column_and_its_place() {
        let row = |column: usize, cell: &str| {
            let mut cells = ["1", "", "", "", "", "", "", ""];
            cells[column] = cell;
            cells.join(",")
        };
        let cases = [
            (0, "", "time", "", Fault::Empty),
            (0, "x", "time", "x", Fault::NotInteger),
            (0, "1.5", "time", "1.5", Fault::NotInteger),
            (
                0,
                "1000000000000000.0",
                "time",
                "1000000000000000.0",
                Fault::NotInteger,
            ),
            (0, "1e3", "time", "1e3", Fault::NotInteger),
            (
                1,
                "2147483648",
                "event",
                "2147483648",
                Fault::OutOfRange { bits: 32 },
            ),
            (2, "nan", "share", "nan", Fault::NotNumber),
            (2, "inf", "share", "inf", Fault::NotNumber),
            (3, "yes", "done", "yes", Fault::NotTruth),
            (4, "a\0", "user", "a\0", Fault::Control { byte: 0 }),
            (5, "1", "usage", "1", Fault::NotStruct),
            (
                5,
                "\"{'cpus': nan}\"",
                "usage.cpus",
                "nan",
                Fault::NotNumber,
            ),
            (
                5,
                "\"{'cpus': 1, 'cpus': 1}\"",
                "usage",
                "'cpus'",
                Fault::DoubleKey,
            ),
            (5, "\"{'gpus': 1}\"", "usage", "'gpus'", Fault::UnknownKey),
            (5, "\"{'cpus': 1,}\"", "usage", "}", Fault::NotPython),
            (5, "\"{'cpus' 1}\"", "usage", "1}", Fault::NotPython),
            (5, "{cpus: 1}", "usage", "cpus: 1}", Fault::NotPython),
            (5, "{'cpus': 1} x", "usage", "x", Fault::NotPython),
            (
                6,
                "[{'name': 'a'}{'name': 'b'}]",
                "rules",
                "{'name': 'b'}]",
                Fault::NotPython,
            ),
            (
                6,
                "[{'name': 'a}]",
                "rules[0].name",
                "'a}]",
                Fault::NotPython,
            ),
            (
                6,
                "[{'name': '\\q'}]",
                "rules[0].name",
                "\\q'}]",
                Fault::NotPython,
            ),
            (
                6,
                "[{'name': '\\ud800'}]",
                "rules[0].name",
                "\\ud800'}]",
                Fault::NotPython,
            ),
            (6, "[{}]", "rules[0].name", "{}", Fault::Absent),
            (
                6,
                "\"[{\"\"name\"\": 1}]\"",
                "rules[0].name",
                "1",
                Fault::NotText,
            ),
            (6, "[None]", "rules[0]", "None", Fault::Absent),
            (7, "[1 2 ... 8 9]", "after[2]", "...", Fault::Elided),
            (7, "\"[1, 2, ..., 9]\"", "after[2]", "...", Fault::Elided),
            (7, "[1. 2.]", "after[0]", "1.", Fault::NotInteger),
            (7, "\"[1, 2 3]\"", "after", "3]", Fault::NotPython),
            (7, "[1", "after", "", Fault::NotPython),
            (7, "['1']", "after[0]", "'1']", Fault::NotInteger),
            (7, "5", "after", "5", Fault::NotList),
        ];
        for (column, cell, path, field, fault) in cases {
            let (found, shown, why) = one(&row(column, cell)).unwrap_err();
            assert_eq!(
                (found.as_str(), shown.as_str(), why),
                (path, field, fault),
                "{cell}"
            );
        }
    }

    #[test]
    fn what_is_no_quoted_csv_is_a_fault() {
        let faults = |text: &str, ending| -> Vec<Option<Fault>> {
            let rows = rows(text, ending).into_iter();
            rows.map(|row| row.err().map(|(_, _, fault)| fault))
                .collect()
        };
        let good = "1,,,,,,,";
        let lf = |text: &str| faults(text, LineEnding::Lf);
        assert_eq!(
            lf(&format!("{good}\n\n\n{good}\n\n")),
            [
                None,
                Some(Fault::BlankLine),
                Some(Fault::BlankLine),
                None,
                Some(Fault::BlankLine)
            ]
        );
        for stray in [
            "1,,,,a\"b,,,\n",
            "1,,,,\"a\"b,,,\n",
            "1,,,,\"a\" ,,,\n",
            "1,,,,a\rb,,,\n",
        ] {
            assert_eq!(
                lf(&format!("{stray}{good}\n")),
                [Some(Fault::StrayQuote), None],
                "{stray}"
            );
        }
        assert_eq!(
            lf("1,,,,,,\n"),
            [Some(Fault::FieldCount {
                found: 7,
                expected: 8
            })]
        );
        assert_eq!(
            lf(&format!("{good}\r\n{good}\n")),
            [Some(Fault::LineEnding), None]
        );
        assert_eq!(
            lf(&format!("{good}\n1,\"\n{good}\n")),
            [None, Some(Fault::OpenQuote)]
        );
        let crlf = |text: &str| faults(text, LineEnding::CrLf);
        assert_eq!(
            crlf(&format!(
                "{good}\r\n{good}\n1,,,,\"a\r\nb\",,,\"[]\"\r\n\r\n"
            )),
            [None, Some(Fault::LineEnding), None, Some(Fault::BlankLine)]
        );
    }

    #[test]
    fn another_header_is_refused() {
        for (header, says) in [
            ("", "there is no header"),
            (
                "time,event,share,done,user,usage,rules\n",
                "field 8 of the header is nothing",
            ),
            (
                "time,event,share,done,user,usage,after,rules\n",
                "field 7 of the header is 'after', not 'rules'",
            ),
            (
                "time,event,share,done,user,usage,rules,after,\n",
                "9 fields where the table has 8",
            ),
            ("\n", "a blank line"),
            ("time,event,\"share\n", "does not end"),
        ] {
            let mut records = Records::default();
            records.split(header.as_bytes(), true, u64::MAX);
            let refused = records.take_header(header.as_bytes(), &order().fields, LineEnding::Lf);
            assert!(refused.clone().unwrap_err().1.contains(says), "{refused:?}");
        }
    }

    #[test]
    fn what_is_not_whole_is_left() {
        let text = "a,b\n\"c\nd\",e\nf,\"g\n";
        let mut records = Records::default();
        assert_eq!(records.split(text.as_bytes(), false, u64::MAX), 12);
        assert_eq!(records.places(), [0..4, 4..12]);
        assert_eq!(records.split(text.as_bytes(), true, u64::MAX), text.len());
        assert_eq!(records.places().len(), 3);
        assert_eq!(records.split(text.as_bytes(), false, 1), 4);
        assert_eq!(records.split(b"\"a\n", false, u64::MAX), 0);
    }

    fn cell(column: &'static Column, is_top: bool) -> BoxedStrategy<Cell> {
        let filled = match column.kind {
            Kind::Integer => any::<i64>().prop_map(Cell::Integer).boxed(),
            Kind::Code => any::<i32>().prop_map(Cell::Code).boxed(),
            Kind::Float => any::<f64>()
                .prop_filter("a bad row", |value| value.is_finite())
                .prop_map(Cell::Float)
                .boxed(),
            Kind::Boolean => any::<bool>().prop_map(Cell::Boolean).boxed(),
            // An empty cell is NULL.
            Kind::Text if is_top => "[ -~é\n]{1,12}".prop_map(Cell::Text).boxed(),
            Kind::Text => any::<String>().prop_map(Cell::Text).boxed(),
            Kind::Struct => {
                let cells: Vec<_> = column
                    .fields
                    .iter()
                    .map(|field| cell(field, false))
                    .collect();
                cells.prop_map(Cell::Struct).boxed()
            }
            Kind::List => prop::collection::vec(cell(&column.fields[0], false), 0..4)
                .prop_map(Cell::List)
                .boxed(),
        };
        if column.mandatory {
            filled
        } else {
            prop_oneof![4 => filled, 1 => Just(Cell::Null)].boxed()
        }
    }

    proptest! {
        #[test]
        fn any_row_comes_back(
            expected in prop::collection::vec(TABLE.columns.iter().map(|column| cell(column, true)).collect::<Vec<_>>(), 0..5),
            numpy in any::<bool>(),
            crlf in any::<bool>(),
            always in any::<bool>(),
        ) {
            let lines = expected.iter().map(|cells| quoted_line(cells, numpy, always));
            let text: String = lines.map(|line| line + if crlf { "\r\n" } else { "\n" }).collect();
            let found = rows(&text, if crlf { LineEnding::CrLf } else { LineEnding::Lf });
            let found: Result<Vec<_>, _> = found.into_iter().collect();
            let found: Vec<_> = found.unwrap().into_iter().map(|row| row.cells).collect();
            prop_assert_eq!(format!("{found:?}"), format!("{expected:?}"));
        }

        #[test]
        fn any_text_is_rows_and_faults(text in "[ -~\n\"\",']{0,60}", bytes in any::<Vec<u8>>()) {
            rows(&(text + "\n"), LineEnding::Lf);
            let mut records = Records::default();
            let chunk = [&bytes[..], b"\n"].concat();
            prop_assert_eq!(records.split(&chunk, true, u64::MAX), chunk.len());
            let places = records.places().iter().enumerate();
            for (index, place) in places {
                let raw = &chunk[place.start..place.end - 1];
                if let Err(reject) = records.row(index, raw, &order(), LineEnding::Lf) {
                    prop_assert!(raw.get(reject.field()).is_some());
                }
            }
        }
    }
}
