//! The parts of a lake against the manifest and the source.

use std::sync::Arc;

use tracelake_convert::lake_file::count_lines;
use tracelake_core::Context;
use tracelake_core::clustered::Clustered;
use tracelake_core::error::{Error, Result, escape};
use tracelake_core::event::Event;
use tracelake_core::options::Format;
use tracelake_core::words::several;
use tracelake_lake::manifest::{Manifest, PartFacts, is_relative};
use tracelake_location::Location;
use tracelake_schema::arrow::{arrow_schema, fingerprint};
use tracelake_schema::{Table, Trace};

use super::catch::catch;
use super::clustered::check_file;
use super::derived::verify_derived;
use super::file::{OTHER_LAKE, verify_file};
use super::finding::corrupt;
use super::output::Output;
use super::sources::{SourceFile, Sources};
use super::values::verify_values;

/// The lake to check every part against.
pub(super) struct LakeView<'a> {
    pub(super) context: &'a Context,
    pub(super) root: &'a Location,
    pub(super) trace: &'a Trace,
    pub(super) format: Format,
    pub(super) manifest: &'a Manifest,
    pub(super) sources: Option<Sources<'a>>,
    /// How the lake was clustered, if that is to be checked.
    pub(super) clustered: Option<&'a Clustered>,
}

impl<'a> LakeView<'a> {
    /// Checks the parts of one table made from one source. For each: how many values were compared with
    /// the source, and what is wrong. A server that doesn't answer stops the others.
    pub(super) fn verify_parts(&self, parts: &[(&str, &PartFacts)]) -> Vec<(u64, Option<Error>)> {
        let facts: Vec<&PartFacts> = parts.iter().map(|(_, part)| *part).collect();
        let mut source = None;
        let mut checked = Vec::new();
        for (table, part) in parts {
            let found = self.verify_part(table, part, &facts, &mut source);
            self.context.emit(Event::Read {
                bytes: part.output.bytes,
            });
            checked.push(match found {
                Ok(values) => (values, None),
                Err(error) => {
                    if error.is_unanswered() {
                        self.context.fail();
                    }
                    (0, Some(error))
                }
            });
        }
        checked
    }

    /// Checks one part; returns how many values were compared with the source.
    fn verify_part(
        &self,
        table: &str,
        part: &PartFacts,
        of_source: &[&PartFacts],
        source: &mut Option<SourceFile>,
    ) -> Result<u64> {
        self.context.check()?;
        let table = self.trace.table(table).ok_or_else(|| {
            let shown = escape(table.as_bytes(), 80);
            corrupt(format!("the manifest names the unknown table '{shown}'")).at(self.root)
        })?;
        self.context.emit(Event::Started {
            table: table.name.clone(),
            part: part.key(),
        });
        let path = verify_file(self.context, self.root, &part.output)?;
        let rejects = match &part.rejects {
            Some(rejects) => Some(verify_file(self.context, self.root, rejects)?),
            None => None,
        };
        verify_rejects(part, rejects.as_ref())?;
        let values =
            catch(|| self.verify_output(table, part, &path, rejects.as_ref(), of_source, source))
                .map_err(|error| error.or_at(path))?;
        self.context.emit(Event::Verified {
            table: table.name.clone(),
            part: part.key(),
            rows: part.rows_out,
        });
        Ok(values)
    }

    /// Checks the content of an output, whose digest is right.
    fn verify_output(
        &self,
        table: &Arc<Table>,
        part: &PartFacts,
        path: &Location,
        rejects: Option<&Location>,
        of_source: &[&PartFacts],
        source: &mut Option<SourceFile>,
    ) -> Result<u64> {
        if !is_relative(&part.source.path) {
            let shown = escape(part.source.path.as_bytes(), 200);
            let reason =
                format!("the manifest names its source {shown}, which leads out of the source");
            return Err(corrupt(reason).at(path).hint(OTHER_LAKE));
        }
        let output = Output::open(path, self.format)?;
        let rows = output.rows()?;
        if rows != part.rows_out {
            let expected = part.rows_out;
            let reason = format!("its footer says {rows} rows, the manifest {expected}");
            return Err(corrupt(reason).at(path).hint(OTHER_LAKE));
        }
        if fingerprint(output.schema()) != fingerprint(&arrow_schema(table)) {
            let reason = format!("does not match the schema of {}", table.name);
            return Err(corrupt(reason).at(path).hint(OTHER_LAKE));
        }
        if let Some(time) = table.time
            && output.range(&table.columns[time].name)?.unzip() != (part.time_min, part.time_max)
        {
            let reason = "its time range is not the one in the manifest";
            return Err(corrupt(reason)
                .at(path)
                .field(&*table.name)
                .hint(OTHER_LAKE));
        }
        if let Some(how) = self.clustered {
            check_file(self.context, self.trace, table, how, part, output)?;
            return Ok(0);
        }
        let Some(sources) = self.sources.as_ref().filter(|it| it.has_cell(part)) else {
            return Ok(0);
        };
        output.check_statistics(self.context)?;
        let mut derived = self.trace.derived.iter();
        if let Some(derived) = derived.find(|derived| derived.table.name == table.name) {
            return verify_derived(self.context, self.root, derived, part, output);
        }
        let source = match source {
            Some(source) => source,
            None => source.insert(SourceFile::find(
                self.context,
                sources,
                self.manifest,
                table,
                of_source,
            )?),
        };
        verify_values(source, table, part, output, rejects)
    }
}

/// Compares the number of lines of a rejects file with the manifest.
fn verify_rejects(part: &PartFacts, rejects: Option<&Location>) -> Result<()> {
    let lines = match rejects {
        None => 0,
        Some(path) => count_lines(path)?,
    };
    if lines != part.rows_rejected {
        let reason = format!(
            "rejected: {}, and the manifest says {}",
            several(lines, "row"),
            part.rows_rejected
        );
        return Err(corrupt(reason).at(&part.output.path).hint(OTHER_LAKE));
    }
    Ok(())
}
