//! Statements over the files of one lake, by their names.

use super::{
    SPARK, backquoted, duckdb_views, select, spark_string, sql_string, view_doc, view_name,
};
use crate::{Table, Trace};

/// A file of a table in a lake.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LakeFile {
    /// Its absolute path or its URL.
    pub path: String,
    /// The number of its part.
    pub file_number: u32,
    /// The cell, if the lake has cells.
    pub cell: Option<&'static str>,
}

/// Views over the Parquet files of a lake, for DuckDB: those of [`super::duckdb`], of the files that are named and no
/// others.
///
/// # Example
///
/// ```
/// use tracelake_schema::{TRACES, render::{LakeFile, duckdb_of_lake}};
///
/// let trace = &TRACES[0];
/// let path = "/lake/x/part-00000.parquet".to_owned();
/// let file = LakeFile { path, file_number: 0, cell: None };
/// let sql = duckdb_of_lake(trace, &[(&trace.tables[0], vec![file])]);
/// assert!(sql.contains("read_parquet(['/lake/x/part-00000.parquet'], "));
/// ```
#[must_use]
pub fn duckdb_of_lake(trace: &Trace, tables: &[(&Table, Vec<LakeFile>)]) -> String {
    let views = tables.iter().map(|(table, files)| {
        let files = files
            .iter()
            .map(|file| sql_string(&duckdb_pattern(&file.path)));
        let list = format!("[{}]", files.collect::<Vec<_>>().join(", "));
        duckdb_views(trace, table, &list)
    });
    let views = views.collect::<Vec<_>>().join("\n");
    format!("{}\n{views}", head(trace))
}

/// Temporary views over the Parquet files of a lake, for Spark: each table with the numbers of its parts, and `t_named`
/// as [`super::spark`] has it.
#[must_use]
pub fn spark_of_lake(trace: &Trace, tables: &[(&Table, Vec<LakeFile>)]) -> String {
    let views = tables.iter().map(|(table, files)| {
        let has_cells = trace.cells_of(table).is_some();
        let selects = files.iter().map(|file| {
            let cell = match (has_cells, file.cell) {
                (false, _) => String::new(),
                (true, Some(cell)) => format!(", {} AS `cell`", spark_string(cell)),
                (true, None) => ", CAST(NULL AS STRING) AS `cell`".to_owned(),
            };
            format!(
                "SELECT *{cell}, {} AS `file_number` FROM parquet.{}",
                file.file_number,
                backquoted(&spark_pattern(&file.path))
            )
        });
        format!(
            "CREATE OR REPLACE TEMPORARY VIEW {} COMMENT {} AS\n{};\n\
             CREATE OR REPLACE TEMPORARY VIEW {} COMMENT {} AS SELECT\n{}\nFROM {};\n",
            backquoted(&table.name),
            spark_string(&table.summary),
            selects.collect::<Vec<_>>().join("\nUNION ALL\n"),
            backquoted(&view_name(table)),
            spark_string(&view_doc(trace, table)),
            select(trace, table, &SPARK),
            backquoted(&table.name),
        )
    });
    let views = views.collect::<Vec<_>>().join("\n");
    format!("{}\n{views}", head(trace))
}

fn head(trace: &Trace) -> String {
    format!(
        "-- {}\n-- The files that the manifest of the lake names. Print this again when the lake has changed.\n",
        trace.title
    )
}

/// A pattern of DuckDB that matches a file alone: a path, or a URL.
///
/// ```
/// use tracelake_schema::render::duckdb_pattern;
///
/// assert_eq!(duckdb_pattern("/data/g[1]/a*.parquet"), "/data/g[[]1]/a[*].parquet");
/// // On a web server, DuckDB looks for nothing.
/// assert_eq!(duckdb_pattern("https://host/a?key=[1]"), "https://host/a?key=[1]");
/// ```
#[must_use]
pub fn duckdb_pattern(path: &str) -> String {
    let scheme = scheme(path).unwrap_or_default().to_ascii_lowercase();
    match &scheme[..] {
        "http" | "https" => path.to_owned(),
        _ => escaped(path, &['*', '?', '['], |letter| format!("[{letter}]")),
    }
}

/// A pattern of Spark that matches a file alone: an absolute path, or a URL. Its default file system may be another one
/// than the disk.
///
/// ```
/// use tracelake_schema::render::spark_pattern;
///
/// assert_eq!(spark_pattern("/data/g[1]"), "file:///data/g\\[1\\]");
/// assert_eq!(spark_pattern("s3://bucket/a{b}"), "s3://bucket/a\\{b\\}");
/// ```
#[must_use]
pub fn spark_pattern(path: &str) -> String {
    let special = ['\\', '{', '}', '[', ']', '*', '?', '^'];
    let pattern = escaped(path, &special, |letter| format!("\\{letter}"));
    match scheme(path) {
        Some(_) => pattern,
        None => format!("file://{pattern}"),
    }
}

/// The scheme of a URL; `None` for a path.
fn scheme(path: &str) -> Option<&str> {
    let (scheme, _) = path.split_once("://")?;
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "+.-".contains(letter);
    let begins_well = scheme.starts_with(|letter: char| letter.is_ascii_alphabetic());
    (begins_well && scheme.chars().all(is_plain)).then_some(scheme)
}

fn escaped(path: &str, special: &[char], by: fn(char) -> String) -> String {
    let letters = path.chars();
    letters
        .map(|letter| match special.contains(&letter) {
            true => by(letter),
            false => letter.to_string(),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TRACES;

    #[test]
    fn each_file_is_named_and_matches_itself_alone() {
        let cells = TRACES.iter().find(|trace| trace.cells.is_some()).unwrap();
        let plain = TRACES.iter().find(|trace| trace.cells.is_none()).unwrap();
        let file = |path: &str, file_number, cell| LakeFile {
            path: path.to_owned(),
            file_number,
            cell,
        };
        let files = vec![
            file("/it's [1]/a*`.parquet", 0, None),
            file("s3://b/{c}.parquet", 7, Some("a")),
            file("/odd://x.parquet", 8, None),
        ];
        let of = |trace: &'static Trace| [(&*trace.tables[0], files.clone())];
        let duckdb = duckdb_of_lake(plain, &of(plain));
        assert!(
            duckdb.contains("read_parquet(['/it''s [[]1]/a[*]`.parquet', 's3://b/{c}.parquet', ")
        );
        let spark = spark_of_lake(cells, &of(cells));
        for says in [
            "SELECT *, CAST(NULL AS STRING) AS `cell`, 0 AS `file_number` FROM \
             parquet.`file:///it's \\[1\\]/a\\*``.parquet`\nUNION ALL\n",
            "SELECT *, 'a' AS `cell`, 7 AS `file_number` FROM parquet.`s3://b/\\{c\\}.parquet`\n",
            " FROM parquet.`file:///odd://x.parquet`;",
        ] {
            assert!(spark.contains(says), "{spark}");
        }
        assert!(!spark_of_lake(plain, &of(plain)).contains("`cell`"));
    }
}
