//! Tables that are published in one file: unpacked, gzipped, or as a member of an archive.

pub(crate) mod archives;
mod checked;
mod cuts;
mod digests;
mod edges;
mod quoted;
mod tar_readers;

use std::sync::Arc;

use tracelake_schema::{Files, Syntax, TRACES, Table, Trace};
use tracelake_testkit::gzip;

/// The first trace of the catalog whose tables are all published in one file of plain fields, and from which others are
/// derived.
fn whole_trace() -> &'static Trace {
    let whole = |table: &Arc<Table>| table.files == Files::Whole && table.syntax == Syntax::Csv;
    let mut traces = TRACES.iter().filter(|trace| !trace.derived.is_empty());
    traces.find(|trace| trace.tables.iter().all(whole)).unwrap()
}

/// Two of its tables.
pub(crate) fn two_tables() -> [&'static Table; 2] {
    let tables = &whole_trace().tables;
    [&tables[0], &tables[1]]
}

/// An archive of members, each a path and its bytes.
pub(crate) fn tar(members: &[(&str, &[u8])]) -> Vec<u8> {
    let mut archive = tar::Builder::new(Vec::new());
    for (path, text) in members {
        let mut header = tar::Header::new_gnu();
        header.set_size(text.len() as u64);
        header.set_mode(0o644);
        archive.append_data(&mut header, path, *text).unwrap();
    }
    archive.into_inner().unwrap()
}

/// A compressed archive of members, each a path and a text.
pub(crate) fn tar_gz(members: &[(&str, &str)]) -> Vec<u8> {
    let members = members.iter().map(|(path, text)| (*path, text.as_bytes()));
    gzip(&tar(&members.collect::<Vec<_>>()))
}
