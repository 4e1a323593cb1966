//! A lake of a few rows, made by `convert`, against its source.

use std::fs;
use std::path::PathBuf;

use object_store::memory::InMemory;
use tempfile::TempDir;
use tracelake_convert::plan::{Request, plan};
use tracelake_convert::run::{RunOptions, convert};
use tracelake_core::Context;
use tracelake_core::error::ErrorKind;
use tracelake_core::options::Format;
use tracelake_core::selection::Sample;
use tracelake_location::{Location, Url};
use tracelake_schema::TRACES;

use super::*;

const ROWS: &str = "600,,3418309,0,a,2,b,c\n601,,3418310,1,a,2,b,c\n602,1,3418311,4,a,2,b,c\n";

/// A source of one part, and its lake.
struct Made {
    directory: TempDir,
    trace: &'static Arc<Trace>,
}

impl Made {
    fn new(format: Format, sample: Option<Sample>) -> Self {
        let mut traces = TRACES.iter().filter(|trace| trace.in_parts());
        let trace = traces.find(|trace| trace.table("job_events").is_some());
        let trace = trace.unwrap();
        let directory = tempfile::tempdir().unwrap();
        let made = Self { directory, trace };
        made.write_source(ROWS);
        let mut request = Request::new(made.source());
        (request.trace, request.allow_missing) = (Some(Arc::clone(trace)), true);
        (request.settings.format, request.settings.sample) = (format, sample);
        let context = Context::new();
        let plan = plan(&context, &request).unwrap();
        convert(&context, &plan, &made.lake(), RunOptions::default()).unwrap();
        made
    }

    fn source(&self) -> Location {
        Location::from(self.directory.path().join("source"))
    }

    fn lake(&self) -> Location {
        Location::from(self.directory.path().join("lake"))
    }

    fn write_source(&self, rows: &str) {
        let table = self.directory.path().join("source/job_events");
        fs::create_dir_all(&table).unwrap();
        fs::write(table.join("part-00000-of-00500.csv"), rows).unwrap();
    }

    /// The only file of the lake.
    fn output(&self) -> PathBuf {
        let manifest = manifest_of(&self.lake()).unwrap();
        let (_, part) = manifest.parts().next().unwrap();
        self.directory.path().join("lake").join(&part.output.path)
    }

    fn verify(&self, with_source: bool) -> Verdict {
        let source = self.source();
        verify(
            &Context::new(),
            &self.lake(),
            with_source.then_some(&source),
        )
        .unwrap()
    }
}

#[test]
fn every_value_is_compared() {
    for &format in Format::ALL {
        let made = Made::new(format, None);
        let verdict = made.verify(true);
        assert_eq!(
            (verdict.kind(), verdict.parts, verdict.values),
            (None, 1, 24)
        );
        // Without the source, the file is read and nothing is compared.
        let verdict = made.verify(false);
        assert_eq!(
            (verdict.kind(), verdict.parts, verdict.values),
            (None, 1, 0)
        );

        made.write_source(&ROWS.replace("3418310", "3418311"));
        let verdict = made.verify(true);
        assert_eq!(verdict.kind(), Some(ErrorKind::Corrupt));
    }
}

#[test]
fn rows_that_a_sample_leaves_out_are_left_out() {
    // All classes together have every row once.
    let values = (0..2).map(|class| {
        let verdict =
            Made::new(Format::Parquet, Some(format!("{class}/2").parse().unwrap())).verify(true);
        assert_eq!(verdict.kind(), None, "{:?}", verdict.findings);
        verdict.values
    });
    assert_eq!(values.sum::<u64>(), 24);
}

#[test]
fn a_file_that_changed_or_is_gone_is_a_finding() {
    let made = Made::new(Format::Parquet, None);
    let path = made.output();
    let whole = fs::read(&path).unwrap();
    let mut changed = whole.clone();
    changed[whole.len() / 2] ^= 1;
    fs::write(&path, changed).unwrap();
    assert_eq!(made.verify(false).kind(), Some(ErrorKind::Corrupt));
    fs::remove_file(&path).unwrap();
    assert_eq!(made.verify(false).kind(), Some(ErrorKind::Corrupt));
    fs::write(&path, &whole).unwrap();
    assert_eq!(made.verify(false).kind(), None);
    fs::write(path.with_file_name("stray.parquet"), &whole).unwrap();
    let verdict = made.verify(false);
    assert_eq!(
        (verdict.kind(), verdict.findings.len()),
        (Some(ErrorKind::Corrupt), 1)
    );
}

#[test]
fn what_is_no_lake_is_named() {
    let made = Made::new(Format::Parquet, None);
    let bucket = Location::Url(Url::of_store(
        "bucket",
        std::sync::Arc::new(InMemory::new()),
    ));
    let cases = [
        (made.lake().join("nowhere"), "there is nothing here"),
        (bucket.join("nowhere"), "there is nothing here"),
        (made.source(), "not a lake but a source"),
        (Location::from(made.output()), "not a lake but a file"),
        (made.lake().join("job_events"), "it has no manifest"),
    ];
    for (root, expected) in cases {
        let error = manifest_of(&root).unwrap_err();
        assert!(error.to_string().contains(expected), "{error}");
        assert_eq!(error.kind(), ErrorKind::Refused, "{error}");
    }
    assert_eq!(
        manifest_of(&made.lake()).unwrap().origin.trace,
        made.trace.name
    );
}
