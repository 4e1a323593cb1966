//! An object being written: parts that are sent while the next one fills, visible when it is complete.

use std::collections::VecDeque;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use futures_util::StreamExt;
use object_store::{MultipartUpload, PutPayload};
use tokio::sync::Mutex;
use tracelake_core::error::Result;

use super::super::Url;
use super::super::url::UrlContext;
use super::object::Object;
use super::{AT_A_TIME, Network, Pending, ask, ask_for, network};

/// The parts of an object, in bytes; a smaller object is sent as a whole. A store takes ten thousand.
const PART: usize = 8 << 20;

/// Parts that are being sent while the next one fills.
const SENDING: usize = 1;

/// How long the end of uploads that were given up may take.
const ABORT: Duration = Duration::from_secs(1);

/// The parts of an object in its store. Only one task at a time uses them.
type Parts = Arc<Mutex<Box<dyn MultipartUpload>>>;

/// Parts of objects that were dropped before they were complete, each with its network.
static DROPPED: std::sync::Mutex<Vec<(Arc<Network>, Parts)>> = std::sync::Mutex::new(Vec::new());

/// An object being written; if it is dropped before it is complete, nothing of it becomes visible. Its parts stay in the
/// store until [`abort_dropped_uploads`].
///
/// # Memory
/// [`super::super::UPLOAD_MEMORY`].
#[derive(Debug)]
pub(in super::super) struct Upload {
    network: Arc<Network>,
    object: Object,
    context: UrlContext,
    buffer: Vec<u8>,
    /// Begun with the first full part; gone once the object is complete.
    parts: Option<Parts>,
    sending: VecDeque<Pending<()>>,
}

impl Upload {
    pub(in super::super) fn begin(url: &Url) -> Result<Self> {
        let object = ask_for(url, |network, url| async move {
            network.stores.create(&url).await
        })?;
        Ok(Self {
            network: network()?,
            object,
            context: url.context.clone(),
            buffer: Vec::new(),
            parts: None,
            sending: VecDeque::new(),
        })
    }

    pub(in super::super) fn write(&mut self, mut bytes: &[u8]) -> Result<()> {
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
                let object = self.object.clone();
                let begun = self.ask(async move { object.begin_parts().await })?;
                Arc::clone(self.parts.insert(Arc::new(Mutex::new(begun))))
            }
        };
        let payload = PutPayload::from(std::mem::take(&mut self.buffer));
        let part = parts.blocking_lock().put_part(payload);
        let object = self.object.clone();
        let sending = Pending::start(&self.network, async move {
            part.await.map_err(|error| object.failed("write", error))
        });
        self.sending.push_back(sending);
        while self.sending.len() > SENDING {
            self.wait_for_one()?;
        }
        Ok(())
    }

    fn wait_for_one(&mut self) -> Result<()> {
        if let Some(sending) = self.sending.front() {
            sending.wait(self.context.0.as_deref())?;
        }
        self.sending.pop_front();
        Ok(())
    }

    /// Sends everything; the object isn't visible yet, unless it was sent as a whole.
    pub(in super::super) fn flush(&mut self) -> Result<()> {
        if self.parts.is_some() && !self.buffer.is_empty() {
            self.send()?;
        }
        while !self.sending.is_empty() {
            self.wait_for_one()?;
        }
        Ok(())
    }

    /// Sends everything as parts, so that nothing of the object is in memory.
    pub(in super::super) fn set_aside(&mut self) -> Result<()> {
        if !self.buffer.is_empty() {
            self.send()?;
        }
        self.flush()
    }

    /// Makes the object visible, in place of what had its name.
    pub(in super::super) fn complete(mut self) -> Result<()> {
        self.flush()?;
        let object = self.object.clone();
        let Some(parts) = &self.parts else {
            let bytes = std::mem::take(&mut self.buffer);
            return self.ask(async move { object.put(bytes).await });
        };
        let parts = Arc::clone(parts);
        self.ask(async move {
            let completed = parts.lock().await.complete().await;
            completed.map_err(|error| object.failed("write", error))
        })?;
        self.parts = None;
        Ok(())
    }

    /// Has the network's thread do some work, and waits for it.
    fn ask<T: Send + 'static>(
        &self,
        work: impl Future<Output = Result<T>> + Send + 'static,
    ) -> Result<T> {
        ask(self.context.0.as_deref(), |_| work)
    }
}

impl Drop for Upload {
    fn drop(&mut self) {
        self.sending.clear();
        if let Some(parts) = self.parts.take() {
            let mut dropped = DROPPED.lock().unwrap_or_else(PoisonError::into_inner);
            dropped.push((Arc::clone(&self.network), parts));
        }
    }
}

/// Aborts the uploads of objects that were dropped. Many may be, if a file is cut into many parts, so they have one limit
/// of time together.
pub(in super::super) fn abort_dropped_uploads() {
    let mut dropped = {
        let mut dropped = DROPPED.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut *dropped)
    };
    // A forked process has no thread for the others.
    dropped.retain(|(network, _)| network.process == std::process::id());
    if dropped.is_empty() {
        return;
    }
    // Best effort, and not for long: the bucket's lifecycle rule removes what is left.
    let _ = ask(None, |_| async move {
        let abort = |(_, parts): (_, Parts)| async move {
            let _ = parts.lock().await.abort().await;
        };
        let aborts = futures_util::stream::iter(dropped).for_each_concurrent(AT_A_TIME, abort);
        let _ = tokio::time::timeout(ABORT, aborts).await;
        Ok(())
    });
}
