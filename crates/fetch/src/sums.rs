//! The `SHA256SUM` of what was fetched: the published lines of the files that are there.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use tracelake_convert::discover::CHECKSUMS;
use tracelake_core::digest::Digest;
use tracelake_core::error::{Error, Result};
use tracelake_location::checksum_line;

/// Adds lines to the `SHA256SUM` of a directory, each in the place of one with the same path. Other lines stay.
pub(crate) fn add(directory: &Path, lines: &BTreeMap<String, Digest>) -> Result<()> {
    let path = directory.join(CHECKSUMS);
    let known = fs::read_to_string(&path).unwrap_or_default();
    let mut text = String::new();
    for line in known.lines() {
        let is_replaced = checksum_line(line).is_some_and(|(_, path)| lines.contains_key(path));
        if !is_replaced {
            text += line;
            text.push('\n');
        }
    }
    for (path, digest) in lines {
        text += &format!("{digest}  {path}\n");
    }
    if text == known {
        return Ok(());
    }
    let unfinished = directory.join(format!("{CHECKSUMS}.partial"));
    fs::write(&unfinished, text).map_err(|error| Error::io("write", &unfinished, error))?;
    fs::rename(&unfinished, &path).map_err(|error| Error::io("rename", &unfinished, error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_added_once_and_others_stay() {
        let directory = tempfile::tempdir().unwrap();
        let lines = |paths: &[(&str, &[u8])]| -> BTreeMap<String, Digest> {
            let lines = paths
                .iter()
                .map(|(path, bytes)| ((*path).to_owned(), Digest::of(bytes)));
            lines.collect()
        };
        add(directory.path(), &lines(&[("a", b"1"), ("b", b"1")])).unwrap();
        for _ in 0..2 {
            add(directory.path(), &lines(&[("b", b"2"), ("c/d", b"2")])).unwrap();
        }
        let text = fs::read_to_string(directory.path().join(CHECKSUMS)).unwrap();
        let (one, two) = (Digest::of(b"1"), Digest::of(b"2"));
        assert_eq!(text, format!("{one}  a\n{two}  b\n{two}  c/d\n"));
    }
}
