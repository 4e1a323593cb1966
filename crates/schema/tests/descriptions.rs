//! Reading descriptions.

use std::sync::Arc;

use tracelake_schema::description::{MAX_BYTES, read};

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
fn a_trace_of_a_description_is_dropped_when_nothing_uses_it() {
    let traces = read(&small("a")).unwrap();
    let projection = traces[0].with_columns([("days", "day")]);
    let trace = Arc::downgrade(&traces[0]);
    drop(traces);
    assert_eq!(projection.whole, trace.upgrade());
    drop(projection);
    assert_eq!(trace.upgrade(), None);
}

#[test]
fn a_description_has_at_most_one_mebibyte() {
    let error = read(&"#".repeat(MAX_BYTES + 1)).unwrap_err().to_string();
    assert!(
        error.contains("at most 1048576 bytes, not 1048577"),
        "{error}"
    );
    let error = read(&"#".repeat(MAX_BYTES)).unwrap_err().to_string();
    assert!(error.contains("missing field"), "{error}");
}
