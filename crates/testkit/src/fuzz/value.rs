//! The readers of one field against the standard library with the rules that the format adds: no
//! leading plus, no words for infinity, nothing that overflows.
//!
//! Input: a field.

use tracelake_core::fault::Fault;
use tracelake_encode::value::{boolean, code, float, integer, text};

/// Tries one input.
pub fn run(field: &[u8]) {
    assert_eq!(integer(field), plain_integer::<i64>(field, 64));
    assert_eq!(code(field), plain_integer::<i32>(field, 32));
    assert_eq!(
        float(field).map(f64::to_bits),
        plain_float(field).map(f64::to_bits)
    );
    assert_eq!(
        boolean(field).ok(),
        [&b"0"[..], b"1"]
            .iter()
            .position(|&it| it == field)
            .map(|it| it == 1)
    );
    assert_eq!(text(field), plain_text(field));
}

/// Digits with an optional minus.
fn plain_integer<T: std::str::FromStr>(field: &[u8], bits: u8) -> Result<T, Fault> {
    let digits = field.strip_prefix(b"-").unwrap_or(field);
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return Err(Fault::NotInteger);
    }
    let text = str::from_utf8(field).expect("ASCII");
    text.parse().map_err(|_| Fault::OutOfRange { bits })
}

/// A decimal number; a word is none, and neither is one with a plus in front.
fn plain_float(field: &[u8]) -> Result<f64, Fault> {
    let text = str::from_utf8(field).map_err(|_| Fault::NotNumber)?;
    let value: f64 = text.parse().map_err(|_| Fault::NotNumber)?;
    let word = text
        .bytes()
        .any(|byte| byte.is_ascii_alphabetic() && !byte.eq_ignore_ascii_case(&b'e'));
    match value {
        _ if word || text.starts_with('+') => Err(Fault::NotNumber),
        value if value.is_infinite() => Err(Fault::Overflow),
        value => Ok(value),
    }
}

/// UTF-8 without control characters and quotes; what is not UTF-8 is reported first.
fn plain_text(field: &[u8]) -> Result<&str, Fault> {
    let invalid = field
        .utf8_chunks()
        .find_map(|chunk| chunk.invalid().first().copied());
    if let Some(byte) = invalid {
        return Err(Fault::NotUtf8 { byte });
    }
    let text = str::from_utf8(field).expect("without invalid chunks");
    match text.chars().find(|it| *it == '"' || it.is_ascii_control()) {
        None => Ok(text),
        Some('"') => Err(Fault::Quote),
        Some(it) => Err(Fault::Control { byte: it as u8 }),
    }
}
