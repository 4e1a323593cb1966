//! How the values of options are read, and what commands have in common.

use std::path::Path;

use clap::ValueEnum;
use serde::Serialize;
use tracelake_convert::run::parts_within;
use tracelake_core::Context;
use tracelake_core::error::{self, Error, ErrorKind};
use tracelake_core::redact::redacted;
use tracelake_location::Location;
use tracelake_schema::Rule;

/// The groups of options in `--help`.
pub(super) const INPUT: &str = "Input";
pub(super) const OUTPUT: &str = "Output";
pub(super) const BAD_ROWS: &str = "Bad rows";
pub(super) const PERFORMANCE: &str = "Performance and progress";

/// How progress is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub(crate) enum ProgressArg {
    Auto,
    Plain,
    Json,
    None,
}

/// The units of sizes, without case; the first that a size ends with counts.
const UNITS: [(&str, u64); 12] = [
    ("kib", 1 << 10),
    ("mib", 1 << 20),
    ("gib", 1 << 30),
    ("tib", 1 << 40),
    ("kb", 1_000),
    ("mb", 1_000_000),
    ("gb", 1_000_000_000),
    ("tb", 1_000_000_000_000),
    ("k", 1_000),
    ("m", 1_000_000),
    ("g", 1_000_000_000),
    ("t", 1_000_000_000_000),
];

/// A context limited to some threads; to as many as before without a number.
pub(crate) fn limited(context: &Context, threads: Option<u16>) -> Context {
    match threads {
        Some(threads) => context.clone().with_threads(threads.into()),
        None => context.clone(),
    }
}

/// Where a lake is made. One in a bucket can't be replaced.
pub(crate) fn lake_to_make(out: &Path, overwrite: bool) -> error::Result<Location> {
    let out = Location::parse(out.as_os_str())?;
    if overwrite && out.as_path().is_none() {
        let reason = "--overwrite can't replace a lake in a bucket";
        return Err(Error::new(ErrorKind::Usage, reason)
            .at(out)
            .hint("use a new prefix"));
    }
    Ok(out)
}

/// Reads a size in bytes that is enough for one part.
pub(super) fn size(text: &str) -> Result<u64, String> {
    match bytes(text)? {
        size if parts_within(size).is_none() => {
            Err("too small: converting one part at a time needs 256MB".into())
        }
        size => Ok(size),
    }
}

/// Reads a size in bytes; `wrong` says what one below `least` is.
pub(super) fn at_least(
    least: u64,
    wrong: &'static str,
) -> impl Fn(&str) -> Result<u64, String> + Clone {
    move |text| match bytes(text)? {
        size if size < least => Err(wrong.into()),
        size => Ok(size),
    }
}

/// Reads a size in bytes.
fn bytes(text: &str) -> Result<u64, String> {
    let lower = text.to_ascii_lowercase();
    let units = UNITS.iter();
    let mut split = units.filter_map(|(unit, bytes)| Some((lower.strip_suffix(unit)?, *bytes)));
    let (number, bytes) = split.next().unwrap_or((&lower, 1));
    let number = number.trim_end();
    let digits = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    let parsed = digits.then(|| number.parse::<u64>().ok()).flatten();
    let size = parsed.and_then(|number| number.checked_mul(bytes));
    size.ok_or_else(|| "expected a whole number with a unit, such as 512M, 2G or 2GiB".into())
}

/// Reads a number of seconds.
pub(super) fn seconds(text: &str) -> Result<f64, String> {
    let number = text.parse().ok();
    number
        .filter(|number: &f64| number.is_finite() && *number > 0.0)
        .ok_or_else(|| "expected a number of seconds above 0, such as 60".to_owned())
}

/// Reads a name; blanks around it don't count. A URL is none, and may hold a secret that later messages
/// would repeat.
pub(super) fn name(text: &str) -> Result<String, String> {
    // An argument whose secret was taken out is no name either.
    let is_name = redacted(text) == text && !text.contains("://") && !text.contains('…');
    match is_name {
        true => Ok(text.trim().to_owned()),
        false => Err("expected a name, not a URL".into()),
    }
}

/// Reads the name of a trace, or the path or URL of a description, without a secret.
pub(super) fn trace(text: &str) -> Result<String, String> {
    match redacted(text) == text && !text.contains('…') {
        true => Ok(text.trim().to_owned()),
        false => Err("expected a name or a file, not a URL with a secret".into()),
    }
}

/// Reads a whole number from `least` to `most`.
pub(super) fn within<N>(least: u64, most: u64) -> impl Fn(&str) -> Result<N, String> + Clone
where
    N: TryFrom<u64>,
{
    move |text| {
        let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let number = text.parse().ok().filter(|_| digits);
        number
            .filter(|number| (least..=most).contains(number))
            .and_then(|number| N::try_from(number).ok())
            .ok_or_else(|| format!("expected a whole number from {least} to {most}"))
    }
}

/// Reads a number of rows.
pub(super) fn rows(text: &str) -> Result<u64, String> {
    match text.parse() {
        Ok(0) => Err("expected at least 1 row".into()),
        Ok(rows) => Ok(rows),
        Err(_) => Err("expected a whole number of rows, such as 1000000".into()),
    }
}

/// Reads the name of a rule by which tables are derived.
pub(super) fn rule(text: &str) -> Result<Rule, String> {
    let mut rules = Rule::ALL.iter();
    let rule = rules.find(|rule| rule.name() == text.trim());
    rule.copied().ok_or_else(|| {
        let names: Vec<&str> = Rule::ALL.iter().map(|rule| rule.name()).collect();
        format!("expected {}", names.join(" or "))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_no_url() {
        assert_eq!(name(" job_events "), Ok("job_events".to_owned()));
        for url in [
            "https://me:secret@host",
            "s3://bucket",
            "me:secret@host",
            "sig=secret",
        ] {
            assert!(name(url).is_err(), "{url}");
        }
    }

    #[test]
    fn a_number_is_within_its_bounds() {
        let read = within::<u16>(1, 1024);
        assert_eq!((read("1"), read("1024")), (Ok(1), Ok(1024)));
        for bad in ["0", "1025", "-1", "+5", "", "x", "99999999999999999999"] {
            assert_eq!(
                read(bad),
                Err("expected a whole number from 1 to 1024".to_owned()),
                "{bad}"
            );
        }
    }

    #[test]
    fn sizes_have_units_and_are_enough() {
        let sizes = [
            ("256000000", 256_000_000),
            ("256MB", 256_000_000),
            ("1GB", 1_000_000_000),
            ("512MiB", 512 << 20),
            ("2GiB", 2 << 30),
            ("300000kB", 300_000_000),
            ("1G", 1_000_000_000),
            ("300M", 300_000_000),
            ("1g", 1_000_000_000),
            ("1 GB", 1_000_000_000),
            ("1T", 1_000_000_000_000),
        ];
        for (text, bytes) in sizes {
            assert_eq!(size(text), Ok(bytes), "{text}");
        }
        for bad in [
            "",
            "MB",
            "-1GB",
            "+1GB",
            "1.5GB",
            "1XB",
            "G1",
            "99999999999GiB",
        ] {
            assert!(size(bad).unwrap_err().starts_with("expected"), "{bad:?}");
        }
        for small in ["0", "255MB", "100MiB", "1k"] {
            assert!(size(small).unwrap_err().contains("256MB"), "{small:?}");
        }
        let queries = at_least(100_000_000, "too small");
        assert_eq!(queries("100MB"), Ok(100_000_000));
        for small in ["0", "99MB", "95MiB"] {
            assert_eq!(queries(small), Err("too small".to_owned()), "{small:?}");
        }
        assert!(queries("much").unwrap_err().starts_with("expected"));
    }

    #[test]
    fn seconds_are_above_0() {
        assert_eq!((seconds("60"), seconds("0.5")), (Ok(60.0), Ok(0.5)));
        for bad in ["0", "-1", "nan", "inf", "1e999", "", "1 s"] {
            assert!(seconds(bad).unwrap_err().starts_with("expected"), "{bad:?}");
        }
    }
}
