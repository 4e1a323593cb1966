//! A context that is cancelled ends a run with an error, whenever that happens: what is missing is never committed.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use tracelake_convert::plan::{Request, Shard, plan};
use tracelake_convert::run::{RunOptions, convert};
use tracelake_core::event::Event;
use tracelake_core::{Context, ErrorKind};
use tracelake_location::Location;

/// Makes a context that is cancelled once `parts` parts are finished.
fn cancelled_after(threads: usize, parts: u64) -> Context {
    let context = Context::new().with_threads(threads);
    let finished = AtomicU64::new(0);
    let canceller = context.clone();
    let context = context.with_events(move |event| {
        if let Event::Finished { .. } = event
            && finished.fetch_add(1, Ordering::Relaxed) + 1 == parts
        {
            canceller.cancel();
        }
    });
    if parts == 0 {
        context.cancel();
    }
    context
}

#[test]
fn a_run_that_is_cancelled_between_files_commits_nothing() {
    let sample = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/sample");
    let plan = plan(&Context::new(), &Request::new(Path::new(sample))).unwrap();
    let all = plan.parts().count();
    assert!(all > 4);
    for shard in [None, Some(Shard { index: 0, of: 1 })] {
        for (threads, parts) in [(1, 0), (1, 1), (1, 3), (2, 0), (2, 1), (2, 3)] {
            let directory = tempfile::tempdir().unwrap();
            let out = Location::from(directory.path().join("lake"));
            let mut options = RunOptions::default();
            options.shard = shard;
            let what = format!("{threads} threads, {parts} parts, {shard:?}");
            let stopped = convert(&cancelled_after(threads, parts), &plan, &out, options);
            let error = stopped.err().unwrap_or_else(|| panic!("{what}: no error"));
            assert_eq!(error.kind(), ErrorKind::Stopped(2), "{what}");
            assert!(error.advice().is_some(), "{what}");
            assert!(
                !out.join("_tracelake/manifest.json").is_file().unwrap(),
                "{what}"
            );
            options.shard = None;
            let resumed = convert(&Context::new(), &plan, &out, options).unwrap();
            assert_eq!(resumed.manifest.parts().count(), all, "{what}");
        }
    }
}
