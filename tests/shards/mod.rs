//! Lakes that several workers make: in any order, and even if workers are killed, the bytes are those
//! of a lake that one run made.

mod flips;
mod grown;
mod killed;
mod recipes;
mod refused;
mod same;
pub(crate) mod together;
mod undisturbed;

use std::path::Path;
use std::process::{Child, Command, Stdio};

use tracelake_testkit::{Run, Scratch, assert_same_tree, convert, program, run, tree};

/// The arguments of a shard, such as `--shard 0/4`.
fn arguments(index: u32, of: u32, more: &[&str]) -> Vec<String> {
    let shard = ["--shard".to_owned(), format!("{index}/{of}")];
    let more = more.iter().map(|&argument| argument.to_owned());
    shard.into_iter().chain(more).collect()
}

/// Converts one shard.
fn shard(src: &Path, out: &Path, index: u32, of: u32, more: &[&str]) -> Run {
    let arguments = arguments(index, of, more);
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    convert(src, out, &arguments)
}

/// The command that converts one shard.
fn shard_command(src: &Path, out: &Path, index: u32, of: u32, more: &[&str]) -> Command {
    let mut command = program();
    command.arg("convert").args([src, out]);
    command.args(arguments(index, of, more));
    command.stdout(Stdio::null()).stderr(Stdio::piped());
    command
}

/// Starts a shard in a separate process.
fn start(src: &Path, out: &Path, index: u32, of: u32, more: &[&str]) -> Child {
    shard_command(src, out, index, of, more).spawn().unwrap()
}

/// Commits a lake.
fn commit(out: &Path) -> Run {
    run(["commit", out.to_str().unwrap()])
}

/// Expects the lake at `out` to be that at `expected`, byte for byte and without leftovers.
#[track_caller]
fn assert_same(out: &Path, expected: &Path, what: &str) {
    assert_same_tree(&tree(out), &tree(expected), what);
}

/// Expects the lake at `out` to be the one that a single run makes.
#[track_caller]
fn assert_undisturbed(scratch: &Scratch, out: &Path, options: &[&str], what: &str) {
    let one = scratch.path().join(what);
    convert(&scratch.src(), &one, options);
    assert_same(out, &one, what);
}
