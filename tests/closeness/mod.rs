//! Generated rows have the shape of published ones: shares of empty and zero fields, medians, tails.

use tracelake_schema::{Kind, TRACES};

use tracelake_testkit::{generate, shared};

/// Shares of empty and of zero fields may differ by this much.
const SHARE: f64 = 0.06;
/// Medians may differ by a factor of 10^0.3, which is 2.
const MEDIAN: f64 = 0.3;
/// 90th percentiles may differ by a factor of 10^0.5, about 3.
const P90: f64 = 0.5;

#[test]
#[cfg_attr(not(published_data), ignore = "needs ../shared/data")]
fn measured_columns_look_like_the_published_ones() {
    let heads = shared("google-2011-heads");
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
    let directory = tempfile::tempdir().unwrap();
    let generated = directory.path().join("generated");
    generate(&trace.name, &generated, &[]);
    let pairs = tracelake_testkit::shape::compare(trace, &heads, &generated);
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
