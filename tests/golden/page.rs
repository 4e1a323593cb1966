//! A page of facts: TOML with one line for each column, so that a review sees what changed.

use std::fmt::Write;

use toml::{Table, Value};

use crate::golden::facts::{Fact, Facts, Place};

/// The table in a part's that holds its columns.
const COLUMNS: &str = "columns";

/// The page of a lake.
pub(crate) fn write(source: &str, facts: &Facts) -> String {
    let mut page = format!(
        "# The lake that tracelake makes of this source, read back from its files:\n\
         # {source}\n\
         # Made by `cargo xtask golden --update`; look at every line that changes.\n"
    );
    for group in facts.chunk_by(|a, b| a.place == b.place) {
        let Some(Fact { place, .. }) = group.first() else {
            continue;
        };
        let pairs = group
            .iter()
            .map(|fact| format!("{} = {}", key(&fact.name), value(&fact.value)));
        let pairs: Vec<String> = pairs.collect();
        if !place.column.is_empty() {
            writeln!(
                page,
                "{COLUMNS}.{} = {{ {} }}",
                key(&place.column),
                pairs.join(", ")
            )
            .unwrap();
            continue;
        }
        let mut header = key(&place.table);
        if !place.part.is_empty() {
            write!(header, ".{}", key(&place.part)).unwrap();
        }
        writeln!(page, "\n[{header}]\n{}", pairs.join("\n")).unwrap();
    }
    page
}

/// Reads a page; its order is that of the names.
pub(crate) fn read(page: &str) -> Facts {
    let page: Table = toml::from_str(page).unwrap();
    let mut facts = Facts::new();
    for (table, parts) in page {
        let place = Place {
            table,
            ..Place::default()
        };
        for (part, entries) in level(&mut facts, &place, parts) {
            let place = Place {
                part,
                ..place.clone()
            };
            for (_, columns) in level(&mut facts, &place, entries) {
                let Value::Table(columns) = columns else {
                    panic!("{place}: {columns:?} is no table of columns");
                };
                for (column, entries) in columns {
                    let place = Place {
                        column,
                        ..place.clone()
                    };
                    assert!(level(&mut facts, &place, entries).is_empty(), "{place}");
                }
            }
        }
    }
    facts
}

/// Adds the facts that stand at one place and returns what stands below it.
fn level(facts: &mut Facts, place: &Place, entries: Value) -> Table {
    let Value::Table(entries) = entries else {
        panic!("{place}: {entries:?} is no table");
    };
    let mut below = Table::new();
    for (name, value) in entries {
        let value = match value {
            Value::String(text) => text,
            Value::Integer(number) => number.to_string(),
            other => {
                below.insert(name, other);
                continue;
            }
        };
        let place = place.clone();
        facts.push(Fact { place, name, value });
    }
    below
}

/// A key, in quotes where it needs them.
fn key(name: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    match !name.is_empty() && name.bytes().all(plain) {
        true => name.to_owned(),
        false => quoted(name),
    }
}

/// A value, without quotes where TOML reads the same from it.
fn value(text: &str) -> String {
    match text.parse::<i64>() {
        Ok(number) if number.to_string() == text => text.to_owned(),
        _ => quoted(text),
    }
}

/// A text in quotes: what JSON escapes, TOML reads.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::golden::facts::differences;

    fn fact(place: [&str; 3], name: &str, value: &str) -> Fact {
        let [table, part, column] = place.map(str::to_owned);
        let place = Place {
            table,
            part,
            column,
        };
        let (name, value) = (name.to_owned(), value.to_owned());
        Fact { place, name, value }
    }

    fn facts() -> Facts {
        vec![
            fact(["_lake", "a file.json", ""], "sha256", "00"),
            fact(["days", "", ""], "schema", "0x1"),
            fact(["days", "part-0", ""], "rows", "12"),
            // A column may have any name.
            fact(["days", "part-0", "rows"], "min", "007"),
            fact(
                ["days", "part-0", "rows"],
                "sum",
                "170141183460469231731687303715884105727",
            ),
            fact(["days", "part-0", "a.b"], "max", "\"quoted\"\n\\ ä\u{1}"),
            fact(["days", "part-0", "a.b"], "min", "-0.5"),
        ]
    }

    #[test]
    fn a_page_is_read_as_it_was_written() {
        let page = write("somewhere", &facts());
        assert!(
            page.contains("\ncolumns.rows = { min = \"007\", sum = \"1701"),
            "{page}"
        );
        assert!(page.contains("\n[days.part-0]\nrows = 12\n"), "{page}");
        assert!(differences(&read(&page), &facts()).is_empty(), "{page}");
        assert_eq!(read(&page).len(), facts().len());
        assert!(read("").is_empty());
    }

    #[test]
    fn differences_are_named() {
        let (before, mut now) = (facts(), facts());
        now[2].value = "13".to_owned();
        let gone = now.remove(3);
        now.push(fact(["days", "part-1", ""], "rows", "1"));
        let lines = differences(&before, &now);
        let expected = [
            "  days, part-0: rows was \"12\", is \"13\"\n",
            "  days, part-1: rows is new: \"1\"\n",
            &format!("  {}: min was \"007\", is gone\n", gone.place),
        ];
        assert_eq!(lines, expected);
    }
}
