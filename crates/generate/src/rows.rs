//! Traces whose rows are drawn on their own, column by column: `synthetic = "rows"` in the description of a table, and in
//! those of its columns what is drawn.
//!
//! | `synthetic =` | values |
//! |---|---|
//! | `"count from 1"` | the number of the row in its file |
//! | `"steps of 300 from 600"` | numbers with a distance |
//! | `"gaps of 250 from 0"` | ascending numbers with random distances of this mean |
//! | `"1..8192"` | whole numbers in a range, small ones more often; of a float, thousandths |
//! | `"one of a, b"` | one of these |
//! | `"by part of a, b"` | the one at the place of the part |
//! | `"part after pdu"` | a text and the number of the part |
//! | `"id of 500"` | one of 500 random ids: hexadecimal text, or a number if the column is an integer |
//! | `"hash of each 3 rows"` | a hash of 64 digits, the same for 3 rows and in the same rows of each part |
//! | `"sum of a, b"` | the sum of two columns before it |
//! | `"a plus 0..50"` | an earlier column and a number of a range |
//! | `"blocks of a by 512"` | a list of block ids, one for every 512 tokens in the earlier column `a`; rows share the first ones |

use std::borrow::Cow;
use std::io::Write as _;
use std::path::Path;
use std::sync::mpsc::sync_channel;
use std::thread;

use serde_json::Value;
use tracelake_core::Context;
use tracelake_core::date_time;
use tracelake_core::error::{Error, ErrorKind, Result};
use tracelake_core::event::Event;
use tracelake_core::field_order::FieldOrder;
use tracelake_schema::{Header, Kind, Syntax, Table, Trace, Zone};

use crate::file::{FileFact, Message, parts_of, write_table};
use crate::number::split;
use crate::options::Options;
use crate::random::{Random, mix};

/// The stream of tables whose rows are drawn on their own.
pub(crate) const ROWS: &str = "rows";

/// Rows between two reports of progress.
const STRIDE: u64 = 1 << 14;

/// Conversations that requests belong to; those of one have the same first blocks.
const CONVERSATIONS: u64 = 300;

/// The values to draw for a column.
#[derive(Debug, Clone, PartialEq)]
enum Draw {
    Count(i64),
    Steps(i64, i64),
    Gaps(i64, i64),
    Range(i64, i64),
    OneOf(Vec<String>),
    ByPart(Vec<String>),
    PartAfter(String),
    Id(u64),
    Hash(u64),
    Sum(usize, usize),
    Plus(usize, i64, i64),
    Blocks(usize, i64),
}

/// A field that is written, and how.
struct Drawn<'a> {
    name: Cow<'a, str>,
    kind: Kind,
    draw: Draw,
}

/// Writes all tables of a trace.
pub(crate) fn write(
    context: &Context,
    trace: &Trace,
    out: &Path,
    options: &Options,
) -> Result<Vec<FileFact>> {
    let mut facts = Vec::new();
    for (number, table) in trace.tables.iter().enumerate() {
        let order = FieldOrder::built_in(table, "");
        let columns = columns(trace, &order)?;
        let (sender, inbox) = sync_channel(4);
        let parts = parts_of(table, options.parts);
        let written = thread::scope(|scope| {
            let writer = scope.spawn(move || write_table(out, trace, table, options, &inbox));
            for part in 0..parts {
                let rows = split(options.rows, u64::from(parts), u64::from(part));
                let seed = mix(options.seed, mix(number as u64, u64::from(part)));
                let mut lines = header(table, &columns);
                let mut state = State::new(table, &columns, part, seed);
                for row in 0..rows {
                    state.line(table, &columns, row, &mut lines);
                    if row % STRIDE == STRIDE - 1 {
                        let full = std::mem::take(&mut lines);
                        if context.is_cancelled() || sender.send(Message::Lines(full)).is_err() {
                            break;
                        }
                        report(context, table, part, row + 1);
                    }
                }
                if context.is_cancelled() || sender.send(Message::Lines(lines)).is_err() {
                    break;
                }
                report(context, table, part, rows);
                if sender.send(Message::EndOfPart { rows }).is_err() {
                    break;
                }
            }
            drop(sender);
            let written = writer.join();
            written.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        });
        facts.extend(written?);
    }
    Ok(facts)
}

fn report(context: &Context, table: &Table, part: u32, rows: u64) {
    let table = table.name.clone();
    context.emit(Event::Generated { table, part, rows });
}

/// The fields of a table's files.
fn columns<'a>(trace: &Trace, order: &'a FieldOrder) -> Result<Vec<Drawn<'a>>> {
    let mut columns: Vec<Drawn<'a>> = Vec::new();
    for field in &order.fields {
        let column = &field.column;
        let known = |name: &str| columns.iter().position(|before| before.name == name);
        let draw = draw(&column.synthetic, &known).ok_or_else(|| {
            let reason = format!(
                "{}: {}.{} can't be drawn by {:?}",
                trace.name, order.table.name, column.name, column.synthetic
            );
            Error::new(ErrorKind::Usage, reason).hint("convert published files")
        })?;
        columns.push(Drawn {
            name: field.content(),
            kind: field.of_value().kind,
            draw,
        });
    }
    Ok(columns)
}

/// Reads what is drawn for a column.
fn draw(text: &str, known: &dyn Fn(&str) -> Option<usize>) -> Option<Draw> {
    let number = |text: &str| text.trim().parse::<i64>().ok();
    let two = |text: &str, between: &str| {
        let (one, other) = text.split_once(between)?;
        Some((number(one)?, number(other)?))
    };
    if let Some(first) = text.strip_prefix("count from ") {
        return number(first).map(Draw::Count);
    }
    if let Some(rest) = text.strip_prefix("steps of ") {
        return two(rest, " from ").map(|(step, from)| Draw::Steps(step, from));
    }
    if let Some(rest) = text.strip_prefix("gaps of ") {
        return two(rest, " from ").map(|(mean, from)| Draw::Gaps(mean, from));
    }
    let list = |text: &str| text.split(", ").map(str::to_owned).collect();
    if let Some(rest) = text.strip_prefix("one of ") {
        return Some(Draw::OneOf(list(rest)));
    }
    if let Some(rest) = text.strip_prefix("by part of ") {
        return Some(Draw::ByPart(list(rest)));
    }
    if let Some(rest) = text.strip_prefix("part after ") {
        return Some(Draw::PartAfter(rest.to_owned()));
    }
    if let Some(rest) = text.strip_prefix("id of ") {
        return rest.parse().ok().filter(|&ids| ids > 0).map(Draw::Id);
    }
    if let Some(rest) = text.strip_prefix("hash of each ") {
        let rows = rest.strip_suffix(" rows")?;
        return rows.parse().ok().filter(|&rows| rows > 0).map(Draw::Hash);
    }
    if let Some(rest) = text.strip_prefix("sum of ") {
        let (one, other) = rest.split_once(", ")?;
        return Some(Draw::Sum(known(one)?, known(other)?));
    }
    if let Some(rest) = text.strip_prefix("blocks of ") {
        let (column, size) = rest.split_once(" by ")?;
        let size = number(size).filter(|&size| size > 0)?;
        return Some(Draw::Blocks(known(column)?, size));
    }
    let range = |text: &str| two(text, "..").filter(|(low, high)| low <= high);
    if let Some((column, rest)) = text.split_once(" plus ") {
        let (low, high) = range(rest)?;
        return Some(Draw::Plus(known(column)?, low, high));
    }
    range(text).map(|(low, high)| Draw::Range(low, high))
}

/// The header of a file of CSV that has one.
fn header(table: &Table, columns: &[Drawn<'_>]) -> Vec<u8> {
    if table.syntax != Syntax::Csv || table.csv.header == Header::None {
        return Vec::new();
    }
    let names: Vec<&str> = columns.iter().map(|column| &*column.name).collect();
    format!("{}\n", names.join(",")).into_bytes()
}

/// The rows of a file so far.
struct State {
    /// The number of the part from 0, and that of the first one as published.
    part: u32,
    first: u32,
    random: Random,
    /// The last number of each column.
    last: Vec<i64>,
}

impl State {
    fn new(table: &Table, columns: &[Drawn<'_>], part: u32, seed: u64) -> Self {
        let last = columns.iter().map(|column| match column.draw {
            Draw::Gaps(_, from) => from,
            _ => 0,
        });
        Self {
            part,
            first: table.naming.first,
            random: Random::new(seed),
            last: last.collect(),
        }
    }

    /// Adds the line of a row.
    fn line(&mut self, table: &Table, columns: &[Drawn<'_>], row: u64, lines: &mut Vec<u8>) {
        let is_json = table.syntax == Syntax::Json;
        let count = i64::try_from(row).unwrap_or(i64::MAX);
        for (at, column) in columns.iter().enumerate() {
            lines.extend_from_slice(match (is_json, at) {
                (true, 0) => b"{",
                (true, _) => b", ",
                (false, 0) => b"",
                (false, _) => b",",
            });
            if is_json {
                let name = Value::from(&*column.name);
                let _ = write!(lines, "{name}: ");
            }
            let text = self.value(at, column, count);
            let is_quoted = is_json && matches!(column.kind, Kind::Text | Kind::DateTime(_));
            match is_quoted {
                true => lines.extend_from_slice(Value::from(text).to_string().as_bytes()),
                false => lines.extend_from_slice(text.as_bytes()),
            }
        }
        lines.extend_from_slice(if is_json { b"}\n" } else { b"\n" });
    }

    /// A number of a range, the nearer to its low end the more often.
    fn between(&mut self, low: i64, high: i64) -> i64 {
        let bits = self.random.below(6);
        low + (self.random.below(low.abs_diff(high) + 1) >> bits).cast_signed()
    }

    /// The value of a column in the next row, as it is written.
    fn value(&mut self, at: usize, column: &Drawn<'_>, row: i64) -> String {
        let number = match &column.draw {
            Draw::Count(from) => from + row,
            Draw::Steps(step, from) => from + step * row,
            Draw::Gaps(mean, _) => {
                let gap = self.random.below((2 * mean).unsigned_abs() + 1);
                self.last[at] + gap.cast_signed() * i64::from(row > 0)
            }
            Draw::Range(low, high) => self.between(*low, *high),
            Draw::Plus(of, low, high) => self.last[*of] + self.between(*low, *high),
            Draw::Sum(one, other) => self.last[*one] + self.last[*other],
            Draw::OneOf(values) => {
                let drawn = self.random.below(values.len() as u64);
                return values[usize::try_from(drawn).unwrap_or_default()].clone();
            }
            Draw::ByPart(values) => {
                let part = usize::try_from(self.part).unwrap_or_default();
                return values[part % values.len()].clone();
            }
            Draw::PartAfter(text) => return format!("{text}{}", self.first + self.part),
            Draw::Id(ids) => {
                let id = mix(self.random.below(*ids), at as u64);
                return match column.kind {
                    Kind::Text => format!("{id:016x}{:016x}", mix(id, 1)),
                    Kind::Integer
                    | Kind::Float
                    | Kind::Boolean
                    | Kind::Code
                    | Kind::DateTime(_)
                    | Kind::Struct
                    | Kind::List => (id >> 24).to_string(),
                };
            }
            Draw::Hash(rows) => {
                let name = column.name.bytes();
                let name = name.fold(0, |sum, byte| mix(sum, u64::from(byte)));
                let group = mix(row.unsigned_abs() / rows, name);
                let digits = (0..4).map(|word| format!("{:016x}", mix(group, word)));
                return digits.collect();
            }
            Draw::Blocks(of, size) => {
                let blocks = self.last[*of]
                    .max(1)
                    .unsigned_abs()
                    .div_ceil(size.unsigned_abs());
                let conversation = self.random.below(CONVERSATIONS);
                let own = CONVERSATIONS + row.unsigned_abs();
                let ids = (0..blocks).map(|block| {
                    let of = if block < blocks / 2 {
                        conversation
                    } else {
                        own
                    };
                    (of << 20 | block).to_string()
                });
                return format!("[{}]", ids.collect::<Vec<_>>().join(", "));
            }
        };
        self.last[at] = number;
        match column.kind {
            Kind::Float => format!(
                "{}{}.{:03}",
                if number < 0 { "-" } else { "" },
                number.abs() / 1000,
                number.abs() % 1000
            ),
            Kind::DateTime(zone) => {
                let zone = match zone {
                    Zone::Published => "+00:00",
                    Zone::None => "",
                };
                date_time::written(number) + zone
            }
            Kind::Integer | Kind::Boolean | Kind::Text | Kind::Code | Kind::Struct | Kind::List => {
                number.to_string()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use tracelake_schema::TRACES;

    use super::*;

    #[test]
    fn what_is_drawn_is_read() {
        let known = |name: &str| ["a", "b"].iter().position(|known| *known == name);
        for (text, expected) in [
            ("count from 1", Some(Draw::Count(1))),
            ("steps of 300 from -600", Some(Draw::Steps(300, -600))),
            ("gaps of 250 from 0", Some(Draw::Gaps(250, 0))),
            ("1..8192", Some(Draw::Range(1, 8192))),
            (
                "one of a, b c",
                Some(Draw::OneOf(vec!["a".to_owned(), "b c".to_owned()])),
            ),
            (
                "by part of a, b",
                Some(Draw::ByPart(vec!["a".to_owned(), "b".to_owned()])),
            ),
            ("part after pdu", Some(Draw::PartAfter("pdu".to_owned()))),
            ("id of 500", Some(Draw::Id(500))),
            ("hash of each 3 rows", Some(Draw::Hash(3))),
            ("hash of each 0 rows", None),
            ("sum of a, b", Some(Draw::Sum(0, 1))),
            ("a plus -5..9", Some(Draw::Plus(0, -5, 9))),
            ("c plus 1..2", None),
            ("a plus 2..1", None),
            ("blocks of b by 16", Some(Draw::Blocks(1, 16))),
            ("blocks of c by 16", None),
            ("blocks of a by 0", None),
            ("id of 0", None),
            ("8..1", None),
            ("", None),
            ("job", None),
        ] {
            assert_eq!(draw(text, &known), expected, "{text}");
        }
    }

    /// Every description that says that its rows are drawn says how.
    #[test]
    fn the_columns_of_all_drawn_tables_are_known() {
        let mut seen = 0;
        for trace in TRACES {
            for table in trace.tables.iter().filter(|table| table.synthetic == ROWS) {
                let order = FieldOrder::built_in(table, "");
                let columns = columns(trace, &order).unwrap_or_else(|error| panic!("{error}"));
                assert!(!columns.is_empty());
                seen += 1;
            }
        }
        assert!(seen > 5);
    }
}
