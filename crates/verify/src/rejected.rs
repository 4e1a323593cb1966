//! The reasons in a rejects file: each rejected row is read again, and must have the fault that the file names.
//!
//! The first fault of a row of CSV is found, with its column and its value. A row of JSON lines or quoted CSV is
//! read as far as the parsers of `verify` can: the value that the file names must have that fault. Where they can't
//! read the row at all, the reason must be one that `convert` gives, with a value that the row has.

use csv::ByteRecord;
use tracelake_core::error::escape;
use tracelake_core::fault::Fault;
use tracelake_core::field_order::{Field, FieldOrder};
use tracelake_schema::{Column, Kind, Syntax, Zone};

use super::number;
use super::parsed::{self, ParsedValue};

/// The longest value that a reason shows in full, in bytes.
const SHOWN: usize = 80;

/// Faults of the syntax of JSON, Python and quoted CSV, which isn't read here, and of values; without those that name a
/// byte.
const KNOWN: [Fault; 26] = [
    Fault::NotJson,
    Fault::NotPython,
    Fault::Elided,
    Fault::UnknownKey,
    Fault::DoubleKey,
    Fault::NotStruct,
    Fault::NotList,
    Fault::NotText,
    Fault::StrayQuote,
    Fault::OpenQuote,
    Fault::Quote,
    Fault::Empty,
    Fault::Absent,
    Fault::NotInteger,
    Fault::OutOfRange { bits: 32 },
    Fault::OutOfRange { bits: 64 },
    Fault::NotNumber,
    Fault::Overflow,
    Fault::NotBoolean,
    Fault::NotTruth,
    Fault::NotPythonTruth,
    Fault::NotWord,
    Fault::NotDateTime,
    Fault::NoZone,
    Fault::Zone,
    Fault::BeyondMicroseconds,
];

/// Faults whose reason has no value.
const BARE: [Fault; 3] = [Fault::Empty, Fault::Absent, Fault::BlankLine];

/// A rejected row of a source.
pub(super) struct RejectedText<'a> {
    /// The row as a rejects file has it.
    pub(super) raw: &'a [u8],
    pub(super) is_blank: bool,
    /// Whether its line ending is unlike that of the first line.
    pub(super) has_other_end: bool,
    /// Whether it is at the start of the text.
    pub(super) is_first: bool,
    /// Its fields, of JSON lines one; `None` if the csv crate can't split it.
    pub(super) fields: Option<ByteRecord>,
}

impl RejectedText<'_> {
    /// Compares the column and the reason that a rejects file gives with what is wrong with the row; returns both if
    /// they differ.
    pub(super) fn contradiction(
        &self,
        order: &FieldOrder,
        column: Option<&str>,
        reason: &str,
    ) -> Option<String> {
        let given = described(column, reason);
        let syntax = order.table.syntax;
        let (expected_column, expected) = match (self.shape_fault(order), &self.fields) {
            (Some(fault), _) => (None, with_value(fault, self.raw)),
            (None, _) if syntax != Syntax::Csv => {
                return self.contradiction_of_values(order, column, reason);
            }
            (None, Some(fields)) if !is_left_out(order, column) => {
                match first_fault(order, fields) {
                    Some((column, reason)) => (Some(column), reason),
                    None => return Some(nothing(&given)),
                }
            }
            _ => return self.unknown(order, given, reason),
        };
        let expected_column = expected_column.as_deref();
        let is_same = (column, reason) == (expected_column, expected.as_str());
        (!is_same).then(|| differs(&given, &described(expected_column, &expected)))
    }

    /// The fault of the row as a whole, if it has one.
    fn shape_fault(&self, order: &FieldOrder) -> Option<Fault> {
        let is_plain = order.table.syntax == Syntax::Csv;
        let found = self.fields.as_ref().map_or(0, ByteRecord::len);
        let has_other_count = is_plain && self.fields.is_some() && found != order.fields.len();
        let is_marked = self.is_first && self.raw.starts_with("\u{feff}".as_bytes());
        let faults = [
            (is_marked && !is_plain, Fault::ByteOrderMark),
            (self.is_blank, Fault::BlankLine),
            (self.has_other_end, Fault::LineEnding),
            (has_other_count, field_count(found, order)),
            (is_marked, Fault::ByteOrderMark),
        ];
        let mut faults = faults.into_iter();
        faults.find_map(|(is_so, fault)| is_so.then_some(fault))
    }

    /// Of a row whose values may contain others.
    fn contradiction_of_values(
        &self,
        order: &FieldOrder,
        column: Option<&str>,
        reason: &str,
    ) -> Option<String> {
        let given = described(column, reason);
        let named = text_of(reason);
        let is = |fault: Fault| named == fault.to_string();
        let is_json = order.table.syntax == Syntax::Json;
        // The csv crate reads what it can.
        let in_quotes = self.raw.iter().any(|byte| b"\"\r".contains(byte));
        let of_quotes = is(Fault::StrayQuote) || is(Fault::OpenQuote);
        let is_quote = !is_json && in_quotes && of_quotes && column.is_none();
        if is_quote || is_left_out(order, column) {
            return self.unknown(order, given, reason);
        }
        let Some(fields) = &self.fields else {
            return self.unknown(order, given, reason);
        };
        if !is_json && fields.len() != order.fields.len() {
            let expected = with_value(field_count(fields.len(), order), self.raw);
            let is_same = (column, reason) == (None, expected.as_str());
            return (!is_same).then(|| differs(&given, &expected));
        }
        let Some(name) = column else {
            return match parsed::values(order, fields) {
                Err(_) => self.unknown(order, given, reason),
                Ok(_) => Some(nothing(&given)),
            };
        };
        let fault = match plain_field(order, fields, name) {
            Some((field, text)) => field_fault(order, field, text, true),
            None => match parsed::values(order, fields) {
                Err(_) => return self.unknown(order, given, reason),
                Ok(values) => {
                    let Some((column, value)) = find(order, &values, name) else {
                        return Some(format!("'{given}', and the table has no such column"));
                    };
                    value_fault(order, column, value, is_json)
                }
            },
        };
        match fault {
            // The reader of what Python prints accepts more than Python prints.
            None if !is_json && is(Fault::NotPython) => self.unknown(order, given, reason),
            None => Some(nothing(&given)),
            Some(fault) if is(fault) => self.unknown(order, given, reason),
            Some(fault) => Some(differs(&given, &described(column, &fault.to_string()))),
        }
    }

    /// Of a fault that isn't found here: whether `convert` gives such a reason, and the row has the value.
    fn unknown(&self, order: &FieldOrder, given: String, reason: &str) -> Option<String> {
        let fault = text_of(reason);
        let found = fault.split(' ').next().and_then(|found| found.parse().ok());
        let count = field_count(found.unwrap_or(0), order);
        let mut known = KNOWN.into_iter().chain([count]);
        let mut bytes = 0..=u8::MAX;
        let is_known = known.any(|known| known.to_string() == fault)
            || bytes.any(|byte| {
                let faults = [Fault::NotUtf8 { byte }, Fault::Control { byte }];
                faults.into_iter().any(|known| known.to_string() == fault)
            });
        let rest = reason.strip_prefix(fault).unwrap_or_default();
        let value = rest.strip_prefix(": '");
        let value = value.and_then(|value| value.strip_suffix('\''));
        let mut bare = BARE.into_iter();
        let is_bare = bare.any(|bare| bare.to_string() == fault);
        if !is_known || value.is_some() == is_bare || value.is_none() && !rest.is_empty() {
            return Some(format!("'{given}', which convert never does"));
        }
        // A long value is cut, perhaps within a character.
        let is_cut = |value: &str| value.contains("… (") || value.contains("\\x");
        let row = escape(self.raw, usize::MAX);
        match value {
            Some(value) if !is_cut(value) && !row.contains(value) => {
                Some(format!("'{given}', and that line has no such value"))
            }
            _ => None,
        }
    }
}

/// A column and a reason in one line.
fn described(column: Option<&str>, reason: &str) -> String {
    let reason = escape(reason.as_bytes(), 300);
    match column {
        Some(column) => format!("{}: {reason}", escape(column.as_bytes(), 100)),
        None => reason,
    }
}

fn differs(given: &str, expected: &str) -> String {
    format!("'{given}', but it is '{expected}'")
}

fn nothing(given: &str) -> String {
    format!("'{given}', but nothing is wrong with it")
}

/// A fault with the value, as `convert` writes it.
fn with_value(fault: Fault, value: &[u8]) -> String {
    match BARE.contains(&fault) {
        true => fault.to_string(),
        false => format!("{fault}: '{}'", escape(value, SHOWN)),
    }
}

/// A reason without the value.
fn text_of(reason: &str) -> &str {
    reason.split_once(": '").map_or(reason, |(fault, _)| fault)
}

fn field_count(found: usize, order: &FieldOrder) -> Fault {
    let [found, expected] =
        [found, order.fields.len()].map(|fields| u32::try_from(fields).unwrap_or(u32::MAX));
    Fault::FieldCount { found, expected }
}

/// Whether a column selects rows and isn't one of the lake.
fn is_left_out(order: &FieldOrder, column: Option<&str>) -> bool {
    column.is_some_and(|name| {
        let mut fields = order.rules.fields();
        fields.any(|field| *field.column.name == *name) && order.table.column(name).is_none()
    })
}

/// The column and the reason of the first fault in a row of CSV, in a column that the lake has.
fn first_fault(order: &FieldOrder, fields: &ByteRecord) -> Option<(String, String)> {
    let in_lake = order.fields.iter().zip(fields);
    let mut in_lake = in_lake.filter(|(field, _)| field.index.is_some());
    in_lake.find_map(|(field, text)| {
        let fault = field_fault(order, field, text, false)?;
        Some((name_of(field), with_value(fault, text)))
    })
}

/// The name of a field in a rejects file: that of its column, with the item of it if it's a list of fields.
fn name_of(field: &Field) -> String {
    let item = field
        .item
        .map_or_else(String::new, |item| format!("[{item}]"));
    format!("{}{item}", field.column.name)
}

/// The fault of a field of CSV; of quoted CSV, of one that is no struct and no list.
fn field_fault(order: &FieldOrder, field: &Field, text: &[u8], is_quoted: bool) -> Option<Fault> {
    let column = field.of_value();
    if text.is_empty() || column.spelling.is_null(text) {
        return field.mandatory.then_some(Fault::Empty);
    }
    match column.kind {
        Kind::Text | Kind::Struct | Kind::List => text_fault(text, |byte| {
            byte.is_ascii_control() && !(is_quoted && b"\n\r\t".contains(&byte))
                || byte == b'"' && !is_quoted
        }),
        Kind::Boolean if is_quoted => {
            let is_truth = matches!(text, b"0" | b"1" | b"False" | b"True");
            truth_fault(column, text, is_truth, Fault::NotPythonTruth)
        }
        Kind::Boolean => {
            let is_truth = matches!(text, b"0" | b"1");
            truth_fault(column, text, is_truth, Fault::NotBoolean)
        }
        Kind::DateTime(_) if is_quoted => {
            text_fault(text, |_| false).or_else(|| number_fault(order, column, text))
        }
        Kind::Integer | Kind::Float | Kind::Code | Kind::DateTime(_) => {
            number_fault(order, column, text)
        }
    }
}

/// The fault of a truth value, unless the syntax has it or the description adds it.
fn truth_fault(column: &Column, text: &[u8], is_plain: bool, otherwise: Fault) -> Option<Fault> {
    let spelling = &column.spelling;
    match spelling.words.is_empty() {
        _ if is_plain || spelling.truth(text).is_some() => None,
        true => Some(otherwise),
        false => Some(Fault::NotWord),
    }
}

fn text_fault(text: &[u8], is_refused: impl Fn(u8) -> bool) -> Option<Fault> {
    if let Err(error) = str::from_utf8(text) {
        let byte = text[error.valid_up_to()];
        return Some(Fault::NotUtf8 { byte });
    }
    let refused = text.iter().copied().find(|&byte| is_refused(byte))?;
    Some(match refused {
        b'"' => Fault::Quote,
        byte => Fault::Control { byte },
    })
}

/// The fault of the text of a number or a date-time.
fn number_fault(order: &FieldOrder, column: &Column, bytes: &[u8]) -> Option<Fault> {
    // No number has another character.
    let text = str::from_utf8(bytes).unwrap_or("?");
    let integer = number::integer_of(column, &order.accept, text);
    match column.kind {
        Kind::Code => match integer {
            Some(value) if i32::try_from(value).is_ok() => None,
            _ => Some(integer_fault(text, 32)),
        },
        Kind::Float => number::float(text)
            .is_none()
            .then(|| match number::is_float(text) {
                true => Fault::Overflow,
                false => Fault::NotNumber,
            }),
        Kind::DateTime(zone) => number::date_time_of(column, text, zone)
            .is_none()
            .then(|| date_time_fault(text, zone)),
        Kind::Integer | Kind::Boolean | Kind::Text | Kind::Struct | Kind::List => {
            integer.is_none().then(|| integer_fault(text, 64))
        }
    }
}

fn integer_fault(text: &str, bits: u8) -> Fault {
    let digits = text.strip_prefix('-').unwrap_or(text);
    match !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()) {
        true => Fault::OutOfRange { bits },
        false => Fault::NotInteger,
    }
}

/// The fault of a text that isn't a date-time of its column.
fn date_time_fault(text: &str, zone: Zone) -> Fault {
    // `2023-11-16 18:17:03.123456`: the point is the 20th character, and six digits follow.
    const POINT: usize = 19;
    let is_clock =
        |text: Option<&str>| text.is_some_and(|text| number::date_time(text, Zone::None).is_some());
    let fraction = text.get(POINT..).and_then(|rest| rest.strip_prefix('.'));
    let digits = fraction.map_or(0, |fraction| {
        fraction.bytes().take_while(u8::is_ascii_digit).count()
    });
    let exact = POINT + 1 + digits.min(6);
    let mut beyond = text.bytes().skip(exact).take(digits.saturating_sub(6));
    if beyond.any(|digit| digit != b'0') && is_clock(text.get(..exact)) {
        return Fault::BeyondMicroseconds;
    }
    let rest = match digits {
        0 => POINT,
        digits => POINT + 1 + digits,
    };
    if !is_clock(text.get(..rest)) {
        return Fault::NotDateTime;
    }
    match (zone, text.as_bytes().get(rest)) {
        (Zone::None, Some(b'Z' | b'+' | b'-')) => Fault::Zone,
        (Zone::Published, None) => Fault::NoZone,
        _ => Fault::NotDateTime,
    }
}

/// The field of a column of quoted CSV that is no struct and no list.
fn plain_field<'a>(
    order: &'a FieldOrder,
    fields: &'a ByteRecord,
    name: &str,
) -> Option<(&'a Field, &'a [u8])> {
    if order.table.syntax == Syntax::Json {
        return None;
    }
    let mut fields = order.fields.iter().zip(fields);
    fields.find(|(field, text)| {
        let column = field.of_value();
        let is_nested = matches!(column.kind, Kind::Struct | Kind::List);
        let is_null = text.is_empty() || column.spelling.is_null(text);
        name_of(field) == name && (!is_nested || is_null)
    })
}

/// Strips the name of a column from the start of a path such as `usage.cpus` or `rules[1].name`.
fn path_in<'a>(column: &Column, path: &'a str) -> Option<&'a str> {
    let rest = path.strip_prefix(&*column.name)?;
    (rest.is_empty() || rest.starts_with(['.', '['])).then_some(rest)
}

/// The value at a path, and its column.
fn find<'a>(
    order: &'a FieldOrder,
    values: &'a [ParsedValue],
    path: &str,
) -> Option<(&'a Column, &'a ParsedValue)> {
    let mut columns = order.table.columns.iter().zip(values);
    let (mut column, mut value, mut rest) = columns.find_map(|(column, value)| {
        let rest = path_in(column, path)?;
        Some((column, value, rest))
    })?;
    while !rest.is_empty() {
        let fields = &column.fields;
        (column, value, rest) = match (value, rest.strip_prefix('.')) {
            (ParsedValue::Struct(members), Some(path)) => {
                let mut fields = fields.iter();
                let (field, rest) =
                    fields.find_map(|field| Some((field, path_in(field, path)?)))?;
                (field, parsed::field(members, field), rest)
            }
            (ParsedValue::List(items), None) => {
                let (index, rest) = rest.strip_prefix('[')?.split_once(']')?;
                (
                    fields.first()?,
                    items.get(index.parse::<usize>().ok()?)?,
                    rest,
                )
            }
            _ => return None,
        };
    }
    Some((column, value))
}

/// The fault of a value of JSON, or of one within a struct or a list that Python prints.
fn value_fault(
    order: &FieldOrder,
    column: &Column,
    value: &ParsedValue,
    is_json: bool,
) -> Option<Fault> {
    let word = match value {
        ParsedValue::Null => return column.mandatory.then_some(Fault::Absent),
        ParsedValue::Word(text) | ParsedValue::Text(text)
            if column.spelling.is_null(text.as_bytes()) =>
        {
            return column.mandatory.then_some(Fault::Absent);
        }
        ParsedValue::Word(word) => word.as_str(),
        ParsedValue::Text(text) if is_json => text.as_str(),
        ParsedValue::Text(_) | ParsedValue::List(_) | ParsedValue::Struct(_) => "",
    };
    let words = match is_json {
        true => ["true", "false"],
        false => ["True", "False"],
    };
    let is_word = matches!(value, ParsedValue::Word(_));
    if !is_json && word.starts_with("...") {
        return Some(Fault::Elided);
    }
    match (column.kind, value) {
        (Kind::Struct, ParsedValue::Struct(_))
        | (Kind::List, ParsedValue::List(_))
        | (Kind::Text, ParsedValue::Text(_)) => None,
        (Kind::Struct, _) => Some(Fault::NotStruct),
        (Kind::List, _) => Some(Fault::NotList),
        (Kind::Text, ParsedValue::Word(word)) if column.spelling.numbers => {
            (!number::is_float(word)).then_some(Fault::NotText)
        }
        (Kind::Text, _) => Some(Fault::NotText),
        (Kind::DateTime(_), ParsedValue::Text(text)) => {
            number_fault(order, column, text.as_bytes())
        }
        (Kind::DateTime(_), _) => Some(Fault::NotDateTime),
        (Kind::Boolean, _) => {
            let text = match value {
                ParsedValue::Text(text) => text.as_str(),
                _ => word,
            };
            let may_be_text = is_json && !column.spelling.words.is_empty();
            let is_plain = (is_word || may_be_text) && words.contains(&text);
            truth_fault(column, text.as_bytes(), is_plain, Fault::NotTruth)
        }
        _ => number_fault(order, column, word.as_bytes()),
    }
}

#[cfg(test)]
mod tests {
    use tracelake_encode::value;
    use tracelake_testkit::every_kind::TABLE as ROWS;

    use super::*;

    fn field(name: &str) -> (FieldOrder, Field) {
        let order = FieldOrder::built_in(&ROWS, "here");
        let mut fields = order.fields.iter();
        let field = fields.find(|field| field.column.name == name);
        let field = field.unwrap().clone();
        (order, field)
    }

    /// A column of the table, of another kind.
    fn of_kind(kind: Kind) -> (FieldOrder, Column) {
        let (order, field) = field("time");
        let column = Column {
            kind,
            sentinels: Default::default(),
            ..(*field.column).clone()
        };
        (order, column)
    }

    /// Two implementations that share no code find the same fault in numbers and date-times.
    #[test]
    fn faults_are_the_converters() {
        let numbers = [
            "5",
            "-5",
            "+5",
            " 5",
            "5 ",
            "",
            "-",
            "--5",
            "5.0",
            "5.5",
            "5.",
            ".5",
            ".",
            "1e3",
            "1e999",
            "-1e999",
            "1e",
            "e3",
            "1e+",
            "0x1F",
            "1_000",
            "nan",
            "inf",
            "-inf",
            "2147483647",
            "2147483648",
            "-2147483648",
            "-2147483649",
            "9223372036854775807",
            "9223372036854775808",
            "-9223372036854775808",
            "-9223372036854775809",
            "18446744073709551615",
            "00000000000000000000000000001",
            "٣",
            "1,5",
            "x",
            "\0",
        ];
        for text in numbers {
            let bytes = text.as_bytes();
            let found = [Kind::Integer, Kind::Code, Kind::Float].map(|kind| {
                let (order, column) = of_kind(kind);
                number_fault(&order, &column, bytes)
            });
            let expected = [
                value::integer(bytes).err(),
                value::code(bytes).err(),
                value::float(bytes).err(),
            ];
            assert_eq!(found, expected, "{text:?}");
        }
        let dates = [
            "2023-11-16",
            "2023-02-29",
            "2023-11-1",
            "",
            "x",
            "20231116--",
        ];
        let clocks = [
            " 18:17:03",
            "T18:17:03",
            "_18:17:03",
            " 18:17",
            " 24:00:00",
            " 18:17:60",
            " 18:17:03.",
            " 18:17:03.5",
            " 18:17:03.123456",
            " 18:17:03.1234560",
            " 18:17:03.1234567",
            " 18:17:03.1x",
            " 18:17:03x",
            "",
        ];
        let zones = [
            "", "Z", "Zx", "+08:00", "-08:00", "+25:00", "+0800", "+", " ", "é",
        ];
        for (date, clock) in dates
            .iter()
            .flat_map(|date| clocks.map(|clock| (date, clock)))
        {
            for text in zones.map(|zone| format!("{date}{clock}{zone}")) {
                for zone in [Zone::None, Zone::Published] {
                    let (order, column) = of_kind(Kind::DateTime(zone));
                    let found = number_fault(&order, &column, text.as_bytes());
                    let expected = value::date_time(text.as_bytes(), zone).err();
                    assert_eq!(found, expected, "{text:?} with {zone:?}");
                }
            }
        }
        for text in [
            &b"a"[..],
            b"\"",
            b"a\x01\"",
            b"\xff",
            b"a\xff\"",
            b"\x7f",
            b"\t",
            "é".as_bytes(),
        ] {
            let (order, field) = field("user");
            let found = field_fault(&order, &field, text, false);
            assert_eq!(found, value::text(text).err());
        }
    }

    #[test]
    fn an_integer_may_be_a_float_or_a_sentinel() {
        let (mut order, field) = field("time");
        let faults = |order: &FieldOrder| {
            ["5.0", "5.5", "18446744073709551615", "18446744073709551616"]
                .map(|text| field_fault(order, &field, text.as_bytes(), false))
        };
        let (other, large) = (
            Some(Fault::NotInteger),
            Some(Fault::OutOfRange { bits: 64 }),
        );
        assert_eq!(faults(&order), [other, other, None, large]);
        order.accept.integral_floats = true;
        assert_eq!(faults(&order), [None, other, None, large]);
    }
}
