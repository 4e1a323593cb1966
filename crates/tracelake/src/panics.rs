//! A panic is kept and not printed: it may be caught, and if not, it is reported like any other error.

use std::panic;
use std::sync::{Mutex, PoisonError};

use tracelake_core::error::{Error, ErrorKind};

/// The last panic, with its place.
static LAST: Mutex<Option<String>> = Mutex::new(None);

/// Installs the panic hook, for a front end: from now on a panic is kept and not printed.
pub fn keep() {
    panic::set_hook(Box::new(|panic| {
        *LAST.lock().unwrap_or_else(PoisonError::into_inner) = Some(panic.to_string());
    }));
}

/// The error that reports the last panic.
#[must_use]
pub fn error() -> Error {
    let last = LAST.lock().unwrap_or_else(PoisonError::into_inner).take();
    let message = last.unwrap_or_else(|| "a panic without a message".to_owned());
    Error::new(ErrorKind::Failed, format!("internal error: {message}"))
        .hint("please report it, with what you ran")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_an_error_with_its_place() {
        keep();
        panic::catch_unwind(|| panic!("page 3 is bad")).unwrap_err();
        let error = error().to_string();
        drop(panic::take_hook());
        assert!(error.contains("internal error: panicked at"), "{error}");
        assert!(error.contains("panics.rs"), "{error}");
        assert!(error.contains("page 3 is bad"), "{error}");
    }
}
