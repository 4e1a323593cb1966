//! Files with similar paths: those of a table differ in numbers, dates, and values such as `day=3`.

use std::collections::{BTreeMap, BTreeSet};

use tracelake_core::words::several;
use tracelake_schema::day;
use tracelake_schema::description::{MOST_CAPTURES, MOST_NAMES, MOST_PARTS, snake_case};

use super::description::{Column, Files, WHOLE, free, identifier, quoted};

/// Words in the names of files that don't say what is in them.
const PLAIN_WORDS: [&str; 7] = ["part", "of", "shard", "chunk", "file", "data", "table"];

/// A piece of a path.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Piece {
    Text(String),
    Digits(String),
    Date(String),
    /// A value after `key=`.
    Value(String, String),
}

impl Piece {
    /// The text that may differ between files of a table; `None` if it may not.
    fn value(&self) -> Option<&str> {
        match self {
            Self::Text(_) => None,
            Self::Digits(value) | Self::Date(value) | Self::Value(_, value) => Some(value),
        }
    }

    fn text(&self) -> &str {
        match self {
            Self::Text(text) => text,
            other => other.value().unwrap_or_default(),
        }
    }
}

/// A path in directories, cut into pieces.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Path(Vec<Vec<Piece>>);

impl Path {
    /// Cuts the path of a file, without the ending of its compression.
    pub(super) fn of(path: &str) -> Self {
        let names: Vec<&str> = path.split('/').collect();
        let last = names.len() - 1;
        let cut = names
            .iter()
            .enumerate()
            .map(|(at, name)| match name.split_once('=') {
                Some((key, rest)) if identifier(key).is_some() => {
                    let end = rest.find('.').filter(|_| at == last).unwrap_or(rest.len());
                    let (value, rest) = rest.split_at(end);
                    let mut pieces = vec![
                        Piece::Text(format!("{key}=")),
                        Piece::Value(key.to_owned(), value.to_owned()),
                    ];
                    if !rest.is_empty() {
                        pieces.push(Piece::Text(rest.to_owned()));
                    }
                    pieces
                }
                _ => pieces(name),
            });
        Self(cut.collect())
    }

    /// The shape that all paths of a table share.
    pub(super) fn shape(&self) -> Self {
        let blank = |piece: &Piece| match piece {
            Piece::Text(text) => Piece::Text(text.clone()),
            Piece::Digits(_) => Piece::Digits(String::new()),
            Piece::Date(_) => Piece::Date(String::new()),
            Piece::Value(key, _) => Piece::Value(key.clone(), String::new()),
        };
        let names = self.0.iter();
        Self(names.map(|name| name.iter().map(blank).collect()).collect())
    }

    /// The path with its directory as a value; `None` if it has no directory with a plain name.
    pub(super) fn in_any_directory(&self) -> Option<Self> {
        let mut path = self.clone();
        let at = path.0.len().checked_sub(2)?;
        let [Piece::Text(name)] = &path.0[at][..] else {
            return None;
        };
        path.0[at] = vec![Piece::Value("directory".to_owned(), name.clone())];
        Some(path)
    }

    fn flat(&self) -> impl Iterator<Item = &Piece> {
        self.0.iter().flatten()
    }

    /// The name of the table: what the name of the file says, or else that of a directory.
    fn table(&self) -> String {
        let mut names = self.0.iter().rev().map(|name| {
            let text: Vec<&str> = name
                .iter()
                .filter(|piece| matches!(piece, Piece::Text(_)))
                .map(Piece::text)
                .collect();
            text.join("_")
        });
        let stem = names.next().unwrap_or_default();
        let stem = stem.split('.').next().unwrap_or_default();
        let words = snake_case(stem);
        let words: Vec<&str> = words
            .split('_')
            .filter(|word| !PLAIN_WORDS.contains(word))
            .collect();
        identifier(&words.join("_"))
            .or_else(|| names.find_map(|name| identifier(&name)))
            .unwrap_or_else(|| "table".to_owned())
    }
}

/// The pieces of a name without `=`.
fn pieces(name: &str) -> Vec<Piece> {
    let mut pieces: Vec<Piece> = Vec::new();
    let mut rest = name;
    while !rest.is_empty() {
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let (piece, length) = match (day(rest), digits) {
            (Some((_, date)), _) => (Piece::Date(date.to_owned()), date.len()),
            (None, 0) => {
                let length = rest
                    .find(|letter: char| letter.is_ascii_digit())
                    .unwrap_or(rest.len());
                (Piece::Text(rest[..length].to_owned()), length)
            }
            (None, length) => (Piece::Digits(rest[..length].to_owned()), length),
        };
        pieces.push(piece);
        rest = &rest[length..];
    }
    pieces
}

/// A place in the paths of a table where they may differ.
struct Slot<'a> {
    at: usize,
    piece: &'a Piece,
    values: BTreeSet<&'a str>,
}

impl Slot<'_> {
    /// Its values as numbers, if they are and fit a part's number.
    fn numbers(&self) -> Option<BTreeSet<u64>> {
        let numbers = self.values.iter().map(|value| {
            let is_plain = value.bytes().all(|byte| byte.is_ascii_digit());
            value
                .parse()
                .ok()
                .filter(|number| is_plain && *number < u64::from(MOST_PARTS))
        });
        let numbers: BTreeSet<u64> = numbers.collect::<Option<_>>()?;
        (numbers.len() == self.values.len()).then_some(numbers)
    }

    /// Its values as a description lists them, and whether they are numbers without zeros in front.
    fn listed(&self) -> Result<(String, bool), String> {
        if self.values.contains("") {
            return Err("a value in their names is empty".to_owned());
        }
        let is_padded = |value: &&str| value.len() > 1 && value.starts_with('0');
        let Some(numbers) = self.numbers() else {
            return match self.values.len() <= MOST_NAMES {
                true => {
                    let values: Vec<String> = self.values.iter().map(quoted).collect();
                    Ok((format!("[{}]", values.join(", ")), false))
                }
                false => Err(format!(
                    "their names differ in more than {MOST_NAMES} values at one place"
                )),
            };
        };
        let mut by_number: Vec<(u64, &str)> = Vec::new();
        for value in &self.values {
            by_number.push((value.parse().unwrap_or_default(), value));
        }
        by_number.sort_unstable();
        let (first, last) = (by_number[0].1, by_number[by_number.len() - 1].1);
        let is_even = self.values.iter().all(|value| value.len() == first.len())
            || !self.values.iter().any(is_padded);
        let are_all = is_without_gaps(&numbers) && is_even;
        let are_plain = !self.values.iter().any(is_padded);
        match are_all {
            true => Ok((quoted(format!("{first}..{last}")), are_plain)),
            false if self.values.len() <= MOST_NAMES => {
                let values: Vec<String> =
                    by_number.iter().map(|(_, value)| quoted(value)).collect();
                Ok((format!("[{}]", values.join(", ")), are_plain))
            }
            false => Err(format!(
                "their names differ in more than {MOST_NAMES} numbers, some of which are missing"
            )),
        }
    }
}

fn is_without_gaps(numbers: &BTreeSet<u64>) -> bool {
    let (Some(first), Some(last)) = (numbers.first(), numbers.last()) else {
        return true;
    };
    last - first == numbers.len() as u64 - 1
}

/// How a description finds the files of a table; says why if it can't.
pub(super) fn files(paths: &[Path], is_cut: bool, in_archive: bool) -> Result<Files, String> {
    let Some(path) = paths.first() else {
        return Err("there is none".to_owned());
    };
    let flat: Vec<Vec<&Piece>> = paths.iter().map(|path| path.flat().collect()).collect();
    let all = (0..flat[0].len()).map(|at| Slot {
        at,
        piece: flat[0][at],
        values: flat.iter().filter_map(|path| path[at].value()).collect(),
    });
    let slots: Vec<Slot<'_>> = all.filter(|slot| slot.values.len() > 1).collect();
    let mut braces: BTreeMap<usize, String> = BTreeMap::new();
    let mut files = Files {
        name: path.table(),
        shown: several(paths.len() as u64, "file"),
        ..Files::default()
    };
    let mut lines = "files = \"named\"  # guess: each is a part\n".to_owned();
    let mut after = String::new();
    match &slots[..] {
        [] if is_cut && path.0.len() == 1 => {
            lines = WHOLE.to_owned();
        }
        [] => {}
        [slot] if matches!(slot.piece, Piece::Date(_)) && !in_archive => {
            braces.insert(slot.at, "{date}".to_owned());
        }
        [slot]
            if slot
                .numbers()
                .is_some_and(|numbers| is_without_gaps(&numbers))
                && matches!(slot.piece, Piece::Digits(_)) =>
        {
            let numbers = slot.numbers().unwrap_or_default();
            braces.insert(slot.at, "{n}".to_owned());
            if numbers.first() == Some(&1) {
                after += "first = 1\n";
            }
            if let Some(total) = total(&flat[0], slot.at, numbers.last().copied()) {
                braces.insert(total, "{total}".to_owned());
            }
        }
        slots => {
            after += &capture(
                slots,
                &flat[0],
                paths.len(),
                in_archive,
                &mut files,
                &mut braces,
            )?
        }
    }
    if path.0.len() > MOST_CAPTURES + 1 {
        return Err(format!("they are in more than {MOST_CAPTURES} directories"));
    }
    let name = pattern(path, &braces);
    if slots.is_empty() {
        files.shown.clone_from(&name);
    }
    files.lines = format!("{lines}names = [{}]\n{after}", quoted(&name));
    Ok(files)
}

/// Makes a capture of each place where paths differ; returns what the table says of their combinations.
fn capture(
    slots: &[Slot<'_>],
    path: &[&Piece],
    count: usize,
    in_archive: bool,
    files: &mut Files,
    braces: &mut BTreeMap<usize, String>,
) -> Result<String, String> {
    if slots.len() > MOST_CAPTURES {
        return Err(format!(
            "their names differ in more than {MOST_CAPTURES} places"
        ));
    }
    files.captures = "\n[table.captures]\n".to_owned();
    let mut combinations = 1_u64;
    let mut taken: BTreeSet<String> = ["n", "total", "date"].map(str::to_owned).into();
    for slot in slots {
        let name = capture_name(path, slot, &taken);
        let (values, are_numbers) = slot.listed()?;
        files.captures += &format!("{name} = {values}\n");
        braces.insert(slot.at, format!("{{{name}}}"));
        files.columns.push(column(&name, are_numbers));
        taken.insert(name);
        combinations = combinations.saturating_mul(slot.values.len() as u64);
    }
    match combinations == count as u64 {
        _ if combinations > u64::from(MOST_PARTS) => Err(format!(
            "their names have more than {MOST_PARTS} combinations of values"
        )),
        true => Ok(String::new()),
        false if in_archive => Err(
            "some values in their names have no file together, which only a directory may have"
                .to_owned(),
        ),
        false => Ok(format!("sparse = true\nparts = {count}\n")),
    }
}

/// A path with braces in the place of some of its pieces.
fn pattern(path: &Path, braces: &BTreeMap<usize, String>) -> String {
    let mut at = 0;
    let names = path.0.iter().map(|pieces| {
        let texts = pieces.iter().map(|piece| {
            at += 1;
            braces.get(&(at - 1)).map_or(piece.text(), |text| text)
        });
        texts.collect::<String>()
    });
    names.collect::<Vec<_>>().join("/")
}

/// The place of the digits that say how many files there are, as in `part-00017-of-00500`.
fn total(path: &[&Piece], number: usize, last: Option<u64>) -> Option<usize> {
    let [Piece::Text(between), Piece::Digits(total)] = path.get(number + 1..number + 3)? else {
        return None;
    };
    let total: u64 = total.parse().ok()?;
    let is_total =
        between.trim_matches(['-', '_']) == "of" && last.is_some_and(|last| last <= total);
    is_total.then_some(number + 2)
}

/// A name for a capture: that of its key, or the word before it.
fn capture_name(path: &[&Piece], slot: &Slot<'_>, taken: &BTreeSet<String>) -> String {
    let word = match slot.piece {
        Piece::Value(key, _) => identifier(key),
        Piece::Date(_) => Some("day".to_owned()),
        Piece::Digits(_) | Piece::Text(_) => {
            let before = slot.at.checked_sub(1).map(|at| path[at].text());
            let words = snake_case(before.unwrap_or_default());
            words.rsplit('_').next().and_then(identifier)
        }
    };
    free(word.unwrap_or_else(|| "number".to_owned()), taken)
}

/// The column of a capture.
fn column(capture: &str, are_numbers: bool) -> Column {
    let kind = if are_numbers { "integer" } else { "text" };
    Column {
        content: capture.to_owned(),
        is_made_up: true,
        kind: format!("capture = \"{capture}\"\nkind = \"{kind}\"  # guess\n"),
        ..Column::default()
    }
}
