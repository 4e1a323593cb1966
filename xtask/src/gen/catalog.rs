//! The catalog as Rust source, laid out as rustfmt would.

use std::fmt::Debug;

use tracelake_schema::{
    Archive, CellShards, Cells, Check, Code, Column, Figure, Known, Need, Published, QueryTable,
    Range, Reference, Sentinel, Table, Trace,
};

use super::family::Family;

/// Nothing is wider, except for what cannot be broken: strings.
const WIDTH: usize = 100;
/// rustfmt puts an array on one line up to this width.
const ARRAY_WIDTH: usize = 60;

/// The whole of `catalog.rs`.
pub(crate) fn source(families: &[Family]) -> String {
    let traces = families.iter().flat_map(|family| {
        let module = module(family.name);
        family
            .traces
            .iter()
            .map(move |trace| format!("{module}::{}", constant(trace.name)))
    });
    let traces = array(
        "pub const TRACES: &[Trace] = ",
        0,
        &traces.collect::<Vec<_>>(),
    );
    let mut source = format!(
        "// Generated from schemas/*.toml by `cargo xtask gen`; do not edit.\n\
         //! Every trace that is known, as constant data.\n\n\
         use crate::cells::Cells;\nuse crate::model::*;\n\n\
         /// Every trace that is known, family by family, the current version of each first.\n\
         {traces};\n"
    );
    for family in families {
        source.push_str(&format!(
            "\n/// From `schemas/{}.toml`.\nmod {} {{\n    use super::*;\n",
            family.name,
            module(family.name)
        ));
        for item in items(family) {
            source.push_str(&format!("\n    {item};\n"));
        }
        source.push_str("}\n");
    }
    source
}

/// The constants of a family; each uses only those before it.
fn items(family: &Family) -> Vec<String> {
    let mut items = Vec::new();
    for (name, list) in &family.codes {
        let codes: Vec<String> = list.iter().map(|one| code(one, 2)).collect();
        items.push(array(
            &format!("const CODES_{}: &[Code] = ", constant(name)),
            1,
            &codes,
        ));
    }
    for (name, list) in &family.sentinels {
        let sentinels: Vec<String> = list.iter().map(|one| sentinel(one, 2)).collect();
        let start = format!("const SENTINELS_{}: &[Sentinel] = ", constant(name));
        items.push(array(&start, 1, &sentinels));
    }
    for (name, list) in &family.ranges {
        let ranges: Vec<String> = list.iter().map(|one| range(one, 2)).collect();
        let start = format!("const RANGES_{}: &[Range] = ", constant(name));
        items.push(array(&start, 1, &ranges));
    }
    for table in family.traces[0].all_tables() {
        let columns: Vec<String> = table
            .columns
            .iter()
            .map(|one| column(family, one, 2))
            .collect();
        items.push(array(
            &format!("const {}: &[Column] = ", columns_of(table)),
            1,
            &columns,
        ));
    }
    // Every version has the same queries.
    let first = &family.traces[0];
    let checks: Vec<String> = first.checks.iter().map(|one| check(one, 2)).collect();
    items.push(array("const CHECKS: &[Check] = ", 1, &checks));
    let figures: Vec<String> = first.figures.iter().map(|one| figure(one, 2)).collect();
    items.push(array("const FIGURES: &[Figure] = ", 1, &figures));
    let tables = first.query_tables.iter();
    let tables: Vec<String> = tables.map(|one| query_table(one, 2)).collect();
    items.push(array("const QUERY_TABLES: &[QueryTable] = ", 1, &tables));
    for one in &family.traces {
        items.push(format!(
            "pub(super) const {}: Trace = {}",
            constant(one.name),
            trace(one, 1)
        ));
    }
    items
}

fn trace(trace: &Trace, depth: usize) -> String {
    let tables: Vec<String> = trace
        .tables
        .iter()
        .map(|one| table(one, depth + 2))
        .collect();
    let tables = array("", depth + 1, &tables);
    let derived: Vec<String> = trace
        .derived
        .iter()
        .map(|one| {
            let fields = [
                ("rule", format!("Rule::{:?}", one.rule)),
                ("from", literal(one.from)),
                ("table", table(&one.table, depth + 3)),
            ];
            structure("Derived", depth + 2, &fields)
        })
        .collect();
    let archives = trace.archives.iter();
    let archives: Vec<String> = archives.map(|one| archive(one, depth + 2)).collect();
    let locations = trace.locations.iter().map(|one| {
        let fields = [("url", literal(one.url)), ("doc", literal(one.doc))];
        structure("PublishedAt", depth + 2, &fields)
    });
    let locations: Vec<String> = locations.collect();
    let fields = [
        ("name", literal(trace.name)),
        ("family", literal(trace.family)),
        ("title", literal(trace.title)),
        ("document", literal(trace.document)),
        ("revision", trace.revision.to_string()),
        ("licence", literal(trace.licence)),
        ("citation", literal(trace.citation)),
        ("archives", array("", depth + 1, &archives)),
        ("cells", cells(trace.cells, depth + 1)),
        ("locations", array("", depth + 1, &locations)),
        ("download", literal(trace.download)),
        ("creators", strings(trace.creators, depth + 1)),
        ("url", literal(trace.url)),
        ("published", literal(trace.published)),
        ("epoch", literal(trace.epoch)),
        ("anomalies", strings(trace.anomalies, depth + 1)),
        ("tables", tables),
        ("derived", array("", depth + 1, &derived)),
        ("checks", "CHECKS".to_owned()),
        ("figures", "FIGURES".to_owned()),
        ("query_tables", "QUERY_TABLES".to_owned()),
    ];
    structure("Trace", depth, &fields)
}

fn check(check: &Check, depth: usize) -> String {
    let known = check.known.iter();
    let known: Vec<String> = known.map(|one| self::known(one, depth + 2)).collect();
    let fields = [
        ("name", literal(check.name)),
        ("sentence", literal(check.sentence)),
        ("document", literal(check.document)),
        ("needs", needs(check.needs, depth + 1)),
        ("by_part", literal(check.by_part)),
        ("sql", literal(check.sql)),
        ("known", array("", depth + 1, &known)),
    ];
    structure("Check", depth, &fields)
}

fn known(known: &Known, depth: usize) -> String {
    let fields = [
        ("when", literal(known.when)),
        ("at_most", literal(known.at_most)),
        ("at_most_percent", literal(known.at_most_percent)),
        ("doc", literal(known.doc)),
    ];
    structure("Known", depth, &fields)
}

fn needs(list: &[Need], depth: usize) -> String {
    let needs = list.iter().map(|need| {
        let fields = [
            ("table", literal(need.table)),
            ("parts", format!("NeededParts::{:?}", need.parts)),
        ];
        structure("Need", depth + 1, &fields)
    });
    array("", depth, &needs.collect::<Vec<_>>())
}

fn figure(figure: &Figure, depth: usize) -> String {
    let fields = [
        ("name", literal(figure.name)),
        ("title", literal(figure.title)),
        ("caption", literal(figure.caption)),
        ("needs", needs(figure.needs, depth + 1)),
        ("plot", format!("Plot::{:?}", figure.plot)),
        ("x", literal(figure.x)),
        ("y", literal(figure.y)),
        ("sql", literal(figure.sql)),
    ];
    structure("Figure", depth, &fields)
}

fn query_table(table: &QueryTable, depth: usize) -> String {
    let columns = table.columns.iter().map(|one| {
        let fields = [
            ("name", literal(one.name)),
            ("unit", literal(one.unit)),
            ("doc", literal(one.doc)),
        ];
        structure("QueryColumn", depth + 2, &fields)
    });
    let columns: Vec<String> = columns.collect();
    let fields = [
        ("name", literal(table.name)),
        ("summary", literal(table.summary)),
        ("needs", needs(table.needs, depth + 1)),
        ("columns", array("", depth + 1, &columns)),
        ("sql", literal(table.sql)),
    ];
    structure("QueryTable", depth, &fields)
}

fn archive(archive: &Archive, depth: usize) -> String {
    let fields = [
        ("table", literal(archive.table)),
        ("names", strings(archive.names, depth + 1)),
        ("sha256", literal(archive.sha256)),
        ("size", literal(archive.size)),
    ];
    structure("Archive", depth, &fields)
}

fn strings(list: &[&str], depth: usize) -> String {
    let items: Vec<String> = list.iter().map(literal).collect();
    array("", depth, &items)
}

fn table(table: &Table, depth: usize) -> String {
    let fields: Vec<String> = table.fields.iter().map(usize::to_string).collect();
    let shards = table.shards.iter();
    let shards: Vec<String> = shards.map(|one| cell_shards(one, depth + 2)).collect();
    let references = table.references.iter();
    let references: Vec<String> = references.map(|one| reference(one, depth + 2)).collect();
    let fields = [
        ("name", literal(table.name)),
        ("summary", literal(table.summary)),
        ("columns", columns_of(table)),
        ("fields", array("", depth + 1, &fields)),
        ("files", format!("Files::{:?}", table.files)),
        ("syntax", format!("Syntax::{:?}", table.syntax)),
        ("parts", table.parts.to_string()),
        ("published", published(table.published, depth + 1)),
        ("shards", array("", depth + 1, &shards)),
        ("required", literal(table.required)),
        ("entity", strings(table.entity, depth + 1)),
        ("primary_key", strings(table.primary_key, depth + 1)),
        ("references", array("", depth + 1, &references)),
        ("time", format!("{:?}", table.time)),
        ("synthetic", literal(table.synthetic)),
    ];
    structure("Table", depth, &fields)
}

fn cells(cells: Option<Cells>, depth: usize) -> String {
    let Some(one) = cells else {
        return "None".to_owned();
    };
    let fields = [
        ("names", strings(one.names, depth + 1)),
        ("directory", literal(one.directory)),
        ("doc", literal(one.doc)),
    ];
    format!("Some({})", structure("Cells", depth, &fields))
}

fn cell_shards(shards: &CellShards, depth: usize) -> String {
    let fields = [
        ("cell", literal(shards.cell)),
        ("count", literal(shards.count)),
        ("rows", published(shards.rows, depth + 1)),
    ];
    structure("CellShards", depth, &fields)
}

fn reference(reference: &Reference, depth: usize) -> String {
    let fields = [
        ("columns", strings(reference.columns, depth + 1)),
        ("table", literal(reference.table)),
        ("to", strings(reference.to, depth + 1)),
    ];
    structure("Reference", depth, &fields)
}

fn published(published: Option<Published>, depth: usize) -> String {
    let Some(one) = published else {
        return "None".to_owned();
    };
    let fields = [
        ("rows", literal(one.rows)),
        ("confidence", format!("Confidence::{:?}", one.confidence)),
        ("source", literal(one.source)),
    ];
    format!("Some({})", structure("Published", depth, &fields))
}

fn column(family: &Family, column: &Column, depth: usize) -> String {
    let codes = family
        .codes
        .iter()
        .find(|(_, list)| std::ptr::eq(**list, column.codes));
    let sentinels = family
        .sentinels
        .iter()
        .find(|(_, list)| std::ptr::eq(**list, column.sentinels));
    let ranges = family
        .ranges
        .iter()
        .find(|(_, list)| std::ptr::eq(**list, column.ranges));
    let list = |kind: &str, name: Option<&String>| match name {
        Some(name) => format!("{kind}_{}", constant(name)),
        None => "&[]".to_owned(),
    };
    let invalid: Vec<String> = column.invalid.iter().map(i64::to_string).collect();
    let nested: Vec<String> = column
        .fields
        .iter()
        .map(|field| self::column(family, field, depth + 2))
        .collect();
    let fields = [
        ("name", literal(column.name)),
        ("content", literal(column.content)),
        ("kind", format!("Kind::{:?}", column.kind)),
        ("format", literal(column.format)),
        ("mandatory", literal(column.mandatory)),
        ("unit", literal(column.unit)),
        ("fields", array("", depth + 1, &nested)),
        (
            "obfuscation",
            format!("Obfuscation::{:?}", column.obfuscation),
        ),
        ("codes", list("CODES", codes.map(|(name, _)| name))),
        (
            "sentinels",
            list("SENTINELS", sentinels.map(|(name, _)| name)),
        ),
        ("ranges", list("RANGES", ranges.map(|(name, _)| name))),
        ("invalid", array("", depth + 1, &invalid)),
        ("doc", literal(column.doc)),
        ("synthetic", literal(column.synthetic)),
        ("empty", literal(column.empty)),
    ];
    structure("Column", depth, &fields)
}

fn code(code: &Code, depth: usize) -> String {
    let fields = [
        ("value", literal(code.value)),
        ("name", literal(code.name)),
        ("doc", literal(code.doc)),
    ];
    structure("Code", depth, &fields)
}

fn sentinel(sentinel: &Sentinel, depth: usize) -> String {
    let fields = [
        ("value", literal(sentinel.value)),
        ("name", literal(sentinel.name)),
        ("also", literal(sentinel.also)),
        ("doc", literal(sentinel.doc)),
    ];
    structure("Sentinel", depth, &fields)
}

fn range(range: &Range, depth: usize) -> String {
    let fields = [
        ("from", literal(range.from)),
        ("to", literal(range.to)),
        ("name", literal(range.name)),
        ("doc", literal(range.doc)),
    ];
    structure("Range", depth, &fields)
}

/// `Debug` prints numbers, booleans, strings and options as Rust literals.
fn literal(value: impl Debug) -> String {
    format!("{value:?}")
}

fn structure(name: &str, depth: usize, fields: &[(&str, String)]) -> String {
    let mut text = format!("{name} {{\n");
    for (field, value) in fields {
        let start = indent(depth + 1);
        let line = format!("{start}{field}: {value},\n");
        let optional = value
            .strip_prefix("Some(")
            .and_then(|rest| rest.strip_suffix(')'));
        match optional.filter(|inner| inner.starts_with('"')) {
            Some(inner) if line.chars().count() > WIDTH + 1 => text.push_str(&format!(
                "{start}{field}: Some(\n{}{inner},\n{start}),\n",
                indent(depth + 2)
            )),
            _ => text.push_str(&line),
        }
    }
    text.push_str(&format!("{}}}", indent(depth)));
    text
}

/// `start` and an array that ends at `depth`: on one line where it fits, short items side by side,
/// a lone structure hugged by its brackets, else one item a line.
fn array(start: &str, depth: usize, items: &[String]) -> String {
    let line = items.join(", ");
    if line.len() <= ARRAY_WIDTH && !line.contains('\n') {
        return format!("{start}&[{line}]");
    }
    if let [item] = items {
        let inner = format!("\n{}", indent(1));
        return format!("{start}&[{}]", item.replace(&inner, "\n"));
    }
    let short = items.iter().all(|item| item.len() <= 10);
    let mut text = format!("{start}&[");
    let mut width = WIDTH;
    for item in items {
        if short && width + item.len() + 2 <= WIDTH {
            text.push(' ');
            width += 1;
        } else {
            text.push_str(&format!("\n{}", indent(depth + 1)));
            width = indent(depth + 1).len();
        }
        text.push_str(&format!("{item},"));
        width += item.len() + 1;
    }
    text.push_str(&format!("\n{}]", indent(depth)));
    text
}

fn indent(depth: usize) -> String {
    "    ".repeat(depth)
}

fn columns_of(table: &Table) -> String {
    format!("COLUMNS_{}", constant(table.name))
}

fn module(name: &str) -> String {
    constant(name).to_lowercase()
}

fn constant(name: &str) -> String {
    name.replace(|letter: char| !letter.is_ascii_alphanumeric(), "_")
        .to_uppercase()
}
