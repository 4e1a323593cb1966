//! Which rows of a source a lake selects, found again by the parsers of `verify`.

use csv::ByteRecord;
use tracelake_core::field_order::{FieldOrder, RuleField};
use tracelake_core::words::several;
use tracelake_schema::{Kind, Syntax};

use super::number;
use super::parsed::{self, ParsedValue};

/// Whether the rules of a table select a row; the error says what its key or its time is in place of a value.
pub(super) fn is_selected(order: &FieldOrder, record: &ByteRecord) -> Result<bool, String> {
    if let Some(rule) = &order.rules.sample {
        let key = field(order, record, &rule.field)?;
        let key = match (key, rule.field.column.kind) {
            (None, _) => String::new(),
            (Some(text), Kind::Integer) => integer(&rule.field, &text)?.to_string(),
            (Some(text), _) => text,
        };
        if !rule.sample.selects(key.as_bytes()) {
            return Ok(false);
        }
    }
    let Some(rule) = &order.rules.time else {
        return Ok(true);
    };
    let time = field(order, record, &rule.field)?;
    let Some(text) = time else {
        return Ok(rule.selects(None));
    };
    let no_time = || format!("{} isn't a time in the source", rule.field.column.name);
    Ok(match rule.field.column.kind {
        Kind::DateTime(zone) => {
            let time = number::date_time_of(&rule.field.column, &text, zone);
            let time = time.ok_or_else(no_time)?;
            rule.selects(Some(time))
        }
        Kind::Float => rule.selects_float(Some(number::float(&text).ok_or_else(no_time)?)),
        Kind::Integer | Kind::Boolean | Kind::Text | Kind::Code | Kind::Struct | Kind::List => {
            rule.selects(Some(integer(&rule.field, &text)?))
        }
    })
}

/// The text of a field; `None` if it is NULL.
fn field(
    order: &FieldOrder,
    record: &ByteRecord,
    field: &RuleField,
) -> Result<Option<String>, String> {
    if order.table.syntax != Syntax::Csv {
        let values = parsed::values_of(order, record, &[&field.column])?;
        return Ok(match values.into_iter().next() {
            None | Some(ParsedValue::Null) => None,
            Some(value) => Some(value.to_string())
                .filter(|text| !field.column.spelling.is_null(text.as_bytes())),
        });
    }
    if record.len() != order.fields.len() {
        return Err(format!(
            "the source has {}",
            several(record.len() as u64, "field")
        ));
    }
    let text = field.position.and_then(|at| record.get(at));
    let text = str::from_utf8(text.unwrap_or_default()).map_err(|error| error.to_string())?;
    let is_null = text.is_empty() || field.column.spelling.is_null(text.as_bytes());
    Ok((!is_null).then(|| text.to_owned()))
}

fn integer(field: &RuleField, text: &str) -> Result<i64, String> {
    let value = number::integer_of(&field.column, &field.accept, text);
    value.ok_or_else(|| format!("{} isn't an integer in the source", field.column.name))
}

#[cfg(test)]
mod tests {
    use tracelake_testkit::every_kind::TABLE as JOBS;

    use super::*;

    #[test]
    fn a_time_is_an_integer_or_a_float_without_a_fraction() {
        let order = FieldOrder::built_in(&JOBS, "here");
        let strict = order.rule_field("time").unwrap();
        let mut lenient = strict.clone();
        lenient.accept = "integral-floats".parse().unwrap();
        for (text, by_rule, on_request) in [
            ("5", Some(5), Some(5)),
            ("5.0", None, Some(5)),
            ("5.5", None, None),
            ("18446744073709551615", Some(i64::MAX), Some(i64::MAX)),
        ] {
            let found = [&strict, &lenient].map(|field| integer(field, text).ok());
            assert_eq!(found, [by_rule, on_request], "{text}");
        }
    }
}
