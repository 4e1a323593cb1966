//! The output of `inspect`.

use indicatif::HumanBytes;
use tracelake_core::part_key::of_cell;
use tracelake_core::words::{group_digits, numbers, several};
use tracelake_verify::inspect::{Inventory, ShardInventory, TableInventory};

use super::{Stream, aligned, safe, shown, size};

/// The output of `inspect`.
pub(crate) fn inventory_text(inventory: &Inventory) -> String {
    let header = ["table", "parts", "missing", "rows", "rejected", "bytes"];
    let mut rows = vec![header.map(str::to_owned).to_vec()];
    let name = |table: &TableInventory| shown(&table.name) + &of_cell(table.cell);
    let or_dash = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
    for table in &inventory.tables {
        rows.push(vec![
            name(table),
            group_digits(table.parts as u64),
            group_digits(table.missing.len() as u64),
            or_dash(table.rows.map(group_digits)),
            or_dash(table.rejected.map(group_digits)),
            or_dash(table.bytes.map(|bytes| HumanBytes(bytes).to_string())),
        ]);
    }
    let state = match inventory.finished {
        Some(false) => "unfinished ",
        _ => "",
    };
    let synthetic = if inventory.synthetic {
        "synthetic "
    } else {
        ""
    };
    let parts = |number: usize| several(number as u64, "part");
    let mut text = format!(
        "{state}{synthetic}{} of {}\n{}\n",
        inventory.what,
        shown(&inventory.trace),
        aligned(&rows, Stream::Out)
    );
    for table in &inventory.tables {
        if let Some([from, to]) = &table.times {
            text += &format!("{}: from {from} to {to}\n", name(table));
        }
    }
    if !inventory.selection.is_empty() {
        let selected = inventory.selection.iter();
        let options: Vec<String> = selected
            .map(|(name, value)| format!("--{name} {}", shown(value)))
            .collect();
        let by_table = inventory
            .tables
            .iter()
            .filter_map(|table| table.not_selected);
        let left_out = by_table.fold(0, u64::saturating_add);
        text += &format!(
            "selected by {}: {} not selected\n",
            options.join(" "),
            several(left_out, "row")
        );
    }
    for table in inventory
        .tables
        .iter()
        .filter(|table| !table.missing.is_empty())
    {
        let missing = table.missing.len();
        let counted = match (table.asked, &inventory.shards) {
            (Some(asked), _) => {
                format!("{} of {} left", group_digits(missing as u64), parts(asked))
            }
            (None, Some(_)) => format!("{} left", parts(missing)),
            (None, None) => format!("{} missing", parts(missing)),
        };
        text += &format!("{}: {counted}: {}\n", name(table), numbers(&table.missing));
    }
    if let Some(digest) = &inventory.digest {
        text += &format!("digest: {digest}\n");
    }
    for note in &inventory.notes {
        text += &format!("{}\n", shown(note));
    }
    if !inventory.absent.is_empty() {
        let absent = inventory.absent.join(", ");
        text += &format!("not in the {}: {absent}\n", inventory.what);
    }
    match inventory.shards.as_deref() {
        // A run without shards.
        Some([one]) => {
            for file in &one.files_left {
                text += &format!("{}: not read to its end\n", shown(file));
            }
        }
        shards => {
            let listed = shards.into_iter().flatten();
            text += &listed.map(shard_text).collect::<String>();
        }
    }
    match (inventory.shards.as_deref(), inventory.finished) {
        (Some([one]), _) if !one.is_done() => {
            text += "run the same convert command again to finish it\n";
        }
        (Some(shards), _) if shards.iter().all(ShardInventory::is_done) => {
            text += "run tracelake commit on it to finish it\n";
        }
        (Some(_), _) => {
            text += "run the shards that have something left, then tracelake commit\n";
        }
        (None, Some(false)) => text += "run the same convert command again to finish it\n",
        (None, _) => {}
    }
    text
}

/// Progress of a shard, for people.
fn shard_text(shard: &ShardInventory) -> String {
    let files = several(shard.files, "file");
    let head = format!("shard {}: {files}, {}", shard.shard, size(shard.bytes));
    if shard.is_done() {
        return format!("{head}, done\n");
    }
    let parts = match shard.parts_left as u64 {
        0 => String::new(),
        parts => format!(", {} left", several(parts, "part")),
    };
    let names = shard.files_left.iter();
    let files = names.map(|file| format!(", {} left", shown(file)));
    format!("{head}{parts}{}\n", files.collect::<String>())
}

/// The output of `inspect --json`: JSON that cannot disturb a terminal either.
pub(crate) fn inventory_json(inventory: &Inventory) -> Result<String, serde_json::Error> {
    let json = serde_json::to_string_pretty(inventory)?;
    Ok(safe(&json) + "\n")
}
