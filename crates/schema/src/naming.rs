//! The names of files as patterns, maybe with those of their directories: `readings-{n}-of-{total}.csv.gz`,
//! `readings/day={day}/hour={hour}.csv.gz`.

use crate::calendar::{day_since_1970, days_since_1970};

/// The endings that say how a file is compressed. With or without one, a name means the same.
const COMPRESSED: [&str; 4] = [".gz", ".zst", ".xz", ".bz2"];

/// A file's name without the ending that says how it is compressed.
///
/// ```
/// use tracelake_schema::uncompressed;
/// assert_eq!(uncompressed("jobs.csv.zst"), "jobs.csv");
/// assert_eq!(uncompressed("jobs.csv"), "jobs.csv");
/// ```
#[must_use]
pub fn uncompressed(name: &str) -> &str {
    let mut stems = COMPRESSED
        .iter()
        .filter_map(|ending| name.strip_suffix(ending));
    stems.next().unwrap_or(name)
}

/// The names of a table's files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Naming {
    /// The patterns; a file is of the table if one of them fits its name.
    pub patterns: Vec<NamePattern>,
    /// Another pattern for each of them, under which the same files are published, too; or none.
    pub also: Vec<NamePattern>,
    /// The captures beside `{n}` and `{total}`.
    pub captures: Vec<Capture>,
    /// The number of the first part.
    pub first: u32,
    /// Whether not every value of a capture was published with every value of the others, so that which files are missing
    /// can't be told; only how many.
    pub is_sparse: bool,
}

impl Naming {
    /// No names but those that [`crate::Files`] says.
    pub const NONE: Self = Self {
        patterns: Vec::new(),
        also: Vec::new(),
        captures: Vec::new(),
        first: 0,
        is_sparse: false,
    };
}

/// A part of names with a few known values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Capture {
    /// Its name, such as `variant`.
    pub name: String,
    /// Its values. Where names have no number, the place of its value in this list numbers the file.
    pub values: Vec<String>,
    /// Whether the description gives the first and the last value only, so that some of them may never have been
    /// published.
    pub is_range: bool,
}

/// A pattern of file names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamePattern {
    /// The pattern as it was written.
    pub text: String,
    /// Its pieces, without an ending that says how files are compressed.
    pub(crate) pieces: Vec<Piece>,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Piece {
    Text(String),
    /// Digits: the number of the part.
    Number,
    /// Digits: how many parts there are.
    Total,
    /// A day, which numbers the part: `2023-11-16`, `2023_11_16` or `20231116`.
    Date,
    /// One of the values of the capture with this index.
    Capture(usize),
}

impl NamePattern {
    /// Whether it is the name of one file.
    pub(crate) fn is_plain(&self) -> bool {
        matches!(self.pieces[..], [Piece::Text(_)])
    }

    /// How many directories it names.
    fn depth(&self) -> usize {
        self.text.matches('/').count()
    }

    /// The pieces of its first directories, up to this many.
    fn directories(&self, count: usize) -> Vec<Piece> {
        let mut slashes = 0;
        let mut before = Vec::new();
        for piece in &self.pieces {
            let Piece::Text(text) = piece else {
                before.push(piece.clone());
                continue;
            };
            let end = text.match_indices('/').find(|_| {
                slashes += 1;
                slashes == count
            });
            let text = end.map_or(&text[..], |(end, _)| &text[..end]);
            before.push(Piece::Text(text.to_owned()));
            if end.is_some() {
                break;
            }
        }
        before
    }
}

/// The last names of a path: as many directories, and the file.
fn end_of(path: &str, directories: usize) -> Option<&str> {
    let mut slashes = path.rmatch_indices('/');
    match slashes.nth(directories) {
        Some((slash, _)) => Some(&path[slash + 1..]),
        None => (path.matches('/').count() == directories).then_some(path),
    }
}

/// The name of a file, taken apart by a pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim {
    /// The number of the part.
    pub number: u32,
    /// How many parts there are, if names say it.
    pub total: Option<u32>,
    /// The values of the captures, in the order of [`Naming::captures`]; `None` for one that isn't in the pattern.
    pub values: Vec<Option<String>>,
    /// The day, as it is written, if names have one.
    pub date: Option<String>,
}

/// The most digits of a number in a name.
const MOST_DIGITS: usize = 9;

/// The number, the total and the captures found in a name so far.
#[derive(Clone, Default)]
struct Reading {
    number: Option<u32>,
    total: Option<u32>,
    /// The day as it is written.
    date: Option<String>,
    /// Capture and place of the value in its list.
    values: Vec<(usize, usize)>,
}

/// The days from 1970-01-01 to the day that a text begins with, and how it is written: `2023-11-16`, `2023_11_16` or
/// `20231116`; `None` if it begins with no day, or the digits go on.
///
/// ```
/// use tracelake_schema::day;
///
/// assert_eq!(day("2023_11_16.csv"), Some((19_677, "2023_11_16")));
/// assert_eq!(day("20230229"), None);
/// ```
#[must_use]
pub fn day(text: &str) -> Option<(u32, &str)> {
    let separator = match text.as_bytes().get(4)? {
        byte @ (b'-' | b'_') => Some(*byte),
        _ => None,
    };
    let length = if separator.is_some() { 10 } else { 8 };
    let written = text.get(..length)?;
    if let Some(separator) = separator {
        (written.as_bytes()[7] == separator).then_some(())?;
    }
    let digits = written.bytes().filter(|byte| Some(*byte) != separator);
    let number = digits.clone().try_fold(0_i64, |number, byte| {
        byte.is_ascii_digit()
            .then(|| number * 10 + i64::from(byte - b'0'))
    })?;
    let is_whole =
        digits.count() == 8 && !text[length..].starts_with(|next: char| next.is_ascii_digit());
    let days = days_since_1970(number / 10_000, number / 100 % 100, number % 100)?;
    let days = u32::try_from(days).ok().filter(|_| is_whole)?;
    Some((days, written))
}

impl Naming {
    /// Whether a directory can have files of the table in it, or directories with some.
    ///
    /// # Example
    ///
    /// ```
    /// use tracelake_schema::Naming;
    ///
    /// assert!(!Naming::NONE.leads_to("jobs"));
    /// ```
    #[must_use]
    pub fn leads_to(&self, directory: &str) -> bool {
        let patterns = self.patterns.iter().chain(&self.also);
        let mut directories = patterns.flat_map(|pattern| {
            let counts = 1..=pattern.depth();
            counts.map(|count| (count, pattern.directories(count)))
        });
        directories.any(|(count, pieces)| {
            let mut found = Vec::new();
            if let Some(names) = end_of(directory, count - 1) {
                self.read(&pieces, names, Reading::default(), &mut found);
            }
            !found.is_empty()
        })
    }

    /// Whether parts may begin with another number than the first possible one: days and ranges begin where the trace
    /// does.
    #[must_use]
    pub fn begins_anywhere(&self) -> bool {
        self.is_dated() || self.has_range()
    }

    fn has_range(&self) -> bool {
        self.captures.iter().any(|capture| capture.is_range)
    }

    /// Whether a day in the name of a file numbers its part, from 1970-01-01.
    #[must_use]
    fn is_dated(&self) -> bool {
        let first = self.patterns.first();
        first.is_some_and(|pattern| pattern.pieces.contains(&Piece::Date))
    }

    /// The number of the first part, of which some have these numbers: days and ranges begin where the trace does.
    #[must_use]
    pub fn first_of(&self, numbers: impl Iterator<Item = u32>) -> u32 {
        match self.begins_anywhere() {
            true => numbers.min().unwrap_or(self.first),
            false => self.first,
        }
    }

    /// The number of files, if the patterns say it.
    #[must_use]
    pub fn count(&self) -> Option<u32> {
        let pattern = self.patterns.first()?;
        if pattern.pieces.contains(&Piece::Number) || self.begins_anywhere() || self.is_sparse {
            return None;
        }
        u32::try_from(self.places()).ok()
    }

    /// The number of files that the values of captures number, or else of patterns.
    pub(crate) fn places(&self) -> u64 {
        let pieces = self.patterns.first().map_or(&[][..], |first| &first.pieces);
        let captures = pieces.iter().filter_map(|piece| match piece {
            Piece::Capture(index) => self.captures.get(*index),
            _ => None,
        });
        let counts: Vec<u64> = captures
            .map(|capture| capture.values.len() as u64)
            .collect();
        match &counts[..] {
            [] => self.patterns.len() as u64,
            _ if pieces.contains(&Piece::Number) => 0,
            counts => counts
                .iter()
                .fold(1, |all, count| all.saturating_mul(*count)),
        }
    }

    /// The name of a part, counted from 0, of `parts`, by the first pattern; among plain names, the one at this place.
    #[must_use]
    pub fn name_of(&self, part: u32, parts: u32) -> Option<String> {
        let place = usize::try_from(part).ok()?;
        let first = self.patterns.first()?;
        let is_plain = first.is_plain();
        let pattern = if is_plain {
            self.patterns.get(place)?
        } else {
            first
        };
        // The value of the last capture changes from part to part, that of the first one least often.
        let (mut rest, mut pieces) = (place, Vec::new());
        for piece in pattern.pieces.iter().rev() {
            pieces.push(match piece {
                Piece::Text(text) => text.clone(),
                Piece::Number => self.first.saturating_add(part).to_string(),
                Piece::Total => parts.to_string(),
                Piece::Date => {
                    let (year, month, day) = day_since_1970(i64::from(part));
                    format!("{year:04}-{month:02}-{day:02}")
                }
                Piece::Capture(index) => {
                    let values = &self.captures.get(*index)?.values;
                    let value = values.get(rest % values.len())?;
                    rest /= values.len();
                    value.clone()
                }
            });
        }
        pieces.reverse();
        let name = pieces.concat();
        Some(name + &pattern.text[uncompressed(&pattern.text).len()..])
    }

    /// The ways in which the end of a path can be taken apart, at most two: with two, it is ambiguous. Of the directories,
    /// only those count that the patterns name.
    ///
    /// # Example
    ///
    /// ```
    /// use tracelake_schema::Naming;
    ///
    /// assert!(Naming::NONE.claims("jobs.csv").is_empty());
    /// ```
    #[must_use]
    pub fn claims(&self, path: &str) -> Vec<Claim> {
        let path = uncompressed(path);
        let mut claims: Vec<Claim> = Vec::new();
        let also = self.also.iter().enumerate();
        for (place, pattern) in self.patterns.iter().enumerate().chain(also) {
            let mut readings = Vec::new();
            if let Some(name) = end_of(path, pattern.depth()) {
                self.read(&pattern.pieces, name, Reading::default(), &mut readings);
            }
            for reading in readings {
                let claim = self.claim(place, &reading);
                if !claims.contains(&claim) {
                    claims.push(claim);
                }
            }
        }
        claims.truncate(2);
        claims
    }

    /// Adds the ways in which pieces fit a text, at most two in all.
    fn read(&self, pieces: &[Piece], text: &str, reading: Reading, found: &mut Vec<Reading>) {
        let Some((piece, pieces)) = pieces.split_first() else {
            if text.is_empty() && found.len() < 2 {
                found.push(reading);
            }
            return;
        };
        if found.len() >= 2 {
            return;
        }
        match piece {
            Piece::Text(expected) => {
                if let Some(rest) = text.strip_prefix(&**expected) {
                    self.read(pieces, rest, reading, found);
                }
            }
            Piece::Number | Piece::Total => {
                let digits = text.bytes().take_while(u8::is_ascii_digit).count();
                // A number ends where its digits end: `{n}0.csv` never fits.
                if digits > MOST_DIGITS || digits == 0 {
                    return;
                }
                let (written, rest) = text.split_at(digits);
                let number = written.parse().ok();
                let mut reading = reading;
                match piece {
                    Piece::Total => reading.total = number,
                    _ => reading.number = number,
                }
                self.read(pieces, rest, reading, found);
            }
            Piece::Date => {
                if let Some((days, written)) = day(text) {
                    let mut reading = reading;
                    reading.number = Some(days);
                    reading.date = Some(written.to_owned());
                    self.read(pieces, &text[written.len()..], reading, found);
                }
            }
            Piece::Capture(index) => {
                let capture = self.captures.get(*index);
                let values = capture.map_or(&[][..], |capture| &capture.values);
                for (place, value) in values.iter().enumerate() {
                    if let Some(rest) = text.strip_prefix(&**value) {
                        let mut with_value = reading.clone();
                        with_value.values.push((*index, place));
                        self.read(pieces, rest, with_value, found);
                    }
                }
            }
        }
    }

    fn claim(&self, pattern: usize, reading: &Reading) -> Claim {
        let mut values = vec![None; self.captures.len()];
        let (mut place, mut count) = (0_u32, 1_u32);
        for (index, value) in &reading.values {
            let list = &self.captures[*index].values;
            values[*index] = list.get(*value).cloned();
            let small = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
            place = place
                .saturating_mul(small(list.len()))
                .saturating_add(small(*value));
            count = count.saturating_mul(small(list.len()));
        }
        if let Some(number) = reading.number {
            return Claim {
                number,
                total: reading.total,
                values,
                date: reading.date.clone(),
            };
        }
        if reading.values.is_empty() {
            (place, count) = (
                u32::try_from(pattern).unwrap_or(u32::MAX),
                u32::try_from(self.patterns.len()).unwrap_or(u32::MAX),
            );
        }
        let total = match self.has_range() || self.is_sparse {
            true => reading.total,
            false => Some(reading.total.unwrap_or(count)),
        };
        Claim {
            number: self.first.saturating_add(place),
            total,
            values,
            date: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn capture(values: &[&str]) -> Vec<Capture> {
        let values = values.iter().map(|&value| value.to_owned()).collect();
        vec![Capture {
            name: "variant".to_owned(),
            values,
            is_range: false,
        }]
    }

    fn naming(pieces: &[&[Piece]], first: u32) -> Naming {
        let patterns = pieces.iter().map(|pieces| NamePattern {
            text: String::new(),
            pieces: pieces.to_vec(),
        });
        Naming {
            patterns: patterns.collect(),
            also: Vec::new(),
            captures: capture(&["a", "ab", "default"]),
            first,
            is_sparse: false,
        }
    }

    fn text(text: &str) -> Piece {
        Piece::Text(text.to_owned())
    }

    #[test]
    fn numbers_are_as_published() {
        let naming = naming(
            &[&[
                text("readings-"),
                Piece::Number,
                text("-of-"),
                Piece::Total,
                text(".csv"),
            ]],
            1,
        );
        for name in ["readings-7-of-125.csv.gz", "readings-007-of-125.csv"] {
            let claims = naming.claims(name);
            assert_eq!(
                (claims[0].number, claims[0].total),
                (7, Some(125)),
                "{name}"
            );
            assert_eq!(claims.len(), 1);
        }
        for other in [
            "readings--of-125.csv",
            "readings-7-of-125.tsv",
            "readings-7x-of-1.csv",
        ] {
            assert!(naming.claims(other).is_empty(), "{other}");
        }
    }

    #[test]
    fn without_a_number_the_place_in_the_list_counts() {
        let naming = naming(&[&[text("pods_"), Piece::Capture(0), text(".csv")]], 0);
        let claim = &naming.claims("pods_default.csv")[0];
        assert_eq!((claim.number, claim.total), (2, Some(3)));
        assert_eq!(claim.values, [Some("default".to_owned())]);
        assert!(naming.claims("pods_other.csv").is_empty());
    }

    #[test]
    fn a_day_numbers_its_part() {
        let naming = naming(&[&[text("usage_"), Piece::Date, text(".csv")]], 0);
        for (name, date) in [
            ("usage_2023-11-16.csv", "2023-11-16"),
            ("usage_20231116.csv.zst", "20231116"),
            ("usage_2023_11_16.csv", "2023_11_16"),
        ] {
            let claim = &naming.claims(name)[0];
            assert_eq!((claim.number, claim.date.as_deref()), (19_677, Some(date)));
            assert_eq!(claim.total, None);
        }
        for other in [
            "usage_2023-02-29.csv",
            "usage_2023-11_16.csv",
            "usage_2023-11-1.csv",
            "usage_202311160.csv",
            "usage_1969-12-31.csv",
            "usage_.csv",
            "usage_2023é11.csv",
        ] {
            assert!(naming.claims(other).is_empty(), "{other}");
        }
        assert_eq!(naming.name_of(19_677, 0).unwrap(), "usage_2023-11-16.csv");
        assert_eq!(naming.first_of([19_680, 19_677].into_iter()), 19_677);
        assert!(naming.is_dated() && naming.count().is_none());
    }

    #[test]
    fn each_part_has_the_name_that_is_read_as_its_number() {
        let two: &[Piece] = &[
            Piece::Capture(0),
            text("-"),
            Piece::Capture(0),
            text(".csv"),
        ];
        for (pieces, first, parts) in [
            (&[Piece::Capture(0), text(".csv")][..], 0, 3),
            (two, 1, 9),
            (
                &[Piece::Number, text("-of-"), Piece::Total, text(".csv")][..],
                1,
                4,
            ),
        ] {
            let naming = naming(&[pieces], first);
            for part in 0..parts {
                let name = naming.name_of(part, parts).unwrap();
                let claims = naming.claims(&name);
                let found = (claims[0].number, claims[0].total);
                assert_eq!(found, (first + part, Some(parts)), "{name}");
                assert_eq!(claims.len(), 1, "{name}");
            }
        }
    }

    #[test]
    fn a_name_that_fits_in_two_ways_is_ambiguous() {
        let pieces: &[Piece] = &[Piece::Capture(0), text("b"), Piece::Capture(0)];
        let naming = Naming {
            captures: capture(&["a", "ab", "bb", "b"]),
            ..naming(&[pieces], 0)
        };
        assert_eq!(naming.claims("abbb").len(), 2);
    }

    #[test]
    fn plain_names_are_numbered_in_their_order() {
        let naming = naming(&[&[text("code.csv")], &[text("chat.csv")]], 0);
        let numbers = ["code.csv", "chat.csv.xz"].map(|name| naming.claims(name)[0].number);
        assert_eq!(numbers, [0, 1]);
        assert_eq!(naming.claims("chat.csv")[0].total, Some(2));
    }

    #[test]
    fn a_file_is_the_same_part_under_its_other_name() {
        let also = naming(&[&[text("x_code.csv")], &[text("x_chat.csv")]], 0);
        let naming = Naming {
            also: also.patterns,
            ..naming(&[&[text("code.csv")], &[text("chat.csv")]], 0)
        };
        assert_eq!(naming.claims("x_chat.csv.gz"), naming.claims("chat.csv"));
        assert_eq!(naming.claims("x_chat.csv")[0].number, 1);
        assert_eq!(naming.count(), Some(2));
    }
}
