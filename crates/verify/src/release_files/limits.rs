//! Limits on the use of a lake, in sentences for people and catalogs.

use tracelake_core::part_key::of_cell;
use tracelake_core::words::several;
use tracelake_lake::manifest::REJECTS;

use super::completeness::{Completeness, parts_alone};
use super::making::clustered_parts;
use super::released_lake::ReleasedLake;
use super::selection;

/// The limits of a lake: what it lacks of its trace, what is changed in it, and the known errors of the trace.
pub(super) fn limits(lake: &ReleasedLake<'_>) -> Vec<String> {
    let Completeness {
        cells,
        gaps,
        unknown,
        rejected,
    } = &lake.completeness;
    let mut limits = Vec::new();
    if lake.is_synthetic() {
        limits.push("Synthetic data: no row comes from a real cluster.".to_owned());
    }
    if lake.is_selection() {
        limits.push(selection::sentence(lake));
        let dangling = selection::dangling(lake);
        if !dangling.is_empty() {
            let references = dangling.join("; ");
            limits.push(format!(
                "These references may name rows that are not selected: {references}."
            ));
        }
    }
    if lake.manifest.cells().iter().any(Option::is_some) {
        let here: Vec<&str> = lake.manifest.cells().into_iter().flatten().collect();
        limits.push(format!("The rows are of these cells: {}.", here.join(", ")));
    }
    if !cells.is_empty() {
        limits.push(format!("These cells are missing: {}.", cells.join(", ")));
    }
    for gap in gaps {
        let (table, cell) = (&gap.table, of_cell(gap.cell));
        limits.push(format!("{table}{cell}: {}.", gap.gap.describe()));
    }
    let alone: Vec<String> = lake.manifest.tables.iter().flat_map(parts_alone).collect();
    if !alone.is_empty() {
        limits.push(format!(
            "Converted from single files: {}.",
            alone.join("; ")
        ));
    }
    if !unknown.is_empty() {
        limits.push(format!(
            "It is not known whether these tables are complete: {}.",
            unknown.join(", ")
        ));
    }
    if *rejected > 0 {
        limits.push(format!(
            "{} did not fit their table and are not in it; `{REJECTS}` has them.",
            several(*rejected, "row")
        ));
    }
    limits.extend(changes(lake));
    if lake.manifest.origin.clustered.is_some() {
        let parts = clustered_parts(lake);
        limits.push(parts.split_whitespace().collect::<Vec<_>>().join(" "));
    }
    if !lake.is_synthetic() {
        limits.extend(
            lake.synthesised()
                .map(|(table, text)| format!("{table}: {text}")),
        );
        // These are about the published rows.
        limits.extend(lake.trace.anomalies.iter().cloned());
    }
    limits
}

/// Values that aren't stored as they were published, and files that weren't published as the documents say.
pub(super) fn changes(lake: &ReleasedLake<'_>) -> Vec<String> {
    let mut changes = Vec::new();
    let mapped = lake
        .manifest
        .parts()
        .map(|(_, part)| part.sentinels_mapped)
        .fold(0, u64::saturating_add);
    if mapped > 0 {
        changes.push(format!(
            "{} too large for a signed 64-bit integer, and stored as the special value for it.",
            several(mapped, "time") + if mapped == 1 { " is" } else { " are" }
        ));
    }
    let mut say = |count: u64, noun: &str, [one, many]: [&str; 2], rest: &str| {
        if count > 0 {
            let verb = if count == 1 { one } else { many };
            let counted = several(count, noun);
            changes.push(format!("{counted} {verb} {rest}: not as published."));
        }
    };
    let accepted = lake.manifest.accepted();
    let (file, began) = ("source file", ["began"; 2]);
    say(
        accepted.headers,
        file,
        began,
        "with a header, which was skipped",
    );
    let left_out = "an unnamed first column with the number of the row, which was left out";
    say(accepted.indexes, file, ["had"; 2], left_out);
    say(
        accepted.boms,
        file,
        began,
        "with a byte order mark, which was skipped",
    );
    let spelled = "spelled as a float, such as `5.0`, in the source files";
    say(
        accepted.integral_floats,
        "integer",
        ["was", "were"],
        spelled,
    );
    let is_null = ["that is NULL wasn't", "that are NULL weren't"];
    say(
        accepted.nulls,
        "field",
        is_null,
        "empty in the source files",
    );
    changes
}
