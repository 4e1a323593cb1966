//! A description that was checked, in the words of the catalog.

mod lists;

use std::collections::BTreeMap;

use anyhow::{Context, Result, bail, ensure};
use tracelake_schema::{
    Archive, CellShards, Cells, Code, Column, Derived, Files, Kind, Published, PublishedAt, Range,
    Reference, Sentinel, Syntax, Table, Trace,
};

use super::queries;
use super::spec::{
    ArchiveSpec, CellsSpec, ColumnSpec, FamilySpec, FilesSpec, LocationSpec, PublishedSpec,
    ShardsSpec, SyntaxSpec, TableSpec,
};
use super::words::{
    confidence, date, identifier, kind, leak, obfuscation, prose, rule, sha256, snake_case, unique,
    word,
};
use lists::{codes, listed, lists, ranges, sentinels};

/// The versions of one data set and what they share.
///
/// The words of the catalog are made for constants, so everything here is leaked; a generator lives
/// for a moment.
pub(crate) struct Family {
    pub(crate) name: &'static str,
    pub(crate) codes: BTreeMap<String, &'static [Code]>,
    pub(crate) sentinels: BTreeMap<String, &'static [Sentinel]>,
    pub(crate) ranges: BTreeMap<String, &'static [Range]>,
    pub(crate) traces: Vec<Trace>,
}

impl Family {
    /// Reads and checks one description.
    pub(crate) fn parse(text: &str) -> Result<Family> {
        let spec: FamilySpec = toml::from_str(text)?;
        ensure!(!spec.trace.is_empty(), "no trace is described");
        let mut family = Family {
            name: word(&spec.family)?,
            codes: lists("codes", &spec.codes, codes)?,
            sentinels: lists("sentinels", &spec.sentinels, sentinels)?,
            ranges: lists("ranges", &spec.ranges, ranges)?,
            traces: Vec::new(),
        };
        let names: Vec<&str> = spec.trace.iter().map(|trace| trace.name.as_str()).collect();
        let tables = spec.table.iter();
        let tables = tables.chain(spec.derived.iter().map(|derived| &derived.table));
        let all_tables: Vec<&TableSpec> = tables.collect();
        unique("table", all_tables.iter().map(|table| table.name.as_str()))?;
        // The columns are leaked once, so that all versions share them.
        let mut columns = Vec::new();
        let derived = spec.derived.iter().map(|derived| &derived.table);
        for table in spec.table.iter().chain(derived) {
            let list = family
                .columns(table, &names)
                .with_context(|| table.name.clone())?;
            columns.push(list);
        }
        family.check_use(&spec)?;
        let checks = queries::checks(&spec).context("check")?;
        let figures = queries::figures(&spec).context("figure")?;
        let query_tables = queries::query_tables(&spec).context("query_table")?;
        for trace in &spec.trace {
            ensure!(
                trace.name.starts_with(family.name),
                "trace {}: its name must begin with that of its family",
                trace.name
            );
            let cells = trace.cells.as_ref().map(cells).transpose();
            let cells = cells.context("cells")?;
            let table = |(table, columns): (&TableSpec, &&'static [Column])| {
                Ok(Table {
                    name: identifier(&table.name)?,
                    summary: prose(&table.summary)?,
                    columns,
                    fields: fields(table, &trace.name),
                    files: match table.files {
                        FilesSpec::Parts => Files::Parts,
                        FilesSpec::Shards => Files::Shards,
                        FilesSpec::Whole => Files::Whole,
                        FilesSpec::Derived => Files::Derived,
                    },
                    syntax: match table.syntax {
                        SyntaxSpec::Csv => Syntax::Csv,
                        SyntaxSpec::QuotedCsv => Syntax::QuotedCsv,
                        SyntaxSpec::Json => Syntax::Json,
                    },
                    parts: table.parts,
                    published: of_version(table, &trace.name, &names)
                        .with_context(|| format!("{}: published", table.name))?,
                    shards: shards(&table.shards, cells)
                        .with_context(|| format!("{}: shards", table.name))?,
                    required: table.required.as_deref().map(prose).transpose()?,
                    entity: names_of(table, &table.entity)?,
                    primary_key: names_of(table, &table.primary_key)?,
                    references: references(table, &all_tables)
                        .with_context(|| format!("{}: references", table.name))?,
                    time: time(table, columns)?,
                    synthetic: leak(&table.synthetic),
                })
            };
            let tables = spec.table.iter().zip(&columns).map(&table);
            let tables: Vec<Table> = tables.collect::<Result<_>>()?;
            let derived = spec.derived.iter().zip(&columns[tables.len()..]);
            let derived = derived.map(|(derived, columns)| {
                let from = tables.iter().find(|table| table.name == derived.from);
                Ok(Derived {
                    rule: rule(&derived.rule)?,
                    from: from
                        .with_context(|| format!("derived: there is no table {}", derived.from))?
                        .name,
                    table: table((&derived.table, columns))?,
                })
            });
            let derived: Vec<Derived> = derived.collect::<Result<_>>()?;
            family.traces.push(Trace {
                name: word(&trace.name)?,
                family: family.name,
                title: prose(&trace.title)?,
                document: prose(&trace.document)?,
                revision: spec.revision,
                licence: prose(&spec.licence)?,
                citation: prose(&spec.citation)?,
                archives: archives(&trace.archive, &all_tables).context("archive")?,
                cells,
                locations: locations(&trace.location).context("location")?,
                download: spec.download.as_deref().map(prose).transpose()?,
                creators: sentences(&spec.creators)?,
                url: spec.url.as_deref().map(word).transpose()?,
                published: trace.published.as_deref().map(date).transpose()?,
                epoch: spec.epoch,
                anomalies: sentences(&spec.anomalies)?,
                tables: tables.leak(),
                derived: derived.leak(),
                checks,
                figures,
                query_tables,
            });
        }
        Ok(family)
    }

    /// The columns of a table; an error names the column.
    fn columns(&self, table: &TableSpec, traces: &[&str]) -> Result<&'static [Column]> {
        let counted = matches!(table.files, FilesSpec::Parts);
        ensure!(!counted || table.parts > 0, "parts must be at least 1");
        ensure!(!table.column.is_empty(), "the table has no column");
        ensure!(
            table.column.iter().any(is_mandatory) == table.required.is_some(),
            "a table with mandatory columns, and no other, says in `required` why they always have a value"
        );
        let flat = matches!(table.syntax, SyntaxSpec::Csv);
        let nested = table.column.iter().find(|column| !column.field.is_empty());
        ensure!(
            !flat || nested.is_none(),
            "a row of plain fields has no struct and no list"
        );
        // The lake adds the cell and the number of the part as further columns.
        let partition = ["cell", "file_number"].into_iter();
        unique(
            "column",
            table
                .column
                .iter()
                .map(|c| c.name.as_str())
                .chain(partition),
        )?;
        unique(
            "content",
            table.column.iter().map(|column| column.content.as_str()),
        )?;
        let mut columns = Vec::new();
        for column in &table.column {
            columns.push(
                self.column(column, traces)
                    .with_context(|| column.name.clone())?,
            );
        }
        Ok(columns.leak())
    }

    fn column(&self, column: &ColumnSpec, traces: &[&str]) -> Result<Column> {
        let snake = snake_case(&column.content);
        ensure!(
            column.name == snake || column.content.is_empty(),
            "the name must be {snake}, the snake case of the content"
        );
        let kind = kind(&column.kind)?;
        let codes = listed("codes", &self.codes, column.codes.as_ref())?;
        ensure!(
            (kind == Kind::Code) != codes.is_empty(),
            "a column of kind code, and no other, has codes"
        );
        let sentinels = listed("sentinels", &self.sentinels, column.sentinels.as_ref())?;
        let ranges = listed("ranges", &self.ranges, column.ranges.as_ref())?;
        ensure!(
            ranges.is_empty() || kind == Kind::Integer,
            "only a column of kind integer has ranges"
        );
        let fields = match kind {
            Kind::Struct => column.field.len(),
            Kind::List => 1,
            _ => 0,
        };
        ensure!(
            column.field.len() == fields && (kind != Kind::Struct || fields > 0),
            "a struct has fields, a list has one field, its item, and no other kind has any"
        );
        unique(
            "field",
            column.field.iter().map(|field| field.name.as_str()),
        )?;
        let fields = column.field.iter().map(|field| {
            let field = self.column(field, traces);
            field.with_context(|| column.name.clone())
        });
        let fields = fields.collect::<Result<Vec<_>>>()?.leak();
        ensure!(
            sentinels.is_empty() || kind == Kind::Integer,
            "only a column of kind integer has sentinels"
        );
        ensure!(
            column.invalid.is_empty() || matches!(kind, Kind::Integer | Kind::Float),
            "only a column of kind integer or float has invalid values"
        );
        ensure!(
            column.invalid.is_sorted_by(|a, b| a < b),
            "the invalid values must ascend"
        );
        for absent in &column.absent_in {
            ensure!(
                traces.contains(&absent.as_str()),
                "absent_in: there is no trace {absent}"
            );
        }
        ensure!(
            column.absent_in.is_empty() || !column.mandatory,
            "a column that a version lacks cannot be mandatory: it is NULL there"
        );
        ensure!(
            (0.0..=1.0).contains(&column.empty),
            "empty is a share from 0 to 1"
        );
        ensure!(
            column.empty == 0.0 || !column.mandatory,
            "a mandatory column is never empty"
        );
        Ok(Column {
            name: identifier(&column.name)?,
            content: leak(&column.content),
            kind,
            format: word(&column.format)?,
            mandatory: column.mandatory,
            unit: column.unit.as_deref().map(prose).transpose()?,
            fields,
            obfuscation: obfuscation(&column.obfuscation)?,
            codes,
            sentinels,
            ranges,
            invalid: column.invalid.clone().leak(),
            doc: prose(&column.doc)?,
            synthetic: leak(&column.synthetic),
            empty: column.empty,
        })
    }

    /// Refuses a list that no column uses: it is a slip of the pen.
    fn check_use(&self, spec: &FamilySpec) -> Result<()> {
        let mut columns: Vec<&ColumnSpec> = Vec::new();
        let mut rest: Vec<&ColumnSpec> = spec.table.iter().flat_map(|t| &t.column).collect();
        while let Some(column) = rest.pop() {
            rest.extend(&column.field);
            columns.push(column);
        }
        for list in self.codes.keys() {
            let used = columns.iter().any(|c| c.codes.as_ref() == Some(list));
            ensure!(used, "codes.{list} is not used");
        }
        for list in self.sentinels.keys() {
            let used = columns.iter().any(|c| c.sentinels.as_ref() == Some(list));
            ensure!(used, "sentinels.{list} is not used");
        }
        for list in self.ranges.keys() {
            let used = columns.iter().any(|c| c.ranges.as_ref() == Some(list));
            ensure!(used, "ranges.{list} is not used");
        }
        Ok(())
    }
}

fn sentences(list: &[String]) -> Result<&'static [&'static str]> {
    let sentences = list.iter().map(|one| prose(one));
    Ok(sentences.collect::<Result<Vec<_>>>()?.leak())
}

/// The index of the column that a table names as its time.
fn time(table: &TableSpec, columns: &[Column]) -> Result<Option<usize>> {
    let Some(name) = &table.time else {
        return Ok(None);
    };
    let index = columns
        .iter()
        .position(|column| column.name == name && column.kind == Kind::Integer);
    ensure!(
        index.is_some(),
        "{}: time names {name}, which is not an integer column",
        table.name
    );
    Ok(index)
}

/// Whether a column, or anything nested in it, is mandatory.
fn is_mandatory(column: &ColumnSpec) -> bool {
    column.mandatory || column.field.iter().any(is_mandatory)
}

/// Names that have to be columns of a table.
fn names_of(table: &TableSpec, names: &[String]) -> Result<&'static [&'static str]> {
    unique("column", names.iter().map(String::as_str))
        .with_context(|| format!("a key of {}", table.name))?;
    let names = names.iter().map(|name| {
        let known = table.column.iter().any(|column| column.name == *name);
        ensure!(known, "{} has no column {name}", table.name);
        Ok(leak(name))
    });
    Ok(names.collect::<Result<Vec<_>>>()?.leak())
}

fn references(table: &TableSpec, tables: &[&TableSpec]) -> Result<&'static [Reference]> {
    let references = table.references.iter().map(|spec| {
        let other = tables.iter().find(|other| other.name == spec.table);
        let other = other.with_context(|| format!("there is no table {}", spec.table))?;
        let to = if spec.to.is_empty() {
            &spec.columns
        } else {
            &spec.to
        };
        ensure!(
            !to.is_empty() && to.len() == spec.columns.len(),
            "as many columns here as in {}",
            other.name
        );
        Ok(Reference {
            columns: names_of(table, &spec.columns)?,
            table: leak(&other.name),
            to: names_of(other, to)?,
        })
    });
    Ok(references.collect::<Result<Vec<_>>>()?.leak())
}

fn archives(list: &[ArchiveSpec], tables: &[&TableSpec]) -> Result<&'static [Archive]> {
    let names = list.iter().flat_map(|archive| &archive.names);
    unique("file name", names.map(String::as_str))?;
    let archives = list.iter().map(|archive| {
        if let Some(name) = &archive.table {
            let known = tables.iter().any(|table| table.name == *name);
            ensure!(known, "there is no table {name}");
        }
        ensure!(!archive.names.is_empty(), "an archive has no name");
        let names = archive.names.iter().map(|name| word(name));
        Ok(Archive {
            table: archive.table.as_deref().map(leak),
            names: names.collect::<Result<Vec<_>>>()?.leak(),
            sha256: sha256(&archive.sha256)?,
            size: word(&archive.size)?,
        })
    });
    Ok(archives.collect::<Result<Vec<_>>>()?.leak())
}

fn locations(list: &[LocationSpec]) -> Result<&'static [PublishedAt]> {
    unique("URL", list.iter().map(|location| location.url.as_str()))?;
    let locations = list.iter().map(|location| {
        let url = word(&location.url)?;
        ensure!(url.contains("://"), "{url} is not a URL");
        ensure!(!url.ends_with('/'), "{url} ends in a slash");
        Ok(PublishedAt {
            url,
            doc: prose(&location.doc)?,
        })
    });
    Ok(locations.collect::<Result<Vec<_>>>()?.leak())
}

fn cells(spec: &CellsSpec) -> Result<Cells> {
    unique("cell", spec.names.iter().map(String::as_str))?;
    ensure!(
        spec.names.is_sorted() && !spec.names.is_empty(),
        "the cells are in ascending order"
    );
    ensure!(
        spec.directory.matches("{cell}").count() == 1,
        "the directory {} has {{cell}} in one place",
        spec.directory
    );
    let names = spec.names.iter().map(|name| identifier(name));
    Ok(Cells {
        names: names.collect::<Result<Vec<_>>>()?.leak(),
        directory: word(&spec.directory)?,
        doc: prose(&spec.doc)?,
    })
}

fn shards(list: &[ShardsSpec], cells: Option<Cells>) -> Result<&'static [CellShards]> {
    unique("cell", list.iter().map(|shards| shards.cell.as_str()))?;
    let shards = list.iter().map(|shards| {
        let cell = cells.and_then(|cells| cells.find(&shards.cell));
        Ok(CellShards {
            cell: cell.with_context(|| format!("there is no cell {}", shards.cell))?,
            count: shards.count,
            rows: shards.rows.as_ref().map(published).transpose()?,
        })
    });
    Ok(shards.collect::<Result<Vec<_>>>()?.leak())
}

/// The published count of a table, if there is one that holds for the version.
fn of_version(table: &TableSpec, trace: &str, traces: &[&str]) -> Result<Option<Published>> {
    let Some(spec) = &table.published else {
        return Ok(None);
    };
    let unknown = spec.not_of.iter().find(|name| !traces.contains(&&name[..]));
    if let Some(name) = unknown {
        bail!("not_of: there is no trace {name}");
    }
    let holds = !spec.not_of.iter().any(|name| name == trace);
    Ok(holds.then_some(published(spec)?))
}

fn published(spec: &PublishedSpec) -> Result<Published> {
    Ok(Published {
        rows: spec.rows,
        confidence: confidence(&spec.confidence)?,
        source: prose(&spec.source)?,
    })
}

/// The order of the fields in a version's files: that of the columns, without the absent ones.
fn fields(table: &TableSpec, trace: &str) -> &'static [usize] {
    let columns = table.column.iter().enumerate();
    let present = columns.filter(|(_, column)| !column.absent_in.iter().any(|name| name == trace));
    present.map(|(index, _)| index).collect::<Vec<_>>().leak()
}

#[cfg(test)]
mod tests;
