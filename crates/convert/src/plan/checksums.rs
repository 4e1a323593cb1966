//! The digests that publishers name for their files.

use tracelake_core::Context;
use tracelake_core::digest::Digest;
use tracelake_core::error::{Error, ErrorKind, Result};
use tracelake_location::Location;
use tracelake_schema::Trace;
use tracelake_source as source;

use super::recognised::Recognised;
use super::{ChecksumSource, Request};
use crate::discover::checksums::Checksums;
use crate::discover::{self, FoundSource};

/// Reads the checksums that apply, and compares `schema.csv` with them, since it decides the columns.
pub(super) fn read_checksums(
    context: &Context,
    request: &Request,
    found: &FoundSource,
) -> Result<Option<Checksums>> {
    let checksums = match &request.checksums {
        ChecksumSource::None => return Ok(None),
        ChecksumSource::Auto if found.checksums.is_empty() => return Ok(None),
        ChecksumSource::Auto => {
            let mut checksums = Checksums::default();
            for path in &found.checksums {
                let directory = path
                    .strip_suffix(discover::CHECKSUMS)
                    .expect("checksums are found by their name");
                checksums.add(directory, &found.root.join(path))?;
            }
            checksums
        }
        ChecksumSource::File(path) => Checksums::read(path)?,
    };
    if let Some(expected) = checksums
        .of("", discover::SCHEMA_CSV)
        .filter(|_| found.schema_csv)
    {
        let schema_csv = found.root.join(discover::SCHEMA_CSV);
        check_sha256(
            &schema_csv,
            expected,
            source::fingerprint(context, &schema_csv)?.sha256,
        )?;
    }
    Ok(Some(checksums))
}

/// The zip archives of parts that have a listed digest.
pub(super) fn listed_zips(
    request: &Request,
    source: &Recognised,
    checksums: Option<&Checksums>,
) -> Vec<(String, Digest)> {
    let zips = source.found.zips.iter().filter_map(|zip| {
        let digest = listed_sha256(request, &source.trace, checksums, ("", zip))?;
        Some((zip.clone(), digest))
    });
    zips.collect()
}

/// Whether a source is a file in a zip archive.
pub(super) fn is_in_zip(source: &str, zip: &str) -> bool {
    source
        .strip_prefix(zip)
        .is_some_and(|path| path.starts_with('/'))
}

/// Compares the digest of a source file with the one that its publisher names.
///
/// # Errors
/// [`ErrorKind::Corrupt`] when they differ.
pub fn check_sha256(path: &Location, expected: Digest, found: Digest) -> Result<()> {
    if expected == found {
        return Ok(());
    }
    Err(Error::new(
        ErrorKind::Corrupt,
        format!("has SHA-256 {found}, but the checksums say {expected}"),
    )
    .at(path)
    .hint("download it again, or pass --checksums none to skip this check"))
}

/// The SHA-256 that is known of a file in a directory: by the checksums, or else by the description of the trace unless
/// digests aren't wanted.
pub(super) fn listed_sha256(
    request: &Request,
    trace: &Trace,
    checksums: Option<&Checksums>,
    (directory, path): (&str, &str),
) -> Option<Digest> {
    let is_wanted = !matches!(request.checksums, ChecksumSource::None);
    let described = || discover::described_sha256(trace, path);
    let listed = checksums.and_then(|sums| sums.of(directory, path));
    listed.or_else(|| is_wanted.then(described).flatten())
}
