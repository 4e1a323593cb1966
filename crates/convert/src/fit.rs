//! How well the start of a file fits a table: the one rule by which files are recognised.
//!
//! A file fits a table if its first rows have the table's fields and all values are like those of the columns: numbers
//! within their bounds, known codes, texts of a pattern. That alone says little, because the numbers of others are numbers,
//! too. So each column weighs as many bits as its values are rarely found in other files, and a file of another name is
//! taken for a table from [`ENOUGH`] bits on, in all of its columns together. The names of the fields in a first line weigh
//! more than any values.

use std::cell::OnceCell;
use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::Value;
use tracelake_core::Context;
use tracelake_core::error::{Result, escape};
use tracelake_core::fault::Fault;
use tracelake_core::field_order::{FieldOrder, HeaderFault};
use tracelake_core::words::several;
use tracelake_encode::syntax::BYTE_ORDER_MARK;
use tracelake_encode::value;
use tracelake_location::Location;
use tracelake_schema::{Column, Extra, Header, Kind, Run, Syntax, TRACES, Table};
use tracelake_source::{Chunk, Source};

/// The bits from which on values alone tell the table. Of files of random columns, not one in eight thousand even fits (see
/// `tests/foreign.rs`), so this is for short ones, in which little can be wrong. The lightest table of which real rows are at
/// hand, machine_attributes of Google's trace, has 14.
const ENOUGH: u32 = 12;

/// How many bits more than those of any other table make a table the only one.
const MARGIN: u32 = 6;

/// The most bits of a column.
const MOST_BITS: u32 = 12;

/// How many rows are looked at.
const MOST_ROWS: usize = 1_000;

/// The longest value that a message shows.
const SHOWN: usize = 40;

/// The start of a file.
pub(crate) struct Head {
    /// Its lines, without their endings; blank ones are left out.
    lines: Vec<Vec<u8>>,
    /// The fields of the first line as plain names, for every table that it is compared with.
    names: OnceCell<Vec<String>>,
}

impl Head {
    /// Reads the start of a file; `None` for an archive, and for a file without a row.
    pub(crate) fn read(context: &Context, file: Location) -> Result<Option<Self>> {
        let mut source = Source::open(context, file)?;
        let mut chunk = Chunk::default();
        source.read_by_lines(false);
        if source.is_archive()? || !source.next_chunk(&mut chunk)? {
            return Ok(None);
        }
        let text = chunk.lines();
        let text = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text);
        // An array may be one line, longer than others may be.
        let is_array = text.trim_ascii_start().starts_with(b"[");
        let head = match memchr::memrchr(b'\n', text) {
            Some(newline) if !is_array => Self::of(&text[..=newline]),
            None if !is_array => {
                source.give_back(&mut chunk, 0);
                source.read_by_lines(true);
                source.next_chunk(&mut chunk)?;
                Self::of(chunk.lines())
            }
            _ => Self::of(text),
        };
        Ok((!head.lines.is_empty()).then_some(head))
    }

    /// The first lines of a text, without a byte order mark.
    pub(crate) fn of(text: &[u8]) -> Self {
        let text = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text);
        let lines = text.split(|&byte| byte == b'\n').take(MOST_ROWS + 1);
        let lines = lines.map(|line| line.strip_suffix(b"\r").unwrap_or(line));
        let filled = lines.filter(|line| !line.is_empty());
        Self::new(filled.map(<[u8]>::to_vec).collect())
    }

    const fn new(lines: Vec<Vec<u8>>) -> Self {
        let names = OnceCell::new();
        Self { lines, names }
    }

    /// The first line.
    pub(crate) fn first(&self) -> &[u8] {
        self.lines.first().map_or(&[], |line| line)
    }

    /// Whether the file begins like an object of JSON.
    pub(crate) fn is_json(&self) -> bool {
        is_json(self.first())
    }

    /// Whether the file begins like a JSON array.
    pub(crate) fn is_json_array(&self) -> bool {
        is_json_array(self.first())
    }

    /// The number of lines.
    pub(crate) fn lines(&self) -> usize {
        self.lines.len()
    }

    fn names(&self) -> &[String] {
        self.names.get_or_init(|| plain_fields(self.first()))
    }
}

/// How much of a table a file has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Level {
    /// It is written in another syntax.
    Nothing,
    /// It has the table's syntax.
    Syntax,
    /// It has as many fields as well, and not such values.
    Fields,
    /// It has such values.
    Values,
    /// Its first line has the names of the fields.
    Names,
}

/// How well the start of a file fits a table.
#[derive(Debug, Clone)]
pub(crate) struct Fit {
    pub(crate) level: Level,
    /// How rare such values are in other files, in bits.
    bits: u32,
    /// The first value that isn't one of the table's, in words.
    pub(crate) misfit: Option<String>,
}

impl Fit {
    const fn of(level: Level) -> Self {
        Self {
            level,
            bits: 0,
            misfit: None,
        }
    }

    /// The better a fit, the larger.
    pub(crate) fn rank(&self) -> (Level, bool, u32) {
        (self.level, self.misfit.is_none(), self.bits)
    }

    /// Whether the file can't well be anything else.
    pub(crate) fn is_enough(&self) -> bool {
        self.level == Level::Names || self.level == Level::Values && self.bits >= ENOUGH
    }

    /// Whether the file fits this table so much better than another one that it isn't of the other.
    pub(crate) fn is_better_than(&self, other: &Self) -> bool {
        let (level, whole, bits) = self.rank();
        let (other_level, other_whole, other_bits) = other.rank();
        (level, whole) > (other_level, other_whole)
            || (level, whole) == (other_level, other_whole) && bits >= other_bits + MARGIN
    }
}

/// How well a file fits a table; `listed` is the number of fields that `schema.csv` gives the table.
pub(crate) fn fit(table: &Arc<Table>, head: &Head, listed: Option<usize>) -> Fit {
    let first = head.first();
    match table.syntax {
        Syntax::Json if table.json.array => fit_array(table, head),
        Syntax::Json => fit_json(table, head),
        _ if is_json(first) => Fit::of(Level::Nothing),
        Syntax::QuotedCsv if is_header(table, head.names()) => Fit::of(Level::Names),
        Syntax::QuotedCsv | Syntax::Parquet => Fit::of(Level::Nothing),
        Syntax::Csv => match listed {
            Some(fields) if fields == table.width() => Fit::of(Level::Fields),
            Some(_) => Fit::of(Level::Syntax),
            None => fit_csv(table, head),
        },
    }
}

/// Whether one row has the fields of a table, and values like those of its columns.
pub(crate) fn fits_row(table: &Arc<Table>, row: &[u8]) -> bool {
    fit(table, &Head::new(vec![row.to_vec()]), None).level >= Level::Values
}

fn fit_csv(table: &Arc<Table>, head: &Head) -> Fit {
    let has_names = is_header(table, head.names());
    if table.csv.header != Header::None && !has_names {
        return Fit::of(Level::Syntax);
    }
    let order = match fields_of(table, head.first()) {
        Ok(order) => order,
        Err(why) if has_names => {
            return Fit {
                misfit: Some(format!("its first line has {why}")),
                ..Fit::of(Level::Names)
            };
        }
        Err(_) => return Fit::of(Level::Syntax),
    };
    let mut columns: Vec<ColumnFit> = vec![ColumnFit::default(); order.fields.len()];
    let mut misfit = None;
    for (line, row) in (1..).zip(&head.lines).skip(usize::from(has_names)) {
        misfit = misfit.or_else(|| {
            fit_row(&order, row, &mut columns)
                .err()
                .map(|why| format!("in line {line}, {why}"))
        });
    }
    let level = match (has_names, &misfit) {
        (true, _) => Level::Names,
        (false, None) => Level::Values,
        (false, Some(_)) => Level::Fields,
    };
    Fit {
        level,
        bits: columns.iter().map(ColumnFit::bits).sum(),
        misfit,
    }
}

/// The fields of the rows after a first line, which is the header where columns are found by name; otherwise, says what the
/// line has instead.
fn fields_of(table: &Arc<Table>, first: &[u8]) -> std::result::Result<FieldOrder, String> {
    let order = FieldOrder::built_in(table, "");
    let names = || table.csv.fields(first).map(|range| &first[range]);
    if table.csv.header == Header::ByName {
        let name = |at: usize| escape(names().nth(at).unwrap_or_default(), SHOWN);
        return order.by_name(names()).map_err(|fault| match fault {
            HeaderFault::Unknown(at) => format!("'{}', which it doesn't have", name(at)),
            HeaderFault::Double(at) => format!("'{}' twice", name(at)),
            HeaderFault::Missing(field) => format!("no '{}'", order.fields[field].content()),
        });
    }
    match names().count() {
        count if count == order.fields.len() => Ok(order),
        count => Err(several(count as u64, "field")),
    }
}

/// Weighs the values of a row; says which one isn't a value of its column.
fn fit_row(
    order: &FieldOrder,
    row: &[u8],
    columns: &mut [ColumnFit],
) -> std::result::Result<(), String> {
    let fields: Vec<_> = order.table.csv.fields(row).collect();
    if fields.len() != order.fields.len() {
        let expected = order.fields.len();
        return Err(format!(
            "there are {} and not {expected}",
            several(fields.len() as u64, "field")
        ));
    }
    for ((range, known), fit) in fields.into_iter().zip(&order.fields).zip(columns) {
        if known.index.is_none() {
            continue;
        }
        let (column, field) = (known.of_value(), &row[range]);
        match weigh(column, field) {
            Ok(None) => {}
            Ok(Some(weight)) => fit.add(weight),
            Err(why) => {
                let (name, value) = (&*column.name, escape(field, SHOWN));
                return Err(format!("{name} is '{value}': {why}"));
            }
        }
    }
    Ok(())
}

/// The weight of the values of one column.
#[derive(Clone, Default)]
struct ColumnFit {
    values: u32,
    weight: Option<Weight>,
}

impl ColumnFit {
    fn add(&mut self, weight: Weight) {
        self.values += 1;
        // The commonest of the values counts.
        if self.weight.is_none_or(|other| weight.most < other.most) {
            self.weight = Some(weight);
        }
    }

    fn bits(&self) -> u32 {
        let weight = self.weight.unwrap_or(Weight { each: 0, most: 0 });
        weight.most.min(self.values.saturating_mul(weight.each))
    }
}

/// How rare a value is in other files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Weight {
    /// Bits of one value alone.
    each: u32,
    /// Bits of any number of such values: they are alike in other files, too.
    most: u32,
}

/// Weighs one value: `None` if it says nothing. What isn't a value of the column is an error, in words.
fn weigh(column: &Column, field: &[u8]) -> std::result::Result<Option<Weight>, String> {
    if field.is_empty() || column.spelling.is_null(field) {
        return match column.mandatory {
            true => Err("empty".to_owned()),
            false => Ok(None),
        };
    }
    let most = |most| Ok(Some(Weight { each: 1, most }));
    let fault = |fault: Fault| fault.to_string();
    match column.kind {
        Kind::Integer => {
            let sentinels = column.sentinels.iter();
            if sentinels
                .filter_map(|known| known.also.as_deref())
                .any(|also| also.as_bytes() == field)
            {
                return most(1);
            }
            // The error of a conversion says what to do about a fraction of zero.
            let number = value::integral(field).map_err(fault)?;
            let is_special = column.sentinels.iter().any(|known| known.value == number)
                || column.invalid.contains(&number);
            #[expect(clippy::cast_precision_loss, reason = "bounds are far from exact")]
            let is_usual = is_special || column.looks.has_number(number as f64);
            if !is_usual {
                return Err(expected_number(column));
            }
            let by_bounds = u32::from(column.looks.within.is_some());
            let by_factor = column
                .looks
                .multiple_of
                .map_or(0, |factor| factor.ilog2().min(5));
            if is_special || field.contains(&b'.') && !column.spelling.integral_floats {
                return Ok(None);
            }
            most(1 + by_bounds + by_factor)
        }
        Kind::Float => {
            let number = value::float(field).map_err(fault)?;
            #[expect(clippy::cast_precision_loss, reason = "these are small")]
            let is_special = column.invalid.iter().any(|&one| one as f64 == number);
            if !is_special && !column.looks.has_number(number) {
                return Err(expected_number(column));
            }
            most(1 + u32::from(column.looks.within.is_some()))
        }
        Kind::Boolean if column.spelling.truth(field).is_some() => most(4),
        Kind::Boolean => value::boolean(field).map_err(fault).and_then(|_| most(4)),
        Kind::Code => {
            let code = value::code(field).map_err(fault)?;
            match column.codes.iter().any(|known| known.value == code) {
                true => most(4),
                false => Err("none of its codes".to_owned()),
            }
        }
        Kind::DateTime(zone) => {
            value::date_time_of(column, field, zone).map_err(fault)?;
            Ok(Some(Weight { each: 3, most: 3 }))
        }
        Kind::Text | Kind::Struct | Kind::List => {
            let text = value::text(field).map_err(fault)?;
            if column.looks.patterns.is_empty() {
                return Ok(None);
            }
            let Some(pattern) = column.looks.pattern_of(text.as_bytes()) else {
                let patterns = column.looks.patterns.iter().map(|pattern| &*pattern.text);
                return Err(format!(
                    "not like {}",
                    patterns.collect::<Vec<_>>().join(" or ")
                ));
            };
            let letters = u32::try_from(pattern.fixed_letters()).unwrap_or(u32::MAX);
            let hash = if pattern.has_hash() { 6 } else { 0 };
            let bits = letters.saturating_mul(4).saturating_add(hash);
            Ok(Some(Weight {
                each: 3,
                most: bits.clamp(1, MOST_BITS),
            }))
        }
    }
}

/// Says in words which numbers the column takes.
fn expected_number(column: &Column) -> String {
    let bounds = column
        .looks
        .within
        .map(|(least, most)| format!("from {least} to {most}"));
    let factor = column
        .looks
        .multiple_of
        .map(|factor| format!("a multiple of {factor}"));
    let words: Vec<String> = factor.into_iter().chain(bounds).collect();
    format!("not {}", words.join(" "))
}

fn fit_json(table: &Table, head: &Head) -> Fit {
    let mut names: BTreeSet<&str> = BTreeSet::new();
    for (line, row) in (1..).zip(&head.lines) {
        let object = match serde_json::from_slice::<Value>(row) {
            Ok(Value::Object(object)) => object,
            _ if line > 1 => break,
            _ if is_json(row) => return Fit::of(Level::Syntax),
            _ => return Fit::of(Level::Nothing),
        };
        let known = object.keys().filter_map(|name| table.column(name));
        let before = names.len();
        names.extend(known.map(|(_, column)| &*column.name));
        let mut others = object.keys().filter(|name| table.column(name).is_none());
        if table.json.extra == Extra::Refuse
            && let Some(other) = others.next()
        {
            let is_most = names.len().max(before) * 2 > object.len();
            let level = if is_most {
                Level::Fields
            } else {
                Level::Syntax
            };
            let other = escape(other.as_bytes(), SHOWN);
            let misfit =
                format!("in line {line}, there is a field '{other}', which it doesn't have");
            return Fit {
                misfit: Some(misfit),
                ..Fit::of(level)
            };
        }
    }
    Fit {
        bits: u32::try_from(names.len())
            .unwrap_or(u32::MAX)
            .saturating_mul(4),
        ..Fit::of(Level::Values)
    }
}

/// An array may be written in any lines, so only the names of columns in them tell.
fn fit_array(table: &Table, head: &Head) -> Fit {
    if !head.first().trim_ascii_start().starts_with(b"[") {
        return Fit::of(Level::Nothing);
    }
    let text = head.lines.join(&b' ');
    let is_there = |column: &&Arc<Column>| {
        let name = format!("\"{}\"", column.name);
        memchr::memmem::find(&text, name.as_bytes()).is_some()
    };
    let named = table.columns.iter().filter(is_there).count();
    let level = match named * 2 > table.columns.len() {
        true => Level::Values,
        false => Level::Syntax,
    };
    Fit {
        bits: u32::try_from(named).unwrap_or(u32::MAX).saturating_mul(4),
        ..Fit::of(level)
    }
}

/// Whether a line begins like an object of JSON.
pub(crate) fn is_json(row: &[u8]) -> bool {
    row.trim_ascii_start().starts_with(b"{")
}

/// Whether the first line of a file begins like a JSON array of objects.
pub(crate) fn is_json_array(row: &[u8]) -> bool {
    let row = row.trim_ascii();
    row == b"[" || row.starts_with(b"[") && is_json(&row[1..])
}

/// Whether these are the plain names of a table's fields, or nearly; but for those that a header may lack.
fn is_header(table: &Table, found: &[String]) -> bool {
    let named = count_named(table, found);
    let may_lack = |index: usize| table.columns[index].spelling.may_be_absent;
    let fields = table.row_fields().filter(|(index, _)| !may_lack(*index));
    let fields = fields.count();
    named >= fields.min(3) && named * 4 >= fields * 3 && named * 4 >= found.len() * 3
}

/// The table of JSON lines that the header of a CSV file names more columns of than of any other table, and
/// three at least; the file may begin with it.
pub(crate) fn exported_table(file: &[u8]) -> Option<&'static Table> {
    let row = file.split(|&byte| byte == b'\n').next()?;
    let fields = plain_fields(row);
    let tables = TRACES.iter().flat_map(|trace| &trace.tables);
    let best = tables.max_by_key(|table| {
        let named = count_named(table, &fields);
        (named, table.syntax != Syntax::Json)
    })?;
    (best.syntax == Syntax::Json && count_named(best, &fields) >= 3).then_some(best)
}

/// The fields of a row as plain names.
pub(crate) fn plain_fields(row: &[u8]) -> Vec<String> {
    row.split(|&byte| byte == b',').map(plain).collect()
}

/// How many fields are the name of a column of a table.
pub(crate) fn count_named(table: &Table, fields: &[String]) -> usize {
    // The publisher may have left a name empty.
    let named = fields.iter().filter(|field| !field.is_empty());
    named.filter(|field| has_column(table, field)).count()
}

/// Whether a table has a column of this plain name.
fn has_column(table: &Table, plain: &str) -> bool {
    let is_it = |name: &str| letters(name.as_bytes()).eq(plain.bytes());
    table.columns.iter().any(|column| {
        let spelling = &column.spelling;
        is_it(&column.name)
            || is_it(&column.content)
            || spelling.also.iter().any(|name| is_it(name))
            || match &spelling.run {
                Some(Run::Names(names)) => names.iter().any(|name| is_it(name)),
                Some(run) => run.has(plain),
                None => false,
            }
    })
}

/// A name in its plain form, by which names are compared.
fn plain(name: &[u8]) -> String {
    letters(name).map(char::from).collect()
}

/// The letters and digits of a name, in lower case.
fn letters(name: &[u8]) -> impl Iterator<Item = u8> {
    let letters = name.iter().filter(|byte| byte.is_ascii_alphanumeric());
    letters.map(u8::to_ascii_lowercase)
}

#[cfg(test)]
mod tests {
    use tracelake_core::field_order::Field;
    use tracelake_schema::Trace;

    use super::*;

    fn all() -> impl Iterator<Item = (&'static Arc<Trace>, &'static Arc<Table>)> {
        let tables =
            |trace: &'static Arc<Trace>| trace.tables.iter().map(move |table| (trace, table));
        TRACES.iter().flat_map(tables)
    }

    fn of_syntax(syntax: Syntax) -> &'static Arc<Table> {
        let mut tables = all().map(|(_, table)| table);
        tables.find(|table| table.syntax == syntax).unwrap()
    }

    fn level(table: &Arc<Table>, text: &str, listed: Option<usize>) -> Level {
        fit(table, &Head::of(text.as_bytes()), listed).level
    }

    #[test]
    fn a_row_fits_the_table_whose_names_it_has() {
        let json = of_syntax(Syntax::Json);
        let row = |name: &str| format!("{{\"{name}\":1}}");
        let known = row(&json.columns[0].name);
        let rows = [
            (&known[..], Level::Values),
            (&row("weather"), Level::Syntax),
            ("{\"time\":", Level::Syntax),
            ("1,2,3", Level::Nothing),
        ];
        for (row, expected) in rows {
            assert_eq!(level(json, row, None), expected, "{row}");
        }
        let plain = of_syntax(Syntax::Csv);
        let fields = plain.fields.len();
        assert_eq!(level(plain, &known, Some(fields)), Level::Nothing);
        assert_eq!(level(plain, "1,2", Some(fields)), Level::Fields);
        assert_eq!(level(plain, "1,2", Some(fields + 1)), Level::Syntax);
    }

    #[test]
    fn a_header_names_the_fields_in_any_spelling() {
        let named = |table: &Table| table.syntax == Syntax::Csv && table.width() > 3;
        for (trace, table) in all().filter(|(_, table)| named(table)) {
            let order = FieldOrder::built_in(table, "");
            let name = |field: &Field| match field.item {
                Some(_) => field.content().into_owned(),
                None => field.column.name.to_uppercase(),
            };
            let names: Vec<String> = order.fields.iter().map(name).collect();
            let line = names.join(&table.csv.separator.text());
            assert_eq!(
                level(table, &line, None),
                Level::Names,
                "{} {}",
                trace.name,
                table.name
            );
        }
    }

    #[test]
    fn a_value_that_is_not_one_of_the_column_is_named() {
        let table = all().find_map(|(_, table)| {
            (table.name == "machine_events" && table.syntax == Syntax::Csv).then_some(table)
        });
        let table = table.unwrap();
        let hash = "HofLGzk1Or/8Ildj2+Lqv0UGGvY82NLoni8+J/Yy0RU=";
        let good = format!("0,5,0,{hash},0.5,0.25\n9,6,1,{hash},,\n");
        let fits = |row: &str| fit(table, &Head::of(format!("{good}{row}\n").as_bytes()), None);
        assert_eq!(fits(&good).misfit, None);
        for (row, why) in [
            (
                format!("0,5,7,{hash},0.5,0.25"),
                "in line 3, event_type is '7': none of its codes",
            ),
            (
                "0,5,0,x,0.5,0.25".to_owned(),
                "platform_id is 'x': not like {base64 44}",
            ),
            (
                format!("0,5,0,{hash},1.5,0.25"),
                "cpus is '1.5': not from 0 to 1",
            ),
            (format!("0,,0,{hash},1,1"), "machine_id is '': empty"),
            (format!("0,5,{hash},1,1"), "there are 5 fields and not 6"),
        ] {
            let fit = fits(&row);
            assert_eq!(fit.level, Level::Fields, "{row}");
            assert!(fit.misfit.unwrap().contains(why), "{row}");
        }
        // Special values say nothing, whatever the bounds are.
        assert_eq!(fits(&format!("{},5,0,{hash},1,1", i64::MAX)).misfit, None);
        assert_eq!(fits(&format!("{},5,0,{hash},1,1", u64::MAX)).misfit, None);
    }

    #[test]
    fn few_values_weigh_less_than_many() {
        let table = all().find_map(|(_, table)| {
            (table.name == "machine_events" && table.syntax == Syntax::Csv).then_some(table)
        });
        let row = "9,5,0,HofLGzk1Or/8Ildj2+Lqv0UGGvY82NLoni8+J/Yy0RU=,0.5,0.25\n";
        let enough = |rows: usize| {
            fit(table.unwrap(), &Head::of(row.repeat(rows).as_bytes()), None).is_enough()
        };
        assert_eq!([1, 2, 3, 9].map(enough), [false, true, true, true]);
    }
}
