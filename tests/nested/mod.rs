//! Tables whose values may hold others, JSON lines and quoted CSV, as the library converts them; the
//! plain reading beside it is serde_json and the csv crate.

mod arrays;
mod chunks;
mod cuts;
mod published;
