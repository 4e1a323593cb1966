//! The catalog: names, descriptions and Arrow schemas.

use std::borrow::Cow;
use std::str::FromStr;
use std::sync::{Arc, Mutex, PoisonError};

use ::arrow_schema::ffi::FFI_ArrowSchema;
use ::arrow_schema::{DataType, Field, FieldRef, Schema};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use tracelake_convert::given_trace::given_trace;
use tracelake_core::date_time::shown;
use tracelake_core::error::{Error, ErrorKind, escape};
use tracelake_core::options::{did_you_mean, unknown_table};
use tracelake_core::selection::ColumnNames;
use tracelake_schema::arrow::arrow_schema as schema_of;
use tracelake_schema::{Table, Trace, render, trace_names};

use super::error::raised;

/// The name that the Arrow PyCapsule interface gives to a capsule of a schema.
pub(crate) const SCHEMA: &std::ffi::CStr = c"arrow_schema";

/// The partition column that is a text. The other one, `file_number`, is an integer.
const CELL: &str = "cell";

/// The forms of a description, by name.
const FORMS: [&str; 6] = ["text", "json", "duckdb", "spark", "markdown", "checks"];

/// The names of all traces.
#[pyfunction]
pub(crate) fn traces() -> Vec<&'static str> {
    trace_names().collect()
}

/// The description of a trace, or of one of its tables, as `tracelake schema --as FORM` prints it.
#[pyfunction]
pub(crate) fn describe(
    py: Python<'_>,
    trace: &str,
    table: Option<&str>,
    form: &str,
) -> PyResult<String> {
    let trace = &*find_trace(py, trace)?;
    let table = table.map(|name| find_table(py, trace, name)).transpose()?;
    match form {
        "text" => Ok(render::text(trace, table, render::WIDTH)),
        "json" => Ok(render::json(trace, table)),
        "duckdb" => Ok(render::duckdb(trace, table)),
        "spark" => Ok(render::spark(trace, table)),
        "markdown" => Ok(render::markdown(trace, table)),
        "checks" => Ok(render::checks(trace, table)),
        other => Err(usage(
            py,
            format!("there is no form '{}'", escape(other.as_bytes(), 80)),
            format!(
                "{}known are {}",
                did_you_mean(other, FORMS.into_iter()),
                FORMS.join(", ")
            ),
        )),
    }
}

/// The statements of the views of a table over `files`, a list of Parquet files in SQL.
#[pyfunction]
pub(crate) fn duckdb_views(
    py: Python<'_>,
    trace: &str,
    table: &str,
    files: &str,
) -> PyResult<String> {
    let trace = &*find_trace(py, trace)?;
    Ok(render::duckdb_views(
        trace,
        find_table(py, trace, table)?,
        files,
    ))
}

/// A pattern of DuckDB that matches a file alone.
#[pyfunction]
pub(crate) fn duckdb_pattern(path: &str) -> String {
    render::duckdb_pattern(path)
}

/// A pattern of Spark that matches a file alone.
#[pyfunction]
pub(crate) fn spark_pattern(path: &str) -> String {
    render::spark_pattern(path)
}

/// The columns of a table for people, as expressions for Spark: codes as names, times as timestamps.
#[pyfunction]
pub(crate) fn spark_named(py: Python<'_>, trace: &str, table: &str) -> PyResult<Vec<String>> {
    let trace = &*find_trace(py, trace)?;
    Ok(render::spark_named(trace, find_table(py, trace, table)?))
}

/// A value of a table's time column as people read it.
#[pyfunction]
pub(crate) fn shown_time(py: Python<'_>, trace: &str, table: &str, time: i64) -> PyResult<String> {
    let trace = find_trace(py, trace)?;
    let table = find_table(py, &trace, table)?;
    let column = table.time.map(|index| &table.columns[index]);
    Ok(column.map_or_else(|| time.to_string(), |column| shown(column, time)))
}

/// The Arrow schema of a table, as a capsule of the Arrow PyCapsule interface. After the columns of the files, it has
/// those that the paths of the files say.
#[pyfunction]
pub(crate) fn arrow_schema<'py>(
    py: Python<'py>,
    trace: &str,
    table: &str,
    of_paths: Vec<String>,
) -> PyResult<Bound<'py, PyCapsule>> {
    let trace = find_trace(py, trace)?;
    let table = find_table(py, &trace, table)?;
    let schema = schema_of(table);
    let own = schema.fields().iter().cloned();
    let of_paths = of_paths.into_iter().map(|name| {
        let kind = if name == CELL {
            DataType::Utf8
        } else {
            DataType::Int32
        };
        FieldRef::new(Field::new(name, kind, true))
    });
    let fields: Vec<FieldRef> = own.chain(of_paths).collect();
    let schema = FFI_ArrowSchema::try_from(&Schema::new(fields))
        .map_err(|error| raised(py, &Error::new(ErrorKind::Failed, error.to_string())))?;
    PyCapsule::new_with_value(py, schema, SCHEMA)
}

/// Begins the columns of a lake that has some of its trace, after the name of the trace.
const COLUMNS: &str = "?columns=";

/// The trace of a name or a description file; or of `NAME@DIGEST`, which lakes and schemas of a description name. With
/// `?columns=TABLE.COLUMN,…` after it, the trace has these columns.
pub(crate) fn find_trace(py: Python<'_>, name: &str) -> PyResult<Arc<Trace>> {
    if let Some((name, columns)) = name.split_once(COLUMNS) {
        let parsed = ColumnNames::from_str(columns);
        let columns = parsed.map_err(|reason| usage(py, reason, "open the lake again"))?;
        return Ok(find_trace(py, name)?.with_columns(columns.with_tables()));
    }
    if let Some((name, sha256)) = name.rsplit_once('@').filter(|(_, end)| is_digest(end)) {
        return remembered(name, sha256).ok_or_else(|| {
            let reason = format!("the description of {name} is not known in this process");
            usage(py, reason, "open the lake, or read the schema, again")
        });
    }
    // Its description may be on a server.
    let trace = py.detach(|| given_trace(name));
    let trace = trace.map_err(|error| raised(py, &error))?;
    remember(&trace);
    Ok(trace)
}

/// The most traces that are remembered; a lake or a schema of one that isn't has to be opened again.
const MOST_REMEMBERED: usize = 64;

/// The traces of descriptions that were read, the one that was used last at the end.
static REMEMBERED: Mutex<Vec<Arc<Trace>>> = Mutex::new(Vec::new());

/// Remembers the trace of a description, which lakes and schemas name by its digest.
pub(crate) fn remember(trace: &Arc<Trace>) {
    let Some(description) = &trace.description else {
        return;
    };
    let mut traces = REMEMBERED.lock().unwrap_or_else(PoisonError::into_inner);
    traces.retain(|known| !is_named(known, &trace.name, &description.sha256));
    if traces.len() >= MOST_REMEMBERED {
        traces.remove(0);
    }
    traces.push(Arc::clone(trace.whole.as_ref().unwrap_or(trace)));
}

fn remembered(name: &str, sha256: &str) -> Option<Arc<Trace>> {
    let mut traces = REMEMBERED.lock().unwrap_or_else(PoisonError::into_inner);
    let index = traces
        .iter()
        .position(|known| is_named(known, name, sha256))?;
    let trace = traces.remove(index);
    traces.push(Arc::clone(&trace));
    Some(trace)
}

fn is_named(trace: &Trace, name: &str, sha256: &str) -> bool {
    let description = trace.description.as_ref();
    trace.name == name && description.is_some_and(|known| known.sha256 == sha256)
}

fn is_digest(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

fn find_table<'a>(py: Python<'_>, trace: &'a Trace, name: &str) -> PyResult<&'a Table> {
    let table = trace.table(name).map(|table| &**table);
    table.ok_or_else(|| raised(py, &unknown_table(name, trace)))
}

fn usage(py: Python<'_>, reason: String, hint: impl Into<Cow<'static, str>>) -> PyErr {
    raised(py, &Error::new(ErrorKind::Usage, reason).hint(hint))
}
