//! An object being written: parts that are sent while the next one fills, visible when it is complete.

use std::collections::VecDeque;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use futures_util::StreamExt;
use object_store::{MultipartUpload, PutMode, PutPayload};
use tokio::sync::Mutex;
use tracelake_core::error::Result;

use super::network::{AT_A_TIME, Pending, ask, wait_for};
use super::object::Object;
use crate::url::Url;

/// The parts of an object, in bytes; a smaller object is sent as a whole. A store takes ten thousand.
const PART: usize = 8 << 20;

/// Parts that are being sent while the next one fills.
const SENDING: usize = 1;

/// How long the end of uploads that were given up may take.
const ABORT: Duration = Duration::from_secs(1);

/// The parts of an object in its store. Only one task at a time uses them.
type Parts = Arc<Mutex<Box<dyn MultipartUpload>>>;

/// Parts of objects that were dropped before they were complete, each with its process: a forked one has no thread for
/// the others.
static DROPPED: std::sync::Mutex<Vec<(u32, Url, Parts)>> = std::sync::Mutex::new(Vec::new());

/// An object being written; if it is dropped before it is complete, nothing of it becomes visible. Its parts stay in the
/// store until [`abort_dropped_uploads`].
///
/// # Memory
/// [`crate::UPLOAD_MEMORY`].
#[derive(Debug)]
pub struct Upload {
    object: Object,
    buffer: Vec<u8>,
    /// Begun with the first full part; gone once the object is complete.
    parts: Option<Parts>,
    sending: VecDeque<Pending<()>>,
}

impl Upload {
    /// Begins to write an object, which becomes visible when it is complete.
    ///
    /// # Errors
    /// If there are no credentials to write with.
    pub fn begin(url: &Url) -> Result<Self> {
        let object = ask(url, |object| async move {
            object.check_writable()?;
            Ok(object)
        })?;
        Ok(Self {
            object,
            buffer: Vec::new(),
            parts: None,
            sending: VecDeque::new(),
        })
    }

    /// Adds bytes.
    ///
    /// # Errors
    /// If a part can't be sent.
    pub fn write(&mut self, mut bytes: &[u8]) -> Result<()> {
        while !bytes.is_empty() {
            let (now, later) = bytes.split_at(bytes.len().min(PART - self.buffer.len()));
            self.buffer.extend_from_slice(now);
            bytes = later;
            if self.buffer.len() == PART {
                self.send()?;
            }
        }
        Ok(())
    }

    /// Sends what is in the buffer as a part.
    fn send(&mut self) -> Result<()> {
        let parts = match &self.parts {
            Some(parts) => Arc::clone(parts),
            None => {
                let begun = wait_for(&self.object.url, self.object.clone().begin_parts())?;
                Arc::clone(self.parts.insert(Arc::new(Mutex::new(begun))))
            }
        };
        let payload = PutPayload::from(std::mem::take(&mut self.buffer));
        let part = parts.blocking_lock().put_part(payload);
        let object = self.object.clone();
        let sending = async move { part.await.map_err(|error| object.failed("write", error)) };
        self.sending
            .push_back(Pending::start(&self.object.url, sending)?);
        self.wait_for_all_but(SENDING)
    }

    fn wait_for_all_but(&mut self, left: usize) -> Result<()> {
        while self.sending.len() > left
            && let Some(sending) = self.sending.front_mut()
        {
            sending.wait(self.object.url.context.as_deref())?;
            self.sending.pop_front();
        }
        Ok(())
    }

    /// Sends everything, as far as that doesn't make the object visible.
    ///
    /// # Errors
    /// If a part can't be sent.
    pub fn flush(&mut self) -> Result<()> {
        if self.parts.is_some() && !self.buffer.is_empty() {
            self.send()?;
        }
        self.wait_for_all_but(0)
    }

    /// Sends everything like [`Upload::flush`], and keeps nothing of a small object in memory either: it is then sent
    /// in parts, of which there is one.
    ///
    /// # Errors
    /// If a part can't be sent.
    pub fn set_aside(&mut self) -> Result<()> {
        if !self.buffer.is_empty() {
            self.send()?;
        }
        self.flush()
    }

    /// Makes the object visible, in the place of what has its name.
    ///
    /// # Errors
    /// If the store doesn't answer, or refuses.
    pub fn complete(mut self) -> Result<()> {
        self.flush()?;
        let object = self.object.clone();
        let Some(parts) = self.parts.clone() else {
            let bytes = std::mem::take(&mut self.buffer);
            return wait_for(&self.object.url, object.put(bytes, PutMode::Overwrite)).map(drop);
        };
        wait_for(&self.object.url, async move {
            let completed = parts.lock().await.complete().await;
            completed.map_err(|error| object.failed("write", error))
        })?;
        self.parts = None;
        Ok(())
    }
}

impl Drop for Upload {
    fn drop(&mut self) {
        self.sending.clear();
        if let Some(parts) = self.parts.take() {
            let mut dropped = DROPPED.lock().unwrap_or_else(PoisonError::into_inner);
            dropped.push((std::process::id(), self.object.url.clone(), parts));
        }
    }
}

/// Removes from their stores what was sent of objects that were dropped before they were complete. Many may be, if a file
/// is cut into many parts, so this takes at most a second, and what is left then is for the lifecycle rule of the bucket.
pub fn abort_dropped_uploads() {
    let mut dropped = std::mem::take(&mut *DROPPED.lock().unwrap_or_else(PoisonError::into_inner));
    dropped.retain(|(process, ..)| *process == std::process::id());
    let Some((_, url, _)) = dropped.first() else {
        return;
    };
    // Best effort, and not for long.
    let aborts = Pending::start(&url.clone(), async move {
        let abort = |(_, _, parts): (_, _, Parts)| async move {
            let _ = parts.lock().await.abort().await;
        };
        let aborts = futures_util::stream::iter(dropped).for_each_concurrent(AT_A_TIME, abort);
        let _ = tokio::time::timeout(ABORT, aborts).await;
        Ok(())
    });
    let _ = aborts.and_then(|mut aborts| aborts.wait(None));
}
