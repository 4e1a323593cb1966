//! The dataset card: metadata for the Hugging Face hub, and a description for people.

use serde_json::Value;
use tracelake_core::part_key::of_cell;
use tracelake_core::words;
use tracelake_lake::PUBLISHER;
use tracelake_lake::manifest::{PartFacts, REJECTS};
use tracelake_schema::render;

use super::completeness::{Completeness, Gap, TableGap, count, is_far_short, parts_alone};
use super::released_lake::{ReleasedLake, spdx};
use super::{limits, making, rai, selection};

/// The card as Markdown with front matter.
pub(super) fn readme(lake: &ReleasedLake<'_>) -> String {
    let mut card = front_matter(lake);
    card.push_str(&opening(lake));
    card.push_str(&completeness(lake));
    card.push_str(&selection::section(lake));
    card.push_str(&use_of(lake));
    card.push_str(&making::section(lake));
    card.push_str(&rows(lake));
    // These are about the published rows.
    if !lake.is_synthetic() {
        card.push_str(&render::anomalies(lake.trace));
    }
    for (table, _) in &lake.tables {
        card.push_str(&render::table_section(lake.trace, table));
    }
    card
}

/// Metadata in YAML. Strings are written as JSON, which is YAML as well.
fn front_matter(lake: &ReleasedLake<'_>) -> String {
    let text = |text: &str| Value::from(text).to_string();
    let licence = &lake.trace.licence;
    let licence_line = if lake.is_synthetic() {
        String::new()
    } else if spdx(licence) {
        format!("license: {}\n", text(&licence.to_lowercase()))
    } else {
        format!("license: other\nlicense_name: {}\n", text(licence))
    };
    let mut yaml = format!(
        "---\n{licence_line}pretty_name: {}\nsize_categories:\n- {}\ntags:\n",
        text(&lake.title()),
        text(&size_category(lake.rows())),
    );
    let mut tags = vec!["cluster-trace", &lake.trace.family, &lake.trace.name];
    tags.extend(lake.is_synthetic().then_some("synthetic"));
    // A family of one version has its name.
    tags.dedup();
    for tag in tags {
        yaml += &format!("- {}\n", text(tag));
    }
    yaml += "configs:\n";
    for (table, _) in &lake.tables {
        yaml += &format!(
            "- config_name: {}\n  data_files: {}\n",
            text(&table.name),
            text(&lake.pattern(table))
        );
    }
    yaml + "---\n"
}

/// The hub's name for a number of rows.
fn size_category(rows: u64) -> String {
    const STEPS: [&str; 10] = [
        "1K", "10K", "100K", "1M", "10M", "100M", "1B", "10B", "100B", "1T",
    ];
    let mut limit = 1_000;
    let mut below = None;
    for step in STEPS {
        if rows < limit {
            return match below {
                None => format!("n<{step}"),
                Some(below) => format!("{below}<n<{step}"),
            };
        }
        below = Some(step);
        limit *= 10;
    }
    "n>1T".to_owned()
}

fn opening(lake: &ReleasedLake<'_>) -> String {
    let trace = lake.trace;
    let first = lake.tables.first().map_or("", |(table, _)| &table.name);
    let opening = format!(
        "\n<!-- Written by `tracelake release`; `tracelake verify` checks it against the lake. -->\n\n\
         # {}\n\n{}\n\nEvery table is a configuration of its own:\n\n\
         ```python\nimport datasets\n\n\
         datasets.load_dataset(\"PATH OF THIS DIRECTORY\", \"{first}\")\n```\n",
        render::markdown_text(&lake.title()),
        render::markdown_text(&selection::description(lake)),
    );
    if lake.is_synthetic() {
        return opening
            + "\n**These data are synthetic.** `tracelake generate` made them. Use them to try out \
               programs, not to learn\nabout clusters. The descriptions of tables and columns below \
               are those of the published trace.\n";
    }
    let page = trace
        .url
        .as_ref()
        .map(|url| format!("Publisher's page: <{}>.\n", url.replace(['<', '>'], "")))
        .unwrap_or_default();
    format!(
        "{opening}\n## Citation\n\nThe data are the work of others. If you use them, cite:\n\n> {}\n\n\
         Licence of the data: {}. Described by: {}.\n{page}",
        render::markdown_text(&trace.citation),
        render::markdown_text(&trace.licence),
        render::markdown_text(&trace.document),
    )
}

fn completeness(lake: &ReleasedLake<'_>) -> String {
    let Completeness {
        cells,
        gaps,
        unknown,
        rejected,
    } = &lake.completeness;
    let mut text = "\n## Completeness\n\n".to_owned();
    let is_whole = gaps.is_empty() && cells.is_empty() && !lake.is_selection();
    text += match (is_whole, unknown.is_empty()) {
        (true, true) if lake.is_synthetic() => "All parts are here.\n",
        (true, true) => "Every part of every table that was published is here.\n",
        (true, false) => "",
        (false, _) => "**This is not the whole trace.**\n",
    };
    if !cells.is_empty() {
        text += &format!("\nThese cells are missing: {}.\n", cells.join(", "));
    }
    text += &missing_parts(gaps);
    let alone: Vec<String> = lake.manifest.tables.iter().flat_map(parts_alone).collect();
    if !alone.is_empty() {
        text += &format!("\nConverted from single files: {}.\n", alone.join("; "));
    }
    for TableGap { table, cell, gap } in gaps {
        if let Gap::Rows { read, published } = gap {
            let lacks = match is_far_short(*read, *published) {
                true => "**has a fraction of its rows**",
                false => "is incomplete or changed",
            };
            text += &format!(
                "\n`{table}`{} {lacks}: {} were read, {} were published.\n",
                of_cell(*cell),
                words::several(*read, "row"),
                words::group_digits(*published)
            );
        }
    }
    if !unknown.is_empty() {
        text += &format!(
            "\nIt is not known whether these tables are complete, because the rows published \
             were never counted:\n{}.\n",
            unknown.join(", ")
        );
    }
    text += &match rejected {
        0 => "\nNo row was rejected.\n".to_owned(),
        rejected => format!(
            "\n**{} did not fit their table and are not in it.** They are listed with position, \
             reason and bytes in `{REJECTS}`.\n",
            words::several(*rejected, "row")
        ),
    };
    text.extend(
        limits::changes(lake)
            .iter()
            .map(|change| format!("\n{change}\n")),
    );
    text
}

/// A table of the tables that lack parts.
fn missing_parts(gaps: &[TableGap]) -> String {
    let rows = gaps
        .iter()
        .filter_map(|TableGap { table, cell, gap }| match gap {
            Gap::Before { known } => Some(format!(
                "| {table}{} | some | {known} | unknown |\n",
                of_cell(*cell)
            )),
            Gap::Rows { .. } => None,
            Gap::Absent => Some(format!(
                "| {table}{} | 0 | unknown | all |\n",
                of_cell(*cell)
            )),
            Gap::Parts { total, missing } => {
                let here = u64::from(*total) - count(missing);
                let numbers = words::ranges(missing.iter().copied());
                let of_cell = of_cell(*cell);
                Some(format!(
                    "| {table}{of_cell} | {here} | {total} | {numbers} |\n"
                ))
            }
        });
    let lines: String = rows.collect();
    if lines.is_empty() {
        return lines;
    }
    "\nParts are missing:\n\n\
     | table | parts here | parts in all | missing file numbers |\n|---|--:|--:|---|\n"
        .to_owned()
        + &lines
}

/// The section on the use of a lake: what its publisher says, and what isn't said.
fn use_of(lake: &ReleasedLake<'_>) -> String {
    let statements = rai::statements(lake);
    let mut text = "\n## Use\n".to_owned();
    // The card has the limits in sections of their own.
    for statement in &statements {
        if let Some(said) = &statement.said {
            let said = render::markdown_text(said);
            text += &format!("\n**{}.** {said}\n", statement.heading);
        }
    }
    let lacking = rai::lacking(&statements);
    if !lacking.is_empty() {
        text += &format!(
            "\nThe publisher of this lake says nothing about: {}. `{PUBLISHER}` has room for it.\n",
            lacking.join(", ").replace('_', " ")
        );
    }
    text
}

fn rows(lake: &ReleasedLake<'_>) -> String {
    let mut text = "\n## Rows\n\n\
         | table | files | rows read | rows | rejected | bytes | time from | time to |\n\
         |---|--:|--:|--:|--:|--:|--:|--:|\n"
        .to_owned();
    for (table, facts) in &lake.tables {
        let sum = |count: fn(&PartFacts) -> u64| {
            let counts = facts.parts.iter().map(count);
            words::group_digits(counts.fold(0, u64::saturating_add))
        };
        let time = |time: Option<i64>| time.map_or_else(|| "-".to_owned(), |time| time.to_string());
        text += &format!(
            "| {} | {} | {} | {} | {} | {} | {} | {} |\n",
            table.name,
            facts.parts.len(),
            sum(|part| part.rows_in),
            words::group_digits(facts.rows),
            sum(|part| part.rows_rejected),
            sum(|part| part.output.bytes),
            time(facts.parts.iter().filter_map(|part| part.time_min).min()),
            time(facts.parts.iter().filter_map(|part| part.time_max).max()),
        );
    }
    text + "\nTimes are as stored, special values included.\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_the_names_of_the_hub() {
        assert_eq!(size_category(0), "n<1K");
        assert_eq!(size_category(999), "n<1K");
        assert_eq!(size_category(1_000), "1K<n<10K");
        assert_eq!(size_category(1_232_799_308), "1B<n<10B");
        assert_eq!(size_category(u64::MAX), "n>1T");
    }
}
