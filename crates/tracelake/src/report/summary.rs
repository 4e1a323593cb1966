//! The end of a conversion, for people and as a JSON line.

use std::borrow::Cow;
use std::collections::BTreeMap;

use indicatif::HumanBytes;
use serde::Serialize;
use serde_json::{Value, json};
use tracelake_convert::plan::Plan;
use tracelake_convert::run::Outcome;
use tracelake_core::part_key::{CellName, PartKey, of_cell};
use tracelake_core::words::{for_shell, group_digits, several};
use tracelake_lake::Forgotten;
use tracelake_lake::manifest::{Manifest, PartFacts, REJECTS, TableFacts};
use tracelake_location::Location;
use tracelake_schema::{Files, Published, Trace};
use tracelake_verify::{is_far_short, parts_alone};

use super::progress::say_json;
use super::{Reporter, Stream, aligned, say, shown, shown_path};

/// A table in the last JSON line of a run that ended well.
#[derive(Serialize)]
struct DoneTable<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    cell: Option<CellName>,
    parts: usize,
    rows: u64,
    rejected: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    not_selected: Option<u64>,
    published_rows: Option<u64>,
    more_than_published: Option<i64>,
}

/// Reports the result of a run.
pub(crate) fn print_conversion_summary(
    reporter: &Reporter,
    plan: &Plan,
    out: &Location,
    outcome: &Outcome,
) {
    if reporter.is_json() {
        say_json(&done(reporter, &plan.trace, outcome));
    } else if reporter.is_for_people() {
        summary(reporter, plan, out, outcome);
    }
}

/// Reports a commit.
pub(crate) fn committed(reporter: &Reporter, outcome: &Outcome) {
    let manifest = &outcome.manifest;
    let trace = manifest.origin.find_trace();
    if reporter.is_json() {
        if let Some(trace) = trace {
            say_json(&done(reporter, &trace, outcome));
        }
    } else if reporter.is_for_people() {
        say(&table_of_tables(manifest));
        manifest
            .tables
            .iter()
            .flat_map(parts_alone)
            .for_each(|note| say(&note));
        say_mapped(manifest);
        say_accepted(manifest);
        say_rows_not_derived(manifest);
        say_not_selected(manifest);
        say_rejected(manifest);
        if let Some(trace) = trace {
            against_published(&trace, manifest);
        }
        let parts = several(manifest.parts().count() as u64, "part");
        let seconds = reporter.elapsed().as_secs_f64();
        say(&format!("committed: {parts}, {seconds:.1} s"));
    }
}

/// Reports what was forgotten.
pub(crate) fn forgotten(reporter: &Reporter, forgotten: &Forgotten) {
    if reporter.is_json() {
        let parts = forgotten.parts.len();
        say_json(&json!({"event": "done", "forgotten": parts, "empty": forgotten.is_empty}));
    } else if reporter.is_for_people() {
        let parts = match forgotten.parts.len() as u64 {
            0 => "nothing to forget".to_owned(),
            parts => format!("forgotten: {}", several(parts, "part")),
        };
        let rest = match forgotten.is_empty {
            true => "; nothing is left of the lake",
            false => "; what is committed stays",
        };
        say(&format!("{parts}{rest}"));
    }
}

/// The last JSON line of a run that ended well; a shard leaves it to the commit to finish the lake.
fn done(reporter: &Reporter, trace: &Trace, outcome: &Outcome) -> Value {
    let table = |(name, cell, facts): (_, Option<CellName>, Cow<'_, TableFacts>)| {
        let known = trace.table(name);
        DoneTable {
            name,
            cell,
            parts: facts.parts.len(),
            rows: facts.rows,
            rejected: total(facts.parts.iter().map(|part| part.rows_rejected)),
            not_selected: facts.rows_not_selected,
            published_rows: known.and_then(|known| Some(known.published_in(cell)?.rows)),
            more_than_published: known
                .filter(|_| outcome.is_committed && !outcome.manifest.origin.synthetic)
                .and_then(|known| {
                    facts.more_than_published(known, &outcome.manifest.origin.options)
                }),
        }
    };
    let tables = outcome.manifest.tables.iter().flat_map(|facts| {
        let cells = facts.by_cell().into_iter();
        cells.map(|(cell, of_cell)| (&facts.name[..], cell, of_cell))
    });
    json!({
        "event": "done", "trace": trace.name, "converted": outcome.converted, "committed": outcome.is_committed,
        "shard": reporter.shard().map(|shard| shard.index), "shards": reporter.shard().map(|shard| shard.of),
        "tables": tables.map(table).collect::<Vec<_>>(), "seconds": reporter.elapsed().as_secs_f64(),
    })
}

/// Says how many rows the selection leaves out, and if it leaves out all of them.
fn say_not_selected(manifest: &Manifest) {
    let Some(rows) = manifest.rows_not_selected() else {
        return;
    };
    let not_selected = format!("{} not selected", several(rows, "row"));
    if manifest.rows() == 0 {
        say(&format!(
            "{not_selected}; no row is selected, so the lake is empty"
        ));
    } else {
        say(&not_selected);
    }
}

/// Says for which tables a range of time selects only rows with special times, such as 0, which are kept whatever the
/// range.
fn say_only_special(trace: &Trace, manifest: &Manifest) {
    let Some(range) = manifest.origin.options.time else {
        return;
    };
    let is_only_special = |facts: &&TableFacts| {
        let table = trace.table(&facts.name);
        let column = table.and_then(|table| Some(&table.columns[table.time?]));
        let bounds = facts.parts.iter();
        let bounds = bounds.filter_map(|part| part.time_min.zip(part.time_max));
        let bounds: Vec<(i64, i64)> = bounds.collect();
        let is_special = |time: i64| {
            column.is_some_and(|column| column.sentinels.iter().any(|known| known.value == time))
        };
        let is_one = |&(min, max): &(i64, i64)| min == max && is_special(min);
        !bounds.is_empty() && bounds.iter().all(is_one)
    };
    let tables = manifest.tables.iter().filter(is_only_special);
    let names: Vec<String> = tables.map(|facts| shown(&facts.name)).collect();
    if !names.is_empty() {
        say(&format!(
            "{}: no row in {}, only rows with special times, such as 0",
            names.join(", "),
            range.as_typed(trace)
        ));
    }
}

/// The summary, on stderr.
fn summary(reporter: &Reporter, plan: &Plan, out: &Location, outcome: &Outcome) {
    let Outcome {
        manifest,
        converted,
        is_committed,
        ..
    } = outcome;
    say(&table_of_tables(manifest));
    if *is_committed {
        say_missing(plan, manifest);
    }
    plan.notes().for_each(say);
    say_mapped(manifest);
    say_accepted(manifest);
    say_rows_not_derived(manifest);
    say_not_selected(manifest);
    say_only_special(&plan.trace, manifest);
    say_rejected(manifest);
    if *is_committed {
        against_published(&plan.trace, manifest);
    }
    let parts = manifest.parts().count();
    let kept = match parts.saturating_sub(*converted) {
        0 => String::new(),
        kept => format!(", {} kept from before", group_digits(kept as u64)),
    };
    let shard = match reporter.shard() {
        None => String::new(),
        Some(shard) => format!(", shard {} of {}", shard.index, shard.of),
    };
    say(&format!(
        "{} as {}{shard}: {} converted{kept}, {:.1} s",
        shown_path(&plan.source),
        plan.trace.name,
        several(*converted as u64, "part"),
        reporter.elapsed().as_secs_f64()
    ));
    match (reporter.shard(), is_committed) {
        (Some(_), true) => say("the lake is finished: there was nothing to do"),
        (Some(_), false) => {
            let lake = shown(&for_shell(out));
            say(&format!(
                "when all shards are done: tracelake commit {lake}"
            ));
        }
        (None, _) => {}
    }
}

/// The tables of the lake: parts, rows, bytes of the sources and of the outputs.
fn table_of_tables(manifest: &Manifest) -> String {
    let header = ["table", "parts", "rows", "in", "out", "in/out"];
    let mut rows = vec![header.map(str::to_owned).to_vec()];
    let mut total = TableSize::default();
    for table in &manifest.tables {
        let size = TableSize::of(table);
        rows.push(size.row(&table.name));
        total.add(size);
    }
    rows.push(total.row("total"));
    aligned(&rows, Stream::Err)
}

/// How large a table is, or all of them.
#[derive(Default)]
struct TableSize<'a> {
    parts: usize,
    rows: u64,
    /// The sources with their bytes; parts, and tables, may have one in common.
    sources: BTreeMap<(Option<CellName>, &'a str), u64>,
    written: u64,
}

impl<'a> TableSize<'a> {
    fn of(table: &'a TableFacts) -> Self {
        let parts = table.parts.iter();
        let sources = parts.map(|part| ((part.cell, &part.source.path[..]), part.source.bytes));
        Self {
            parts: table.parts.len(),
            rows: table.rows,
            sources: sources.collect(),
            written: total(table.parts.iter().map(|part| part.output.bytes)),
        }
    }

    fn add(&mut self, other: Self) {
        self.parts += other.parts;
        self.rows = self.rows.saturating_add(other.rows);
        self.sources.extend(other.sources);
        self.written = self.written.saturating_add(other.written);
    }

    fn row(&self, name: &str) -> Vec<String> {
        let read = total(self.sources.values().copied());
        #[expect(clippy::cast_precision_loss, reason = "three digits are shown")]
        let ratio = if self.written == 0 {
            0.0
        } else {
            read as f64 / self.written as f64
        };
        vec![
            name.to_owned(),
            group_digits(self.parts as u64),
            group_digits(self.rows),
            HumanBytes(read).to_string(),
            HumanBytes(self.written).to_string(),
            format!("{ratio:.2}"),
        ]
    }
}

/// Parts that neither the source nor the lake has, and tables that the source doesn't have.
fn say_missing(plan: &Plan, manifest: &Manifest) {
    for table in &plan.tables {
        let name = &table.order.table.name;
        // An earlier run may have converted a part whose source is gone.
        let facts = manifest.tables.iter().find(|facts| facts.name == *name);
        let parts = facts.into_iter().flat_map(|facts| &facts.parts);
        let done: Vec<PartKey> = parts.map(PartFacts::key).collect();
        let missing = table.missing.iter().filter(|part| !done.contains(part));
        match missing.count() as u64 {
            0 => {}
            missing => say(&format!("{name}: {} missing", several(missing, "part"))),
        }
    }
    if !plan.absent.is_empty() {
        say(&format!("not in the source: {}", plan.absent.join(", ")));
    }
}

/// The sum of numbers that facts may have made up.
fn total(numbers: impl Iterator<Item = u64>) -> u64 {
    numbers.fold(0, u64::saturating_add)
}

fn say_mapped(manifest: &Manifest) {
    let mapped = total(manifest.parts().map(|(_, part)| part.sentinels_mapped));
    if mapped > 0 {
        say(&format!(
            "mapped to their sentinel: {}",
            several(mapped, "out-of-range time")
        ));
    }
}

/// Says what was accepted although it isn't as published.
fn say_accepted(manifest: &Manifest) {
    for counted in manifest.accepted().in_words() {
        say(&format!("accepted: {counted}"));
    }
}

fn say_rows_not_derived(manifest: &Manifest) {
    for table in &manifest.tables {
        let by_part = table.parts.iter().filter_map(|part| part.rows_not_derived);
        let rows_not_derived = by_part.fold(0, u64::saturating_add);
        if rows_not_derived > 0 {
            say(&format!(
                "{}: nothing derived from {} of its input",
                table.name,
                several(rows_not_derived, "row")
            ));
        }
    }
}

fn say_rejected(manifest: &Manifest) {
    let rejected = total(manifest.parts().map(|(_, part)| part.rows_rejected));
    if rejected > 0 {
        say(&format!(
            "{} rejected, listed in {REJECTS}",
            several(rejected, "row")
        ));
    }
}

/// How the rows of each whole table compare with the published count, on stderr. Synthetic rows were
/// never published.
pub(super) fn against_published(trace: &Trace, manifest: &Manifest) {
    if manifest.origin.synthetic {
        return say("synthetic: tracelake generate made the source");
    }
    let options = &manifest.origin.options;
    let tables = manifest.tables.iter().flat_map(TableFacts::by_cell);
    for (cell, facts) in tables {
        let Some(table) = trace
            .table(&facts.name)
            .filter(|table| facts.is_whole(table, options) && table.files != Files::Derived)
        else {
            continue;
        };
        let more = facts.more_than_published(table, options);
        let mark = match table.published_in(cell) {
            Some(published) if is_far_short(facts.rows_in(), published.rows) => "warning: ",
            _ => "",
        };
        say(&format!(
            "{mark}{}{}: {} read{}",
            table.name,
            of_cell(cell),
            several(facts.rows_in(), "row"),
            compared(table.published_in(cell), more)
        ));
    }
}

/// How many more rows there are than were published, in words.
fn compared(published: Option<&Published>, more: Option<i64>) -> String {
    let Some((published, more)) = published.zip(more) else {
        return ", no published count".to_owned();
    };
    let (differ, than) = match more {
        0 => return ", matches the published count".to_owned(),
        more if more < 0 => (more.unsigned_abs(), "fewer"),
        more => (more.unsigned_abs(), "more"),
    };
    format!(
        ", {} {than} than the published count of {} ({})",
        group_digits(differ),
        group_digits(published.rows),
        published.confidence.name()
    )
}

#[cfg(test)]
mod tests {
    use tracelake_schema::Confidence;

    use super::*;

    #[test]
    fn counts_are_compared_in_words() {
        let published = Some(Published {
            rows: 37_780,
            confidence: Confidence::Reported,
            source: "somebody".to_owned(),
            not_of: Vec::new(),
        });
        let words = |more| compared(published.as_ref(), more);
        assert_eq!(compared(None, None), ", no published count");
        assert_eq!(words(Some(0)), ", matches the published count");
        let end = "than the published count of 37,780 (reported)";
        assert_eq!(words(Some(1)), format!(", 1 more {end}"));
        assert_eq!(words(Some(-37_000)), format!(", 37,000 fewer {end}"));
    }
}
