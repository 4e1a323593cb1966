//! The lists that columns share by name: codes, special values, and ranges of values.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::fault::{Fault, Result, Within, ensure};
use super::words::{prose, unique, word};
use crate::{Code, Range, Sentinel};

/// Reads the named lists of one sort; an error names the list.
pub(super) fn lists<T>(
    sort: &str,
    specs: &BTreeMap<String, Vec<T>>,
    read: fn(&[T]) -> Result<Arc<[T]>>,
) -> Result<BTreeMap<String, Arc<[T]>>> {
    let lists = specs.iter().map(|(name, list)| {
        let list = read(list).within(format_args!("{sort}.{name}"))?;
        Ok((name.clone(), list))
    });
    lists.collect()
}

/// The list that a column names, if it names one.
pub(super) fn listed<T>(
    sort: &str,
    lists: &BTreeMap<String, Arc<[T]>>,
    name: Option<&String>,
) -> Result<Arc<[T]>> {
    match name {
        Some(name) => lists
            .get(name)
            .cloned()
            .ok_or_else(|| Fault::new(format!("no {sort}.{name}"))),
        None => Ok(Arc::default()),
    }
}

pub(super) fn ranges(list: &[Range]) -> Result<Arc<[Range]>> {
    unique("name", list.iter().map(|range| range.name.as_str()))?;
    ensure!(
        list.is_sorted_by(|a, b| a.from < b.from),
        "the bounds must ascend"
    );
    let next = list.iter().skip(1).map(|next| Some(next.from - 1));
    let range = |(range, before_next): (&Range, Option<i64>)| {
        let to = range.to.or(before_next);
        ensure!(
            to.is_none_or(|to| range.from <= to && before_next.is_none_or(|end| to <= end)),
            "the bounds must ascend"
        );
        Ok(Range {
            from: range.from,
            to,
            name: word(&range.name)?,
            doc: prose(&range.doc)?,
        })
    };
    let ranges = list.iter().zip(next.chain([None])).map(range);
    ranges.collect()
}

pub(super) fn codes(list: &[Code]) -> Result<Arc<[Code]>> {
    ensure!(
        list.is_sorted_by(|a, b| a.value < b.value),
        "the values must ascend"
    );
    unique("name", list.iter().map(|code| code.name.as_str()))?;
    let code = |code: &Code| {
        Ok(Code {
            value: code.value,
            name: word(&code.name)?,
            doc: prose(&code.doc)?,
        })
    };
    list.iter().map(code).collect()
}

pub(super) fn sentinels(list: &[Sentinel]) -> Result<Arc<[Sentinel]>> {
    ensure!(
        list.is_sorted_by(|a, b| a.value < b.value),
        "the values must ascend"
    );
    unique("name", list.iter().map(|sentinel| sentinel.name.as_str()))?;
    let sentinel = |sentinel: &Sentinel| {
        if let Some(also) = &sentinel.also {
            // A fitting number is a value in its own right and must not be mapped to another.
            let digits = also.strip_prefix('-').unwrap_or(also);
            let number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
            ensure!(
                number && also.parse::<i64>().is_err(),
                "{}: also = {also:?} must be an integer that does not fit in 64 bits",
                sentinel.name
            );
        }
        Ok(Sentinel {
            value: sentinel.value,
            name: word(&sentinel.name)?,
            also: sentinel.also.clone(),
            doc: prose(&sentinel.doc)?,
        })
    };
    list.iter().map(sentinel).collect()
}
