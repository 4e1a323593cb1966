//! The output of `fetch`: where the files of each table are, or why they can't be fetched; and what was fetched.

use indicatif::HumanBytes;
use serde_json::{Value, json};
use tracelake_core::words::{group_digits, several};
use tracelake_fetch::{Checked, FileList, Offer, Outcome, Place};
use tracelake_schema::Trace;

use super::progress::say_json;
use super::{Reporter, say, shown};

/// A line for each place of each table.
pub(crate) fn offers_text(trace: &Trace, offers: &[Offer]) -> String {
    let mut text = format!("{}  {}\n", trace.name, shown(&trace.title));
    if let Some(download) = &trace.download {
        text += &format!("  {}\n", shown(download));
    }
    let mut rows = Vec::new();
    for offer in offers {
        let table = &offer.table.name;
        for place in &offer.places {
            let row = [
                count(offer, place),
                size(trace, offer),
                digest(trace, offer, place),
            ];
            rows.push((table, Ok((row, url(place)))));
        }
        if let Some(why_not) = &offer.why_not {
            rows.push((table, Err(format!("can't be fetched: {}", shown(why_not)))));
        }
    }
    let longest = |texts: &mut dyn Iterator<Item = &str>| texts.map(str::len).max().unwrap_or(0);
    let names = longest(&mut rows.iter().map(|(table, _)| &***table));
    let cells = rows.iter().filter_map(|(_, row)| row.as_ref().ok());
    let widths = [0, 1, 2].map(|column| longest(&mut cells.clone().map(|(row, _)| &*row[column])));
    for (table, row) in &rows {
        match row {
            Ok((row, url)) => {
                let columns = row.iter().zip(widths);
                let columns: Vec<String> = columns
                    .map(|(cell, width)| format!("{cell:<width$}"))
                    .collect();
                text += &format!("  {table:<names$}  {}  {url}\n", columns.join("  "));
            }
            Err(why_not) => text += &format!("  {table:<names$}  {why_not}\n"),
        }
    }
    text
}

/// How many files there are, in both forms if there are two.
fn count(offer: &Offer, place: &Place) -> String {
    let files = |number: u64| match number {
        1 => "1 file".to_owned(),
        number => format!("{} files", group_digits(number)),
    };
    let cell = place.cell.as_deref();
    let published = match &place.files {
        FileList::Named { names, .. } if !names.is_empty() => names.len(),
        _ => offer.table.file_names(cell).map_or(0, |names| names.len()),
    };
    let parquet = u64::from(offer.table.parquet_parts_in(cell));
    match (published as u64, parquet) {
        (0, 0) => "listed there".to_owned(),
        (number, 0) => files(number),
        (json, parquet) => format!("{}, or {} of Parquet", files(json), group_digits(parquet)),
    }
}

/// The size of an archive, as the publisher prints it.
fn size(trace: &Trace, offer: &Offer) -> String {
    let mut archives = trace.archives.iter();
    let archive = archives.find(|archive| archive.table.as_ref() == Some(&offer.table.name));
    archive.map_or("-".to_owned(), |archive| match archive.size.contains(',') {
        true => format!("{} bytes", archive.size),
        false => archive.size.clone(),
    })
}

/// The digest that a file is checked by.
fn digest(trace: &Trace, offer: &Offer, place: &Place) -> String {
    let (FileList::Listed { has_sums } | FileList::Named { has_sums, .. }) = &place.files;
    let mut archives = trace.archives.iter();
    let archive = archives.find(|archive| archive.table.as_ref() == Some(&offer.table.name));
    let sha256 = archive.and_then(|archive| archive.sha256.as_ref());
    match (has_sums, sha256) {
        (true, _) => "SHA256SUM".to_owned(),
        (false, Some(sha256)) => format!("SHA-256 {sha256}"),
        (false, None) => "no digest".to_owned(),
    }
}

/// The URL of the file, if there is one, or of the directory or bucket of several.
fn url(place: &Place) -> String {
    let root = &place.root;
    let url = match &place.files {
        FileList::Named { names, .. } if names.len() == 1 => root.join(&names[0]).to_string(),
        _ => root.to_string(),
    };
    shown(&url)
}

/// Prints what was fetched on stderr.
pub(crate) fn fetched(reporter: &Reporter, outcome: &Outcome) {
    if reporter.is_json() {
        return say_json(&done(reporter, outcome));
    }
    if !reporter.is_for_people() {
        return;
    }
    let mut text = format!(
        "fetched {} ({})",
        several(outcome.fetched, "file"),
        HumanBytes(outcome.bytes)
    );
    if outcome.kept > 0 {
        text += &format!(", kept {}", group_digits(outcome.kept));
    }
    for (checked, count) in &outcome.checked {
        let count = group_digits(*count);
        text += &match checked {
            Checked::Digest => format!("; {count} checked by the published SHA-256"),
            Checked::Format(format) => {
                format!("; {count} without a published digest, checked by {format}'s own checks")
            }
            Checked::Nothing => {
                format!("; {count} kept unchecked, since neither digest nor size are published")
            }
            Checked::Size => format!("; {count} without any digest, checked by size alone"),
        };
    }
    say(&text);
    say(&format!("{:.1} s", reporter.elapsed().as_secs_f64()));
}

/// The last JSON line of `fetch`.
fn done(reporter: &Reporter, outcome: &Outcome) -> Value {
    json!({
        "event": "done", "fetched": outcome.fetched, "bytes": outcome.bytes, "kept": outcome.kept,
        "by_digest": outcome.checked_by(|checked| checked == Checked::Digest),
        "by_format": outcome.checked_by(|checked| matches!(checked, Checked::Format(_))),
        "by_size": outcome.checked_by(|checked| checked == Checked::Size),
        "unchecked": outcome.checked_by(|checked| checked == Checked::Nothing),
        "seconds": reporter.elapsed().as_secs_f64(),
    })
}
