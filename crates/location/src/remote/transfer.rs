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
use super::object::{Object, is_weak};
use super::pace::{Judgement, LIMITS, Limits, Pace};

/// The first range of an object, in bytes: enough for a small file, and to see what a file is.
const FIRST: u64 = 256 << 10;

/// The other ranges, in bytes.
pub(super) const BLOCK: u64 = 2 << 20;

/// How often in a row a connection may be cut without giving a byte.
const CUTS: u32 = 8;

/// How long to wait after the second cut in a row; after each further one, twice as long.
const PAUSE: Duration = Duration::from_millis(100);

/// The version of an object, to compare answers.
#[derive(Debug, Clone)]
struct Version {
    size: u64,
    e_tag: Option<String>,
    /// Seconds since 1970.
    modified: i64,
}

impl Version {
    fn of(meta: &ObjectMeta) -> Self {
        Self {
            size: meta.size,
            e_tag: meta.e_tag.clone(),
            modified: meta.last_modified.timestamp(),
        }
    }

    /// Whether both are of equal bytes. Where there are tags, the time doesn't count: workers on one plan
    /// replace outputs by equal bytes, and many stores give these the same tag.
    fn is_same(&self, other: &Self) -> bool {
        let is_tagged = self.e_tag.as_deref().is_some_and(|tag| !is_weak(tag));
        let (size, tag) = (self.size == other.size, self.e_tag == other.e_tag);
        size && tag && (is_tagged || self.modified == other.modified)
    }
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

    /// The next bytes.
    async fn next(&mut self) -> Next {
        while self.arrived.is_empty() {
            let Some(stream) = &mut self.stream else {
                return Next::Cut;
            };
            self.arrived = match stream.next().await {
                Some(Ok(bytes)) => bytes,
                Some(Err(error)) => return Next::failed(error),
                None => return Next::End,
            };
        }
        Next::Bytes(std::mem::take(&mut self.arrived))
    }
}

/// The next piece of an answer.
enum Next {
    Bytes(Bytes),
    End,
    /// The connection was cut.
    Cut,
    /// Another answer won't be better.
    Unusable(Failure),
}

impl Next {
    fn failed(error: object_store::Error) -> Self {
        match Failure::of(error) {
            failure if failure.is_unusable() => Self::Unusable(failure),
            _ => Self::Cut,
        }
    }
}

/// An object of one version, whose blocks may be asked for in any order.
#[derive(Debug)]
pub(super) struct Transfer {
    object: Object,
    version: Version,
    /// The one answer of a server that doesn't give ranges, which has to be read in order.
    whole: Option<Mutex<Whole>>,
    limits: Limits,
}

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
    /// Learns of an object's size and version, to read blocks of it.
    pub(super) async fn find(object: Object) -> Result<Self> {
        let found = object.version().await?;
        Ok(Self {
            version: Version::of(&found),
            object,
            whole: None,
            limits: LIMITS,
        })
    }

    /// Asks for the end of an object that should have `size` bytes, and learns of its version by that. Returns the
    /// last bytes too, which are `length` or all; none if the object has another size.
    pub(super) async fn end(object: Object, size: u64, length: u64) -> Result<(Self, Vec<u8>)> {
        let range = size.saturating_sub(length)..size;
        let options = GetOptions::new().with_range(Some(GetRange::Bounded(range.clone())));
        let answer = match object.get(options).await {
            Ok(answer) if answer.meta.size == size && answer.range == range => answer,
            // It is shorter or longer, or its server gives no ranges.
            Ok(_) | Err(Failure::NoRanges | Failure::NoSuchRange) => {
                return Ok((Self::find(object).await?, Vec::new()));
            }
            Err(failure) => return Err(object.error("read", failure)),
        };
        let transfer = Self {
            version: Version::of(&answer.meta),
            object,
            whole: None,
            limits: LIMITS,
        };
        let block = transfer.fill(range, &mut Some(Answer::of(answer))).await?;
        Ok((transfer, block))
    }

    /// The size of the object.
    pub(super) fn size(&self) -> u64 {
        self.version.size
    }

    /// Asks for the first block, and learns of the object's size and version by that.
    pub(super) async fn begin(object: Object) -> Result<(Self, Vec<u8>, u64)> {
        let first = GetOptions::new().with_range(Some(GetRange::Bounded(0..FIRST)));
        let (answer, has_ranges) = match object.get(first).await {
            // An empty object has no first byte, and some servers say so of any.
            Err(Failure::NoRanges | Failure::NoSuchRange) => {
                (object.get(GetOptions::new()).await, false)
            }
            answer => (answer, true),
        };
        let answer = match answer {
            Ok(answer) => answer,
            Err(failure) => return Err(object.error("read", failure)),
        };
        let version = Version::of(&answer.meta);
        let size = version.size;
        let mut answer = Some(Answer::of(answer));
        let empty = Whole {
            answer: None,
            at: 0,
            has_ended: false,
        };
        let transfer = Self {
            object,
            version,
            whole: (!has_ranges).then(|| Mutex::new(empty)),
            limits: LIMITS,
        };
        let end = FIRST.min(size);
        let block = transfer.fill(0..end, &mut answer).await?;
        let at = block.len() as u64;
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

    pub(super) async fn block(&self, range: Range<u64>) -> Result<Vec<u8>> {
        let Some(whole) = &self.whole else {
            return self.fill(range, &mut None).await;
        };
        // The first caller gets the lock first, so the blocks are read in order.
        let mut whole = whole.lock().await;
        if whole.has_ended && range.start >= whole.at {
            return Ok(Vec::new());
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
    async fn fill(&self, range: Range<u64>, answer: &mut Option<Answer>) -> Result<Vec<u8>> {
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
            match current.next().await {
                Next::Bytes(mut bytes) => {
                    cuts = 0;
                    let now = bytes.split_to(bytes.len().min(length - block.len()));
                    block.extend_from_slice(&now);
                    current.arrived = bytes;
                    self.look_at(&mut pace, block.len() as u64, begun.elapsed())?;
                    continue;
                }
                Next::End if self.version.size == UNKNOWN => return Ok(block),
                Next::Unusable(failure) => return Err(self.object.error("read", failure)),
                Next::End | Next::Cut => {}
            }
            self.look_at(&mut pace, block.len() as u64, begun.elapsed())?;
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
        Ok(block)
    }

    /// Warns of a server that is slow, and fails if it is for too long.
    fn look_at(&self, pace: &mut Pace, bytes: u64, elapsed: Duration) -> Result<()> {
        match pace.judge(bytes, elapsed) {
            Judgement::Fine => {}
            Judgement::Slow => self.object.warn("less than 1 KiB arrives in a second"),
            Judgement::TooSlow => return Err(self.object.error("read", Failure::Slow)),
        }
        Ok(())
    }

    /// Fails if the object isn't of this version any more; returns its tag, if it has one that no other bytes have.
    pub(super) async fn confirm(&self) -> Result<Option<String>> {
        match self.ask_again(0..1).await {
            Ok(_) => Ok(self.version.e_tag.clone().filter(|tag| !is_weak(tag))),
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
        let tag = self.version.e_tag.clone();
        options = options.with_if_match(tag.filter(|tag| !is_weak(tag)));
        let result = match self.object.get(options).await {
            // An object that is gone, or has become shorter.
            Err(Failure::Missing | Failure::NoSuchRange) => return Err(Failure::Changed),
            result => result?,
        };
        match Version::of(&result.meta).is_same(&self.version) {
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
                Next::Bytes(bytes) => bytes,
                Next::End if self.version.size == UNKNOWN => return Err(Failure::Changed),
                Next::Unusable(failure) => return Err(failure),
                // The next round begins again.
                Next::End | Next::Cut => {
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
