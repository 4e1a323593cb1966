//! How close generated rows are to published ones, column by column.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

use flate2::read::MultiGzDecoder;
use tracelake_schema::{Kind, Table, Trace};

/// The shape of a column's values.
#[derive(Debug, Clone, Copy)]
pub struct Shape {
    /// The share of empty fields.
    pub empty: f64,
    /// The share of fields that are zero.
    pub zero: f64,
    /// The median of what is neither.
    pub median: f64,
    /// Nine tenths of what is neither are below.
    pub p90: f64,
    /// Distinct values in as many rows as there are published ones.
    #[allow(dead_code, reason = "the test compares shares and quantiles only")]
    pub distinct: usize,
    /// The most significant digits of a value.
    #[allow(dead_code, reason = "the example does not print them")]
    pub digits: usize,
}

/// A column of published and of generated rows.
#[derive(Debug)]
pub struct Pair {
    /// Its table.
    pub table: &'static Table,
    /// The index of its column.
    pub column: usize,
    /// The published rows.
    pub real: Shape,
    /// The generated rows.
    pub synthetic: Shape,
}

type Rows = Vec<Vec<String>>;

/// Compares every table of which there are published rows in a directory.
pub fn compare(trace: &'static Trace, published: &Path, generated: &Path) -> Vec<Pair> {
    let mut pairs = Vec::new();
    for table in &trace.tables {
        let real = read(published, table);
        if real.is_empty() {
            continue;
        }
        let synthetic = alike(table, &real, read(generated, table));
        for (field, &column) in table.fields.iter().enumerate() {
            let shape = |rows: &Rows| shape(rows, field, table.columns[column].kind, real.len());
            pairs.push(Pair {
                table,
                column,
                real: shape(&real),
                synthetic: shape(&synthetic),
            });
        }
    }
    pairs
}

/// The generated rows of the same kind as the published ones: the head of a table may be all of
/// one time and of one type of event.
fn alike(table: &Table, real: &Rows, mut synthetic: Rows) -> Rows {
    for (field, &column) in table.fields.iter().enumerate() {
        let quantity = &table.columns[column].synthetic;
        let value = &real[0][field];
        if matches!(
            quantity.as_str(),
            "event.time" | "event.type" | "usage.start"
        ) {
            if real.iter().all(|row| row[field] == *value) {
                synthetic.retain(|row| row[field] == *value);
            } else if quantity == "event.time" && real.iter().all(|row| row[field] != "0") {
                synthetic.retain(|row| row[field] != "0");
            }
        }
    }
    synthetic
}

/// Reads `<table>.csv` or `<table>/*.csv.gz`, whatever is there.
fn read(directory: &Path, table: &Table) -> Rows {
    let mut text = String::new();
    let plain = directory.join(format!("{}.csv", table.name));
    if plain.is_file() {
        text = fs::read_to_string(plain).expect("text");
    } else if let Ok(entries) = fs::read_dir(directory.join(&*table.name)) {
        let mut files: Vec<PathBuf> = entries
            .map(|entry| entry.expect("an entry").path())
            .collect();
        files.sort();
        for path in files {
            let file = File::open(path).expect("a file");
            MultiGzDecoder::new(file)
                .read_to_string(&mut text)
                .expect("gzip");
        }
    }
    text.lines()
        .map(|line| line.split(',').map(str::to_owned).collect())
        .collect()
}

#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "shares of a few thousand rows"
)]
fn shape(rows: &Rows, field: usize, kind: Kind, sample: usize) -> Shape {
    let texts = || rows.iter().map(|row| row[field].as_str());
    let count = rows.len().max(1) as f64;
    let mut values: Vec<f64> = texts().filter_map(|text| text.parse().ok()).collect();
    let zero = values.iter().filter(|&&value| value == 0.0).count() as f64 / count;
    values.retain(|&value| value != 0.0 && kind != Kind::Text);
    values.sort_by(f64::total_cmp);
    let at = |share: f64| values.get((values.len() as f64 * share) as usize).copied();
    let digits = |text: &str| {
        let mantissa = text.split('e').next().unwrap_or("").replace('.', "");
        mantissa.trim_start_matches('0').len()
    };
    Shape {
        empty: texts().filter(|text| text.is_empty()).count() as f64 / count,
        zero,
        median: at(0.5).unwrap_or(f64::NAN),
        p90: at(0.9).unwrap_or(f64::NAN),
        distinct: texts().take(sample).collect::<BTreeSet<_>>().len(),
        digits: texts().map(digits).max().unwrap_or(0),
    }
}
