//! The blocks of one version of an object, each continued where a connection was cut.

use std::ops::Range;
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures_util::StreamExt;
use futures_util::stream::BoxStream;
use object_store::{GetOptions, GetRange, GetResult, ObjectMeta};
use tokio::sync::Mutex;
use tracelake_core::error::Result;

use super::body::UNKNOWN;
use super::explain::Failure;
use super::object::{Object, first_byte, is_weak};
use super::pace::{Judgement, LIMITS, Limits, Pace};
use crate::entry::Version;
use crate::url::Url;

/// The first range of an object, in bytes: enough for a small file, and to see what a file is.
const FIRST: u64 = 256 << 10;

/// The other ranges, in bytes.
pub(super) const BLOCK: u64 = 2 << 20;

/// How often in a row a connection may be cut without giving a byte.
const CUTS: u32 = 8;

/// How long to wait after the second cut in a row; after each further one, twice as long.
const PAUSE: Duration = Duration::from_millis(100);

/// Whether two answers are about equal bytes. Where there are tags, the time doesn't count: workers on one plan replace
/// outputs by equal bytes, and many stores give these the same tag.
fn is_same(one: &ObjectMeta, other: &ObjectMeta) -> bool {
    let is_tagged = one.e_tag.as_deref().is_some_and(|tag| !is_weak(tag));
    let seconds = |found: &ObjectMeta| found.last_modified.timestamp();
    (one.size, &one.e_tag) == (other.size, &other.e_tag)
        && (is_tagged || seconds(one) == seconds(other))
}

/// The rest of an answer.
struct Answer {
    /// Bytes that have arrived, but belong to the next block.
    arrived: Bytes,
    /// `None` if the connection was cut.
    stream: Option<BoxStream<'static, object_store::Result<Bytes>>>,
}

impl Answer {
    fn of(result: GetResult) -> Self {
        Self {
            arrived: Bytes::new(),
            stream: Some(result.into_stream()),
        }
    }

    /// The next bytes; `None` at the end. After an error that isn't an unusable answer, the rest may be asked for again.
    async fn next(&mut self) -> std::result::Result<Option<Bytes>, Failure> {
        while self.arrived.is_empty() {
            let stream = self.stream.as_mut().ok_or(Failure::Cut)?;
            match stream.next().await {
                Some(bytes) => self.arrived = bytes.map_err(Failure::of)?,
                None => return Ok(None),
            }
        }
        Ok(Some(std::mem::take(&mut self.arrived)))
    }
}

/// An object of one version, whose blocks may be asked for in any order.
#[derive(Debug)]
pub(super) struct Transfer {
    object: Object,
    /// The first answer's description of it.
    found: ObjectMeta,
    /// The one answer of a server that doesn't give ranges, which has to be read in order.
    whole: Option<Mutex<Whole>>,
    limits: Limits,
}

#[derive(Default)]
struct Whole {
    answer: Option<Answer>,
    /// How far it was read.
    at: u64,
    /// Whether that is its end, where the server doesn't say it before.
    has_ended: bool,
}

impl std::fmt::Debug for Whole {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Whole({})", self.at)
    }
}

impl Transfer {
    fn new(object: Object, found: &ObjectMeta) -> Self {
        Self {
            object,
            found: found.clone(),
            whole: None,
            limits: LIMITS,
        }
    }

    /// Learns of an object's size and version, to read blocks of it.
    pub(super) async fn find(object: Object) -> Result<(Self, Bytes)> {
        let found = object.get(first_byte()).await;
        let found = found.map_err(|failure| object.error("read", failure))?;
        Ok((Self::new(object, &found.meta), Bytes::new()))
    }

    /// Asks for the end of an object that should have `size` bytes, and learns of its version by that. Returns the
    /// last bytes too, which are `length` or all; none if the object has another size.
    pub(super) async fn end(object: Object, size: u64, length: u64) -> Result<(Self, Bytes)> {
        let range = size.saturating_sub(length)..size;
        let options = GetOptions::new().with_range(Some(GetRange::Bounded(range.clone())));
        let answer = match object.get(options).await {
            Ok(answer) if answer.meta.size == size && answer.range == range => answer,
            // It is shorter or longer, or its server gives no ranges.
            Ok(_) | Err(Failure::NoRanges | Failure::NoSuchRange) => {
                return Self::find(object).await;
            }
            Err(failure) => return Err(object.error("read", failure)),
        };
        let transfer = Self::new(object, &answer.meta);
        let block = transfer.fill(range, &mut Some(Answer::of(answer))).await?;
        Ok((transfer, block))
    }

    /// The size of the object.
    pub(super) fn size(&self) -> u64 {
        self.found.size
    }

    /// The URL of the object.
    pub(super) fn url(&self) -> &Url {
        &self.object.url
    }

    /// The version of the object, as its server reports it.
    pub(super) fn version(&self) -> Version {
        Version {
            bytes: Some(self.found.size).filter(|size| *size != UNKNOWN),
            etag: self.found.e_tag.clone(),
            modified: self.found.last_modified.timestamp(),
        }
    }

    /// Asks for the first block from `start` on, and learns of the object's size and version by that. An object that has
    /// no such bytes has an empty block.
    pub(super) async fn begin(object: Object, start: u64) -> Result<(Self, Bytes, u64)> {
        let first = start..start.saturating_add(FIRST);
        let first = GetOptions::new().with_range(Some(GetRange::Bounded(first)));
        let (answer, has_ranges) = match object.get(first).await {
            // An empty object has no first byte, and some servers say so of any.
            Err(Failure::NoRanges | Failure::NoSuchRange) => {
                (object.get(GetOptions::new()).await, false)
            }
            answer => (answer, true),
        };
        let answer = answer.map_err(|failure| object.error("read", failure))?;
        let mut transfer = Self::new(object, &answer.meta);
        let size = transfer.size();
        let end = start.saturating_add(FIRST).min(size.max(start));
        // Without ranges, the answer is at the first byte of all.
        let is_at_start = has_ranges || start == 0;
        let mut answer = Some(Answer::of(answer)).filter(|_| is_at_start);
        if !has_ranges {
            transfer.whole = Some(Mutex::default());
        }
        let block = transfer.fill(start..end, &mut answer).await?;
        let at = start + block.len() as u64;
        let has_ended = at < end;
        if let Some(whole) = &transfer.whole {
            *whole.lock().await = Whole {
                answer,
                at,
                has_ended,
            };
        }
        let size = if has_ended { at } else { size };
        Ok((transfer, block, size))
    }

    pub(super) async fn block(&self, range: Range<u64>) -> Result<Bytes> {
        let Some(whole) = &self.whole else {
            return self.fill(range, &mut None).await;
        };
        // The first caller gets the lock first, so the blocks are read in order.
        let mut whole = whole.lock().await;
        if whole.has_ended && range.start >= whole.at {
            return Ok(Bytes::new());
        }
        let at = whole.at;
        let mut answer = whole.answer.take().filter(|_| at == range.start);
        let block = self.fill(range.clone(), &mut answer).await?;
        let at = range.start + block.len() as u64;
        *whole = Whole {
            answer,
            at,
            has_ended: at < range.end,
        };
        Ok(block)
    }

    /// Reads a range, from an answer that is at its start if there is one. Of an object whose size isn't
    /// known, it may be less.
    async fn fill(&self, range: Range<u64>, answer: &mut Option<Answer>) -> Result<Bytes> {
        let length = usize::try_from(range.end - range.start).expect("blocks fit in memory");
        let mut block = Vec::with_capacity(length);
        let mut cuts = 0;
        let begun = Instant::now();
        let mut pace = Pace::new(self.limits);
        while block.len() < length {
            let position = range.start + block.len() as u64;
            let current = match answer {
                Some(answer) => answer,
                None => {
                    let rest = self.continue_at(position..range.end).await;
                    answer.insert(rest.map_err(|failure| self.object.error("read", failure))?)
                }
            };
            let is_cut = match current.next().await {
                Ok(Some(mut bytes)) => {
                    cuts = 0;
                    let now = bytes.split_to(bytes.len().min(length - block.len()));
                    block.extend_from_slice(&now);
                    current.arrived = bytes;
                    false
                }
                Ok(None) if self.found.size == UNKNOWN => return Ok(block.into()),
                Err(failure) if failure.is_unusable() => {
                    return Err(self.object.error("read", failure));
                }
                Ok(None) | Err(_) => true,
            };
            match pace.judge(block.len() as u64, begun.elapsed()) {
                Judgement::Fine => {}
                // Only the program shows it.
                Judgement::Slow => {
                    tracing::warn!("{}: less than 1 KiB arrives in a second", self.url());
                }
                Judgement::TooSlow => return Err(self.object.error("read", Failure::Slow)),
            }
            if !is_cut {
                continue;
            }
            // The next round asks for the rest.
            *answer = None;
            cuts += 1;
            if cuts > CUTS {
                return Err(self.object.error("read", Failure::Cut));
            }
            if cuts > 1 {
                tokio::time::sleep(PAUSE * 2_u32.pow(cuts - 2)).await;
            }
        }
        Ok(block.into())
    }

    /// Fails if the object isn't of this version any more; returns its tag, if it has one that no other bytes have.
    pub(super) async fn confirm(&self) -> Result<Option<String>> {
        match self.ask_again(0..1).await {
            Ok(_) => Ok(self.found.e_tag.clone().filter(|tag| !is_weak(tag))),
            Err(failure) => Err(self.object.error("read", failure)),
        }
    }

    /// Asks for a range, of the same version; where there are no ranges, for everything.
    async fn ask_again(&self, range: Range<u64>) -> std::result::Result<GetResult, Failure> {
        let mut options = GetOptions::new();
        if self.whole.is_none() {
            options = options.with_range(Some(GetRange::Bounded(range)));
        }
        // A weak tag never matches, by the rules of HTTP; it is compared below.
        let tag = self.found.e_tag.clone();
        options = options.with_if_match(tag.filter(|tag| !is_weak(tag)));
        let result = match self.object.get(options).await {
            // An object that is gone, or has become shorter.
            Err(Failure::Missing | Failure::NoSuchRange) => return Err(Failure::Changed),
            result => result?,
        };
        match is_same(&result.meta, &self.found) {
            true => Ok(result),
            false => Err(Failure::Changed),
        }
    }

    /// Asks for the rest of a block, of the same version.
    async fn continue_at(&self, range: Range<u64>) -> std::result::Result<Answer, Failure> {
        let start = range.start;
        let mut answer = Answer::of(self.ask_again(range).await?);
        let mut left = if self.whole.is_some() { start } else { 0 };
        while left > 0 {
            let mut bytes = match answer.next().await {
                Ok(Some(bytes)) => bytes,
                Ok(None) if self.found.size == UNKNOWN => return Err(Failure::Changed),
                Err(failure) if failure.is_unusable() => return Err(failure),
                // The next round begins again.
                Ok(None) | Err(_) => {
                    answer.stream = None;
                    break;
                }
            };
            let skipped = left.min(bytes.len() as u64);
            left -= skipped;
            answer.arrived = bytes.split_off(usize::try_from(skipped).expect("within a chunk"));
        }
        Ok(answer)
    }
}

#[cfg(test)]
mod tests;
