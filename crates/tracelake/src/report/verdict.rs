//! The output of `verify` and `release`.

use std::time::Duration;

use serde_json::json;
use tracelake_core::error::Error;
use tracelake_core::words::{for_shell, group_digits, several};
use tracelake_lake::SUMS;
use tracelake_location::Location;
use tracelake_verify::Verdict;

use super::progress::{Reporter, say_json};
use super::summary::against_published;
use super::{error, safe, say};

/// The output of `verify --json`.
pub(crate) fn verdict_json(verdict: &Verdict) -> String {
    let findings: Vec<serde_json::Value> = verdict.findings.iter().map(finding_json).collect();
    let json = json!({
        "trace": verdict.manifest.origin.trace,
        "synthetic": verdict.manifest.origin.synthetic,
        "parts": verdict.parts,
        "rows": verdict.manifest.rows(),
        "rows_rejected": verdict.manifest.rows_rejected(),
        "rows_not_selected": verdict.manifest.rows_not_selected().unwrap_or(0),
        "values_compared": verdict.values,
        "not_converted": verdict.not_converted,
        "not_compared": verdict.not_compared,
        "findings": findings,
    });
    safe(&format!("{json:#}\n"))
}

fn finding_json(finding: &Error) -> serde_json::Value {
    let place = finding.place();
    json!({
        "path": place.path.as_ref().map(|path| path.to_string_lossy()),
        "line": place.line,
        "column": place.column,
        "field": place.field,
        "message": finding.to_string(),
    })
}

/// Reports what a verification found.
pub(crate) fn verified(reporter: &Reporter, verdict: &Verdict, with_source: bool) {
    if !reporter.is_json() {
        return say_verdict(verdict, with_source, reporter.elapsed());
    }
    for finding in &verdict.findings {
        let mut line = finding_json(finding);
        line["event"] = "finding".into();
        say_json(&line);
    }
    say_json(&json!({
        "event": "done", "parts": verdict.parts, "rows": verdict.manifest.rows(),
        "rejected": verdict.manifest.rows_rejected(),
        "not_selected": verdict.manifest.rows_not_selected().unwrap_or(0), "values_compared": verdict.values,
        "not_converted": verdict.not_converted, "not_compared": verdict.not_compared, "wrong": verdict.findings.len(),
        "seconds": reporter.elapsed().as_secs_f64()
    }));
}

/// Says on stderr whether a lake was released, after its verification, and how to sign it.
pub(crate) fn released(lake: &Location, verdict: &Verdict) {
    if !verdict.is_ok() {
        return say("not released");
    }
    say(&format!("written: {SUMS}, {}", verdict.released.join(", ")));
    let sums = for_shell(lake.join(SUMS));
    say(&format!("to sign it: minisign -Sm {sums}"));
    say(&format!(
        "to verify the signature: minisign -Vm {sums} -p minisign.pub"
    ));
}

/// Says on stderr what a verification found, the findings first.
pub(crate) fn say_verdict(verdict: &Verdict, with_source: bool, elapsed: Duration) {
    for finding in &verdict.findings {
        error(finding);
    }
    if verdict.not_converted > 0 {
        say(&format!(
            "not in the lake: {} of the source",
            several(verdict.not_converted as u64, "part")
        ));
    }
    if verdict.not_compared > 0 {
        say(&format!(
            "not compared with a source: {} of other cells",
            several(verdict.not_compared as u64, "part")
        ));
    }
    if let Some(trace) = verdict.manifest.origin.find_trace() {
        against_published(&trace, &verdict.manifest);
    }
    let rejected = match verdict.manifest.rows_rejected() {
        0 => String::new(),
        rejected => format!(", {} rejected", several(rejected, "row")),
    };
    let not_selected = match verdict.manifest.rows_not_selected() {
        None => String::new(),
        Some(rows) => format!(", {} not selected", several(rows, "row")),
    };
    let values = if with_source {
        format!(
            ", {} values compared with the source",
            group_digits(verdict.values)
        )
    } else {
        String::new()
    };
    let wrong = verdict.findings.len();
    say(&format!(
        "{}, {}{rejected}{not_selected}{values}: {} wrong, {:.1} s",
        several(verdict.parts as u64, "part"),
        several(verdict.manifest.rows(), "row"),
        wrong,
        elapsed.as_secs_f64()
    ));
}
