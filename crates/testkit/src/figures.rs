//! Figures that the docs state, compared with the constants of the code.

use std::fs;
use std::path::Path;

use tracelake_core::words::group_digits;

/// The page of limits.
pub const LIMITS: &str = "limits.md";

/// The page of the design.
pub const DESIGN: &str = "design.md";

/// A number as the docs write it.
#[must_use]
pub fn digits(number: impl TryInto<u64>) -> String {
    group_digits(number.try_into().ok().unwrap())
}

/// Bytes in KiB.
#[must_use]
pub fn kib(bytes: usize) -> usize {
    bytes >> 10
}

/// Bytes in MiB.
#[must_use]
pub fn mib(bytes: impl TryInto<u64>) -> u64 {
    bytes.try_into().ok().unwrap() >> 20
}

/// Asserts that each page states its figure.
///
/// # Panics
/// If one doesn't.
pub fn assert_stated(figures: &[(&str, String)]) {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    let missing = figures.iter().filter(|(page, figure)| {
        let text = fs::read_to_string(docs.join(page)).unwrap();
        let words: Vec<&str> = text.split_whitespace().collect();
        !words.join(" ").contains(figure)
    });
    let missing: Vec<_> = missing.collect();
    assert!(missing.is_empty(), "the docs don't say {missing:?}");
}
