//! How the files of a lake were made from those of another lake: by an entity, or of equal size.

use std::fmt;

use serde::{Deserialize, Serialize};
use tracelake_schema::{Table, Trace};

use crate::digest::Digest;

/// How `tracelake cluster` made a lake; it decides the bytes of outputs.
///
/// ```
/// use tracelake_core::clustered::Clustered;
/// use tracelake_core::digest::Digest;
///
/// let clustered = Clustered {
///     by: Some("job".to_owned()),
///     files: Some(4),
///     file_size: None,
///     source: Digest::of(b"a manifest"),
/// };
/// assert_eq!(clustered.to_string(), "by job into 4 files a table");
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Clustered {
    /// The sample key whose rows are together; `None` if the rows stayed in their order.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// The files of each table that has the key, or of each table without a key; in a lake with cells, of each cell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub files: Option<u32>,
    /// Where `files` doesn't say it, the size of the files in bytes, by which each table has its number of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file_size: Option<u64>,
    /// The SHA-256 of the manifest of the other lake.
    pub source: Digest,
}

impl Clustered {
    /// Whether the rows of a table are in other files than before, because it has the key or there is none.
    #[must_use]
    pub fn rearranges(&self, trace: &Trace, table: &Table) -> bool {
        let by = self.by.as_ref();
        by.is_none_or(|key| trace.key_index(key, table).is_some())
    }

    /// Describes each difference to how another run would cluster.
    pub(crate) fn differences(then: Option<&Self>, now: Option<&Self>) -> Vec<String> {
        match (then, now) {
            (None, None) => Vec::new(),
            (Some(then), None) => vec![format!(
                "the lake was clustered {then}; this run doesn't cluster"
            )],
            (None, Some(now)) => vec![format!(
                "the lake wasn't clustered; this run clusters {now}"
            )],
            (Some(then), Some(now)) => {
                let mut differences = Vec::new();
                if then.to_string() != now.to_string() {
                    differences.push(format!(
                        "the lake was clustered {then}; this run clusters {now}"
                    ));
                }
                if then.source != now.source {
                    let reason = "the lake was clustered from another lake, or the one it was clustered from has changed";
                    differences.push(reason.to_owned());
                }
                differences
            }
        }
    }
}

/// How, for people.
impl fmt::Display for Clustered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.by {
            Some(key) => write!(f, "by {key} into ")?,
            None => write!(f, "without a key into ")?,
        }
        match (self.files, self.file_size) {
            (Some(1), _) => write!(f, "1 file a table"),
            (Some(files), _) => write!(f, "{files} files a table"),
            (None, size) => write!(f, "files of {} bytes", size.unwrap_or_default()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_difference_is_named() {
        let by_job = Clustered {
            by: Some("job".to_owned()),
            files: Some(2),
            file_size: None,
            source: Digest::of(b"a"),
        };
        let compact = Clustered {
            by: None,
            files: None,
            file_size: Some(1000),
            source: Digest::of(b"b"),
        };
        let differences = |then, now| Clustered::differences(then, now);
        assert!(differences(None, None).is_empty());
        assert!(differences(Some(&by_job), Some(&by_job)).is_empty());
        assert_eq!(
            differences(Some(&by_job), None),
            ["the lake was clustered by job into 2 files a table; this run doesn't cluster"]
        );
        assert_eq!(
            differences(None, Some(&compact)),
            ["the lake wasn't clustered; this run clusters without a key into files of 1000 bytes"]
        );
        assert_eq!(differences(Some(&by_job), Some(&compact)).len(), 2);
    }
}
