//! Reports of what `tracelake cluster` would do and has done, for people and as a JSON line.

use std::collections::BTreeSet;

use indicatif::HumanBytes;
use serde_json::json;
use tracelake_convert::cluster::{ClusterPlan, Group, Room};
use tracelake_convert::run::Outcome;
use tracelake_core::part_key::of_cell;
use tracelake_core::words::{group_digits, several};
use tracelake_lake::PartName;

use super::progress::say_json;
use super::{Reporter, Stream, aligned, say, shown, shown_path};

/// The output of `--dry-run`.
pub(crate) fn cluster_text(plan: &ClusterPlan, done: &BTreeSet<PartName>, room: &Room) -> String {
    let mut text = format!("{}, {}\n", shown_path(plan.lake()), plan.clustered());
    for group in plan.groups() {
        let files = |files: usize| several(files as u64, "file");
        let names: Vec<PartName> = group.names().collect();
        text += &format!(
            "{}{}: {} in {}, {} -> ",
            group.table_name(),
            of_cell(group.cell()),
            several(group.rows(), "row"),
            files(group.inputs()),
            HumanBytes(group.bytes()),
        );
        text += &match group.order() {
            Some(columns) if columns.is_empty() => files(names.len()),
            Some(columns) => format!("{}, sorted by {}", files(names.len()), columns.join(", ")),
            None => "copied".to_owned(),
        };
        let finished = names.iter().filter(|name| done.contains(name));
        match finished.count() {
            0 => {}
            count => text += &format!(", {} done", group_digits(count as u64)),
        }
        text.push('\n');
    }
    let free = |free: Option<u64>| {
        free.map_or_else(String::new, |free| format!(" ({} free)", HumanBytes(free)))
    };
    let elsewhere = match room.free_to_sort {
        Some(_) => format!(" on another disk{}", free(room.free_to_sort)),
        None => String::new(),
    };
    text += &format!(
        "estimate: at least {} on disk{}, and {} more while rows are sorted{elsewhere}; at most {} of memory\n",
        HumanBytes(room.files),
        free(room.free),
        HumanBytes(room.sorted),
        HumanBytes(room.memory),
    );
    text
}

/// Reports the result.
pub(crate) fn clustered(reporter: &Reporter, plan: &ClusterPlan, outcome: &Outcome) {
    let seconds = reporter.elapsed().as_secs_f64();
    let made = |group: &Group| {
        let parts = outcome.manifest.parts();
        let of_group =
            parts.filter(|(name, part)| *name == group.table_name() && part.cell == group.cell());
        of_group.fold((0, 0_u64), |(rows, bytes), (_, part)| {
            (
                rows + part.rows_out,
                bytes.saturating_add(part.output.bytes),
            )
        })
    };
    if reporter.is_json() {
        let tables = plan.groups().iter().map(|group| {
            let (rows, bytes) = made(group);
            json!({
                "name": group.table_name(), "cell": group.cell(), "parts": group.names().count(), "rows": rows,
                "bytes_in": group.bytes(), "bytes_out": bytes,
            })
        });
        let tables: Vec<_> = tables.collect();
        return say_json(&json!({
            "event": "done", "trace": outcome.manifest.origin.trace, "converted": outcome.converted,
            "committed": outcome.is_committed, "tables": tables, "seconds": seconds,
        }));
    }
    if !reporter.is_for_people() {
        return;
    }
    let header = ["table", "files", "rows", "before", "after"];
    let mut rows = vec![header.map(str::to_owned).to_vec()];
    for group in plan.groups() {
        let (count, bytes) = made(group);
        rows.push(vec![
            format!("{}{}", group.table_name(), of_cell(group.cell())),
            group_digits(group.names().count() as u64),
            group_digits(count),
            HumanBytes(group.bytes()).to_string(),
            HumanBytes(bytes).to_string(),
        ]);
    }
    say(&aligned(&rows, Stream::Err));
    let parts = usize::try_from(plan.parts()).unwrap_or(usize::MAX);
    let kept = match parts.saturating_sub(outcome.converted) {
        0 => String::new(),
        kept => format!(", {} kept from before", group_digits(kept as u64)),
    };
    say(&format!(
        "{} clustered {}: {} made{kept}, {seconds:.1} s",
        shown_path(plan.lake()),
        shown(&plan.clustered()),
        several(outcome.converted as u64, "file"),
    ));
}
