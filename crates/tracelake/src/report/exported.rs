//! The report of an export, for people.

use std::path::Path;

use tracelake_core::words::{for_shell, several};
use tracelake_verify::export::Exported;

use super::say;

/// Says on stderr what an exported file holds, and what to watch for when replaying it.
pub(crate) fn exported(file: &Path, exported: &Exported, drop_empty: bool) {
    if exported.without_arrival > 0 {
        let requests = several(exported.without_arrival, "request");
        say(&format!("left out: {requests} without a time of arrival"));
    }
    if exported.empty > 0 {
        let requests = several(exported.empty, "request");
        let without = "without tokens of the input or of the output";
        say(&match drop_empty {
            true => format!("left out: {requests} {without}"),
            false => format!(
                "in the file: {requests} {without}, which replay tools may refuse; --drop-empty leaves them out"
            ),
        });
    }
    if exported.clocks > 1 {
        say(&format!(
            "together in the file: {} services, each from its own time 0; --service keeps one",
            exported.clocks
        ));
    }
    if let Some(block_size) = exported.block_size {
        say(&format!("blocks (hash_ids) have {block_size} tokens"));
    }
    say(&format!(
        "exported: {} to {}",
        several(exported.requests, "request"),
        for_shell(file.display())
    ));
}
