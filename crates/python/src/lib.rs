//! The Python package `tracelake`. The crate is empty without its feature `extension`, so a build of the
//! workspace needs no Python.

#[cfg(feature = "extension")]
mod extension;
