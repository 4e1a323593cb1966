//! Published cluster traces to a typed, partitioned Parquet lake.
pub mod discover;
pub mod error;
pub mod event;
pub mod fault;
pub mod inspect;
pub mod layout;
pub mod manifest;
pub mod part;
pub mod plan;
pub mod rows;
pub mod run;
pub mod sheet;
pub mod source;
pub mod split;
pub mod store;
pub mod value;
pub mod verify;
