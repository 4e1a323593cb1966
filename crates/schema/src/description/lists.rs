//! The lists that columns share by name: codes, special values, and ranges of values.

use std::collections::BTreeMap;

use super::fault::{Fault, Result, Within, ensure};
use super::spec::{CodeSpec, RangeSpec, SentinelSpec};
use super::words::{leak, prose, unique, word};
use crate::{Code, Range, Sentinel};

/// Reads the named lists of one sort; an error names the list.
pub(super) fn lists<S, T>(
    sort: &str,
    specs: &BTreeMap<String, Vec<S>>,
    read: fn(&[S]) -> Result<&'static [T]>,
) -> Result<BTreeMap<String, &'static [T]>> {
    let lists = specs.iter().map(|(name, list)| {
        let list = read(list).within(format_args!("{sort}.{name}"))?;
        Ok((name.clone(), list))
    });
    lists.collect()
}

/// The list that a column names, if it names one.
pub(super) fn listed<T>(
    sort: &str,
    lists: &BTreeMap<String, &'static [T]>,
    name: Option<&String>,
) -> Result<&'static [T]> {
    match name {
        Some(name) => lists
            .get(name)
            .copied()
            .ok_or_else(|| Fault::new(format!("no {sort}.{name}"))),
        None => Ok(&[]),
    }
}

pub(super) fn ranges(list: &[RangeSpec]) -> Result<&'static [Range]> {
    unique("name", list.iter().map(|range| range.name.as_ref()))?;
    ensure!(
        list.is_sorted_by(|a, b| a.from < b.from),
        "the bounds must ascend"
    );
    let next = list.iter().skip(1).map(|next| Some(next.from - 1));
    let range = |(range, before_next): (&RangeSpec, Option<i64>)| {
        let to = range.to.or(before_next);
        ensure!(
            to.is_none_or(|to| range.from <= to && before_next.is_none_or(|end| to <= end)),
            "the bounds must ascend"
        );
        Ok(Range {
            from: range.from,
            to,
            name: leak(word(&range.name)?),
            doc: leak(prose(&range.doc)?),
        })
    };
    let ranges = list.iter().zip(next.chain([None])).map(range);
    Ok(ranges.collect::<Result<Vec<_>>>()?.leak())
}

pub(super) fn codes(list: &[CodeSpec]) -> Result<&'static [Code]> {
    ensure!(
        list.is_sorted_by(|a, b| a.value < b.value),
        "the values must ascend"
    );
    unique("name", list.iter().map(|code| code.name.as_ref()))?;
    let code = |code: &CodeSpec| {
        Ok(Code {
            value: code.value,
            name: leak(word(&code.name)?),
            doc: leak(prose(&code.doc)?),
        })
    };
    Ok(list.iter().map(code).collect::<Result<Vec<_>>>()?.leak())
}

pub(super) fn sentinels(list: &[SentinelSpec]) -> Result<&'static [Sentinel]> {
    ensure!(
        list.is_sorted_by(|a, b| a.value < b.value),
        "the values must ascend"
    );
    unique("name", list.iter().map(|sentinel| sentinel.name.as_ref()))?;
    let sentinel = |sentinel: &SentinelSpec| {
        let also = sentinel.also.as_deref();
        if let Some(also) = also {
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
            name: leak(word(&sentinel.name)?),
            also: also.map(leak),
            doc: leak(prose(&sentinel.doc)?),
        })
    };
    Ok(list
        .iter()
        .map(sentinel)
        .collect::<Result<Vec<_>>>()?
        .leak())
}
