//! Generated rows keep the shape of published ones, where those are at hand.
#![allow(clippy::print_stderr, reason = "a test that is skipped says so")]

use std::path::Path;

use tracelake_generate::{Options, generate};
use tracelake_schema::{Kind, TRACES};

mod shape;

/// Shares of empty and of zero fields may differ by this much.
const SHARE: f64 = 0.06;
/// Medians may differ by a factor of 10^0.3, which is two.
const MEDIAN: f64 = 0.3;
/// Nine tenths may lie below values that differ by a factor of 10^0.5, about three.
const P90: f64 = 0.5;

#[test]
fn measured_columns_look_like_the_published_ones() {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    let heads = std::fs::read_dir(&data)
        .into_iter()
        .flatten()
        .find_map(|entry| {
            entry
                .ok()
                .map(|entry| entry.path())
                .filter(|path| path.to_string_lossy().ends_with("-heads"))
        });
    let Some(heads) = heads else {
        eprintln!("skipped: no published rows beside the project");
        return;
    };
    let trace = TRACES
        .iter()
        .filter(|trace| trace.in_parts())
        .find(|trace| {
            trace
                .tables
                .iter()
                .any(|it| heads.join(format!("{}.csv", it.name)).is_file())
        })
        .expect("a trace of the published rows");
    let generated = tempfile::tempdir().expect("a directory");
    generate(trace, generated.path(), &Options::default(), &|_, _, _| {}).expect("a trace");
    let pairs = shape::compare(trace, &heads, generated.path());
    assert!(pairs.len() > 30);
    let mut far = Vec::new();
    for pair in pairs {
        let column = &pair.table.columns[pair.column];
        let (real, synthetic) = (pair.real, pair.synthetic);
        let distance = |left: f64, right: f64| (left.log10() - right.log10()).abs();
        let close = (real.empty - synthetic.empty).abs() <= SHARE
            && (column.kind != Kind::Float
                || ((real.zero - synthetic.zero).abs() <= SHARE
                    && (real.median.is_nan()
                        || (distance(real.median, synthetic.median) <= MEDIAN
                            && distance(real.p90, synthetic.p90) <= P90
                            && real.digits == synthetic.digits))));
        if !close {
            far.push(format!(
                "{}.{}: {real:?} {synthetic:?}",
                pair.table.name, column.name
            ));
        }
    }
    assert!(far.is_empty(), "{}", far.join("\n"));
}
