//! The expressions by which other engines draw the sample that `convert --sample` draws.
//!
//! The class of a row is the first 8 hexadecimal digits of the MD5 of its key's canonical text, modulo the number of
//! classes. Its text is in decimal for an integer, the text itself for a text, and empty for NULL.

/// A condition of DuckDB's SQL that selects class `class` of `of` by a column.
///
/// ```
/// use tracelake_schema::sample;
///
/// assert_eq!(
///     sample::duckdb("job_id", 0, 16),
///     "('0x' || left(md5(coalesce(job_id::VARCHAR, '')), 8))::BIGINT % 16 = 0"
/// );
/// ```
#[must_use]
pub fn duckdb(column: &str, class: u32, of: u32) -> String {
    format!("('0x' || left(md5(coalesce({column}::VARCHAR, '')), 8))::BIGINT % {of} = {class}")
}

/// A condition of Spark's SQL that selects class `class` of `of` by a column.
#[must_use]
pub fn spark(column: &str, class: u32, of: u32) -> String {
    format!(
        "CAST(conv(left(md5(coalesce(CAST({column} AS STRING), '')), 8), 16, 10) AS BIGINT) % {of} = {class}"
    )
}

/// A Python expression that is true for a key of class `class` of `of`; `key` is a value of the column, and
/// `hashlib` is imported.
#[must_use]
pub fn python(key: &str, class: u32, of: u32) -> String {
    format!(
        "int(hashlib.md5((\"\" if {key} is None else str({key})).encode()).hexdigest()[:8], 16) % {of} == {class}"
    )
}

/// An expression of Polars, which has no MD5, that selects class `class` of `of` by a column of a data frame:
/// [`python`] over the distinct keys.
#[must_use]
pub fn polars(frame: &str, column: &str, class: u32, of: u32) -> String {
    let is_selected = python("key", class, of);
    format!(
        "pl.col(\"{column}\").is_in([key for key in {frame}[\"{column}\"].unique() if {is_selected}], nulls_equal=True)"
    )
}
