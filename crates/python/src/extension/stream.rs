//! A published file as an Arrow C stream.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::str::FromStr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_schema::ffi::FFI_ArrowSchema;
use arrow_schema::{ArrowError, SchemaRef};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use tracelake_convert::reader::{PartReader, ReadOptions};
use tracelake_core::error::{Error, ErrorKind};
use tracelake_core::settings::Settings;
use tracelake_location::Location;

use super::error::{exception, raised};
use super::schema::{SCHEMA, find_trace};
use super::work::work;

/// The name that the Arrow PyCapsule interface gives to a capsule of a stream.
const STREAM: &std::ffi::CStr = c"arrow_array_stream";

/// State shared by a reader and its stream: the stream goes to a consumer that knows nothing but text.
#[derive(Default)]
struct Outcome {
    error: Mutex<Option<Error>>,
    rejected: AtomicU64,
}

/// One published file, to be read once as record batches.
#[pyclass(frozen, module = "tracelake")]
pub(crate) struct Reader {
    schema: SchemaRef,
    trace: String,
    table: String,
    reader: Mutex<Option<PartReader>>,
    outcome: Arc<Outcome>,
}

/// Opens a published file; with `rejects`, bad rows are counted and left out.
///
/// `selection` has the options `sample`, `sample_by`, `columns` and `time` as the command line takes them.
#[pyfunction]
pub(crate) fn read_part(
    py: Python<'_>,
    path: OsString,
    trace: Option<&str>,
    table: Option<String>,
    selection: BTreeMap<String, String>,
    rejects: bool,
    threads: Option<usize>,
) -> PyResult<Reader> {
    let trace = trace.map(|name| find_trace(py, name)).transpose()?;
    let outcome = Arc::new(Outcome::default());
    let rejected = Arc::clone(&outcome);
    let mut options = ReadOptions::default();
    (options.trace, options.table) = (trace, table);
    options.selection = selected(&selection).map_err(|error| raised(py, &error))?;
    if rejects {
        options.on_bad_row = Some(Box::new(move |_| {
            rejected.rejected.fetch_add(1, Ordering::Relaxed);
            Ok(())
        }));
    }
    let reader = work(py, None, threads, move |work| {
        tracelake_convert::reader::read_part(&work.context, Location::parse(&path)?, options)
    })?;
    Ok(Reader {
        schema: reader.schema(),
        trace: reader.trace().name.clone(),
        table: reader.table().name.clone(),
        reader: Mutex::new(Some(reader)),
        outcome,
    })
}

/// The settings of a selection.
fn selected(options: &BTreeMap<String, String>) -> Result<Settings, Error> {
    fn read<T: FromStr<Err = String>>(
        options: &BTreeMap<String, String>,
        name: &str,
    ) -> Result<Option<T>, Error> {
        let value = options.get(name).map(|text| text.parse());
        value
            .transpose()
            .map_err(|reason: String| Error::new(ErrorKind::Usage, format!("--{name}: {reason}")))
    }
    let mut settings = Settings::default();
    settings.sample = read(options, "sample")?;
    settings.sample_by = options.get("sample_by").cloned();
    settings.columns = read(options, "columns")?;
    settings.time = read(options, "time")?;
    Ok(settings)
}

#[pymethods]
impl Reader {
    /// The schema, for the Arrow PyCapsule interface.
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let schema = FFI_ArrowSchema::try_from(&*self.schema)
            .map_err(|error| raised(py, &Error::new(ErrorKind::Failed, error.to_string())))?;
        PyCapsule::new_with_value(py, schema, SCHEMA)
    }

    /// The record batches, for the Arrow PyCapsule interface. They can be taken once, and a wish for
    /// another schema is not fulfilled, which the interface allows.
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let _ = requested_schema;
        let taken = self
            .reader
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        let reader = taken.ok_or_else(|| {
            let used = Error::new(ErrorKind::Usage, "the rows were taken before");
            raised(
                py,
                &used.hint("call read_part again, or keep what was made of them"),
            )
        })?;
        let batches = Batches {
            reader,
            outcome: Arc::clone(&self.outcome),
        };
        let stream = FFI_ArrowArrayStream::new(Box::new(batches));
        PyCapsule::new_with_value(py, stream, STREAM)
    }

    /// The exception that says why the stream ended early; `None` while nothing is wrong.
    #[getter]
    fn error(&self, py: Python<'_>) -> PyResult<Option<Py<PyAny>>> {
        let error = self
            .outcome
            .error
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let exception = error
            .as_ref()
            .map(|error| exception(py, error))
            .transpose()?;
        Ok(exception.map(|exception| exception.into_value(py).into_any()))
    }

    /// Rows that were left out so far.
    #[getter]
    fn rejected(&self) -> u64 {
        self.outcome.rejected.load(Ordering::Relaxed)
    }

    /// The name of the trace that was given or recognised.
    #[getter]
    fn trace(&self) -> &str {
        &self.trace
    }

    /// The name of the table that was given or recognised.
    #[getter]
    fn table(&self) -> &str {
        &self.table
    }

    /// The names of the columns.
    #[getter]
    fn columns(&self) -> Vec<String> {
        let fields = self.schema.fields().iter();
        fields.map(|field| field.name().clone()).collect()
    }

    fn __repr__(&self) -> String {
        format!("<tracelake.Reader of {} {}>", self.trace, self.table)
    }
}

/// The batches of a reader, with its error kept for [`Reader::error`].
struct Batches {
    reader: PartReader,
    outcome: Arc<Outcome>,
}

impl Iterator for Batches {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        Some(self.reader.next_batch()?.map_err(|error| {
            let text = error.to_string();
            *self
                .outcome
                .error
                .lock()
                .unwrap_or_else(PoisonError::into_inner) = Some(error);
            ArrowError::ExternalError(text.into())
        }))
    }
}

impl RecordBatchReader for Batches {
    fn schema(&self) -> SchemaRef {
        self.reader.schema()
    }
}
