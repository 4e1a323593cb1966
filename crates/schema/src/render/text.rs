//! Descriptions for a terminal.

use super::{
    chosen_tables, extent, field_number, invalid, named_values, published, shards, with_nested,
};
use crate::arrow::{data_type, type_name};
use crate::{Kind, TRACES, Table, Trace};

/// The width of lines that people read with ease.
pub const WIDTH: usize = 100;

/// Every known trace with its tables, in lines of at most `width` letters where words allow it.
///
/// # Example
///
/// ```
/// use tracelake_schema::{TRACES, render};
///
/// assert!(render::overview(render::WIDTH).contains(&TRACES[0].title));
/// ```
#[must_use]
pub fn overview(width: usize) -> String {
    let mut text = String::new();
    for trace in TRACES {
        if !text.is_empty() {
            text.push('\n');
        }
        text.push_str(&wrap(width, &format!("{}  ", trace.name), &trace.title));
        for table in trace.all_tables() {
            let longest = trace
                .tables
                .iter()
                .map(|table| table.name.len())
                .max()
                .unwrap_or(0);
            text.push_str(&wrap(
                width,
                &format!("  {:longest$}  ", table.name),
                &table.summary,
            ));
        }
    }
    text
}

/// A trace with a list of the columns of each table, or one table with all its details, in lines of at most `width`
/// letters where words allow it.
///
/// # Example
///
/// ```
/// use tracelake_schema::{TRACES, render};
///
/// let trace = &TRACES[0];
/// assert!(render::text(trace, None, render::WIDTH).contains(&trace.tables[0].name));
/// ```
#[must_use]
pub fn text(trace: &Trace, table: Option<&Table>, width: usize) -> String {
    let mut text = wrap(width, &format!("{}  ", trace.name), &trace.title);
    text.push_str(&wrap(width, "described by  ", &trace.document));
    text.push_str(&wrap(width, "licence       ", &trace.licence));
    text.push_str(&wrap(width, "cite as       ", &trace.citation));
    if let Some(time_zero) = &trace.time_zero {
        text.push_str(&wrap(width, "time 0        ", time_zero));
    }
    for location in &trace.locations {
        let place = format!("{}  {}", location.url, location.doc);
        text.push_str(&wrap(width, "published at  ", &place));
    }
    if let Some(cells) = &trace.cells {
        let names = cells.names.join(", ");
        let directory = cells.directory_of(cells.names.first().map_or("", |name| name));
        let place = format!("{names}; a directory such as {directory} names its cell, or --cell");
        text.push_str(&wrap(width, "cells         ", &place));
    }
    for one in chosen_tables(trace, table) {
        text.push_str(&format!("\n{}  ({})\n", one.name, extent(one)));
        text.push_str(&wrap(width, "  ", &one.summary));
        text.push_str(&wrap(width, "  ", &published(one)));
        for line in shards(one) {
            text.push_str(&wrap(width, "  ", &line));
        }
        if let Some(reason) = &one.required {
            text.push_str(&wrap(
                width,
                "  ",
                &format!("Columns that are never NULL: {reason}"),
            ));
        }
        if !one.entity.is_empty() {
            let entity = one.entity.join(", ");
            text.push_str(&wrap(width, "  ", &format!("A row is about: {entity}.")));
        }
        if !one.primary_key.is_empty() {
            let key = one.primary_key.join(", ");
            text.push_str(&wrap(width, "  ", &format!("Primary key: {key}.")));
        }
        for to in &one.references {
            let (columns, others) = (to.columns.join(", "), to.to.join(", "));
            let sentence = format!("{columns} refers to {others} of {}.", to.table);
            text.push_str(&wrap(width, "  ", &sentence));
        }
        text.push('\n');
        text.push_str(&if table.is_some() {
            details(one, width)
        } else {
            list(one, width)
        });
    }
    text
}

/// One line per column: name, type, whether it can be NULL, unit.
fn list(table: &Table, width: usize) -> String {
    let longest = table
        .columns
        .iter()
        .map(|column| column.name.len())
        .max()
        .unwrap_or(0);
    let mut text = format!("  {:longest$}  type     null  unit\n", "column");
    for (index, column) in table.columns.iter().enumerate() {
        let null = match (column.mandatory, field_number(table, index)) {
            (true, _) => "no",
            (false, Some(_)) => "yes",
            (false, None) => "all",
        };
        let kind = data_type(column);
        let kind = match column.kind {
            Kind::Struct => "Struct".to_owned(),
            Kind::List => "List".to_owned(),
            _ => kind.to_string(),
        };
        let start = format!("  {:longest$}  {kind:7}  {null:4}  ", column.name);
        text.push_str(&wrap(
            width,
            &start,
            column.unit.as_deref().unwrap_or_default(),
        ));
    }
    if table.fields.len() < table.columns.len() {
        text.push_str("  (all: the files of this trace lack the column)\n");
    }
    text
}

/// A paragraph per column.
fn details(table: &Table, width: usize) -> String {
    let columns = table.columns.iter().enumerate();
    let nested = columns.flat_map(|(index, column)| {
        let nested = with_nested(column).into_iter().enumerate();
        nested.map(move |(depth, (path, column))| (index, depth > 0, path, column))
    });
    let paragraphs = nested.map(|(index, is_nested, path, column)| {
        let null = if column.mandatory {
            "never NULL"
        } else {
            "can be NULL"
        };
        let kind = type_name(&data_type(column));
        let mut text = wrap(width, &format!("  {path}  "), &format!("{kind}, {null}"));
        let run = table.columns[index].spelling.run.as_ref();
        let place = match field_number(table, index) {
            Some(_) if is_nested && run.is_some() => "a field each".to_owned(),
            Some(number) if let Some(run) = run => {
                let last = run.count() - 1;
                let names = [0, last].map(|item| format!("\"{}\"", run.name(item)));
                let names = names.join(" to ");
                format!(
                    "fields {number} to {}, published as {names}",
                    number + last as usize
                )
            }
            Some(_) if is_nested => format!("published as \"{}\"", column.content),
            Some(number) => format!("field {number}, published as \"{}\"", column.content),
            None => "not in the files of this trace, so always NULL".into(),
        };
        let values = column.obfuscation.name();
        text.push_str(&wrap(
            width,
            "    ",
            &format!("{place}; values are {values}"),
        ));
        if let Some(unit) = &column.unit {
            text.push_str(&wrap(width, "    ", &format!("in {unit}")));
        }
        text.push_str(&wrap(width, "    ", &column.doc));
        for (sort, values) in named_values(column) {
            let digits = if sort == "Codes" { 2 } else { 0 };
            for (value, name, doc) in values {
                let start = format!("      {value:>digits$} {name}  ");
                text.push_str(&wrap(width, &start, doc));
            }
        }
        if !column.invalid.is_empty() {
            text.push_str(&format!("      invalid: {}\n", invalid(column)));
        }
        text
    });
    paragraphs.collect::<Vec<_>>().join("\n")
}

/// `start` followed by a text, wrapped between words and indented to where the text begins, or less if that leaves too
/// little room.
fn wrap(most: usize, start: &str, text: &str) -> String {
    let mut width = start.chars().count();
    let indent = width.min(most / 2);
    let mut wrapped = String::from(start);
    let mut is_first = true;
    for word in text.split_whitespace() {
        let letters = word.chars().count();
        if !is_first && width + 1 + letters > most {
            wrapped.push('\n');
            wrapped.push_str(&" ".repeat(indent));
            width = indent;
        } else if !is_first {
            wrapped.push(' ');
            width += 1;
        }
        is_first = false;
        wrapped.push_str(word);
        width += letters;
    }
    wrapped.truncate(wrapped.trim_end().len());
    wrapped.push('\n');
    wrapped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_line_is_too_wide_and_none_ends_with_a_space() {
        let mut texts = vec![overview(WIDTH)];
        for trace in TRACES {
            texts.push(text(trace, None, WIDTH));
            texts.extend(
                trace
                    .tables
                    .iter()
                    .map(|table| text(trace, Some(table), WIDTH)),
            );
        }
        for line in texts.iter().flat_map(|text| text.lines()) {
            // A URL can't be broken.
            let fits = line.chars().count() <= WIDTH || line.contains("://");
            assert!(fits && !line.ends_with(' '), "{line:?}");
        }
    }

    #[test]
    fn the_overview_names_every_trace_and_table() {
        let overview = overview(WIDTH);
        for trace in TRACES {
            assert!(overview.contains(&trace.name));
            assert!(
                trace
                    .tables
                    .iter()
                    .all(|table| overview.contains(&*table.name))
            );
        }
    }

    #[test]
    fn words_are_broken_below_the_text() {
        let word = "x".repeat(60);
        assert_eq!(
            wrap(WIDTH, "a  ", &format!("{word} {word}")),
            format!("a  {word}\n   {word}\n")
        );
        assert_eq!(wrap(WIDTH, "a  ", ""), "a\n");
    }

    #[test]
    fn lines_are_as_narrow_as_the_terminal() {
        let is_wide = |line: &&str| line.chars().count() > 60;
        let (narrow, wide) = (overview(60), overview(WIDTH));
        // A word that is too long for the rest of a line gets a line to itself.
        let mut too_wide = narrow.lines().filter(is_wide);
        assert!(too_wide.all(|line| line.split_whitespace().count() == 1));
        assert!(wide.lines().any(|line| is_wide(&line)));
        let start = "a name that takes most of the line ";
        assert_eq!(
            wrap(40, start, "word another"),
            format!("{start}word\n{}another\n", " ".repeat(20))
        );
    }
}
