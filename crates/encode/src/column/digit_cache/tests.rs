//! Slots against a plain twin, and many look-ups against one.

#![cfg(test)]

use super::*;
use crate::split::Records;
use proptest::prelude::*;
use std::collections::HashMap;
use std::fmt::Write;
use tracelake_core::instructions::plainly;
use tracelake_core::line_ending::LineEnding;

fn slot_in(text: &str, after: &str) -> usize {
    let chunk = format!("{text}{after}");
    Form::Decimal.slot(chunk.as_bytes(), 0, text.len())
}

/// The plain twin.
fn plain(text: &str) -> usize {
    match plain_long(text) {
        0 => plain_short(text),
        slot => slot,
    }
}

/// The slot of decimals with a point anywhere.
fn plain_short(text: &str) -> usize {
    let (whole, after) = text.split_once('.').unwrap_or((text, ""));
    let digits = format!("{whole}{after}");
    let are_digits = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    if text.len() > 8 || !are_digits {
        return 0;
    }
    let number = digits.parse::<usize>().unwrap();
    let (number, places) = match after.len() {
        0 => (number * 10, 1),
        places => (number, places),
    };
    if number < 10_000 && places <= 12 {
        (places - 1) * 10_000 + number + 1
    } else {
        0
    }
}

/// The slot of decimals with one digit before the point.
fn plain_long(text: &str) -> usize {
    let (mantissa, exponent) = match text.split_once("e-0") {
        Some((mantissa, exponent)) if exponent.len() == 1 => (mantissa, exponent),
        Some(_) => return 0,
        None => (text, "0"),
    };
    let (lead, after) = match mantissa.split_once('.') {
        Some(parts) => parts,
        None if text.len() == 1 => (text, "0"),
        None => return 0,
    };
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let is_short = lead.len() == 1 && !after.is_empty() && text.len() <= 10;
    if !is_short || ![lead, after, exponent].into_iter().all(digits) {
        return 0;
    }
    let number = format!("{lead}{after}").parse::<usize>().unwrap();
    let places = after.len() + exponent.parse::<usize>().unwrap();
    if number < 10_000 && places <= 12 {
        (places - 1) * 10_000 + number + 1
    } else {
        0
    }
}

#[test]
fn nothing_is_known_before_there_is_room() {
    let text = "0.5,\n".repeat(20);
    let mut records = Records::default();
    records.split(text.as_bytes(), 2, LineEnding::Lf);
    let mut found = vec![Found::UNKNOWN; 20];
    let mut others = Vec::new();
    let fields = records.column(0, 0..20);
    DigitCache::new(Form::Decimal).find_all(text.as_bytes(), fields, &mut found, &mut others);
    assert_eq!((found, others.len()), (vec![Found::UNKNOWN; 20], 20));
}

#[test]
fn slots_at_the_edges() {
    let after = ",0123456789";
    for text in [
        "",
        ".",
        "0",
        "0.",
        "0.0",
        "9.999",
        "9.9999",
        "0.00009999",
        "0.000000001",
        "00.1",
        "1.e5",
        "0,01",
        "-0.1",
        "0.1e-05",
        "7.534e-05",
        "1.5e-00",
        "9.999e-09",
        "9.99e-09",
        "0.0001e-09",
        "1.e-05",
        "1e-05",
        "1.5e-10",
        "1.5e-055",
        "1.5e-0x",
        "1.5e-0:",
        "1.5f-05",
        "12345.5e-05",
        "5",
        "-",
        "0.\u{ff}",
        "0.12345678",
        "0.0:00",
        "0.0/00",
        "1.000",
    ] {
        assert_eq!(slot_in(text, after), plain(text), "{text:?}");
    }
    // Too close to the end of a chunk to be read at once.
    assert_eq!(slot_in("0.1", ",1\n"), 0);
}

#[test]
fn integers_of_four_digits_have_the_slot_of_their_value() {
    let slot = |text: &str| Form::Integer.slot(format!("{text},").as_bytes(), 0, text.len());
    for (text, value) in [("0", 0), ("7", 7), ("007", 7), ("9999", 9999), ("0000", 0)] {
        assert_eq!(slot(text), value + 1, "{text}");
    }
    for text in [
        "", "-1", "10000", "00001", "1.0", "1e1", "+1", " 1", "1:", "1/",
    ] {
        assert_eq!(slot(text), 0, "{text}");
    }
}

/// A decimal or something like it, another field, and whether the decimal is known.
type TestRow = (String, String, bool);

fn rows() -> impl Strategy<Value = Vec<TestRow>> {
    let decimal = "[0-9]\\.[0-9]{1,9}|[0-9]\\.[0-9]{0,5}e-0[0-9.]|[0-9.e:/-]{0,12}|[ -+--~]{0,12}";
    prop::collection::vec((decimal, "[0-9a-z]{0,9}", any::<bool>()), 0..70)
}

fn many_are_found_as_one_is(rows: &[TestRow], column: usize) -> Result<(), TestCaseError> {
    many_of(Form::Decimal, rows, column)?;
    many_of(Form::Integer, rows, column)
}

fn many_of(form: Form, rows: &[TestRow], column: usize) -> Result<(), TestCaseError> {
    let mut decimals = DigitCache::new(form);
    decimals.begin();
    let mut text = String::new();
    for (index, (decimal, other, is_known)) in (0..).zip(rows) {
        writeln!(text, "{decimal},{other}").unwrap();
        if *is_known {
            let line = format!("{decimal},0123456789");
            decimals.insert(form.slot(line.as_bytes(), 0, decimal.len()), index);
        }
    }
    let mut records = Records::default();
    records.split(text.as_bytes(), 2, LineEnding::Lf);
    let fields = records.column(column, 0..records.len());
    let mut found = vec![Found::UNKNOWN; records.len()];
    let mut others = vec![(1, (2, 3))];
    decimals.find_all(text.as_bytes(), fields, &mut found, &mut others);
    let mut unknown = Vec::new();
    for (row, (found, field)) in found.iter().zip(fields.iter()).enumerate() {
        prop_assert_eq!(*found, decimals.find(decimals.slot(text.as_bytes(), field)));
        prop_assert_eq!(fields.get(row), field);
        if *found == Found::UNKNOWN && field.0 < field.1 {
            unknown.push((row, field));
        }
    }
    prop_assert_eq!(others, unknown);
    Ok(())
}

proptest! {
    #[test]
    fn slots_are_those_of_the_plain_twin(text in "[0-9]\\.[0-9]{1,9}|[0-9]\\.[0-9]{0,5}e-0[0-9.]|[0-9.e,:/-]{0,12}|[ -~]{0,12}") {
        prop_assert_eq!(slot_in(&text, ",0.5,0.25,\n"), plain(&text));
    }

    /// Eight at a time, and the last ones of a chunk one by one.
    #[test]
    #[cfg_attr(not(avx512), ignore = "needs a processor with AVX-512")]
    fn many_are_found_with_avx_512_as_one_is(rows in rows(), column in 0..2_usize) {
        many_are_found_as_one_is(&rows, column)?;
    }

    #[test]
    fn many_are_found_plainly_as_one_is(rows in rows(), column in 0..2_usize) {
        plainly(|| many_are_found_as_one_is(&rows, column))?;
    }

    #[test]
    fn what_is_found_was_put_there(numbers in prop::collection::vec((0..10_000_u32, 1..9_usize), 0..300)) {
        let mut decimals = DigitCache::new(Form::Decimal);
        prop_assert!(!decimals.insert(1, 0));
        prop_assert!(decimals.begin() && !decimals.begin());
        let mut known = HashMap::new();
        for (index, &(number, digits)) in (0_u32..).zip(&numbers) {
            let text = format!("{number:0width$}", width = digits + 1);
            let (lead, after) = text.split_at(text.len() - digits);
            let text = format!("{lead}.{after}");
            let slot = slot_in(&text, ",0123456789");
            if slot > 0 {
                let before = decimals.find(slot);
                prop_assert_eq!(known.get(&text).copied().map_or(Found::UNKNOWN, Found::at), before);
                prop_assert!(decimals.insert(slot, index));
                known.insert(text, index);
            }
        }
        prop_assert!(decimals.insert(1, 65_534) && !decimals.insert(1, 65_535));
        prop_assert!(!decimals.insert(0, 1));
    }
}
