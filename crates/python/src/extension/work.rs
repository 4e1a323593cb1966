//! Work on a separate thread, while the calling thread looks for signals and hands events to
//! Python. So the work never waits for the interpreter, and a callback always runs in the thread
//! that called.

use std::panic;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use pyo3::prelude::*;
use pyo3::types::PyDict;
use tracelake_core::error::{Error, ErrorKind, Result};
use tracelake_core::event::Event;
use tracelake_core::part_key::PartKey;

use super::error::raised;
use super::panics;

/// How long events are gathered before Python sees them: often enough for a bar and for Ctrl-C,
/// seldom enough to cost nothing.
const TICK: Duration = Duration::from_millis(50);

/// The signal that Ctrl-C sends.
const SIGINT: usize = 2;

/// The treatment of work that was interrupted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Interrupted {
    /// Wait until it has stopped, because it writes.
    Wait,
    /// Leave it: it only reads, and stops by itself at the next file.
    Leave,
}

/// Reports on work, and tells the work whether it should stop.
pub(crate) struct Progress {
    stop: Arc<AtomicUsize>,
    notes: Sender<Note>,
}

/// An event, with those that only a front end knows.
enum Note {
    /// The work begins, on this many bytes.
    Begin(u64),
    /// An event of the library.
    Event(Event),
    /// A table, a part, and how many rows of it were generated.
    Generated(String, u32, u64),
}

/// The payload of the silent panic that ends code without a stop flag.
struct End;

impl Progress {
    /// Asked often by the library: not 0 when the work has to stop.
    pub(crate) fn stop_flag(&self) -> &Arc<AtomicUsize> {
        &self.stop
    }

    /// Says how many bytes there are to work on.
    pub(crate) fn begin(&self, bytes: u64) {
        self.note(Note::Begin(bytes));
    }

    /// Hands on an event of the library.
    pub(crate) fn show(&self, event: Event) {
        self.note(Note::Event(event));
    }

    /// Like [`Self::show`], for a function without a stop flag, which ends here if it has to stop.
    pub(crate) fn show_or_end(&self, event: Event) {
        self.end_if_stopped();
        self.show(event);
    }

    /// Hands on how far generating is, and ends it here if it has to stop.
    pub(crate) fn generated(&self, table: &str, part: u32, rows: u64) {
        self.end_if_stopped();
        self.note(Note::Generated(table.to_owned(), part, rows));
    }

    fn end_if_stopped(&self) {
        if self.stop.load(Ordering::Relaxed) != 0 {
            panic::resume_unwind(Box::new(End));
        }
    }

    fn note(&self, note: Note) {
        // Work that was left has no receiver any more.
        let _ = self.notes.send(note);
    }
}

/// Carries out `work` with the interpreter released.
///
/// # Errors
/// The error of the work; one that a callback or a signal handler raised, which stops the work.
pub(crate) fn work<T: Send + 'static>(
    py: Python<'_>,
    watch: Option<&Bound<'_, PyAny>>,
    interrupted: Interrupted,
    work: impl FnOnce(&Progress) -> Result<T> + Send + 'static,
) -> PyResult<T> {
    let watch = watch.map(|watch| watch.clone().unbind());
    py.detach(|| {
        let stop = Arc::new(AtomicUsize::new(0));
        let (notes, inbox) = channel();
        let progress = Progress {
            stop: Arc::clone(&stop),
            notes,
        };
        let worker = thread::Builder::new()
            .name("tracelake".to_owned())
            .spawn(move || work(&progress))
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
                    stop.store(SIGINT, Ordering::Relaxed);
                    exception = Some(raised);
                }
            }
            if ended || (exception.is_some() && interrupted == Interrupted::Leave) {
                break;
            }
        }
        if let Some(exception) = exception {
            if interrupted == Interrupted::Wait {
                // The exception says why the work ended, whatever it ended with.
                let _ = worker.join();
            }
            return Err(exception);
        }
        match worker.join() {
            Ok(Ok(done)) => Ok(done),
            Ok(Err(error)) => Err(Python::attach(|py| raised(py, &error))),
            Err(_) => Err(Python::attach(|py| raised(py, &panicked()))),
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
            Ok(note) => batch.push(note),
            Err(RecvTimeoutError::Timeout) => return (batch, false),
            Err(RecvTimeoutError::Disconnected) => return (batch, true),
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
        Note::Generated(table, part, rows) => {
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
        Note::Event(Event::Warning(text)) => {
            fields.set_item("text", text)?;
            "warning"
        }
        Note::Event(_) => return Ok(()),
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

/// A panic as an error, which names its place.
fn panicked() -> Error {
    let said = panics::last().unwrap_or_else(|| "a panic without a message".to_owned());
    Error::new(ErrorKind::Failed, format!("internal error: {said}"))
        .hint("please report it, with what you ran")
}
