//! A run that is held at one request while others run.

use std::process::{Child, Stdio};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

use super::{MANIFEST, Objects, PREFIX, Server, command, store, tracelake};
use crate::crash::child::HANGS;
use tracelake_testkit::server::{Answer, Asked};
use tracelake_testkit::{Run, ended, ensure};

/// A store in which the first request of a kind waits until it is let go.
pub(super) struct Holding {
    pub(super) server: Server,
    held: Arc<AtomicUsize>,
    is_let_go: Arc<AtomicBool>,
    /// The manifest that the others left, before the held run continued.
    pub(super) manifest: OnceLock<Option<Vec<u8>>>,
}

impl Holding {
    pub(super) fn new(state: &Objects, is_held: fn(&Asked) -> bool) -> Self {
        let held = Arc::new(AtomicUsize::new(0));
        let is_let_go = Arc::new(AtomicBool::new(false));
        let (holds, let_go) = (Arc::clone(&held), Arc::clone(&is_let_go));
        let server = store(state, move |asked| {
            if is_held(asked) && holds.fetch_add(1, Ordering::SeqCst) == 0 {
                let begun = Instant::now();
                while !let_go.load(Ordering::SeqCst) && begun.elapsed() < HANGS {
                    thread::sleep(Duration::from_millis(5));
                }
            }
            Answer::Well
        });
        Self {
            server,
            held,
            is_let_go,
            manifest: OnceLock::new(),
        }
    }

    /// Runs a command; while it waits for the answer to its request, `others` run.
    pub(super) fn around(
        &self,
        tables: &str,
        arguments: &[&str],
        others: &[(&str, &[&str])],
    ) -> Result<Run, String> {
        let child = self.start(tables, arguments)?;
        let outcome = self.run_others(others);
        let run = ended(child.wait_with_output().unwrap());
        outcome.map(|()| run)
    }

    /// Kills a command while it waits for the answer to its request. The request is carried out after `others`.
    pub(super) fn killed_around(
        &self,
        tables: &str,
        arguments: &[&str],
        others: &[(&str, &[&str])],
    ) -> Result<(), String> {
        let mut child = self.start(tables, arguments)?;
        child.kill().unwrap();
        child.wait().unwrap();
        self.run_others(others)
    }

    /// Starts a command, and waits until it is held.
    fn start(&self, tables: &str, arguments: &[&str]) -> Result<Child, String> {
        let mut held = command(&self.server, tables, arguments);
        if arguments.first() != Some(&"release") {
            held.args(["--threads", "1"]);
        }
        held.stdout(Stdio::null()).stderr(Stdio::piped());
        let child = held.spawn().unwrap();
        let begun = Instant::now();
        while self.held.load(Ordering::SeqCst) == 0 && begun.elapsed() < HANGS {
            thread::sleep(Duration::from_millis(5));
        }
        if self.held.load(Ordering::SeqCst) > 0 {
            return Ok(child);
        }
        let run = ended(child.wait_with_output().unwrap());
        Err(format!("it asked for no such thing: {}", run.stderr))
    }

    /// Runs commands, then lets the held one go.
    fn run_others(&self, others: &[(&str, &[&str])]) -> Result<(), String> {
        let outcome = others.iter().try_for_each(|(tables, arguments)| {
            let run = tracelake(&self.server, tables, arguments);
            ensure(run.code == 0, || {
                format!("{tables} {arguments:?}: {}", run.stderr)
            })
        });
        let manifest = self.server.objects(PREFIX).remove(MANIFEST);
        let _ = self.manifest.set(manifest);
        self.is_let_go.store(true, Ordering::SeqCst);
        outcome
    }
}
