//! The data dictionary.

use super::checks::{limit, needs};
use super::{chosen_tables, extent, field_number, invalid, named_values, published, with_nested};
use crate::arrow::{arrow_schema, data_type, fingerprint, type_name};
use crate::{Column, Table, Trace, sample};

/// A trace, or one of its tables, as Markdown.
///
/// # Example
///
/// ```
/// use tracelake_schema::{TRACES, render};
///
/// let page = render::markdown(&TRACES[0], None);
/// assert!(page.starts_with(&format!("# {}", TRACES[0].name)));
/// ```
#[must_use]
pub fn markdown(trace: &Trace, table: Option<&Table>) -> String {
    let mut page = format!("# {}\n\n{}.\n\n", trace.name, markdown_text(&trace.title));
    page.push_str(&sources(trace));
    page.push_str(&origin(trace));
    page.push_str(&anomalies(trace));
    page.push_str(&samples(trace));
    for table in chosen_tables(trace, table) {
        page.push_str(&table_section(trace, table));
    }
    page
}

/// Escapes what is HTML or a formula in Markdown: a description may be anybody's.
///
/// ```
/// use tracelake_schema::render::markdown_text;
///
/// assert_eq!(markdown_text("<img> for 5$"), r"&lt;img> for 5\$");
/// ```
#[must_use]
pub fn markdown_text(text: &str) -> String {
    text.replace('<', "&lt;").replace('$', "\\$")
}

/// All versions of one data set as one page of the data dictionary.
///
/// The tables are those of the first version; the others have the same ones.
#[must_use]
pub fn dictionary(family: &[&Trace]) -> String {
    let Some(first) = family.first() else {
        return String::new();
    };
    let mut page = format!("# {}\n\n", first.family);
    page.push_str("| trace | what it is | described by |\n|---|---|---|\n");
    for trace in family {
        let document = cell(&trace.document);
        page.push_str(&format!(
            "| `{}` | {} | {document} |\n",
            trace.name,
            cell(&trace.title)
        ));
    }
    page.push_str(&format!(
        "\nLicence: {}. Cite as: {}\n",
        markdown_text(&first.licence),
        markdown_text(&first.citation)
    ));
    page.push_str(
        "\nAll versions have the same columns in the lake. *No* in the column *null* means that an \
         empty field\nmakes a bad row; everywhere else an empty field is NULL.\n",
    );
    page.push_str(&commands(first));
    page.push_str(&origin(first));
    page.push_str(&anomalies(first));
    page.push_str(&samples(first));
    for table in first.all_tables() {
        page.push_str(&section(family, table));
    }
    page.push_str(&checks(first));
    page.push_str(&query_tables(first));
    page
}

/// The commands that make a lake of the trace, if anything of it can be fetched.
fn commands(trace: &Trace) -> String {
    let mut locations = trace.locations.iter();
    if locations.all(|location| location.not_fetched.is_some()) {
        return String::new();
    }
    let name = &trace.name;
    let mut text =
        format!("\n```sh\ntracelake fetch {name} download\ntracelake convert download lake\n```\n");
    let large = trace.tables.iter().filter(|table| table.parts > MOST_WHOLE);
    if let Some(table) = large.max_by_key(|table| table.parts) {
        let first = table.naming.first;
        let some = format!("--tables {} --parts {first}-{}", table.name, first + 9);
        text.push_str(&format!(
            "\nFor ten parts of one table:\n\n```sh\ntracelake fetch {name} download {some}\n\
             tracelake convert download lake {some}\n```\n"
        ));
    } else if let Some(cells) = &trace.cells {
        let cell = cells.names.first().map_or("", |name| name);
        text.push_str(&format!(
            "\nFor one cell: `tracelake fetch {name} download --cell {cell}`.\n"
        ));
    }
    text
}

/// The most parts of a table that people fetch all at once.
const MOST_WHOLE: u32 = 100;

/// The comparisons of `tracelake check`, and what is known.
fn checks(trace: &Trace) -> String {
    if trace.checks.is_empty() {
        return String::new();
    }
    let mut text = format!(
        "\n## Checks\n\n`tracelake check` makes them, and `tracelake schema {} --as checks` prints \
         their SQL.\n\n| check | promise | source | needs | known findings |\n|---|---|---|---|---|\n",
        trace.name
    );
    for check in trace.checks.iter() {
        let known = check
            .known
            .iter()
            .map(|one| format!("{}{}", one.doc, sentence(&limit(one))))
            .chain(
                check
                    .untried
                    .then(|| "Not tried on published rows.".to_owned()),
            );
        text.push_str(&format!(
            "| `{}` | {} | {} | {} | {} |\n",
            check.name,
            cell(&check.sentence),
            cell(&check.document),
            needs(&check.needs),
            cell(&known.collect::<Vec<_>>().join(" ")),
        ));
    }
    text
}

/// A remark such as `, up to 80` as a separate sentence.
fn sentence(remark: &str) -> String {
    match remark.strip_prefix(", up to ") {
        Some(limit) => format!(" More than {limit} are new."),
        None => String::new(),
    }
}

/// The tables that `tracelake derive` makes.
fn query_tables(trace: &Trace) -> String {
    let mut text = String::new();
    if !trace.query_tables.is_empty() {
        text.push_str("\n## Tables that `tracelake derive` makes\n");
    }
    for table in trace.query_tables.iter() {
        let with = table.with.as_ref().map_or_else(String::new, |with| {
            let tables = with.tables.join(", ");
            format!("; with a lake of {} (`--with`), its {tables}", with.family)
        });
        text.push_str(&format!(
            "\n### {}\n\n{} From {}{with}.\n\n| column | unit | meaning |\n|---|---|---|\n",
            table.name,
            markdown_text(&table.summary),
            needs(&table.needs)
        ));
        for column in &table.columns {
            text.push_str(&format!(
                "| `{}` | {} | {} |\n",
                column.name,
                cell(column.unit.as_deref().unwrap_or_default()),
                cell(&column.doc)
            ));
        }
    }
    text
}

/// Time 0, the size of the download, the URLs, and the published archives.
fn origin(trace: &Trace) -> String {
    let mut text = String::new();
    if let Some(time_zero) = &trace.time_zero {
        text.push_str(&format!("\nTime 0: {}\n", markdown_text(time_zero)));
    }
    if let Some(epoch) = trace.epoch {
        text.push_str(&format!(
            "\nTime 0 is {epoch} s after 1970-01-01 00:00:00 UTC.\n"
        ));
    }
    if let Some(download) = &trace.download {
        text.push_str(&format!("\nDownload: {}\n", markdown_text(download)));
    }
    if !trace.locations.is_empty() {
        text.push_str("\n| published at | files |\n|---|---|\n");
    }
    for location in &trace.locations {
        let why_not = location.not_fetched.as_ref();
        let why_not = &*why_not.map_or(String::new(), |why| format!(" Can't be fetched: {why}"));
        text.push_str(&format!(
            "| `{}` | {} |\n",
            location.url,
            cell(&[&*location.doc, why_not].concat())
        ));
    }
    if let Some(cells) = &trace.cells {
        text.push_str(&format!(
            "\nCells: {}. {} In a lake, `cell` is a partition above the file number. A directory or \
             bucket named `{}` names its cell; `--cell` names that of any other.\n",
            quoted(&cells.names),
            markdown_text(&cells.doc),
            cells.directory,
        ));
    }
    if trace.archives.is_empty() {
        return text;
    }
    text.push_str(
        "\n| archive | other names | table | size | SHA-256, from the publisher |\n\
         |---|---|---|---|---|\n",
    );
    for archive in &trace.archives {
        let Some((name, others)) = archive.names.split_first() else {
            continue;
        };
        let sha256 = archive.sha256.as_ref();
        text.push_str(&format!(
            "| `{name}` | {} | {} | {} | {} |\n",
            quoted(others),
            archive.table.as_deref().unwrap_or("all"),
            cell(&archive.size),
            sha256.map_or_else(|| "not stated".to_owned(), |digest| format!("`{digest}`")),
        ));
    }
    text
}

/// Names as code, separated by commas.
fn quoted(names: &[impl std::fmt::Display]) -> String {
    let quoted = names.iter().map(|name| format!("`{name}`"));
    quoted.collect::<Vec<_>>().join(", ")
}

/// Why mandatory columns are mandatory, the keys of a table, and its shards.
fn facts(table: &Table) -> String {
    let mut text = String::new();
    let mut add = |line: String| text.push_str(&format!("- {line}\n"));
    if let Some(reason) = &table.required {
        add(format!(
            "Columns that are never NULL: {}",
            markdown_text(reason)
        ));
    }
    if !table.entity.is_empty() {
        add(format!("A row is about: {}.", quoted(&table.entity)));
    }
    if !table.primary_key.is_empty() {
        add(format!("Primary key: {}.", quoted(&table.primary_key)));
    }
    for reference in &table.references {
        add(format!(
            "{} refers to {} of `{}`.",
            quoted(&reference.columns),
            quoted(&reference.to),
            reference.table
        ));
    }
    for line in super::shards(table) {
        add(markdown_text(&line));
    }
    if !text.is_empty() {
        text.push('\n');
    }
    text
}

/// The section on what is odd or wrong in the published data as a whole; empty if nothing is known.
#[must_use]
pub fn anomalies(trace: &Trace) -> String {
    if trace.anomalies.is_empty() {
        return String::new();
    }
    let texts = trace.anomalies.iter().map(|text| markdown_text(text));
    let items = texts.map(|text| format!("- {text}\n"));
    format!("\n## Known anomalies\n\n{}", items.collect::<String>())
}

/// The section on samples: the keys of the tables, and how other engines draw the sample of `convert --sample`.
fn samples(trace: &Trace) -> String {
    let Some(column) = trace.sample_keys.iter().flat_map(|key| &key.columns).next() else {
        return String::new();
    };
    let mut text = "\n## Samples\n\n`convert --sample I/N` keeps the rows whose key is in class I of N, and \
                    `--sample-by` names another key than a table's own one.\nTables without the key stay whole.\n\n\
                    | key | columns | the key of |\n|---|---|---|\n"
        .to_owned();
    for key in trace.sample_keys.iter() {
        let columns: Vec<String> = key
            .columns
            .iter()
            .map(|column| format!("`{}.{}`", column.table, column.column))
            .collect();
        let defaults = key.columns.iter().filter(|column| column.is_default);
        let own: Vec<&str> = defaults.map(|column| &*column.table).collect();
        text.push_str(&format!(
            "| `{}` | {} | {} |\n",
            key.name,
            columns.join(", "),
            own.join(", ")
        ));
    }
    let name = &column.column;
    text + &format!(
        "\nThe class is the first 8 hexadecimal digits of the MD5 of the key's text, modulo N. Class 0 of 16 of `{}`:\n\n\
         - DuckDB: `{}`\n- Spark: `{}`\n- Python, for a key: `{}`\n- Polars, for a DataFrame `frame`: `{}`\n",
        column.table,
        sample::duckdb(name, 0, 16),
        sample::spark(name, 0, 16),
        sample::python("key", 0, 16),
        sample::polars("frame", name, 0, 16)
    )
}

/// One table of a trace: its columns with types, units, codes, special values and meanings.
#[must_use]
pub fn table_section(trace: &Trace, table: &Table) -> String {
    section(&[trace], table)
}

fn sources(trace: &Trace) -> String {
    format!(
        "Described by: {}. Licence: {}. Cite as: {}\n",
        markdown_text(&trace.document),
        markdown_text(&trace.licence),
        markdown_text(&trace.citation)
    )
}

/// One table, with a note on each column that a version in `family` lacks.
fn section(family: &[&Trace], table: &Table) -> String {
    let mut text = format!(
        "\n## {}\n\n{} Published in {}.\n\n{}\n\n",
        table.name,
        markdown_text(&table.summary),
        markdown_text(&extent(table)),
        markdown_text(&published(table))
    );
    text.push_str(&format!(
        "Schema fingerprint: `{}`.\n\n",
        fingerprint(&arrow_schema(table))
    ));
    text.push_str(&facts(table));
    text.push_str("| column | published as | type | null | unit | obfuscation | meaning |\n");
    text.push_str("|---|---|---|---|---|---|---|\n");
    for (index, column) in table.columns.iter().enumerate() {
        let mut meaning = cell(&column.doc);
        for trace in family {
            let absent = trace
                .table(&table.name)
                .is_some_and(|t| field_number(t, index).is_none());
            if absent {
                meaning.push_str(&format!(" *Not in the files of `{}`.*", trace.name));
            }
        }
        row(&mut text, &column.name, column, &meaning);
        for (path, nested) in with_nested(column).iter().skip(1) {
            row(&mut text, path, nested, &cell(&nested.doc));
        }
    }
    for (path, column) in table.columns.iter().flat_map(|column| with_nested(column)) {
        for (sort, values) in named_values(column) {
            let sort = if sort == "Codes" { "Values" } else { sort };
            text.push_str(&format!("\n{sort} of `{path}`:\n\n"));
            for (value, name, doc) in values {
                text.push_str(&format!("- {value} `{name}`: {}\n", markdown_text(doc)));
            }
        }
        if !column.invalid.is_empty() {
            text.push_str(&format!(
                "\nValues of `{path}` that are not valid: {}.\n",
                invalid(column)
            ));
        }
    }
    text
}

fn row(text: &mut String, path: &str, column: &Column, meaning: &str) {
    text.push_str(&format!(
        "| `{path}` | {} | {} | {} | {} | {} | {meaning} |\n",
        cell(&column.content),
        type_name(&data_type(column)),
        if column.mandatory { "no" } else { "yes" },
        cell(column.unit.as_deref().unwrap_or_default()),
        column.obfuscation.name(),
    ));
}

/// Escapes also the bars in a text, which would end a cell of a Markdown table.
fn cell(text: &str) -> String {
    markdown_text(text).replace('|', "\\|")
}

#[cfg(test)]
mod tests;
