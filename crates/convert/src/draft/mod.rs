//! A first description of a trace, drafted from a sample of it: a file, a directory, or an archive.
//!
//! A draft keeps what the sample has: it converts the sample to the same rows and values. Where the sample doesn't tell,
//! it says so in a line that is marked as a guess; a key that only a person can decide is left open, and `convert` stops
//! there.

mod csv;
mod description;
mod files;
mod form;
mod json;
mod kind;
mod parquet;
mod paths;
mod quoted;
#[cfg(test)]
mod tests;
mod text;

use tracelake_core::Context;
use tracelake_core::error::Result;
use tracelake_location::{Location, LocationKind};
use tracelake_source::Source;

use description::{Files, misfit};

/// Drafts the description of a trace from a file with rows of a table, or from a directory or an archive with files of
/// several: their tables, columns and kinds. What is guessed is marked so. Of Parquet that isn't compressed, only the
/// footer is read.
///
/// # Errors
/// [`ErrorKind::Misfit`](tracelake_core::error::ErrorKind::Misfit) if there is no file that is Parquet, CSV or JSON with
/// at least one row; if it can't be read.
///
/// # Memory
/// The first 32 MiB of a text, and ten times as much for text with quotes.
pub fn draft(context: &Context, sample: &Location) -> Result<String> {
    let drafted = match sample.kind().map_err(|error| error.or_at(sample))? {
        Some(LocationKind::Directory) => files::of_directory(context, sample),
        _ => of_file(context, sample),
    };
    drafted.map_err(|error| error.or_at(sample))
}

fn of_file(context: &Context, sample: &Location) -> Result<String> {
    let name = sample.name().unwrap_or_default();
    let (files, table) = if parquet::is_parquet(sample) {
        let file = description::found(name).ok_or_else(|| {
            let hint = "rename it: a name has no braces and no backslash";
            misfit("has a name that a description can't have", hint)
        })?;
        (Files::named(file), parquet::table(context, sample)?)
    } else {
        let mut source = Source::open(context, sample)?;
        if source.is_archive()? {
            return files::of_archive(context, source);
        }
        (Files::whole(name), text::table(&mut source)?)
    };
    description::text(name, None, &[(files, table)])
}
