//! The commands that workers carry out, on a table of three parts with one row each.

use std::collections::BTreeSet;
use std::fmt;
use std::io::Write;
use std::sync::Arc;

use async_trait::async_trait;
use futures_util::StreamExt;
use futures_util::stream::{self, BoxStream};
use object_store::path::Path;
use object_store::{
    CopyOptions, GetOptions, GetResult, ListResult, MultipartUpload, ObjectMeta, ObjectStore,
    PutMultipartOptions, PutOptions, PutPayload, PutResult, Result as StoreResult,
};
use tracelake_core::Context;
use tracelake_core::digest::Digest;
use tracelake_core::error::{Error, ErrorKind, Result};
use tracelake_core::options::{Codec, OnBadRow};
use tracelake_core::origin::Origin;
use tracelake_core::settings::Settings;
use tracelake_location::{Location, Url};
use tracelake_schema::{TRACES, Trace};

use super::bucket::{answer, unused};
use super::turns::{Turns, World};
use crate::commit::{Commit, CommitOptions};
use crate::forget::Forget;
use crate::identity::Identity;
use crate::look::{Goal, Lake};
use crate::manifest::{FileFacts, Manifest, PartFacts};
use crate::parts::PartName;
use crate::plan_file::{PlanFile, PlannedPart, PlannedSource};
use crate::work::MadePart;

/// The table that is converted.
pub(super) const TABLE: &str = "job_events";

/// A command of a worker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Command {
    /// Converts parts, or one of two shards of them.
    Convert {
        parts: Vec<u32>,
        shard: Option<u32>,
    },
    /// Converts everything with another option.
    ConvertOtherwise,
    Commit,
    RemoveUnnamed,
    /// Forgets everything that isn't committed.
    Forget,
    /// Looks as `--dry-run` does.
    Look,
}

pub(super) fn all() -> Command {
    Command::Convert {
        parts: vec![0, 1],
        shard: None,
    }
}

pub(super) fn part(number: u32) -> Command {
    Command::Convert {
        parts: vec![number],
        shard: None,
    }
}

pub(super) fn shard(index: u32) -> Command {
    Command::Convert {
        parts: vec![0, 1],
        shard: Some(index),
    }
}

/// A part that a worker has made: its number, its output, and its source.
pub(super) type Made = BTreeSet<(u32, Digest, Digest)>;

fn trace() -> &'static Arc<Trace> {
    let mut traces = TRACES.iter();
    let trace = traces.find(|trace| trace.tables.iter().any(|table| table.name == TABLE));
    trace.expect("a built-in trace")
}

/// The text of a part, of which there is another one each time the source is replaced.
pub(super) fn text(part: u32, generation: u64) -> Vec<u8> {
    format!("row {part}, {generation}").into_bytes()
}

fn name(part: u32) -> String {
    format!("{TABLE}/part-{part}.csv")
}

fn output(part: u32) -> String {
    format!("{TABLE}/file_number={part}/part-{part:05}.parquet")
}

/// The source as a worker reads it.
#[derive(Debug)]
struct Source<W> {
    worker: usize,
    turns: Arc<Turns<W>>,
}

impl<W: World> Source<W> {
    fn generation(&self) -> u64 {
        self.turns.peek(self.worker, World::source)
    }
}

impl<W> fmt::Display for Source<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Source({})", self.worker)
    }
}

#[async_trait]
impl<W: World + 'static> ObjectStore for Source<W> {
    async fn get_opts(&self, path: &Path, options: GetOptions) -> StoreResult<GetResult> {
        let generation = self.generation();
        let part = (0..3).find(|&part| name(part) == path.as_ref());
        let found = part.map(|part| (text(part, generation).into(), generation.to_string()));
        answer(path, found, options).await
    }

    async fn put_opts(&self, _: &Path, _: PutPayload, _: PutOptions) -> StoreResult<PutResult> {
        unused("put_opts")
    }

    async fn put_multipart_opts(
        &self,
        _: &Path,
        _: PutMultipartOptions,
    ) -> StoreResult<Box<dyn MultipartUpload>> {
        unused("put_multipart_opts")
    }

    fn delete_stream(
        &self,
        paths: BoxStream<'static, StoreResult<Path>>,
    ) -> BoxStream<'static, StoreResult<Path>> {
        paths
    }

    fn list(&self, _: Option<&Path>) -> BoxStream<'static, StoreResult<ObjectMeta>> {
        stream::empty().boxed()
    }

    async fn list_with_delimiter(&self, _: Option<&Path>) -> StoreResult<ListResult> {
        unused("list_with_delimiter")
    }

    async fn copy_opts(&self, _: &Path, _: &Path, _: CopyOptions) -> StoreResult<()> {
        unused("copy_opts")
    }
}

impl Command {
    /// Carries the command out.
    pub(super) fn run<W: World + 'static>(
        &self,
        lake: &Lake,
        worker: usize,
        turns: &Arc<Turns<W>>,
    ) -> Result<Made> {
        let context = Context::new().with_threads(1);
        let options = CommitOptions {
            remove_unnamed: *self == Self::RemoveUnnamed,
            ..CommitOptions::default()
        };
        match self {
            Self::Commit | Self::RemoveUnnamed => {
                let manifest = Commit::of(&context, lake, options)?.finish()?;
                Ok(manifest.as_ref().map(made).unwrap_or_default())
            }
            Self::Forget => {
                match Forget::default().of(lake) {
                    // Nothing is left to forget.
                    Err(error) if error.to_string().contains("not a lake") => Ok(Made::new()),
                    forgotten => forgotten.map(|_| Made::new()),
                }
            }
            Self::Look => self.convert(&context, lake, worker, turns, &[0, 1], None),
            Self::ConvertOtherwise => self.convert(&context, lake, worker, turns, &[0, 1], None),
            Self::Convert { parts, shard } => {
                self.convert(&context, lake, worker, turns, parts, *shard)
            }
        }
    }

    fn convert<W: World + 'static>(
        &self,
        context: &Context,
        lake: &Lake,
        worker: usize,
        turns: &Arc<Turns<W>>,
        parts: &[u32],
        shard: Option<u32>,
    ) -> Result<Made> {
        let shards = shard.map_or(1, |_| 2);
        let mut plan = PlanFile::new(shards, Vec::new());
        plan.parts = parts
            .iter()
            .map(|&part| planned(part, part % shards))
            .collect();
        let mut settings = Settings::default();
        if *self == Self::ConvertOtherwise {
            settings.compression = Codec::None;
        }
        let source = Arc::new(Source {
            worker,
            turns: Arc::clone(turns),
        });
        let goal = Goal {
            identity: Identity::new(&Origin::of(trace(), settings), false),
            plan: &plan,
            shard,
            on_bad_row: OnBadRow::Fail,
            source: &Location::Url(Url::of_store(
                "source",
                Arc::clone(&source) as Arc<dyn ObjectStore>,
            )),
            source_of: &|part| name(part.key.file_number),
            output_of: &|part| output(part.key.file_number),
        };
        if *self == Self::Look {
            return lake.peek(context, &goal).map(|_| Made::new());
        }
        let joined = lake.join(context, &goal)?;
        let mut kept = joined.keep()?;
        let mine = |part: &&u32| shard.is_none_or(|shard| *part % shards == shard);
        let named = |part: u32| PartName::new(TABLE, part.into());
        let todo: Vec<u32> = parts
            .iter()
            .filter(mine)
            .copied()
            .filter(|part| !kept.contains_key(&named(*part)))
            .collect();
        if todo.is_empty()
            && let Some(manifest) = joined.finished_with(&kept)?
        {
            return Ok(made(&manifest));
        }
        let working = joined.begin()?;
        for part in todo {
            let generation = source.generation();
            let text = text(part, generation);
            let mut staging = working.stage(&output(part))?;
            staging
                .write_all(&[b"rows of ", &text[..]].concat())
                .map_err(|error| Error::disk("write", error))?;
            let staged = staging.close()?;
            if source.generation() != generation {
                return Err(Error::new(ErrorKind::Failed, "changed while it was read"));
            }
            let read = FileFacts {
                path: name(part),
                bytes: text.len() as u64,
                sha256: Digest::of(&text),
            };
            let mut facts = PartFacts::new(part.into(), read, staged.facts().clone());
            (facts.rows_in, facts.rows_out) = (1, 1);
            let made = MadePart {
                name: named(part),
                facts,
                tag: Some(generation.to_string()),
                is_cut: false,
                files: vec![staged],
            };
            let mut committed = working.commit(vec![made])?;
            let facts = committed.pop().expect("as many results as parts")?;
            kept.insert(named(part), facts);
        }
        if shard.is_some() {
            let manifest = working.assemble(&kept);
            working.leave()?;
            return Ok(made(&manifest));
        }
        working.finish(&kept, None).map(|manifest| made(&manifest))
    }
}

fn planned(part: u32, shard: u32) -> PlannedPart {
    PlannedPart {
        table: TABLE.to_owned(),
        cell: None,
        file_number: part,
        shard,
        source: PlannedSource {
            path: name(part),
            bytes: Some(text(part, 0).len() as u64),
            sha256: None,
        },
    }
}

pub(super) fn made(manifest: &Manifest) -> Made {
    let parts = manifest.parts();
    parts
        .map(|(_, part)| (part.file_number, part.output.sha256, part.source.sha256))
        .collect()
}
