//! The publisher's checksums: `SHA256SUM`, as `sha256sum` writes it.

use std::collections::BTreeMap;
use tracelake_core::digest::Digest;
use tracelake_core::error::{Error, ErrorKind, Result};
use tracelake_location::{Location, SUMS_LIMIT, checksum_line};
use tracelake_source::Magic;

/// SHA-256 digests by path.
#[derive(Debug, Default)]
pub struct Checksums {
    by_path: BTreeMap<String, Digest>,
}

impl Checksums {
    /// Reads lines of 64 hexadecimal digits, two spaces (or a space and `*`), and a path.
    ///
    /// # Errors
    /// [`ErrorKind::Corrupt`] for any other line.
    pub fn read(path: &Location) -> Result<Self> {
        let mut checksums = Self::default();
        checksums.add("", path)?;
        Ok(checksums)
    }

    /// Adds those of a file in `directory`, whose paths are relative to that.
    ///
    /// # Errors
    /// See [`Checksums::read`].
    pub fn add(&mut self, directory: &str, path: &Location) -> Result<()> {
        let text = path.read_small(SUMS_LIMIT)?;
        for (line, number) in text.split(|&byte| byte == b'\n').zip(1..) {
            let line = String::from_utf8_lossy(line);
            if line.trim().is_empty() {
                continue;
            }
            let Some((digest, name)) = checksum_line(line.trim_end_matches('\r')) else {
                let advice =
                    Magic::of(&text).map_or_else(|| "download it again".to_owned(), Magic::advice);
                return Err(
                    Error::new(ErrorKind::Corrupt, "not a line of SHA-256 and path")
                        .at(path)
                        .line(number, None)
                        .hint(format!(
                            "{advice}, or pass --checksums none to skip this check"
                        )),
                );
            };
            let name = format!("{directory}{name}");
            let other = self.by_path.insert(name, digest);
            if other.is_some_and(|other| other != digest) {
                return Err(
                    Error::new(ErrorKind::Corrupt, "a second digest of one file")
                        .at(path)
                        .line(number, None)
                        .hint("download it again, or pass --checksums none to skip this check"),
                );
            }
        }
        Ok(())
    }

    /// The paths, in order, each with its digest.
    pub fn iter(&self) -> impl Iterator<Item = (&str, Digest)> {
        let listed = self.by_path.iter();
        listed.map(|(path, digest)| (&**path, *digest))
    }

    /// The digest of a file that is listed under exactly this path.
    #[must_use]
    pub fn exactly(&self, path: &str) -> Option<Digest> {
        self.by_path.get(path).copied()
    }

    /// The digest of a file, which may be listed under a longer path that ends in this one.
    #[must_use]
    pub fn of(&self, table: &str, path: &str) -> Option<Digest> {
        let name = path.rsplit('/').next().unwrap_or(path);
        let published = format!("{table}/{name}");
        let listed = self
            .by_path
            .get(path)
            .or_else(|| self.by_path.get(&published));
        listed.copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn reads_what_sha256sum_writes() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("SHA256SUM");
        let digest = "AB".repeat(32);
        let name = "job_events/part-00000-of-00500.csv.gz";
        fs::write(&path, format!("{digest}  ./{name}\r\n{digest} *b\n\n")).unwrap();
        let checksums = Checksums::read(&(&path).into()).unwrap();
        let expected = "ab".repeat(32).parse().ok();
        assert_eq!(checksums.of("job_events", name), expected);
        assert_eq!(
            checksums.of("job_events", "part-00000-of-00500.csv.gz"),
            expected
        );
        assert_eq!(
            checksums.of("task_events", "part-00000-of-00500.csv.gz"),
            None
        );
        for broken in ["xx  a", &format!("{digest}a"), "<html>"] {
            fs::write(&path, broken).unwrap();
            assert_eq!(
                Checksums::read(&(&path).into()).unwrap_err().kind(),
                ErrorKind::Corrupt,
                "{broken}"
            );
        }
    }
}
