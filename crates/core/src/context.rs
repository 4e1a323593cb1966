//! The context of an operation: whether to stop, who hears of events, and how many threads may work.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use crate::error::{Error, ErrorKind, Result};
use crate::event::Event;

/// The number of the signal that Ctrl-C sends.
const SIGINT: usize = 2;

/// The first argument of every operation. Clones are cheap, and cancelling one cancels all.
///
/// Work looks at its context often, also while it waits for a server, and ends with [`ErrorKind::Stopped`] once the
/// context is cancelled.
///
/// ```
/// use std::sync::atomic::{AtomicU64, Ordering};
/// use std::sync::Arc;
/// use tracelake_core::event::Event;
/// use tracelake_core::{Context, ErrorKind};
///
/// let read = Arc::new(AtomicU64::new(0));
/// let sum = Arc::clone(&read);
/// let context = Context::new().with_threads(2).with_events(move |event| {
///     if let Event::Read { bytes } = event {
///         sum.fetch_add(bytes, Ordering::Relaxed);
///     }
/// });
///
/// context.emit(Event::Read { bytes: 7 }); // as an operation does
/// assert_eq!(read.load(Ordering::Relaxed), 7);
///
/// let elsewhere = context.clone(); // another thread, a timer, a button
/// elsewhere.cancel();
/// assert_eq!(context.check().unwrap_err().kind(), ErrorKind::Stopped(2));
/// ```
#[derive(Clone)]
pub struct Context {
    /// The signal that stops the work, or 0.
    signal: Arc<AtomicUsize>,
    /// Whether a part of the work failed, so that the others stop.
    failed: Arc<AtomicBool>,
    events: Option<Arc<dyn Fn(Event) + Send + Sync>>,
    threads: usize,
    window: u64,
}

impl Default for Context {
    fn default() -> Self {
        Self::new()
    }
}

impl Context {
    /// Makes a context for work on all processors, which drops events.
    #[must_use]
    pub fn new() -> Self {
        Self {
            signal: Arc::default(),
            failed: Arc::default(),
            events: None,
            threads: std::thread::available_parallelism().map_or(1, usize::from),
            window: u64::MAX,
        }
    }

    /// Limits the work to some threads, at least 1.
    #[must_use]
    pub fn with_threads(self, threads: usize) -> Self {
        let threads = threads.max(1);
        Self { threads, ..self }
    }

    /// Calls `listen` with each event, from several threads at once.
    #[must_use]
    pub fn with_events(self, listen: impl Fn(Event) + Send + Sync + 'static) -> Self {
        let events: Option<Arc<dyn Fn(Event) + Send + Sync>> = Some(Arc::new(listen));
        Self { events, ..self }
    }

    /// How many threads may work, at least 1.
    #[must_use]
    pub fn threads(&self) -> usize {
        self.threads
    }

    /// Limits the memory that decompressing one file may take for its window, in bytes. A file says how large a window it
    /// needs; one that needs a larger one isn't read.
    #[must_use]
    pub fn with_window(self, window: u64) -> Self {
        Self { window, ..self }
    }

    /// The most bytes that the window of a file may have.
    #[must_use]
    pub fn window(&self) -> u64 {
        self.window
    }

    /// Reports an event.
    pub fn emit(&self, event: Event) {
        if let Some(listen) = &self.events {
            listen(event);
        }
    }

    /// Reports something worth knowing that doesn't stop the work.
    pub fn warn(&self, text: impl Into<String>) {
        self.emit(Event::Warning(text.into()));
    }

    /// Stops the work as Ctrl-C does.
    pub fn cancel(&self) {
        self.signal.store(SIGINT, Ordering::Relaxed);
    }

    /// The place for the number of the signal that stops the work. A signal handler may do no more than
    /// store a number.
    #[must_use]
    pub fn signal(&self) -> Arc<AtomicUsize> {
        Arc::clone(&self.signal)
    }

    /// Makes a context for work in several parts that stop once one of them has failed, see
    /// [`Context::fail`]. Cancelling this context cancels that one.
    #[must_use]
    pub fn for_parts(&self) -> Self {
        let failed = Arc::default();
        Self {
            failed,
            ..self.clone()
        }
    }

    /// Stops the other parts of the work, because one has failed.
    pub fn fail(&self) {
        self.failed.store(true, Ordering::Relaxed);
    }

    /// Whether the work has to stop.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.signal.load(Ordering::Relaxed) != 0 || self.failed.load(Ordering::Relaxed)
    }

    /// Fails once the work has to stop.
    ///
    /// # Errors
    /// [`ErrorKind::Stopped`] with the number of the signal; with 0 if another part has failed.
    pub fn check(&self) -> Result<()> {
        if !self.is_cancelled() {
            return Ok(());
        }
        let signal = i32::try_from(self.signal.load(Ordering::Relaxed)).unwrap_or_default();
        Err(Error::new(ErrorKind::Stopped(signal), "stopped"))
    }
}

impl fmt::Debug for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Context")
            .field("is_cancelled", &self.is_cancelled())
            .field("threads", &self.threads)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stopped(context: &Context) -> Option<ErrorKind> {
        context.check().err().map(|error| error.kind())
    }

    #[test]
    fn a_part_that_fails_stops_its_own_work_alone() {
        let context = Context::new();
        let (one, another) = (context.for_parts(), context.for_parts());
        one.clone().fail();
        assert_eq!(stopped(&one), Some(ErrorKind::Stopped(0)));
        assert_eq!((stopped(&another), stopped(&context)), (None, None));
    }

    #[test]
    fn cancelling_stops_everything_and_names_the_signal() {
        let context = Context::new();
        let parts = context.for_parts();
        context.signal().store(15, Ordering::Relaxed);
        for context in [&context, &parts] {
            assert_eq!(stopped(context), Some(ErrorKind::Stopped(15)));
        }
        // The signal is the reason, whatever failed because of it.
        parts.fail();
        assert_eq!(stopped(&parts), Some(ErrorKind::Stopped(15)));

        let parts = Context::new().for_parts();
        parts.cancel();
        assert_eq!(stopped(&parts), Some(ErrorKind::Stopped(2)));
    }

    #[test]
    fn events_are_heard() {
        let heard = Arc::new(std::sync::Mutex::new(Vec::new()));
        let hears = Arc::clone(&heard);
        let context = Context::new().with_events(move |event| hears.lock().unwrap().push(event));
        context.warn("slow");
        assert!(matches!(&heard.lock().unwrap()[..], [Event::Warning(text)] if text == "slow"));
        // A context needs no listener.
        Context::new().warn("slow");
    }

    #[test]
    fn there_is_always_a_thread() {
        assert_eq!(Context::new().with_threads(0).threads(), 1);
        assert!(Context::new().threads() > 0);
    }
}
