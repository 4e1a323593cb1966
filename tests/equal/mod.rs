//! The same input gives the same bytes, and the values that a plain reading gives.

mod bytes;
mod catalog;
mod resume;
mod twin;
