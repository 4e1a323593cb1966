//! Panics of the Parquet crate as findings.
//!
//! A lake may come from anyone, and its digests only say that it is as it was made: a forged file may hold anything. Our
//! limits (`CheckedFile`) refuse what takes memory without bounds, but the crate's decoders assert and index on what
//! pages say. There is no way to ask them first, so a panic is caught here, where only the checks of one file are lost:
//! the other files are still checked, and the lake is called broken and not the program. Nowhere else in the library is
//! a panic caught.

use std::any::Any;
use std::panic::{self, AssertUnwindSafe};

use tracelake_core::error::Result;

use super::finding::corrupt;

/// Runs `check`; a panic in it is an error that says what the panic said. Whether the panic is printed as well is for
/// the program to say, by its panic hook.
pub(super) fn catch<T>(check: impl FnOnce() -> Result<T>) -> Result<T> {
    // Whatever `check` borrows is a reader of this part, or one that finds its place again.
    let caught = panic::catch_unwind(AssertUnwindSafe(check));
    caught.unwrap_or_else(|panic| {
        let reason = message(panic.as_ref());
        Err(corrupt(format!(
            "cannot be read: the reader gave up: {reason}"
        )))
    })
}

fn message(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or(panic.downcast_ref::<&str>().copied())
        .unwrap_or("no reason given")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_an_error() {
        assert_eq!(catch(|| Ok(7)).unwrap(), 7);
        let found = catch(|| -> Result<()> { panic!("page {} is bad", 3) }).unwrap_err();
        assert!(found.to_string().contains("page 3 is bad"), "{found}");
        let empty: &[u8] = &[];
        catch(|| Ok(empty[0])).unwrap_err();
    }
}
