//! A trace as a lake: everything that a program does with one.

use std::path::Path;

use tracelake_convert::cluster::{self, ClusterOptions, ClusterPlan};
use tracelake_convert::plan::Plan;
use tracelake_convert::run::{self, Outcome, RunOptions};
use tracelake_core::Context;
use tracelake_core::error::{Error, ErrorKind, Result};
use tracelake_lake::manifest::{Manifest, TableFacts};
use tracelake_lake::plan_file::PlanFile;
use tracelake_lake::{Commit, CommitOptions, read_manifest};
use tracelake_location::Location;
use tracelake_verify::export::{self, ExportOptions, Exported};
use tracelake_verify::inspect::{self, Inventory};
use tracelake_verify::release::{self, ReleaseOptions};
use tracelake_verify::{self, Verdict};

/// A lake by its place, a path or a URL. There may be nothing yet: [`Dataset::convert`] makes it.
///
/// Nothing is remembered between two calls, so each sees the lake as it is then.
#[derive(Debug, Clone)]
pub struct Dataset {
    context: Context,
    root: Location,
}

impl Dataset {
    /// The lake at `root`, which isn't looked at.
    #[must_use]
    pub fn at(context: &Context, root: impl Into<Location>) -> Self {
        Self {
            context: context.clone(),
            root: root.into(),
        }
    }

    /// The place of the lake.
    #[must_use]
    pub fn root(&self) -> &Location {
        &self.root
    }

    /// Converts what a plan names, or one shard of it. Parts that an earlier run finished are validated and kept.
    ///
    /// # Errors
    /// The first one in the order of the plan; parts finished until then stay for the next run.
    pub fn convert(&self, plan: &Plan, options: RunOptions) -> Result<Outcome> {
        run::convert(&self.context, plan, &self.root, options)
    }

    /// Prepares the lake for the shards of a plan, as the first of them would, so that a launcher learns whether the lake
    /// can be made before it starts any workers. Returns the plan, or `None` if the lake has everything of it.
    ///
    /// # Errors
    /// Errors of [`Dataset::convert`] before it converts anything.
    pub fn prepare(&self, plan: &Plan, options: RunOptions) -> Result<Option<PlanFile>> {
        run::prepare(&self.context, plan, &self.root, options)
    }

    /// Commits what shards have converted. Returns the manifest, or `None` if unnamed outputs were removed and nothing
    /// else is there.
    ///
    /// # Errors
    /// [`ErrorKind::Refused`] if a part is missing or damaged, nothing was converted, or a file is unknown;
    /// [`ErrorKind::Misfit`] if too many rows are rejected; when the disk or the store fails.
    pub fn commit(&self, options: CommitOptions) -> Result<Option<Manifest>> {
        Commit::open(&self.context, &self.root, options)?.finish()
    }

    /// Makes the lake from another one, whose rows a plan arranges anew. Files that an earlier run finished are validated
    /// and kept.
    ///
    /// ```
    /// use tracelake::{Arrangement, ClusterOptions, ClusterPlan, ClusterRequest, Context, Dataset};
    /// # use tracelake::{Request, RunOptions, plan};
    ///
    /// # let place = std::env::temp_dir().join(format!("tracelake-cluster-{}", std::process::id()));
    /// # let (lake, by_job) = (place.join("lake"), place.join("by-job"));
    /// # let source = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/sample");
    /// let context = Context::new();
    /// # let mut request = Request::new(std::path::Path::new(source));
    /// # (request.tables, request.parts) = (vec!["job_events".to_owned()], Some("0-1".parse()?));
    /// # Dataset::at(&context, &lake).convert(&plan(&context, &request)?, RunOptions::default())?;
    /// let request = ClusterRequest::new(&lake, Arrangement::By("job".to_owned()));
    /// let plan = ClusterPlan::new(&context, &request)?;
    /// let options = ClusterOptions::new(request.least_memory());
    /// let outcome = Dataset::at(&context, &by_job).cluster(&plan, &options)?;
    /// assert!(outcome.manifest.origin.clustered.is_some());
    /// # std::fs::remove_dir_all(place)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::Corrupt`] if a file of the other lake is damaged; [`ErrorKind::Refused`] if the place has something
    /// else, or a lake that was made in another way; when the disk or the store fails.
    ///
    /// # Memory
    /// That of the options.
    pub fn cluster(&self, plan: &ClusterPlan, options: &ClusterOptions) -> Result<Outcome> {
        cluster::cluster(&self.context, plan, &self.root, options)
    }

    /// Opens the finished lake by reading its manifest, which names every file. No data file is read.
    ///
    /// ```
    /// use tracelake::{Context, Dataset, ErrorKind};
    ///
    /// let nothing = std::env::temp_dir().join("tracelake-no-such-lake");
    /// let error = Dataset::at(&Context::new(), &nothing).open().unwrap_err();
    /// assert_eq!(error.kind(), ErrorKind::Refused);
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::Refused`] if there is no finished lake; [`ErrorKind::Corrupt`] if its manifest is damaged; if it
    /// can't be read.
    ///
    /// # Memory
    /// The manifest, about 1 KB a part.
    pub fn open(&self) -> Result<Manifest> {
        read_manifest(&self.root.within(&self.context))
    }

    /// The facts of all tables, in the order of the trace: their rows, parts and schema fingerprints.
    ///
    /// # Errors
    /// See [`Dataset::open`].
    pub fn tables(&self) -> Result<Vec<TableFacts>> {
        Ok(self.open()?.tables)
    }

    /// The files of a table, in the order of the manifest. Nothing else in the table's directory is part of the lake.
    ///
    /// # Errors
    /// See [`Dataset::open`]; [`ErrorKind::Usage`] if the lake has no such table, with the names of those it has.
    pub fn files(&self, table: &str) -> Result<Vec<Location>> {
        let tables = self.tables()?;
        let Some(found) = tables.iter().find(|facts| facts.name == table) else {
            let names: Vec<&str> = tables.iter().map(|table| &table.name[..]).collect();
            let error = Error::new(ErrorKind::Usage, format!("the lake has no table {table:?}"));
            return Err(error.at(&self.root).hint(match &names[..] {
                [] => "it has no tables".to_owned(),
                names => format!("it has {}", names.join(", ")),
            }));
        };
        let parts = found.parts.iter();
        Ok(parts
            .map(|part| self.root.join(&part.output.path))
            .collect())
    }

    /// Lists what the lake has, what it lacks, and what isn't committed yet.
    ///
    /// # Errors
    /// If there is no lake; if the disk or the store fails.
    pub fn inspect(&self) -> Result<Inventory> {
        inspect::inspect(&self.context, &self.root)
    }

    /// Checks the lake against its manifest and, if it was released, the files of its release.
    ///
    /// # Errors
    /// [`ErrorKind::Refused`] if there is no finished lake of a known trace; [`ErrorKind::Corrupt`] if its manifest is
    /// damaged; [`ErrorKind::Stopped`] once the context is cancelled. What is wrong with the lake itself is in
    /// [`Verdict::findings`].
    pub fn verify(&self) -> Result<Verdict> {
        tracelake_verify::verify(&self.context, &self.root, None)
    }

    /// Checks what [`Dataset::verify`] checks, and every value against the source, which other code reads.
    ///
    /// # Errors
    /// Errors of [`Dataset::verify`], and that there is no source of this trace.
    pub fn verify_against(&self, source: impl Into<Location>) -> Result<Verdict> {
        tracelake_verify::verify(&self.context, &self.root, Some(&source.into()))
    }

    /// Verifies the lake and, if nothing is wrong, writes checksums, a data card, and descriptions for machines.
    ///
    /// # Errors
    /// [`ErrorKind::Refused`] if there is no finished lake, if another process works on it, if it lacks what `options`
    /// don't allow, or if a file would be replaced that isn't of a release; [`ErrorKind::Corrupt`] if its manifest is
    /// damaged; if the disk fails.
    pub fn release(&self, options: &ReleaseOptions) -> Result<Verdict> {
        release::release(&self.context, &self.root, options)
    }

    /// Writes the requests of the lake to a file as replay tools read them, one JSON object a line in the order of their
    /// arrival. An existing file is replaced once the new one is complete.
    ///
    /// ```
    /// use tracelake::{Context, Dataset, ExportOptions};
    /// # use tracelake::{Request, RunOptions, generate, plan, schema::TRACES};
    ///
    /// # let place = std::env::temp_dir().join(format!("tracelake-export-{}", std::process::id()));
    /// # let (source, lake, file) = (place.join("source"), place.join("lake"), place.join("requests.jsonl"));
    /// # std::fs::create_dir(&place)?;
    /// let context = Context::new();
    /// # let mut traces = TRACES.iter();
    /// # let trace = traces.find(|trace| {
    /// #     trace.tables.iter().all(|table| table.requests.is_some() && !table.synthetic.is_empty())
    /// # });
    /// # let trace = trace.ok_or("no trace of requests")?;
    /// # let mut options = generate::Options::default();
    /// # options.rows = 1_000;
    /// # generate::generate(&context, trace, &source, &options)?;
    /// # let plan = plan(&context, &Request::new(&*source))?;
    /// # Dataset::at(&context, &lake).convert(&plan, RunOptions::default())?;
    /// let mut options = ExportOptions::default();
    /// options.drop_empty = true;
    /// let exported = Dataset::at(&context, &lake).export(&file, &options)?;
    /// assert!(exported.requests > 0);
    /// # std::fs::remove_dir_all(place)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::Usage`] if the trace has no requests to language models, the lake lacks their columns or the service,
    /// or the file can't be where it is asked for; [`ErrorKind::Refused`] if there is no finished lake;
    /// [`ErrorKind::Misfit`] if a value has no place in this form; [`ErrorKind::Corrupt`] if the lake is damaged; if the
    /// disk fails; [`ErrorKind::Stopped`] once the context is cancelled.
    ///
    /// # Memory
    /// 64 MiB of lines, and a batch of the lake.
    pub fn export(&self, file: &Path, options: &ExportOptions) -> Result<Exported> {
        export::export(&self.context, &self.root, file, options)
    }
}
