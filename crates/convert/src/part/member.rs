//! The text of an archive that is one part, such as `calls_3.tar.gz`.

use tracelake_core::error::{Error, ErrorKind, Result, escape};
use tracelake_schema::{Table, uncompressed};
use tracelake_source::{Member, Source};

/// Advances to the text of a table if the file is an archive: to its first member with the table's extension.
///
/// # Errors
/// [`ErrorKind::Misfit`] if the archive has no such member; those of the archive.
pub(crate) fn enter_member(source: &mut Source, table: &Table) -> Result<()> {
    if !source.is_archive()? {
        return Ok(());
    }
    while let Some(member) = source.next_member()? {
        if is_text(&member, table) {
            return Ok(());
        }
    }
    let reason = format!("holds no file that ends in .{}", table.syntax.extension());
    Err(Error::new(ErrorKind::Misfit, reason)
        .at(source.location())
        .field(&*table.name)
        .hint("if it holds archives or compressed files, unpack it and name their directory"))
}

/// Reads an archive to its end after the text of a table, so that all of it is checked and digested.
///
/// # Errors
/// [`ErrorKind::Misfit`] if it has a second text; those of the archive.
pub(crate) fn leave_member(source: &mut Source, table: &Table) -> Result<()> {
    while let Some(member) = source.next_member()? {
        if is_text(&member, table) {
            let shown = escape(member.path.as_bytes(), 200);
            let reason = format!("an archive of one part has a second text, {shown}");
            return Err(Error::new(ErrorKind::Misfit, reason)
                .at(source.location())
                .field(&*table.name)
                .hint("unpack it, and describe the names of the files in it"));
        }
    }
    Ok(())
}

/// Whether a member is a text of the table. What macOS adds to archives isn't: `._a.csv` describes `a.csv`.
#[must_use]
pub fn is_text(member: &Member, table: &Table) -> bool {
    let name = member.path.rsplit('/').next().unwrap_or_default();
    let extension = uncompressed(name)
        .rsplit_once('.')
        .map(|(_, extension)| extension);
    member.is_file && !name.starts_with("._") && extension == Some(table.syntax.extension())
}
