//! A trace as a lake: everything that a program does with one.

use tracelake_convert::plan::Plan;
use tracelake_convert::run::{self, Outcome, RunOptions};
use tracelake_core::Context;
use tracelake_core::error::{Error, ErrorKind, Result};
use tracelake_lake::manifest::{Manifest, TableFacts};
use tracelake_lake::plan_file::PlanFile;
use tracelake_lake::{Commit, CommitOptions, read_manifest};
use tracelake_location::Location;
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
}
