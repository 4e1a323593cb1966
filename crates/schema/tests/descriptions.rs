//! The limits of what a process interns, in a separate process.

use tracelake_schema::description::{MAX_BYTES, MAX_DESCRIPTIONS, intern};

/// The smallest description, of a trace with this name.
fn small(name: &str) -> String {
    format!(
        r#"
family = "{name}"
licence = "CC0-1.0"
citation = "nobody"
[[trace]]
name = "{name}"
title = "one"
document = "a letter"
[[table]]
name = "days"
summary = "days"
files = "whole"
[[table.column]]
name = "day"
content = "day"
kind = "integer"
format = "INTEGER"
obfuscation = "unchanged"
doc = "when"
"#
    )
}

#[test]
fn a_process_interns_each_description_once_and_at_most_64() {
    let first = intern(&small("a0")).unwrap();
    assert!(std::ptr::eq(first, intern(&small("a0")).unwrap()));
    // What is no description at all takes no place.
    for number in 0..100 {
        assert!(intern(&format!("moon = {number}")).is_err());
    }
    let wrong = small("a1").replace("kind = \"integer\"", "kind = \"day\"");
    let error = intern(&wrong).unwrap_err();
    assert_eq!(intern(&wrong).unwrap_err(), error);
    for number in 2..MAX_DESCRIPTIONS {
        assert_eq!(intern(&small(&format!("a{number}"))).unwrap().len(), 1);
    }
    let error = intern(&small("b")).unwrap_err().to_string();
    assert!(error.contains("64 descriptions"), "{error}");
    // Those that are known still are.
    assert!(std::ptr::eq(first, intern(&small("a0")).unwrap()));
}

#[test]
fn a_description_has_at_most_one_mebibyte() {
    let error = intern(&"#".repeat(MAX_BYTES + 1)).unwrap_err().to_string();
    assert!(
        error.contains("at most 1048576 bytes, not 1048577"),
        "{error}"
    );
    let error = intern(&"#".repeat(MAX_BYTES)).unwrap_err().to_string();
    assert!(error.contains("missing field"), "{error}");
}
