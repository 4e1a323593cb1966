//! JSON to values: each line is an object with the columns as its keys, or each element of an array. Pure.
//!
//! `JsonRecords` has the rows of a chunk. `direct` finds the texts of the values of lines as traces have them;
//! all other lines, and so every fault, are left to `cells`. Numbers are read from their text, as in CSV.

mod array;
mod cells;
mod columns;
mod direct;
mod records;
mod stops;

pub use array::split as split_array;
pub use cells::members;
pub(crate) use records::JsonRecords;

#[cfg(test)]
pub(crate) use cells::row;
#[cfg(test)]
mod tests;
