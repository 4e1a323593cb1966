//! Errors of the library as exceptions of the package.

use std::error::Error as _;
use std::io;

use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};
use tracelake_core::error::{Error, Place};

/// The exception that says what an error says. `tracelake._errors` knows the class of an exit code.
///
/// # Errors
/// When the package's own Python cannot be imported.
pub(crate) fn exception(py: Python<'_>, error: &Error) -> PyResult<PyErr> {
    let Place {
        path,
        line,
        column,
        field,
    } = error.place();
    let facts = PyDict::new(py);
    // A path is text, also where the library takes a pathlib.Path.
    let path_text = path
        .as_ref()
        .map(|path| PyString::new(py, &path.to_string_lossy()));
    facts.set_item("path", path_text)?;
    facts.set_item("line", line)?;
    facts.set_item("column", column)?;
    facts.set_item("field", field)?;
    facts.set_item("value", error.value())?;
    facts.set_item("hint", error.advice())?;
    facts.set_item("cause", operating_system(py, error))?;
    let made = py.import("tracelake._errors")?.call_method(
        "from_code",
        (error.kind().exit_code(), error.to_string()),
        Some(&facts),
    )?;
    Ok(PyErr::from_value(made))
}

/// Like [`exception`], or what was raised instead.
pub(crate) fn raised(py: Python<'_>, error: &Error) -> PyErr {
    exception(py, error).unwrap_or_else(|instead| instead)
}

/// The number of [`io::ErrorKind::NotFound`], from which Python makes a `FileNotFoundError`, on all systems.
const ENOENT: i32 = 2;

/// The error of the operating system that is among the causes, as Python would say it.
fn operating_system(py: Python<'_>, error: &Error) -> Option<Py<PyAny>> {
    let mut causes = std::iter::successors(error.source(), |&cause| cause.source());
    let cause = causes.find_map(|cause| cause.downcast_ref::<io::Error>())?;
    let number = match (cause.raw_os_error(), cause.kind()) {
        (Some(number), _) => number,
        (None, io::ErrorKind::NotFound) => ENOENT,
        (None, _) => return None,
    };
    let as_python = PyOSError::new_err((number, cause.to_string()));
    Some(as_python.into_value(py).into_any())
}
