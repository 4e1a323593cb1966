//! An object being written: parts that are sent while the next one fills, visible when it is complete.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use object_store::{MultipartUpload, PutPayload};

use super::super::Url;
use super::store::Object;
use super::{Network, Pending, ask, network};
use crate::error::Result;

/// The parts of an object, in bytes; a smaller object is sent as a whole. A store takes ten thousand.
const PART: usize = 8 << 20;

/// Parts that are being sent while the next one fills.
const SENDING: usize = 1;

/// An object being written; if it is dropped before it is complete, nothing of it becomes visible.
///
/// # Memory
/// [`super::super::UPLOAD_MEMORY`].
#[derive(Debug)]
pub(in super::super) struct Upload {
    network: Arc<Network>,
    object: Object,
    buffer: Vec<u8>,
    /// Begun with the first full part.
    parts: Option<Arc<Mutex<Box<dyn MultipartUpload>>>>,
    sending: VecDeque<Pending<()>>,
}

impl Upload {
    pub(in super::super) fn begin(url: &Url) -> Result<Self> {
        let (network, url) = (network()?, url.clone());
        let object = ask(|network| async move { network.stores.create(&url).await })?;
        Ok(Self {
            network,
            object,
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
                let begun = ask(|_| async move { object.begin_parts().await })?;
                Arc::clone(self.parts.insert(Arc::new(Mutex::new(begun))))
            }
        };
        let payload = PutPayload::from(std::mem::take(&mut self.buffer));
        let part = {
            let mut parts = parts.lock().unwrap_or_else(PoisonError::into_inner);
            parts.put_part(payload)
        };
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
            sending.wait(None)?;
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

    /// Makes the object visible, in place of what had its name.
    pub(in super::super) fn complete(mut self) -> Result<()> {
        self.flush()?;
        let Some(parts) = self.parts.take() else {
            let (object, bytes) = (self.object.clone(), std::mem::take(&mut self.buffer));
            return ask(|_| async move { object.put(bytes).await });
        };
        let mut parts = take(parts);
        let object = self.object.clone();
        ask(|_| async move {
            match parts.complete().await {
                Ok(_) => Ok(()),
                Err(error) => {
                    let error = object.failed("write", error);
                    let _ = parts.abort().await;
                    Err(error)
                }
            }
        })
    }
}

/// The upload itself, once no part is being sent.
fn take(parts: Arc<Mutex<Box<dyn MultipartUpload>>>) -> Box<dyn MultipartUpload> {
    let parts = Arc::into_inner(parts).expect("only the upload itself keeps it");
    parts.into_inner().unwrap_or_else(PoisonError::into_inner)
}

impl Drop for Upload {
    fn drop(&mut self) {
        self.sending.clear();
        if let Some(parts) = self.parts.take() {
            let mut parts = take(parts);
            // Best effort: the bucket's lifecycle rule removes what is left.
            let _ = ask(|_| async move {
                let _ = tokio::time::timeout(ABORT, parts.abort()).await;
                Ok(())
            });
        }
    }
}

/// How long the end of an upload that was given up may take.
const ABORT: std::time::Duration = std::time::Duration::from_secs(5);
