//! Every row is accounted for: it is in the lake as it was in the file, or in the rejects file as it
//! was in the file, or the run fails and says where.

mod account;
mod gzip_streams;
mod lines;
mod policy;
mod repair;
mod suites;
