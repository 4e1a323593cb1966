//! Makes a finished lake publishable: verifies it and writes the files of a release.

use tracelake_core::Context;
use tracelake_core::error::{Error, ErrorKind, Result, escape};
use tracelake_core::origin::Origin;
use tracelake_core::part_key::of_cell;
use tracelake_core::settings::Settings;
use tracelake_core::words::for_shell;
use tracelake_lake::{
    PUBLISHER, RO_CRATE, Releasing, beyond, delta_logs, existing_delta_logs, read_manifest,
};
use tracelake_location::Location;
use tracelake_schema::calendar::is_day;

use crate::release_files::{Completeness, Given, completeness, release_files};
use crate::{Verdict, known_trace, manifest_of, verify_lake};

/// Options of a release. The card names the gaps that a lake may have.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct ReleaseOptions {
    /// Release it even if rows were rejected.
    pub allow_rejects: bool,
    /// Release it even if published parts, tables or rows are missing.
    pub allow_missing: bool,
    /// Add a Delta log to each table. If there is one, all are made again in any case.
    pub delta: bool,
    /// The day of the release, such as `2026-06-01`; the day of the trace's document if it is absent.
    pub date: Option<String>,
}

/// Verifies a lake and writes the files of its release. If anything is wrong with the lake, nothing is
/// written, and [`Verdict::findings`] has what is wrong.
///
/// # Errors
/// [`ErrorKind::Refused`] if there is no finished lake, if another process or another version of
/// tracelake works on it, if it lacks what `options` don't allow, or if a release would replace
/// a file that it didn't write; [`ErrorKind::Corrupt`] if its manifest is damaged; [`ErrorKind::Usage`] if the
/// date is none, or the publisher's file isn't what its template says; if the disk fails;
/// [`ErrorKind::Stopped`] once the context is cancelled.
pub fn release(context: &Context, root: &Location, options: &ReleaseOptions) -> Result<Verdict> {
    let root = &root.within(context);
    if let Some(date) = options.date.as_ref().filter(|date| !is_day(date)) {
        let shown = escape(date.as_bytes(), 40);
        let reason = format!("--date: '{shown}' is not a day of the calendar");
        return Err(Error::new(ErrorKind::Usage, reason).hint("write it as 2026-06-01"));
    }
    manifest_of(root)?;
    let releasing = Releasing::begin(context, root)?;
    // The manifest read before that may be another run's.
    let mut given = Given::read(context, root, options.date.clone())?;
    let manifest = read_manifest(root)?;
    let trace = known_trace(root, &manifest)?;
    let encoding = manifest.origin.encoding;
    let known = Origin::of(&trace, manifest.origin.options.clone()).encoding;
    if encoding != known {
        let version = escape(manifest.origin.version.as_bytes(), 40);
        let reason = format!(
            "version {version} made it, in encoding {encoding}; the encoding of this program is {known}"
        );
        return Err(refused(reason)
            .at(root)
            .hint("release it with that version, or convert again with this one"));
    }
    if options.delta && delta_logs(&manifest).is_empty() {
        let Settings { layout, format, .. } = manifest.origin.options;
        let reason = format!(
            "--delta needs --layout hive and --format parquet, and the lake has {layout} and {format}"
        );
        return Err(Error::new(ErrorKind::Usage, reason)
            .at(root)
            .hint("leave --delta out, or convert again into another directory"));
    }
    check_complete(root, &completeness(&trace, &manifest), options)?;
    let mut verdict = verify_lake(context, root, manifest, &trace, None, None)?;
    if verdict.is_ok() {
        let has_logs = || existing_delta_logs(root, &verdict.manifest);
        given.has_delta_logs = options.delta || !has_logs()?.is_empty();
        let release = release_files(&trace, &verdict.manifest, &given)?;
        releasing.put(&release.sums, &release.files, given.manifest.sha256)?;
        if !release.lacking.is_empty() {
            context.warn(format!(
                "{} lacks what only you know, and NeurIPS requires: {}; fill it in, and run release again",
                root.join(PUBLISHER),
                release.lacking.join(", ")
            ));
        }
        if !release.files.iter().any(|(path, _)| path == RO_CRATE) {
            context.warn(format!("no {RO_CRATE}, which needs a date: pass --date"));
        }
        verdict.released = release.files.into_iter().map(|(path, _)| path).collect();
        if !beyond(root, &verdict.manifest)?.uncommitted.is_empty() {
            let lake = for_shell(root);
            context.warn(format!(
                "parts that aren't committed are no part of the release: before you copy the lake, run tracelake commit \
                 {lake} --forget, which removes them"
            ));
        }
    }
    Ok(verdict)
}

fn check_complete(
    root: &Location,
    completeness: &Completeness,
    options: &ReleaseOptions,
) -> Result<()> {
    if !completeness.cells.is_empty() && !options.allow_missing {
        let reason = format!("these cells are missing: {}", completeness.cells.join(", "));
        return Err(refused(reason)
            .at(root)
            .hint("convert them too, or pass --allow-missing, and the card says so"));
    }
    if let Some(missing) = completeness.gaps.first().filter(|_| !options.allow_missing) {
        return Err(refused(missing.gap.describe())
            .at(root)
            .field(format!("{}{}", missing.table, of_cell(missing.cell)))
            .hint("convert the rest too, or pass --allow-missing, and the card says so"));
    }
    if completeness.rejected > 0 && !options.allow_rejects {
        let reason = format!("rejected rows: {}", completeness.rejected);
        return Err(refused(reason)
            .at(root)
            .hint("fix them, or pass --allow-rejects, and the card says so"));
    }
    Ok(())
}

fn refused(reason: impl Into<String>) -> Error {
    Error::new(ErrorKind::Refused, reason)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::release_files::{Gap, TableGap};

    fn checked(completeness: &Completeness, options: &ReleaseOptions) -> Option<Error> {
        let root = Location::from(std::path::Path::new("lake"));
        check_complete(&root, completeness, options).err()
    }

    #[test]
    fn each_gap_is_refused_until_it_is_allowed() {
        let mut found = Completeness {
            cells: Vec::new(),
            gaps: Vec::new(),
            unknown: vec!["jobs".to_owned()],
            rejected: 0,
        };
        let none = ReleaseOptions::default();
        let (mut missing, mut rejects) = (none.clone(), none.clone());
        missing.allow_missing = true;
        rejects.allow_rejects = true;
        // A table of unknown size is no gap.
        assert!(checked(&found, &none).is_none());

        found.gaps.push(TableGap {
            table: "jobs".to_owned(),
            cell: Some("b"),
            gap: Gap::Rows {
                read: 7,
                published: 9,
            },
        });
        let error = checked(&found, &rejects).unwrap();
        assert_eq!(error.kind(), ErrorKind::Refused);
        assert_eq!(error.place().field.as_deref(), Some("jobs of cell b"));
        assert!(error.to_string().contains("--allow-missing"), "{error}");
        assert!(checked(&found, &missing).is_none());

        found.rejected = 3;
        let error = checked(&found, &missing).unwrap().to_string();
        assert!(error.contains("rejected rows: 3"), "{error}");
        assert!(error.contains("--allow-rejects"), "{error}");
        missing.allow_rejects = true;
        assert!(checked(&found, &missing).is_none());

        found.cells = ["c", "d"].map(str::to_owned).into();
        let error = checked(&found, &none).unwrap().to_string();
        assert!(error.contains("these cells are missing: c, d"), "{error}");
        assert!(checked(&found, &missing).is_none());
    }
}
