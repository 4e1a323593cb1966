//! Equal input gives equal bytes, and the values that a plain reading gives.

mod bytes;
mod catalog;
mod refused;
mod resume;
mod twin;
