//! Values at the edges, and against the standard library and the suites of other projects.

#![cfg(test)]

use super::*;
use proptest::prelude::*;
use tracelake_schema::TRACES;
use tracelake_testkit::every_kind::{SPELLED, TABLE};

#[test]
fn integers_at_the_edges() {
    assert_eq!(integer(b"9223372036854775807"), Ok(i64::MAX));
    assert_eq!(integer(b"-9223372036854775808"), Ok(i64::MIN));
    assert_eq!(integer(b"000000000000000000000000012"), Ok(12));
    assert_eq!(
        integer(b"18446744073709551615"),
        Err(Fault::OutOfRange { bits: 64 })
    );
    for bad in [
        "", "-", "+5", " 5", "5 ", "0x1F", "5.0", "1e3", "1_000", "--1",
    ] {
        assert_eq!(integer(bad.as_bytes()), Err(Fault::NotInteger), "{bad:?}");
    }
    assert_eq!(code(b"2147483648"), Err(Fault::OutOfRange { bits: 32 }));
    assert_eq!(code(b"-2147483648"), Ok(i32::MIN));
    assert_eq!(
        code(b"9223372036854775808"),
        Err(Fault::OutOfRange { bits: 32 })
    );
}

/// Eight digits are read at once, and no other byte may look like one of them.
#[test]
fn integers_have_digits_alone() {
    for at in 0..18 {
        for byte in 0..=u8::MAX {
            let mut field = *b"123456789012345678";
            field[at] = byte;
            let plain = str::from_utf8(&field)
                .ok()
                .and_then(|text| text.parse().ok())
                .filter(|_| field[0] != b'+');
            assert_eq!(integer(&field).ok(), plain, "{byte} at {at}");
        }
    }
}

#[test]
fn a_word_shows_whether_it_ends_in_a_small_exponent() {
    for (word, has_exponent) in [
        (b"1234e-06", true),
        (b"1.52e-09", true),
        (b"1234e-16", false),
        (b"1234e+06", false),
        (b"1234E-06", false),
        (b"00000000", false),
    ] {
        let digits = u64::from_le_bytes(*word) ^ ZEROS;
        assert_eq!(digits & EXPONENT_BYTES == EXPONENT, has_exponent);
    }
}

#[test]
fn integers_may_be_spelled_as_floats() {
    for (text, value) in [("5.0", 5), ("-7.000", -7), ("12", 12), ("-0.0", 0)] {
        assert_eq!(integral(text.as_bytes()), Ok(value), "{text}");
    }
    for bad in ["5.", ".0", "5.01", "5.0.0", "5e0", "", "+5.0", "5.0 "] {
        assert_eq!(integral(bad.as_bytes()), Err(Fault::NotInteger), "{bad:?}");
    }
}

#[test]
fn a_sentinel_may_be_spelled_in_another_way() {
    let tables = TRACES.iter().flat_map(|trace| &trace.tables);
    let mut columns = tables.flat_map(|table| &*table.columns);
    let has_other = |one: &Sentinel| one.also.is_some();
    let column = columns.find(|column| column.sentinels.iter().any(has_other));
    let column = column.unwrap();
    let known = column.sentinels.iter().find(|one| has_other(one)).unwrap();
    let (also, beyond) = (
        known.also.as_deref().unwrap(),
        Fault::OutOfRange { bits: 64 },
    );
    let found = |field: &str, fault| {
        let other = other_spelling(column, field.as_bytes(), fault, &Accept::default());
        other.map(|(value, _)| value)
    };
    assert_eq!(found(also, beyond), Ok(known.value));
    assert_eq!(found(&format!("{also}0"), beyond), Err(beyond));
    assert_eq!(found(also, Fault::NotInteger), Err(Fault::NotInteger));
}

#[test]
fn a_date_time_may_end_with_the_name_of_a_zone() {
    let (_, column) = SPELLED.column("since").unwrap();
    let read = |text: &str| date_time_of(column, text.as_bytes(), Zone::Published);
    let utc = read("2017-10-03 00:08:00Z").unwrap();
    for (text, minutes) in [
        ("2017-10-03 00:08:00 PDT", -420),
        ("2017-10-03T00:08:00.000000000PDT", -420),
        ("2017-10-03 00:08:00 DT", 1),
        ("2017-10-03 00:08:00 IST", 330),
        ("2017-10-03 00:08:00-07:00", -420),
    ] {
        assert_eq!(read(text), Ok(utc - minutes * 60_000_000), "{text}");
    }
    for (text, fault) in [
        ("2017-10-03 00:08:00 PST", Fault::NotDateTime),
        ("2017-10-03 00:08:00 pdt", Fault::NotDateTime),
        ("2017-10-03 00:08:00  PDT", Fault::NotDateTime),
        ("2017-10-03 00:08:00Z PDT", Fault::NotDateTime),
        ("2017-10-03 00:08:00 PDT ", Fault::NotDateTime),
        ("2017-10-03 PDT", Fault::NotDateTime),
        ("PDT", Fault::NotDateTime),
        ("2017-10-03 00:08:00", Fault::NoZone),
        ("2017-10-03 00:08:00.0000001 PDT", Fault::BeyondMicroseconds),
    ] {
        assert_eq!(read(text), Err(fault), "{text}");
    }
    let (_, plain) = TABLE.column("since").unwrap();
    let refused = date_time_of(plain, b"2017-10-03 00:08:00 PDT", Zone::Published);
    assert_eq!(refused, Err(Fault::NotDateTime));
}

#[test]
fn a_description_adds_words_for_true_and_false() {
    let (_, column) = SPELLED.column("done").unwrap();
    let found = |field: &str, fault| {
        let other = other_spelling(column, field.as_bytes(), fault, &Accept::default());
        other.map(|(value, _)| value)
    };
    for fault in [Fault::NotBoolean, Fault::NotTruth, Fault::NotPythonTruth] {
        assert_eq!((found("yes", fault), found("off", fault)), (Ok(1), Ok(0)));
        for other in ["Yes", "yes ", "", "2"] {
            assert_eq!(found(other, fault), Err(Fault::NotWord), "{other:?}");
        }
        let (_, plain) = TABLE.column("done").unwrap();
        let found = other_spelling(plain, b"yes", fault, &Accept::default());
        assert_eq!(found, Err(fault));
    }
}

#[test]
fn floats_of_other_forms_are_faults() {
    for bad in [
        "", "-", ".", "+1", "nan", "inf", "-inf", "infinity", "1e", "1e+", "0x1p2", "1,2", " 1",
        "1_0",
    ] {
        assert_eq!(float(bad.as_bytes()), Err(Fault::NotNumber), "{bad:?}");
    }
    assert_eq!(float(b"-1.8e308"), Err(Fault::Overflow));
    assert_eq!(float(b"1e-400").map(f64::to_bits), Ok(0));
    assert_eq!(float(b"-0").map(f64::to_bits), Ok((-0.0_f64).to_bits()));
}

#[test]
fn booleans_are_digits() {
    assert_eq!((boolean(b"0"), boolean(b"1")), (Ok(false), Ok(true)));
    for bad in ["", "2", "00", "true"] {
        assert_eq!(boolean(bad.as_bytes()), Err(Fault::NotBoolean), "{bad:?}");
    }
}

#[test]
fn text_keeps_to_the_format() {
    assert_eq!(text("Ωx=".as_bytes()), Ok("Ωx="));
    assert_eq!(text(b"a\xffb"), Err(Fault::NotUtf8 { byte: 0xff }));
    assert_eq!(text(b"a\0"), Err(Fault::Control { byte: 0 }));
    assert_eq!(text(b" a\x1f"), Err(Fault::Control { byte: 0x1f }));
    assert_eq!(text(b" \x7fa"), Err(Fault::Control { byte: 0x7f }));
    assert_eq!(text(b"a b"), Ok("a b"));
    assert_eq!(text(b"\"a\""), Err(Fault::Quote));
}

#[test]
fn plain_texts_are_ascii_that_needs_no_look() {
    for before in ["", "abcdefghijklmnopqrstuvwxyz ~!"] {
        for byte in 0..=u8::MAX {
            let field = [before.as_bytes(), &[byte][..], b"z"].concat();
            let is_plain = (b' '..=b'~').contains(&byte) && byte != b'"';
            assert_eq!(is_plain_text(&field), is_plain, "{}", field.escape_ascii());
            assert!(!is_plain || text(&field).is_ok());
        }
    }
}

/// Sixteen digits may not fit in 53 bits: rounded to them, and then divided or multiplied, they would be
/// rounded twice.
#[test]
fn numbers_of_more_digits_than_are_exact_are_rounded_once() {
    let mut twice = 0;
    for step in 0..5000_u64 {
        let digits = (9_007_199_254_740_993 + step * 198_559_703_131).to_string();
        for text in [
            format!("0.{digits}"),
            format!("{}.{}", &digits[..8], &digits[8..]),
            format!("{digits}e-22"),
            format!("-{digits}e+22"),
        ] {
            let right: f64 = text.parse().unwrap();
            assert_eq!(
                float(text.as_bytes()).map(f64::to_bits),
                Ok(right.to_bits()),
                "{text}"
            );
        }
        let rounded: f64 = digits.parse().unwrap();
        let right: f64 = format!("0.{digits}").parse().unwrap();
        twice += u32::from(rounded / 1e16 != right);
    }
    assert!(twice > 0, "no number that two roundings get wrong");
}

/// The lines of a suite in ../shared/suites.
fn suite(name: &str) -> Vec<String> {
    let path = format!(
        "{}/../../../shared/suites/float/{name}",
        env!("CARGO_MANIFEST_DIR")
    );
    let text = std::fs::read_to_string(&path).unwrap();
    text.lines().map(str::to_owned).collect()
}

/// Whether this format accepts a number that other parsers accept.
fn is_of_the_format(text: &str) -> bool {
    let digits = |byte: u8| byte.is_ascii_digit() || b"+-.eE".contains(&byte);
    !text.starts_with('+') && text.bytes().all(digits)
}

#[test]
#[cfg_attr(not(suites), ignore = "needs the test suites in ../shared/suites")]
fn floats_of_the_suites_are_right_to_the_bit() {
    let mut tried = 0_u32;
    for name in [
        "freetype-2-7.txt",
        "lemire-fast-float.txt",
        "more-test-cases.txt",
    ] {
        for line in suite(name) {
            let [_, _, bits, text] = *line.split_whitespace().collect::<Vec<_>>() else {
                panic!("{name}: {line}");
            };
            let expected = f64::from_bits(u64::from_str_radix(bits, 16).unwrap());
            let right = match float(text.as_bytes()) {
                Ok(value) => value.to_bits() == expected.to_bits(),
                Err(Fault::Overflow) => expected.is_infinite(),
                Err(_) => !is_of_the_format(text),
            };
            assert!(right, "{name}: {text}");
            tried += 1;
        }
    }
    assert!(tried > 0);
}

#[test]
#[cfg_attr(not(suites), ignore = "needs the test suites in ../shared/suites")]
fn numbers_of_another_languages_tables_are_right_or_refused() {
    let mut tried = 0_u32;
    for line in suite("atof_cases.tsv")
        .iter()
        .chain(&suite("atoi_cases.tsv"))
    {
        let [kind, input, value, error] = *line.split('\t').collect::<Vec<_>>() else {
            continue;
        };
        let Ok(input) = serde_json::from_str::<String>(input) else {
            continue;
        };
        let fits = is_of_the_format(&input);
        let right = match (kind, error) {
            ("f64", "nil") if fits => float(input.as_bytes()) == Ok(value.parse().unwrap()),
            ("f64", "ErrRange") if fits => float(input.as_bytes()) == Err(Fault::Overflow),
            ("f64", _) => float(input.as_bytes()) == Err(Fault::NotNumber),
            ("Int64", "nil") if fits => Ok(input.parse().unwrap()) == integer(input.as_bytes()),
            ("Int64", "ErrRange") if fits => {
                integer(input.as_bytes()) == Err(Fault::OutOfRange { bits: 64 })
            }
            ("Int64", _) => integer(input.as_bytes()) == Err(Fault::NotInteger),
            _ => true,
        };
        assert!(right, "{line}");
        tried += 1;
    }
    assert!(tried > 0);
}

proptest! {
    #[test]
    fn integer_equals_the_standard_library(field in "[-+0-9]{0,22}|[ -~]{0,6}") {
        tracelake_testkit::fuzz::value::run(field.as_bytes());
    }

    #[test]
    fn float_equals_the_standard_library(field in "-?[0-9]{0,17}(\\.[0-9]{0,17})?(e[-+]?[0-9]{0,3})?|[-+.0-9einfaE]{0,9}") {
        tracelake_testkit::fuzz::value::run(field.as_bytes());
    }

    #[test]
    fn what_c_prints_reads_back(value in any::<f64>().prop_filter("finite", |v| v.is_finite())) {
        prop_assert_eq!(float(format!("{value:e}").as_bytes()), Ok(value));
    }
}
