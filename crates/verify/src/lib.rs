//! A second opinion on a lake: its files against its manifest and, if the source is at hand, every
//! value against the source, read with flate2, the csv crate and separate code.
//!
//! Nothing that converted a row is used here. [`release`](mod@release) makes a verified lake publishable, and
//! [`inspect`](mod@inspect) lists what is in a lake or a source.
//!
//! ```
//! use tracelake_core::{Context, ErrorKind};
//! use tracelake_location::Location;
//! use tracelake_verify::verify;
//!
//! # let nowhere = std::env::temp_dir().join("tracelake-nothing-to-verify");
//! let lake = Location::from(nowhere.as_path());
//! assert_eq!(verify(&Context::new(), &lake, None).unwrap_err().kind(), ErrorKind::Refused);
//! ```

mod archive;
mod array_text;
mod catch;
mod claims;
mod clustered;
mod derived;
pub mod export;
mod file;
mod finding;
pub mod inspect;
mod lakes;
mod number;
mod output;
mod parquet_text;
mod parsed;
mod parts;
mod rejected;
pub mod release;
mod release_files;
mod released;
mod scalar;
mod selected;
pub mod since;
mod sources;
mod statistics;
mod text;
mod unpacked;
mod values;

use std::sync::Arc;

use rayon::prelude::*;
use tracelake_convert::discover;
use tracelake_convert::plan::{ChecksumSource, Plan, Request, fitting_trace, plan};
use tracelake_core::Context;
use tracelake_core::clustered::Clustered;
use tracelake_core::digest::{Digest, NoDigest};
use tracelake_core::error::{Error, ErrorKind, Result, escape};
use tracelake_core::settings::Settings;
use tracelake_core::words::{for_shell, several};
use tracelake_lake::manifest::{Manifest, PartFacts};
use tracelake_lake::{HOME, IDENTITY, MANIFEST, beyond, manifest_facts, read_manifest};
use tracelake_location::{Location, LocationKind};
use tracelake_schema::{SYNTHETIC, Trace};

use claims::contradictions;
use file::OTHER_LAKE;
use finding::corrupt;
use lakes::VerifiedLake;
use parts::LakeView;
pub use release_files::{is_far_short, parts_alone};
use released::verify_release;
use sources::Sources;

/// The result of a verification.
#[derive(Debug)]
#[non_exhaustive]
pub struct Verdict {
    /// The manifest of the lake.
    pub manifest: Manifest,
    /// Parts checked.
    pub parts: usize,
    /// Values compared with the source.
    pub values: u64,
    /// Parts of the source that the lake doesn't have.
    pub not_converted: usize,
    /// Parts of the lake that weren't compared with a source, because it is of another cell.
    pub not_compared: usize,
    /// Everything that is wrong, in the order of the manifest.
    pub findings: Vec<Error>,
    /// The files that a release wrote beside `SHA256SUMS`, relative to the lake.
    pub released: Vec<String>,
}

impl Verdict {
    /// Whether nothing is wrong.
    #[must_use]
    pub fn is_ok(&self) -> bool {
        self.findings.is_empty()
    }

    /// The kind of the findings: [`ErrorKind::Corrupt`] if the lake is damaged,
    /// [`ErrorKind::Failed`] if all that is known is that files couldn't be read, and `None` if nothing
    /// is wrong.
    #[must_use]
    pub fn kind(&self) -> Option<ErrorKind> {
        let mut kinds = self.findings.iter().map(Error::kind);
        match kinds.len() {
            0 => None,
            _ if kinds.all(|kind| kind == ErrorKind::Failed) => Some(ErrorKind::Failed),
            _ => Some(ErrorKind::Corrupt),
        }
    }
}

impl Verdict {
    /// Compares the lake at `root` with another one, unless something is wrong with the files of either.
    fn compare_with(
        &mut self,
        context: &Context,
        trace: &Trace,
        (root, other_root): (&Location, &Location),
        other: Manifest,
    ) -> Result<()> {
        let other = verify_lake(context, other_root, other, trace, None, None)?;
        self.findings.extend(other.findings);
        if !self.is_ok() {
            return Ok(());
        }
        let sides = [(root, &self.manifest), (other_root, &other.manifest)];
        let [lake, other] = sides.map(|(root, manifest)| VerifiedLake { root, manifest });
        let of_other = manifest_facts(context, other_root)?.sha256;
        let compared = lakes::compare(context, trace, lake, other, of_other)?;
        self.values = compared.values;
        self.not_converted = compared.beyond;
        self.findings.extend(compared.findings);
        Ok(())
    }
}

/// Whether something is a lake, and not the source of one.
fn is_lake(location: &Location) -> bool {
    let home = location.join(HOME).kind();
    matches!(home, Ok(Some(LocationKind::Directory)))
}

/// Refuses lakes whose rows can't be equal, because they have other columns.
fn check_comparable(own: &Manifest, other: &Manifest) -> Result<()> {
    let (own, other) = (&own.origin, &other.origin);
    let (reason, hint) = if own.trace != other.trace || own.description != other.description {
        let [own, other] = [own, other].map(|origin| escape(origin.trace.as_bytes(), 80));
        let reason = format!("is a lake of {other}, and the one to verify is of {own}");
        (reason, "name a lake of the same trace")
    } else if own.options.columns != other.options.columns {
        let reason = "was made with other --columns than the lake to verify".to_owned();
        (reason, "name a lake of the same columns")
    } else {
        return Ok(());
    };
    Err(Error::new(ErrorKind::Usage, reason).hint(hint))
}

/// Reads the manifest of a lake. If something else is there, or nothing, the error says so.
///
/// # Errors
/// [`ErrorKind::Refused`] if `root` isn't a finished lake; [`ErrorKind::Corrupt`] if its manifest is damaged.
pub fn manifest_of(root: &Location) -> Result<Manifest> {
    read_manifest(root).map_err(|error| {
        // After any other error of a server, a second question would wait for it once more.
        let may_ask = error.kind() == ErrorKind::Refused || root.as_path().is_some();
        let instead = may_ask.then(|| found_instead(root)).flatten();
        instead.map_or(error, |instead| instead.at(root))
    })
}

/// Names what is in place of a lake, if that can be told.
fn found_instead(root: &Location) -> Option<Error> {
    let (reason, hint) = match root.kind().ok()? {
        None => (
            "not a finished lake: there is nothing here",
            "check the path".to_owned(),
        ),
        Some(LocationKind::File { .. } | LocationKind::Other) => (
            "not a lake but a file",
            "name the directory of the lake".to_owned(),
        ),
        Some(LocationKind::Directory) if discover::is_source(root) => (
            "not a lake but a source: it has files of tables",
            format!(
                "make a lake of it first: tracelake convert {} lake",
                for_shell(root)
            ),
        ),
        Some(LocationKind::Directory) => return None,
    };
    Some(Error::new(ErrorKind::Refused, reason).hint(hint))
}

/// A lake that is about to be verified.
#[derive(Debug)]
pub struct Verification {
    context: Context,
    root: Location,
    manifest: Manifest,
    trace: Arc<Trace>,
    against: Option<Against>,
    digest: Option<Digest>,
}

/// The source or the lake that a lake is compared with.
#[derive(Debug)]
enum Against {
    /// The files that it was made from.
    Source(Box<Plan>),
    /// Another lake.
    Lake(Location, Box<Manifest>),
}

impl Verification {
    /// Reads the manifest of the lake at `root` and, if `source` is given, finds the source files.
    ///
    /// # Errors
    /// [`ErrorKind::Refused`] if `root` isn't a finished lake of a known trace;
    /// [`ErrorKind::Corrupt`] if its manifest is damaged; if there is no source.
    pub fn open(context: &Context, root: &Location, source: Option<&Location>) -> Result<Self> {
        let root = &root.within(context);
        let manifest = manifest_of(root)?;
        let trace = known_trace(root, &manifest)?;
        let against = match source {
            None => None,
            Some(source) if is_lake(source) => {
                let source = source.within(context);
                let other = manifest_of(&source)?;
                check_comparable(&manifest, &other).map_err(|error| error.at(&source))?;
                Some(Against::Lake(source, Box::new(other)))
            }
            Some(source) if manifest.origin.clustered.is_some() => {
                let reason = "isn't a lake, and a clustered lake is compared with lakes alone";
                return Err(Error::new(ErrorKind::Usage, reason)
                    .at(source)
                    .hint("name the lake that it was clustered from, and compare that one with the source"));
            }
            Some(source) => {
                let plan = source_plan(context, source, &trace, &manifest.origin.options)?;
                fit_cells(&plan, &manifest, &trace).map_err(|error| error.at(source))?;
                Some(Against::Source(Box::new(plan)))
            }
        };
        Ok(Self {
            context: context.clone(),
            root: root.to_owned(),
            manifest,
            trace,
            against,
            digest: None,
        })
    }

    /// Also compares the digest of the lake, which is the SHA-256 of its manifest, with this one.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`] if it is no SHA-256 in hexadecimal, with or without `sha256:` in front.
    pub fn with_digest(self, digest: Option<&str>) -> Result<Self> {
        let parsed = digest.map(|text| {
            let hex = text.strip_prefix("sha256:").unwrap_or(text);
            hex.parse().map_err(|error: NoDigest| {
                let shown = escape(text.as_bytes(), 80);
                Error::new(ErrorKind::Usage, format!("--digest: '{shown}' is {error}"))
                    .hint("tracelake inspect prints that of a lake")
            })
        });
        Ok(Self {
            digest: parsed.transpose()?,
            ..self
        })
    }

    /// How many parts [`Verification::run`] checks.
    #[must_use]
    pub fn parts(&self) -> u64 {
        self.manifest.parts().count() as u64
    }

    /// The bytes that the [`Event::Read`](tracelake_core::event::Event::Read)s of [`Verification::run`] add up to.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        let parts = self.manifest.parts();
        parts.fold(0, |bytes, (_, part)| {
            bytes.saturating_add(part.output.bytes)
        })
    }

    /// Checks the lake against its manifest, its source if there is one, and the files of its release
    /// if it was released.
    ///
    /// # Errors
    /// If threads can't be started or a directory can't be listed; [`ErrorKind::Stopped`] once the context is
    /// cancelled. What is wrong with the lake itself is in [`Verdict::findings`].
    ///
    /// # Memory
    /// The manifest, and for each thread a batch of rows, a row of the source and a page of a column.
    pub fn run(self) -> Result<Verdict> {
        let Self {
            context,
            root,
            manifest,
            trace,
            against,
            digest,
        } = self;
        let plan = match &against {
            Some(Against::Source(plan)) => Some(&**plan),
            _ => None,
        };
        let clustered = match &against {
            Some(Against::Lake(..)) => manifest.origin.clustered.clone(),
            _ => None,
        };
        let checked = verify_lake(&context, &root, manifest, &trace, plan, clustered.as_ref());
        let mut verdict = checked?;
        if let Some(digest) = digest {
            let found = manifest_facts(&context, &root)?.sha256;
            let reason =
                format!("has SHA-256 {found}, and the lake that is asked for has {digest}");
            let finding = corrupt(reason).at(root.join(MANIFEST));
            let finding = finding.hint(
                "it is another lake, or one that has changed: get the one that has this digest",
            );
            verdict
                .findings
                .extend((found != digest).then_some(finding));
        }
        if let Some(Against::Lake(other_root, other)) = against {
            verdict.compare_with(&context, &trace, (&root, &other_root), *other)?;
        }
        match verify_release(&context, &root, &trace, &verdict.manifest) {
            Ok(findings) => verdict.findings.extend(findings),
            Err(error) => verdict.findings.push(error),
        }
        context.check()?;
        Ok(verdict)
    }
}

/// Verifies a lake: [`Verification::open`], then [`Verification::run`].
///
/// # Errors
/// The errors of [`Verification::open`] and [`Verification::run`].
pub fn verify(context: &Context, root: &Location, source: Option<&Location>) -> Result<Verdict> {
    Verification::open(context, root, source)?.run()
}

/// The trace of a lake.
///
/// # Errors
/// [`ErrorKind::Refused`] if this version doesn't know it.
pub(crate) fn known_trace(root: &Location, manifest: &Manifest) -> Result<Arc<Trace>> {
    manifest.origin.find_trace().ok_or_else(|| {
        let name = escape(manifest.origin.trace.as_bytes(), 80);
        Error::new(
            ErrorKind::Refused,
            format!("a lake of the trace '{name}', which is not known"),
        )
        .at(root)
        .hint("use the version of tracelake that made it")
    })
}

/// Checks a lake against its manifest and the plan of its source, but not the files of its release.
///
/// # Errors
/// If threads can't be started or a directory can't be listed; once the context is cancelled.
pub(crate) fn verify_lake(
    context: &Context,
    root: &Location,
    manifest: Manifest,
    trace: &Trace,
    plan: Option<&Plan>,
    clustered: Option<&Clustered>,
) -> Result<Verdict> {
    let threads = context.threads();
    let built = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
    let pool = built.map_err(|error| {
        let reason = format!("cannot start {threads} threads: {error}");
        Error::new(ErrorKind::Failed, reason)
    })?;
    let miscounted = manifest.check_counts().err();
    let mut findings: Vec<Error> = miscounted
        .into_iter()
        .map(|error| error.of_kind(ErrorKind::Corrupt))
        .collect();
    findings.extend(beyond_manifest(context, root, &manifest)?);
    findings.extend(contradictions(root, trace, &manifest));
    findings.extend(plan.and_then(|plan| not_published(root, plan, &manifest)));
    let parts: Vec<(&str, &PartFacts)> = manifest.parts().collect();
    // The parts of one source are compared with it in one pass.
    let same_source = |a: &(&str, &PartFacts), b: &(&str, &PartFacts)| {
        plan.is_some() && (a.0, a.1.cell, &a.1.source.path) == (b.0, b.1.cell, &b.1.source.path)
    };
    let groups: Vec<&[(&str, &PartFacts)]> = parts.chunk_by(same_source).collect();
    let lake = LakeView {
        context: &context.for_parts(),
        root,
        trace,
        format: manifest.origin.options.format,
        manifest: &manifest,
        sources: plan.map(|plan| Sources::new(plan, &manifest)),
        clustered,
    };
    let checked: Vec<(u64, Option<Error>)> = pool.install(|| {
        let checked = groups.par_iter().map(|parts| lake.verify_parts(parts));
        checked.flatten_iter().collect()
    });
    // What was stopped is no finding.
    context.check()?;
    let (values, found): (Vec<u64>, Vec<Option<Error>>) = checked.into_iter().unzip();
    let mut found: Vec<Error> = found.into_iter().flatten().collect();
    if let Some(unanswered) = found.iter().position(Error::is_unanswered) {
        return Err(found.swap_remove(unanswered));
    }
    let sources = lake.sources.as_ref();
    let not_converted = sources.map_or(0, |sources| sources.not_converted(&manifest));
    let not_compared = sources.map_or(0, |sources| {
        let without_source = parts.iter().filter(|(_, part)| !sources.has_cell(part));
        without_source.count()
    });
    findings.extend(found);
    Ok(Verdict {
        parts: parts.len(),
        manifest,
        values: values.into_iter().sum(),
        not_converted,
        not_compared,
        findings,
        released: Vec::new(),
    })
}

/// Finds the files of a source, however few: the manifest says which ones are needed.
fn source_plan(
    context: &Context,
    source: &Location,
    trace: &Arc<Trace>,
    options: &Settings,
) -> Result<Plan> {
    let mut request = Request::new(source);
    request.trace = Some(Arc::clone(trace.whole.as_ref().unwrap_or(trace)));
    request.settings = options.selection();
    request.settings.accept = options.accept.clone();
    request.allow_missing = true;
    request.lists_archives = false;
    request.checksums = ChecksumSource::None;
    plan(context, &request).map_err(|error| not_the_source(context, error, &request))
}

/// Says what to name in place of a source whose files aren't those of the lake. The lake decides the trace, so there is no
/// option to change it.
fn not_the_source(context: &Context, error: Error, request: &Request) -> Error {
    if std::error::Error::source(&error).is_some() {
        return error;
    }
    let asked = request.trace.as_ref();
    let asked = asked.map_or("its trace", |trace| &trace.name);
    let looks =
        fitting_trace(context, request).map(|other| format!(", and this looks like {other}"));
    error.hint(format!(
        "the lake was made from {asked}{}: name the source of the lake",
        looks.unwrap_or_default()
    ))
}

/// Refuses a source that has no cell of the lake, so that nothing could be compared.
fn fit_cells(plan: &Plan, manifest: &Manifest, trace: &Trace) -> Result<()> {
    let cell = manifest.cells().into_iter().next().flatten();
    let Some((cells, cell)) = trace.cells.as_ref().zip(cell) else {
        return Ok(());
    };
    let sources = Sources::new(plan, manifest);
    if manifest.parts().any(|(_, part)| sources.has_cell(part)) {
        return Ok(());
    }
    let directory = cells.directory_of(cell);
    let hint = format!(
        "name the directory of a cell of the lake, such as {directory}, or one that holds several"
    );
    Err(Error::new(ErrorKind::Usage, "is of no cell of the lake").hint(hint))
}

/// Files in the directories of tables without a record, whatever their names: a program that reads a whole directory may
/// read them, too. What is made and not committed yet is no finding.
fn beyond_manifest(context: &Context, root: &Location, manifest: &Manifest) -> Result<Vec<Error>> {
    let beyond = beyond(root, manifest)?;
    if !beyond.uncommitted.is_empty() {
        let parts = several(beyond.uncommitted.len() as u64, "part");
        context.warn(format!(
            "{parts} beyond the manifest: made, but not committed yet; not verified"
        ));
    }
    let unnamed = beyond.unnamed.into_iter().map(|path| {
        corrupt("is not in the manifest")
            .at(root.join(&path))
            .hint("move it out of the lake")
    });
    let identity = (!beyond.has_identity).then(|| {
        corrupt("isn't the one that the manifest names")
            .at(root.join(IDENTITY))
            .hint("restore it from a copy of the lake")
    });
    Ok(unnamed.chain(identity).collect())
}

/// The finding for a manifest that calls a synthetic source published.
fn not_published(root: &Location, plan: &Plan, manifest: &Manifest) -> Option<Error> {
    let is_wrong = plan.origin.synthetic && !manifest.origin.synthetic;
    let reason = format!(
        "says that the source was published, but {SYNTHETIC} says that tracelake generate made it"
    );
    is_wrong.then(|| corrupt(reason).at(root.join(MANIFEST)).hint(OTHER_LAKE))
}

#[cfg(test)]
mod tests;
