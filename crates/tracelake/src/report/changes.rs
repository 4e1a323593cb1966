//! The output of `release --since`.

use indicatif::HumanBytes;
use tracelake_core::words::{group_digits, several};
use tracelake_verify::since::{Changes, TableChanges};

use super::safe;

/// How many files of a table are named of each kind.
const NAMED: usize = 20;

/// Names what changed from one lake to the next one.
pub(crate) fn changes_text(changes: &Changes) -> String {
    let mut text = String::new();
    for table in &changes.tables {
        text += &table_text(table);
    }
    if !changes.made_differently.is_empty() {
        text += "made differently:\n";
        let differences = changes.made_differently.iter();
        text.extend(differences.map(|difference| format!("  {difference}\n")));
    }
    let unexplained = changes.unexplained();
    if unexplained > 0 {
        let files = several(unexplained, "changed file");
        text += &format!(
            "{files} of the same source, and both lakes were made alike: the manifests don't say why\n"
        );
    }
    safe(&text)
}

fn table_text(table: &TableChanges) -> String {
    let TableChanges {
        name,
        added,
        changed,
        removed,
        unchanged,
        bytes,
        ..
    } = table;
    let [added_files, changed_files, removed_files] =
        [added.len(), changed.len(), removed.len()].map(|files| group_digits(files as u64));
    let mut text = format!(
        "{name}: {added_files} added, {changed_files} changed, {removed_files} removed, {} as before; {} to upload\n",
        group_digits(*unchanged),
        HumanBytes(*bytes),
    );
    let changed: Vec<String> = changed
        .iter()
        .map(|file| match &file.source {
            Some(source) => format!("{}, because {source} has other bytes", file.path),
            None => file.path.clone(),
        })
        .collect();
    for (what, files) in [
        ("added", added),
        ("changed", &changed),
        ("removed", removed),
    ] {
        let named = files.iter().take(NAMED);
        text.extend(named.map(|file| format!("  {what} {file}\n")));
        let more = files.len().saturating_sub(NAMED) as u64;
        if more > 0 {
            text += &format!("  {what} {}\n", several(more, "more file"));
        }
    }
    text
}
