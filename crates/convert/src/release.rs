//! A finished lake made publishable: verified, and described by files of its own.

use std::path::Path;

use crate::card::{Gaps, gaps, release as card};
use crate::error::{Error, ErrorKind, Result};
use crate::event::Watcher;
use crate::store::{Lake, manifest_facts, read_manifest};
use crate::verify::{Verdict, known_trace, verify_lake};

/// What a lake may lack and be released all the same; the card says what it lacks.
#[derive(Debug, Clone, Copy, Default)]
pub struct Allow {
    /// Rows that were rejected.
    pub rejects: bool,
    /// Parts that were published.
    pub missing: bool,
}

/// Verifies a lake and writes the files of its release. Where the verification finds something,
/// nothing is written: what is wrong is in [`Verdict::findings`].
///
/// # Errors
/// [`ErrorKind::Refused`] when there is no finished lake, when another process works on it, when
/// another version made it, when it lacks what `allow` does not allow, or when a file of another
/// origin lies in the place of one of the release; when the disk fails.
pub fn release(root: &Path, allow: Allow, threads: usize, watch: Watcher<'_>) -> Result<Verdict> {
    read_manifest(root)?;
    let lake = Lake::open(root)?;
    if !lake.progress()?.complete {
        return Err(refused("not a finished lake: a run on it was broken off")
            .at(root)
            .hint("run convert on it until it ends well"));
    }
    // What was read before the lock may have been another run's.
    let manifest = read_manifest(root)?;
    let trace = known_trace(root, &manifest)?;
    let version = &manifest.origin.version;
    if *version != env!("CARGO_PKG_VERSION") {
        return Err(refused(format!("made by version {version}"))
            .at(root)
            .hint("release it with that version, or convert again with this one"));
    }
    check_gaps(root, &gaps(trace, &manifest), allow)?;
    let verdict = verify_lake(root, manifest, trace, None, threads, watch)?;
    if verdict.findings.is_empty() {
        let release = card(trace, &verdict.manifest, &manifest_facts(root)?)?;
        lake.put_release(&release.sums, &release.files)?;
    }
    Ok(verdict)
}

fn check_gaps(root: &Path, gaps: &Gaps, allow: Allow) -> Result<()> {
    if let Some(table) = gaps.tables.first().filter(|_| !allow.missing) {
        let reason = format!(
            "{} of {} parts are missing: {}",
            table.count(),
            table.total,
            table.numbers()
        );
        return Err(refused(reason)
            .at(root)
            .field(table.name)
            .hint("convert them too, or pass --allow-missing, and the card says so"));
    }
    if gaps.rejected > 0 && !allow.rejects {
        let reason = format!("rejected rows: {}", gaps.rejected);
        return Err(refused(reason)
            .at(root)
            .hint("mend them, or pass --allow-rejects, and the card says so"));
    }
    Ok(())
}

fn refused(reason: impl Into<String>) -> Error {
    Error::new(ErrorKind::Refused, reason)
}
