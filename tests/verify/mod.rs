//! The purpose of `verify`: a lake is changed in one place, and `verify` has to say where.

mod alone;
mod beside;
mod claims;
#[cfg(target_os = "linux")]
mod hostile;
mod manifest;
mod mutations;
mod patient;
mod statistics;
