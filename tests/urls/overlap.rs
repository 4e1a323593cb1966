//! Requests for several parts are on their way at the same time, so that a store that takes long to answer does not
//! make a run slow. The servers here answer none of a kind before enough of them have come.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use super::with_stores;
use tracelake_testkit::server::{Answer, Asked, Server};
use tracelake_testkit::{Scratch, ended, good_line};

const PARTS: u32 = 12;

/// How long a server waits for the other requests; far longer than a run needs to send them.
const PATIENCE: Duration = Duration::from_secs(20);

/// Holds requests back until `most` of them have come.
struct Gate {
    arrived: Mutex<usize>,
    most: usize,
    opened: Condvar,
    /// Whether a request waited in vain.
    was_shut: AtomicBool,
}

impl Gate {
    fn new(most: usize) -> Self {
        Self {
            arrived: Mutex::new(0),
            most,
            opened: Condvar::new(),
            was_shut: AtomicBool::new(false),
        }
    }

    fn pass(&self) {
        let mut arrived = self.arrived.lock().unwrap();
        *arrived += 1;
        self.opened.notify_all();
        let waits = |arrived: &mut usize| *arrived < self.most;
        let waited = self.opened.wait_timeout_while(arrived, PATIENCE, waits);
        if waited.unwrap().1.timed_out() {
            self.was_shut.store(true, Ordering::Relaxed);
        }
    }
}

/// Converts twelve parts from bucket to bucket on two threads, with a gate for the requests that `is_held` names.
fn convert(most: usize, is_held: fn(&Asked) -> bool) {
    let source = Scratch::new();
    for number in 0..PARTS {
        let text = good_line("job_events");
        source.part("job_events", number, PARTS, text.as_bytes());
    }
    let gate = Arc::new(Gate::new(most));
    let held = Arc::clone(&gate);
    let begun = Mutex::new(false);
    let server = Server::of(&source.src(), "bucket/source/", move |asked| {
        let mut begun = begun.lock().unwrap();
        // Until the lake has its identity, one thing is asked after the other.
        let is_identity = asked.path.ends_with("/lake.json");
        *begun |= asked.method == "PUT" && is_identity;
        let is_held = *begun && !is_identity && is_held(asked);
        drop(begun);
        if is_held {
            held.pass();
        }
        Answer::Well
    });
    let mut command = with_stores(&server.url());
    command.args(["convert", "s3://bucket/source", "s3://bucket/lake"]);
    command.args(["--threads", "2", "--checksums", "none"]);
    ended(command.output().unwrap()).well();
    assert!(
        !gate.was_shut.load(Ordering::Relaxed),
        "requests waited for each other"
    );
}

#[test]
fn files_are_read_ahead_of_the_threads_that_convert_them() {
    convert(7, |asked| {
        asked.path.starts_with("bucket/source/job_events/") && asked.method == "GET"
    });
}

#[test]
fn more_parts_are_committed_at_a_time_than_converted() {
    convert(12, |asked| {
        asked.path.starts_with("bucket/lake/job_events/") && asked.method == "PUT"
    });
}

#[test]
fn facts_are_noted_side_by_side() {
    convert(12, |asked| {
        asked.path.starts_with("bucket/lake/_tracelake/facts/") && asked.method == "PUT"
    });
}
