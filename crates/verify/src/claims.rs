//! Claims of a manifest that contradict one another, or the trace.

use std::collections::BTreeSet;

use tracelake_core::error::Error;
use tracelake_core::part_key::CELL;
use tracelake_lake::manifest::{Manifest, PartFacts};
use tracelake_location::Location;
use tracelake_schema::Trace;
use tracelake_schema::arrow::{arrow_schema, fingerprint};

use super::file::OTHER_LAKE;
use super::finding::corrupt;

/// Impossible claims of the manifest about tables and parts.
pub(super) fn contradictions(root: &Location, trace: &Trace, manifest: &Manifest) -> Vec<Error> {
    let mut findings = Vec::new();
    let mut seen = BTreeSet::new();
    let mut files = BTreeSet::new();
    for file in manifest.files() {
        if !files.insert(&file.path) {
            let finding = corrupt("two parts of the manifest name this file");
            findings.push(finding.at(root.join(&file.path)).hint(OTHER_LAKE));
        }
    }
    for facts in &manifest.tables {
        let finding = |reason: &str| {
            corrupt(reason)
                .at(root)
                .field(facts.name.clone())
                .hint(OTHER_LAKE)
        };
        let known = trace
            .table(&facts.name)
            .map(|table| fingerprint(&arrow_schema(table)));
        if known.is_some_and(|known| known != facts.schema_fingerprint) {
            findings.push(finding("the manifest names another schema"));
        }
        for part in &facts.parts {
            if !seen.insert((&facts.name, part.key())) {
                findings.push(finding("the manifest names a part twice"));
            }
            let is_cell = |cell| {
                trace
                    .cells
                    .as_ref()
                    .is_some_and(|cells| cells.find(cell).is_some())
            };
            if !part.cell.is_none_or(is_cell) {
                findings.push(finding(
                    "the manifest gives a part a cell that the trace doesn't have",
                ));
            }
            if !is_in_cell(part) {
                findings.push(finding(
                    "the manifest gives a part another cell than its directory",
                ));
            }
            let name = part.output.path.rsplit('/').next().unwrap_or_default();
            let number = format!("part-{:05}", part.file_number);
            let rest = name.strip_prefix(&number);
            if !rest.is_some_and(|rest| rest.starts_with(['-', '.'])) {
                findings.push(finding(
                    "the manifest gives a part another number than its file",
                ));
            }
        }
    }
    findings
}

/// Whether the output of a part is in the directory of its cell.
fn is_in_cell(part: &PartFacts) -> bool {
    let mut names = part.output.path.split('/').skip(1);
    let named = names.find_map(|name| name.strip_prefix(CELL));
    named == part.cell
}
