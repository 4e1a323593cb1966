//! The command line as its users meet it: arguments, exit codes, messages, and OUT as it was.

mod accepted;
mod arguments;
mod bad_out;
mod bad_rows;
mod bad_source;
mod exit_codes;
mod generated;
mod hints;
mod inspect;
mod listed;
mod missing;
mod mistaken;
mod nullable;
mod pages;
mod published;
mod recognised;
mod refusal;
mod rejects;
#[cfg(unix)]
mod room;
mod schema_of_lake;
