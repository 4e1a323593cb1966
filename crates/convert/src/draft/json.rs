//! Drafts JSON: an object a line, or an array of objects.

use serde_json::value::RawValue;
use tracelake_core::error::{Result, escape};
use tracelake_encode::json::{members, split_array};
use tracelake_encode::syntax::ArrayPlace;
use tracelake_schema::Csv;
use tracelake_schema::description::{MOST_COLUMNS, MOST_DEPTH, is_printable};

use super::csv::{BadLines, described, from, lines, notes};
use super::description::{self, Table, misfit};
use super::form::{self, BYTE_ORDER_MARK};
use super::kind::Guess;
use super::quoted::BadRecords;
use crate::fit::is_json_array;

/// The longest name that a note shows.
const SHOWN: usize = 80;

/// Whether a text begins like an array of objects.
pub(super) fn is_array(text: &[u8]) -> bool {
    let mark = BYTE_ORDER_MARK.to_string();
    is_json_array(text.strip_prefix(mark.as_bytes()).unwrap_or(text))
}

/// Whether a text begins like an object: with a brace, and then a name or nothing more in its line. A field of CSV may
/// begin with a brace, too.
pub(super) fn is_object(text: &str) -> bool {
    let text = text.trim_start_matches(BYTE_ORDER_MARK).trim_start();
    let inside = text
        .strip_prefix('{')
        .map(|inside| inside.trim_start_matches([' ', '\t', '\r']));
    inside.is_some_and(|inside| inside.is_empty() || inside.starts_with(['"', '}', '\n']))
}

/// The table of a text of JSON.
pub(super) fn table(text: &str, has_more: bool) -> Result<Table> {
    let without_mark = text.strip_prefix(BYTE_ORDER_MARK);
    let is_array = is_array(text.as_bytes());
    let mut bad = BadRecords::default();
    let whole = without_mark.unwrap_or(text);
    let (rows, bad_lines) = match is_array {
        true => (elements(whole, has_more)?, Vec::new()),
        false => {
            let mut bad_lines = BadLines::default();
            // A blank last line is no row.
            let whole = whole.strip_suffix("\n\n").unwrap_or(whole);
            let rows = lines(whole, &mut bad_lines);
            (rows, bad_lines.explain(&Csv::PLAIN))
        }
    };
    let mut row = Values::default();
    let mut count = 0;
    for (line, text) in &rows {
        match members(text) {
            Ok(members) => {
                count += 1;
                row.add_members(members, *line, 0, &mut bad)?;
            }
            Err(_) if count == 0 && !is_array => {
                let hint = "write one object a line, as jq -c does";
                let reason = "is no object of JSON a line, and no array of objects";
                return Err(misfit(reason, hint).line(*line as u64, None));
            }
            Err(_) => bad.add(*line, "is no object of JSON"),
        }
    }
    if row.count() > MOST_COLUMNS {
        let reason =
            format!("has more than {MOST_COLUMNS} names, and a table has at most as many columns");
        return Err(misfit(&reason, "write the description by hand"));
    }
    let mut left_out = Vec::new();
    let columns = row.columns("", &mut left_out);
    if columns.is_empty() {
        return Err(misfit(
            "has no row with a value",
            "name a file with some rows",
        ));
    }
    let mut notes = notes(has_more, &[bad_lines, bad.explain()].concat());
    if without_mark.is_some() {
        notes.push("the file begins with a byte order mark: pass --accept bom.".to_owned());
    }
    let mut form = String::new();
    if is_array {
        form += "array = true\n";
    }
    if !left_out.is_empty() {
        form += "extra = \"ignore\"  # guess: what is left out\n";
        notes.extend(left_out);
    }
    if !form.is_empty() {
        form.insert_str(0, "\n[table.json]\n");
    }
    Ok(Table {
        from: from(count, has_more),
        notes,
        syntax: Some("json"),
        form,
        columns,
        is_named: true,
    })
}

/// The elements of an array, with their lines.
fn elements(text: &str, has_more: bool) -> Result<Vec<(usize, &str)>> {
    let mut ranges = Vec::new();
    let mut place = ArrayPlace::Start;
    split_array(
        text.as_bytes(),
        &mut place,
        !has_more,
        u64::MAX,
        &mut ranges,
    )
    .map_err(|(_, why)| misfit(why.reason(), "take the published file"))?;
    let (mut line, mut seen) = (1, 0);
    let elements = ranges.into_iter().map(|range| {
        line += memchr::memchr_iter(b'\n', &text.as_bytes()[seen..range.start]).count();
        seen = range.start;
        (line, &text[range])
    });
    Ok(elements.collect())
}

/// The types of JSON values that a column distinguishes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Type {
    Boolean,
    /// A number or a string, because numbers may be written as strings.
    Scalar,
    Object,
    List,
}

impl Type {
    fn words(self) -> &'static str {
        match self {
            Self::Boolean => "a boolean",
            Self::Scalar => "a number or a string",
            Self::Object => "an object",
            Self::List => "a list",
        }
    }
}

/// The values of a column.
struct Values<'a> {
    /// The type of the first one that isn't null.
    is: Option<Type>,
    scalars: form::Column<'a>,
    has_numbers: bool,
    /// The names and values of objects, in the order in which they were seen.
    fields: Vec<(String, Values<'a>)>,
    /// The items of lists.
    item: Option<Box<Values<'a>>>,
}

impl Default for Values<'_> {
    fn default() -> Self {
        Self {
            is: None,
            scalars: form::Column::new("", false),
            has_numbers: false,
            fields: Vec::new(),
            item: None,
        }
    }
}

impl<'a> Values<'a> {
    /// Adds the members of an object in a line.
    fn add_members(
        &mut self,
        members: Vec<(&'a str, &'a str)>,
        line: usize,
        depth: usize,
        bad: &mut BadRecords,
    ) -> Result<()> {
        for (place, (written, value)) in members.into_iter().enumerate() {
            let Ok(name) = serde_json::from_str::<String>(written) else {
                bad.add(line, "has a name that isn't text");
                continue;
            };
            // Most objects have their members in the same order.
            let is_it = |at: &usize| {
                self.fields
                    .get(*at)
                    .is_some_and(|(known, _)| *known == name)
            };
            let at = Some(place).filter(is_it).or_else(|| {
                let mut names = self.fields.iter();
                names.position(|(known, _)| *known == name)
            });
            let at = at.unwrap_or_else(|| {
                self.fields.push((name, Values::default()));
                self.fields.len() - 1
            });
            if self.fields.len() > MOST_COLUMNS {
                // It has far too many already.
                return Ok(());
            }
            let (name, values) = &mut self.fields[at];
            values.add(value, line, name, depth, bad)?;
        }
        Ok(())
    }

    /// Adds a value of this name as it is written.
    fn add(
        &mut self,
        text: &'a str,
        line: usize,
        name: &str,
        depth: usize,
        bad: &mut BadRecords,
    ) -> Result<()> {
        let is = match text.as_bytes().first() {
            Some(b'n') | None => return Ok(()),
            Some(b't' | b'f') => Type::Boolean,
            Some(b'{') => Type::Object,
            Some(b'[') => Type::List,
            Some(_) => Type::Scalar,
        };
        let first = *self.is.get_or_insert(is);
        if is != first {
            let (is, first) = (is.words(), first.words());
            let name = escape(name.as_bytes(), SHOWN);
            bad.add(
                line,
                format!("has {is} in '{name}', and an earlier row has {first}"),
            );
            return Ok(());
        }
        if depth == MOST_DEPTH {
            let reason = format!(
                "has objects and lists that are more than {MOST_DEPTH} deep in one another"
            );
            let hint = "a lake has none that are deeper: describe the other columns by hand";
            return Err(misfit(&reason, hint).line(line as u64, None));
        }
        match is {
            Type::Boolean => {}
            Type::Scalar => {
                let inner = text
                    .strip_prefix('"')
                    .and_then(|text| text.strip_suffix('"'));
                self.has_numbers |= inner.is_none();
                // An empty string is a text, and isn't NULL as in CSV.
                self.scalars.add_value(
                    inner.map_or(text, |text| if text.is_empty() { "\"\"" } else { text }),
                );
            }
            Type::Object => {
                let members = members(text).unwrap_or_default();
                self.add_members(members, line, depth + 1, bad)?;
            }
            Type::List => {
                let items: Vec<&RawValue> = serde_json::from_str(text).unwrap_or_default();
                let item = self.item.get_or_insert_default();
                for value in items {
                    item.add(value.get(), line, name, depth + 1, bad)?;
                }
            }
        }
        Ok(())
    }

    /// How many columns they count for.
    fn count(&self) -> usize {
        let fields = self.fields.iter().map(|(_, values)| 1 + values.count());
        let item = self.item.as_ref().map_or(0, |item| 2 + item.count());
        fields.sum::<usize>() + item
    }

    /// The columns of an object at a path, but for those that are left out.
    fn columns(&self, path: &str, left_out: &mut Vec<String>) -> Vec<description::Column> {
        let columns = self.fields.iter().filter_map(|(name, values)| {
            let path = format!("{path}{name}");
            if !is_printable(name) {
                left_out.push("a name that can't be printed is left out.".to_owned());
                return None;
            }
            values.column(name, &path, left_out)
        });
        columns.collect()
    }

    /// The column of this name; `None` if it is left out.
    fn column(
        &self,
        name: &str,
        path: &str,
        left_out: &mut Vec<String>,
    ) -> Option<description::Column> {
        let kind = match self.is {
            None | Some(Type::Scalar) => {
                let mut column = described(&self.scalars, name.to_owned(), false);
                if self.has_numbers && self.scalars.guess() == Guess::Text {
                    column.kind += "numbers = true\n";
                }
                column.format = None;
                return Some(column);
            }
            Some(Type::Boolean) => "boolean",
            Some(Type::Object) => "struct",
            Some(Type::List) => "list",
        };
        let mut inner = match kind {
            "struct" => self.columns(&format!("{path}."), left_out),
            _ => Vec::new(),
        };
        if let Some(item) = &self.item {
            inner.extend(item.column("item", path, left_out));
        }
        if kind != "boolean" && inner.is_empty() {
            left_out.push(format!(
                "'{}' is left out: its objects have no names.",
                escape(path.as_bytes(), SHOWN)
            ));
            return None;
        }
        Some(description::Column {
            content: name.to_owned(),
            kind: format!("kind = \"{kind}\"  # guess\n"),
            fields: inner,
            ..description::Column::default()
        })
    }
}
