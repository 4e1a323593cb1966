//! A panic becomes an exception. Its message is kept for that, and a library prints nothing.

use std::panic;
use std::sync::{Mutex, PoisonError};

/// The last panic, with its place.
static LAST: Mutex<Option<String>> = Mutex::new(None);

/// From now on a panic is kept and not printed.
pub(crate) fn keep() {
    panic::set_hook(Box::new(|panic| {
        *LAST.lock().unwrap_or_else(PoisonError::into_inner) = Some(panic.to_string());
    }));
}

/// From now on a panic is printed, as by any program.
pub(crate) fn print() {
    drop(panic::take_hook());
}

/// The last panic that was kept.
pub(crate) fn last() -> Option<String> {
    LAST.lock().unwrap_or_else(PoisonError::into_inner).take()
}
