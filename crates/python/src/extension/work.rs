//! Work on a separate thread, while the calling thread looks for signals and hands events to
//! Python. So the work never waits for the interpreter, and a callback always runs in the thread
//! that called.

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use pyo3::prelude::*;
use pyo3::types::PyDict;
use tracelake::program;
use tracelake_core::Context;
use tracelake_core::error::{Error, ErrorKind, Result};
use tracelake_core::event::Event;
use tracelake_core::part_key::PartKey;

use super::error::raised;

/// How long events are gathered before Python sees them: often enough for a bar and for Ctrl-C,
/// seldom enough to cost nothing.
const TICK: Duration = Duration::from_millis(50);

/// An event, with the one that only a front end knows.
enum Note {
    /// The work begins, on this many bytes if that is known.
    Begin(Option<u64>),
    /// An event of the library.
    Event(Event),
    /// The work has ended. Its result may keep the context; events are dropped from now on.
    End,
}

/// Says that the work has ended when it is dropped, even by a panic.
struct End(Sender<Note>);

impl Drop for End {
    fn drop(&mut self) {
        let _ = self.0.send(Note::End);
    }
}

/// The context of some work, and the channel that reports its beginning.
pub(crate) struct Work {
    /// Cancelled by an exception of a callback or a signal handler, such as `KeyboardInterrupt`.
    pub(crate) context: Context,
    notes: Sender<Note>,
}

impl Work {
    /// Says how many bytes there are to work on, if that is known.
    pub(crate) fn begin(&self, bytes: Option<u64>) {
        // Once an exception has ended the work, the receiver is gone.
        let _ = self.notes.send(Note::Begin(bytes));
    }
}

/// Opens descriptors 0 to 2 where they are closed.
///
/// # Errors
/// If that fails.
pub(crate) fn open_descriptors(py: Python<'_>) -> PyResult<()> {
    program::open_descriptors().map_err(|error| {
        let error = Error::disk("open descriptors 0 to 2", error);
        raised(
            py,
            &error.hint("don't close them, or make /dev/null available"),
        )
    })
}

/// Carries out `work` with the interpreter released.
///
/// # Errors
/// The error of the work; one that a callback or a signal handler raised, which cancels the work.
pub(crate) fn work<T: Send + 'static>(
    py: Python<'_>,
    watch: Option<&Bound<'_, PyAny>>,
    threads: Option<usize>,
    work: impl FnOnce(&Work) -> Result<T> + Send + 'static,
) -> PyResult<T> {
    open_descriptors(py)?;
    let watch = watch.map(|watch| watch.clone().unbind());
    py.detach(|| {
        let (notes, inbox) = channel();
        let events = notes.clone();
        let context = Context::new().with_events(move |event| {
            let _ = events.send(Note::Event(event));
        });
        let context = match threads {
            Some(threads) => context.with_threads(threads),
            None => context,
        };
        let begun = Work {
            context: context.clone(),
            notes: notes.clone(),
        };
        let end = End(notes);
        let worker = thread::Builder::new()
            .name("tracelake".to_owned())
            .spawn(move || {
                let _end = end;
                work(&begun)
            })
            .map_err(|error| {
                Python::attach(|py| raised(py, &Error::new(ErrorKind::Failed, error.to_string())))
            })?;
        let mut exception: Option<PyErr> = None;
        loop {
            let (batch, ended) = gather(&inbox);
            if exception.is_none() {
                let answer = Python::attach(|py| {
                    if let Some(watch) = &watch {
                        batch.iter().try_for_each(|note| tell(py, watch, note))?;
                    }
                    py.check_signals()
                });
                if let Err(raised) = answer {
                    context.cancel();
                    exception = Some(raised);
                }
            }
            if ended {
                break;
            }
        }
        if let Some(exception) = exception {
            // The exception says why the work ended, whatever it ended with.
            let _ = worker.join();
            return Err(exception);
        }
        match worker.join() {
            Ok(Ok(done)) => Ok(done),
            Ok(Err(error)) => Err(Python::attach(|py| raised(py, &error))),
            Err(_) => Err(Python::attach(|py| raised(py, &program::panic_error()))),
        }
    })
}

/// The notes of one tick, and whether they are the last ones.
fn gather(inbox: &Receiver<Note>) -> (Vec<Note>, bool) {
    let mut batch = Vec::new();
    let until = Instant::now() + TICK;
    loop {
        match inbox.recv_timeout(until.saturating_duration_since(Instant::now())) {
            Ok(Note::Event(Event::Read { bytes })) => {
                // Bytes are reported once a tick, however small the chunks are.
                if let Some(Note::Event(Event::Read { bytes: sum })) = batch.last_mut() {
                    *sum += bytes;
                } else {
                    batch.push(Note::Event(Event::Read { bytes }));
                }
            }
            Ok(Note::End) | Err(RecvTimeoutError::Disconnected) => return (batch, true),
            Ok(note) => batch.push(note),
            Err(RecvTimeoutError::Timeout) => return (batch, false),
        }
    }
}

/// Calls the callback with the fields of a note.
fn tell(py: Python<'_>, watch: &Py<PyAny>, note: &Note) -> PyResult<()> {
    let fields = PyDict::new(py);
    let kind = match note {
        Note::Begin(bytes) => {
            fields.set_item("bytes", bytes)?;
            "begun"
        }
        Note::Event(Event::Generated { table, part, rows }) => {
            fields.set_item("table", table)?;
            fields.set_item("file_number", part)?;
            fields.set_item("rows", rows)?;
            "generated"
        }
        Note::Event(Event::Started { table, part }) => {
            set_part(&fields, table, *part)?;
            "started"
        }
        Note::Event(Event::Read { bytes }) => {
            fields.set_item("bytes", bytes)?;
            "read"
        }
        Note::Event(Event::Finished {
            table,
            part,
            rows,
            rejected,
            bytes_out,
        }) => {
            set_part(&fields, table, *part)?;
            fields.set_item("rows", rows)?;
            fields.set_item("rejected", rejected)?;
            fields.set_item("bytes", bytes_out)?;
            "finished"
        }
        Note::Event(Event::Kept {
            table,
            part,
            rows,
            bytes,
        }) => {
            set_part(&fields, table, *part)?;
            fields.set_item("rows", rows)?;
            fields.set_item("bytes", bytes)?;
            "kept"
        }
        Note::Event(Event::Verified { table, part, rows }) => {
            set_part(&fields, table, *part)?;
            fields.set_item("rows", rows)?;
            "verified"
        }
        Note::Event(Event::Fetched { path, bytes, kept }) => {
            fields.set_item("path", path)?;
            fields.set_item("bytes", bytes)?;
            fields.set_item("kept", kept)?;
            "fetched"
        }
        Note::Event(Event::Warning(text)) => {
            fields.set_item("text", text)?;
            "warning"
        }
        Note::Event(_) | Note::End => return Ok(()),
    };
    watch.bind(py).call((kind,), Some(&fields))?;
    Ok(())
}

/// Says which part a note is about.
fn set_part(fields: &Bound<'_, PyDict>, table: &str, part: PartKey) -> PyResult<()> {
    fields.set_item("table", table)?;
    if let Some(cell) = part.cell {
        fields.set_item("cell", cell)?;
    }
    fields.set_item("file_number", part.file_number)
}
