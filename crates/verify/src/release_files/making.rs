//! How a lake was made: the commands, and what its files hold.

use tracelake_core::clustered::Clustered;
use tracelake_core::origin::Origin;
use tracelake_core::words::{self, several};
use tracelake_lake::SUMS;

use super::released_lake::ReleasedLake;

/// The section of the card.
pub(super) fn section(lake: &ReleasedLake<'_>) -> String {
    let Origin {
        tool,
        version,
        trace,
        options,
        clustered,
        ..
    } = &lake.manifest.origin;
    let source = if lake.is_synthetic() {
        format!("synthetic files in the format of `{trace}`")
    } else {
        format!("the published files of `{trace}`")
    };
    let title = options.format.title();
    let parts = match options.part_rows {
        _ if clustered.is_some() => clustered_parts(lake),
        None => format!("Each source file became one {title} file."),
        Some(rows) => format!(
            "A file that holds a whole table was cut into {title} files of {}; any other file \
             became\none {title} file.",
            several(rows, "row")
        ),
    };
    format!(
        "\n## How it was made\n\nBy {tool} {version} from {source}:\n\n\
         ```sh\n{}\n```\n\n\
         {parts} The same version makes the same bytes from the \
         same\nfiles. `_tracelake/manifest.json` names the source of each file with its SHA-256. \
         Every file of the lake\nwas checked against the manifest before this card was written. \
         `sha256sum --check {SUMS}` or\n`tracelake verify .` in this directory does it again.\n\n\
         The SHA-256 of the manifest names the whole lake. To check that you have this one:\n\n\
         ```sh\ntracelake verify . --digest {}\n```\n",
        commands(lake).join("\n"),
        lake.given.manifest.sha256,
    )
}

/// The commands that made a lake, with all options that decide its bytes.
pub(super) fn commands(lake: &ReleasedLake<'_>) -> Vec<String> {
    let Origin {
        options, clustered, ..
    } = &lake.manifest.origin;
    let named = options.named().into_iter();
    let given: String = named
        .map(|(name, value)| format!(" --{name} {}", words::for_shell(value)))
        .collect();
    let out = if clustered.is_some() { "LAKE" } else { "OUT" };
    let convert = format!("tracelake convert SRC {out}{given}");
    let cluster = clustered.as_ref().map(cluster_command);
    [convert].into_iter().chain(cluster).collect()
}

/// The command that clustered a lake.
fn cluster_command(how: &Clustered) -> String {
    let way = match &how.by {
        Some(key) => format!("--by {}", words::for_shell(key)),
        None => "--compact".to_owned(),
    };
    let size = match (how.files, how.file_size) {
        (Some(files), _) => format!(" --files {files}"),
        (None, Some(bytes)) => format!(" --file-size {bytes}"),
        (None, None) => String::new(),
    };
    format!("tracelake cluster LAKE OUT {way}{size}")
}

/// Says what the files of a clustered lake hold.
pub(super) fn clustered_parts(lake: &ReleasedLake<'_>) -> String {
    let clustered = lake.manifest.origin.clustered.as_ref();
    match clustered.and_then(|how| Some((how.by.as_ref()?, how.files?))) {
        Some((key, files)) => format!(
            "The rows of each {key} are together: file I of a table that has the key has the rows that\n\
             `convert --sample I/{files} --sample-by {key}` selects, sorted. Other tables are as they were in LAKE."
        ),
        None => {
            "The rows are in the published order, in files with equal numbers of rows.".to_owned()
        }
    }
}
