//! The log of the library and its dependencies, without secrets: lines that were asked for, and warnings for people
//! that come from where no run can be asked.

use std::fmt;
use std::io::{self, Write};

use tracelake_core::redact::redacted_line;
use tracing::field::{Field, Visit};
use tracing::{Event, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::Context;

use super::progress::warning;

/// Stderr for lines of a log: an HTTP client logs whole URLs. Each line comes at once.
pub(crate) struct LogWriter;

impl Write for LogWriter {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let shown = redacted_line(&String::from_utf8_lossy(line));
        io::stderr().write_all(shown.as_bytes())?;
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stderr().flush()
    }
}

/// Shows what the library warns of on stderr.
pub(crate) struct LoggedWarnings {
    /// Whether lines on stderr are JSON.
    pub(crate) in_json: bool,
}

impl LoggedWarnings {
    /// The filter for warnings of servers, whatever else is logged.
    pub(crate) fn filter() -> Targets {
        Targets::new().with_target("tracelake_location", LevelFilter::WARN)
    }
}

impl<S: Subscriber> Layer<S> for LoggedWarnings {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let mut message = Message::default();
        event.record(&mut message);
        warning(&message.0, self.in_json);
    }
}

/// The message of an event.
#[derive(Default)]
struct Message(String);

impl Visit for Message {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        if field.name() == "message" {
            self.0 = format!("{value:?}");
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use tracing_subscriber::layer::SubscriberExt;

    use super::*;

    /// Keeps the messages that pass the filter.
    struct Kept(Arc<Mutex<Vec<String>>>);

    impl<S: Subscriber> Layer<S> for Kept {
        fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
            let mut message = Message::default();
            event.record(&mut message);
            self.0.lock().unwrap().push(message.0);
        }
    }

    #[test]
    fn warnings_of_servers_are_shown_and_nothing_else_is() {
        let kept = Arc::new(Mutex::new(Vec::new()));
        let layer = Kept(Arc::clone(&kept)).with_filter(LoggedWarnings::filter());
        let subscriber = tracing_subscriber::registry().with(layer);
        tracing::subscriber::with_default(subscriber, || {
            tracing::warn!(target: "tracelake_location::remote::store", "{}: slow", "a");
            tracing::info!(target: "tracelake_location::remote::store", "info");
            tracing::warn!(target: "hyper", "other");
        });
        assert_eq!(*kept.lock().unwrap(), ["a: slow"]);
    }
}
