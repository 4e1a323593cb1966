//! How numbers and arguments are written for people.

use std::fmt;

pub use tracelake_schema::render::group_digits;

/// A number with its noun, which takes an s unless the number is one.
///
/// ```
/// use tracelake_core::words::several;
/// assert_eq!(several(1, "part"), "1 part");
/// assert_eq!(several(2_000, "row"), "2,000 rows");
/// ```
#[must_use]
pub fn several(number: u64, noun: &str) -> String {
    let s = if number == 1 { "" } else { "s" };
    format!("{} {noun}{s}", group_digits(number))
}

/// How many things a message lists at most: it stays a message, whatever a file or a manifest says.
const LISTED: usize = 20;

/// The first 20 of some things, and how many more there are.
///
/// ```
/// let name = |n: u32| format!("{n}.csv");
/// assert_eq!(tracelake_core::words::first_few([0, 5], name), "0.csv, 5.csv");
/// assert!(tracelake_core::words::first_few(0..99, name).ends_with("18.csv, 19.csv, and 79 more"));
/// ```
#[must_use]
pub fn first_few<T>(things: impl IntoIterator<Item = T>, shown: impl FnMut(T) -> String) -> String {
    let mut unlisted = things.into_iter();
    let listed = unlisted.by_ref().take(LISTED).map(shown);
    let mut text = listed.collect::<Vec<_>>().join(", ");
    let more = unlisted.count() as u64;
    if more > 0 {
        text += &format!(", and {} more", group_digits(more));
    }
    text
}

/// Ranges of numbers, from the first to the last of each; no more than 20 of them are listed.
///
/// ```
/// use tracelake_core::words::ranges;
/// assert_eq!(ranges([(0, 2), (5, 5)]), "0-2, 5");
/// assert!(ranges((0..99).map(|n| (2 * n, 2 * n))).ends_with("36, 38, and 79 more"));
/// ```
#[must_use]
pub fn ranges(ranges: impl IntoIterator<Item = (u32, u32)>) -> String {
    first_few(ranges, |(first, last)| match first == last {
        true => first.to_string(),
        false => format!("{first}-{last}"),
    })
}

/// Joins ascending numbers; consecutive ones make a range.
///
/// ```
/// assert_eq!(tracelake_core::words::numbers(&[0, 1, 2, 5, 7, 8]), "0-2, 5, 7-8");
/// ```
#[must_use]
pub fn numbers(numbers: &[u32]) -> String {
    let runs = numbers.chunk_by(|a, b| a.checked_add(1) == Some(*b));
    ranges(runs.filter_map(|run| Some((*run.first()?, *run.last()?))))
}

/// An argument of a command as people can type it into a shell: in quotes if it needs them.
///
/// ```
/// use tracelake_core::words::for_shell;
/// assert_eq!(for_shell("s3://bucket/my-lake"), "s3://bucket/my-lake");
/// assert_eq!(for_shell("Anna's lake"), r"'Anna'\''s lake'");
/// ```
#[must_use]
pub fn for_shell(argument: impl fmt::Display) -> String {
    let text = argument.to_string();
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-./:@%+,=".contains(&byte);
    match !text.is_empty() && text.bytes().all(is_plain) {
        true => text,
        false => format!("'{}'", text.replace('\'', r"'\''")),
    }
}

/// Tables with their numbers of parts, such as `job_events (2 parts), task_usage (1 part)`.
#[must_use]
pub fn tables<'a>(tables: impl IntoIterator<Item = (&'a str, usize)>) -> String {
    let described = tables
        .into_iter()
        .map(|(name, parts)| format!("{name} ({})", several(parts as u64, "part")));
    described.collect::<Vec<_>>().join(", ")
}
