//! The dataset card: what the Hugging Face hub reads, and what people want to know.

use serde_json::Value;
use tracelake_schema::render;

use super::{Facts, Gaps, spdx};
use crate::manifest::{PartFacts, REJECTS};
use crate::output::Format;
use crate::store::SUMS;

/// The card as Markdown with front matter.
pub(super) fn readme(lake: &Facts<'_>) -> String {
    let mut card = front_matter(lake);
    card.push_str(&opening(lake));
    card.push_str(&completeness(lake));
    card.push_str(&making(lake));
    card.push_str(&rows(lake));
    card.push_str(&render::anomalies(lake.trace));
    for (table, _) in &lake.tables {
        card.push_str(&render::table_section(lake.trace, table));
    }
    card
}

/// YAML; every text is written as JSON, which YAML reads as it is.
fn front_matter(lake: &Facts<'_>) -> String {
    let text = |text: &str| Value::from(text).to_string();
    let licence = lake.trace.licence;
    let licence = if spdx(licence) {
        format!("license: {}\n", text(&licence.to_lowercase()))
    } else {
        format!("license: other\nlicense_name: {}\n", text(licence))
    };
    let mut yaml = format!(
        "---\n{licence}pretty_name: {}\nsize_categories:\n- {}\ntags:\n",
        text(lake.trace.title),
        text(&size_category(lake.rows())),
    );
    for tag in ["cluster-trace", lake.trace.family, lake.trace.name] {
        yaml += &format!("- {}\n", text(tag));
    }
    yaml += "configs:\n";
    for (table, _) in &lake.tables {
        yaml += &format!(
            "- config_name: {}\n  data_files: {}\n",
            text(table.name),
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

fn opening(lake: &Facts<'_>) -> String {
    let trace = lake.trace;
    let page = trace
        .url
        .map(|url| format!("Publisher's page: <{url}>.\n"))
        .unwrap_or_default();
    format!(
        "\n<!-- Written by `tracelake release`; `tracelake verify` holds it against the lake. -->\n\n\
         # {}\n\n{}\n\nEvery table is a configuration of its own:\n\n\
         ```python\nimport datasets\n\n\
         datasets.load_dataset(\"PATH OF THIS DIRECTORY\", \"{}\")\n```\n\n\
         ## Citation\n\nThe data are the work of others. Whoever uses them cites:\n\n> {}\n\n\
         Licence of the data: {}. Described by: {}.\n{page}",
        trace.title,
        lake.description(),
        lake.tables.first().map_or("", |(table, _)| table.name),
        trace.citation,
        trace.licence,
        trace.document,
    )
}

fn completeness(lake: &Facts<'_>) -> String {
    let Gaps { tables, rejected } = &lake.gaps;
    let mut text = "\n## Completeness\n\n".to_owned();
    if tables.is_empty() {
        text += "Every part of every table that was published is here.\n";
    } else {
        text += "**This is not the whole trace.** Parts are missing:\n\n\
                 | table | parts here | parts in all | missing file numbers |\n|---|--:|--:|---|\n";
    }
    for table in tables {
        text += &format!(
            "| {} | {} | {} | {} |\n",
            table.name,
            table.total - table.count(),
            table.total,
            table.numbers()
        );
    }
    text += &match rejected {
        0 => "\nNo row was rejected.\n".to_owned(),
        rejected => format!(
            "\n**{} did not fit their table and are not in it.** They are listed with place, \
             reason and bytes in `{REJECTS}`.\n",
            counted(*rejected, "row")
        ),
    };
    let mapped = lake
        .manifest
        .parts()
        .map(|(_, part)| part.sentinels_mapped)
        .fold(0, u64::saturating_add);
    if mapped > 0 {
        text += &format!(
            "\n{} too large for 64 bits with a sign, and stored as the special value that stands \
             for them.\n",
            counted(mapped, "time") + if mapped == 1 { " is" } else { " are" }
        );
    }
    text
}

fn making(lake: &Facts<'_>) -> String {
    let origin = &lake.manifest.origin;
    let options = &origin.options;
    // Parquet needs no option.
    let format = match lake.format {
        Format::Parquet => String::new(),
        format => format!(" --format {format}"),
    };
    format!(
        "\n## How it was made\n\nBy {} {} from the published files of `{}`:\n\n\
         ```sh\ntracelake convert SRC OUT --layout {}{format} --compression {} --on-bad-row {}\n```\n\n\
         One published file became one {} file. The same version makes the same bytes from the \
         same\nfiles. `_tracelake/manifest.json` names the source of each file with its SHA-256. \
         Every file of the lake\nwas held against the manifest before this card was written. \
         `sha256sum --check {SUMS}` or\n`tracelake verify .` in this directory does it again.\n",
        origin.tool,
        origin.version,
        origin.trace,
        options.layout,
        options.compression,
        options.on_bad_row,
        lake.format.title(),
    )
}

fn rows(lake: &Facts<'_>) -> String {
    let mut text = "\n## Rows\n\n\
         | table | files | rows read | rows | rejected | bytes | time from | time to |\n\
         |---|--:|--:|--:|--:|--:|--:|--:|\n"
        .to_owned();
    for (table, facts) in &lake.tables {
        let sum = |count: fn(&PartFacts) -> u64| {
            let counts = facts.parts.iter().map(count);
            grouped(counts.fold(0, u64::saturating_add))
        };
        let time = |time: Option<i64>| time.map_or_else(|| "-".to_owned(), |time| time.to_string());
        text += &format!(
            "| {} | {} | {} | {} | {} | {} | {} | {} |\n",
            table.name,
            facts.parts.len(),
            sum(|part| part.rows_in),
            grouped(facts.rows),
            sum(|part| part.rows_rejected),
            sum(|part| part.output.bytes),
            time(facts.parts.iter().filter_map(|part| part.time_min).min()),
            time(facts.parts.iter().filter_map(|part| part.time_max).max()),
        );
    }
    text + "\nTimes are as stored, special values included.\n"
}

/// A number with its noun, which takes an s unless it is one.
fn counted(number: u64, noun: &str) -> String {
    let s = if number == 1 { "" } else { "s" };
    format!("{} {noun}{s}", grouped(number))
}

/// A number with commas between its thousands.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
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

    #[test]
    fn thousands_are_grouped() {
        for (number, text) in [(0, "0"), (999, "999"), (1_000, "1,000")] {
            assert_eq!(grouped(number), text);
        }
        assert_eq!(grouped(1_232_799_308), "1,232,799,308");
    }
}
