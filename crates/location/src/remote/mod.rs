//! Objects in stores and files on web servers: what is there, and their bytes.
//!
//! The object_store crate needs tokio. It gets one thread, begun by the first URL; everything else
//! waits for that thread's answers, and asks while it waits whether to stop.

mod body;
mod client;
mod download;
mod environment;
mod explain;
mod keys;
mod object;
mod pace;
mod random_access;
mod store;
mod transfer;
mod upload;

use std::future::Future;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use futures_util::{StreamExt, TryStreamExt};
use tokio::runtime::Handle;
use tokio::task::AbortHandle;
use tracelake_core::Context;
use tracelake_core::error::{Error, ErrorKind, Result};

use super::{Entry, Listed, LocationKind, Tag, Tagged, Url, Version};
use object::Stores;

pub(super) use download::Download;
pub(crate) use random_access::RemoteFile;
pub(super) use upload::{Upload, abort_dropped_uploads};

/// How long an answer is waited for before the next look at whether to stop.
const POLL: Duration = Duration::from_millis(50);

/// Objects that are asked for at a time.
const AT_A_TIME: usize = 16;

/// Endings of names that a web server's files have. Any other URL may be a directory.
const FILES: &[&str] = &[
    ".gz", ".tgz", ".tar", ".csv", ".json", ".zip", ".xz", ".zst", ".bz2", ".parquet", ".txt",
];

/// The thread that talks to servers, and what it knows of them.
struct Network {
    /// The process that the thread is in; a forked process has none.
    process: u32,
    runtime: Handle,
    stores: Stores,
}

impl std::fmt::Debug for Network {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Network({})", self.process)
    }
}

/// The first time after those that a request can have, in seconds since 1970: the year 10000.
const YEAR_10000: u64 = 253_402_300_800;

/// Refuses a time that can't be that of a request. The libraries below panic before 1970, and in far years.
fn check_clock(now: SystemTime) -> Result<()> {
    let since = now.duration_since(SystemTime::UNIX_EPOCH);
    if since.is_ok_and(|since| since.as_secs() < YEAR_10000) {
        return Ok(());
    }
    let reason = "the system's clock is not between the years 1970 and 9999";
    Err(Error::new(ErrorKind::Failed, reason).hint("set the clock: servers refuse other times"))
}

/// The network of this process, begun when it is first asked for.
fn network() -> Result<Arc<Network>> {
    check_clock(SystemTime::now())?;
    static NETWORK: Mutex<Option<Arc<Network>>> = Mutex::new(None);
    let mut network = NETWORK.lock().unwrap_or_else(PoisonError::into_inner);
    let process = std::process::id();
    if let Some(begun) = network.as_ref().filter(|begun| begun.process == process) {
        return Ok(Arc::clone(begun));
    }
    let failed = |error: std::io::Error| {
        let reason = format!("cannot start the thread that reads URLs: {error}");
        Error::new(ErrorKind::Failed, reason).because(error)
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(failed)?;
    let begun = Arc::new(Network {
        process,
        runtime: runtime.handle().clone(),
        stores: Stores::default(),
    });
    std::thread::Builder::new()
        .name("tracelake-urls".to_owned())
        .spawn(move || runtime.block_on(std::future::pending::<()>()))
        .map_err(failed)?;
    // Another library of the same process may have chosen before; any choice will do.
    let _ = rustls::crypto::ring::default_provider().install_default();
    Ok(Arc::clone(network.insert(begun)))
}

/// An answer that the network's thread works on; dropping it ends the work.
#[derive(Debug)]
struct Pending<T> {
    answer: Receiver<Result<T>>,
    task: AbortHandle,
}

impl<T: Send + 'static> Pending<T> {
    fn start(network: &Network, work: impl Future<Output = Result<T>> + Send + 'static) -> Self {
        let (sender, answer): (SyncSender<Result<T>>, _) = sync_channel(1);
        let task = network.runtime.spawn(async move {
            // Dropped work has no receiver.
            let _ = sender.send(work.await);
        });
        Self {
            answer,
            task: task.abort_handle(),
        }
    }

    fn wait(&self, context: Option<&Context>) -> Result<T> {
        loop {
            if let Some(context) = context {
                context.check()?;
            }
            match self.answer.recv_timeout(POLL) {
                Ok(answer) => return answer,
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    let reason = "the thread that reads URLs has panicked";
                    return Err(Error::new(ErrorKind::Failed, reason)
                        .hint("this is a bug: please report it"));
                }
            }
        }
    }
}

impl<T> Drop for Pending<T> {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Has the network's thread do some work, and waits for it.
fn ask<T, W>(context: Option<&Context>, work: impl FnOnce(Arc<Network>) -> W) -> Result<T>
where
    T: Send + 'static,
    W: Future<Output = Result<T>> + Send + 'static,
{
    let network = network()?;
    Pending::start(&network, work(Arc::clone(&network))).wait(context)
}

/// Like [`ask`], for one URL.
fn ask_for<T, W>(url: &Url, work: impl FnOnce(Arc<Network>, Url) -> W) -> Result<T>
where
    T: Send + 'static,
    W: Future<Output = Result<T>> + Send + 'static,
{
    let context = url.context.0.as_deref();
    ask(context, |network| work(network, url.clone()))
}

/// Like [`ask_for`], for several URLs, [`AT_A_TIME`] at a time; the answers are in their order. The first error ends
/// the others.
fn ask_for_each<T, W>(
    urls: Vec<Url>,
    work: impl Fn(Arc<Network>, Url) -> W + Send + Sync + 'static,
) -> Result<Vec<T>>
where
    T: Send + 'static,
    W: Future<Output = Result<T>> + Send + 'static,
{
    let context = urls.first().and_then(|url| url.context.0.clone());
    ask(context.as_deref(), |network| async move {
        let urls = futures_util::stream::iter(urls);
        let requests = urls.map(|url| work(Arc::clone(&network), url));
        requests.buffered(AT_A_TIME).try_collect().await
    })
}

/// The kind of entry at a URL; `None` if nothing is.
pub(super) fn kind(url: &Url) -> Result<Option<LocationKind>> {
    ask_for(url, |network, url| async move {
        let name = url.name().unwrap_or_default().to_ascii_lowercase();
        let is_file = FILES.iter().any(|ending| name.ends_with(ending));
        if url.path.is_empty() || url.ends_in_slash {
            return Ok(Some(LocationKind::Directory));
        }
        let mut sums = Ok(None);
        if url.is_web() && !is_file {
            let file = network.stores.open(&url.join(super::entry::SUMS)).await?;
            sums = file.size().await;
            match sums {
                Ok(Some(_)) => return Ok(Some(LocationKind::Directory)),
                Err(error) if error.is_unanswered() => return Err(error),
                _ => {}
            }
        }
        let object = network.stores.open(&url).await?;
        let size = object.size().await;
        if let Ok(Some(bytes)) = size {
            return Ok(Some(LocationKind::File { bytes }));
        }
        if url.is_web() {
            // Without a file, the URL names a directory, and this is why it can't be read.
            return size.and(sums).map(|_| None);
        }
        // Credentials that may list but not read, or the other way round, still get the better answer.
        match (object.list().await, size) {
            (Ok(names), _) if !names.is_empty() => Ok(Some(LocationKind::Directory)),
            (Ok(_), size) => size.map(|_| None),
            (Err(error), _) => Err(error),
        }
    })
}

/// Whether there is an object.
pub(super) fn is_there(url: &Url) -> Result<bool> {
    ask_for(url, |network, url| async move {
        let size = network.stores.open(&url).await?.size().await?;
        Ok(size.is_some())
    })
}

/// The names below a prefix of a bucket.
pub(super) fn list(url: &Url) -> Result<Vec<Entry>> {
    ask_for(url, |network, url| async move {
        network.stores.open(&url).await?.list().await
    })
}

/// The version of each object; `None` where there is none.
pub(super) fn versions(urls: Vec<Url>) -> Result<Vec<Option<Version>>> {
    ask_for_each(urls, |network, url| async move {
        network.stores.open(&url).await?.version_if_there().await
    })
}

/// All objects below a prefix of a bucket.
pub(super) fn list_all(url: &Url) -> Result<Vec<Listed>> {
    ask_for(url, |network, url| async move {
        network.stores.open(&url).await?.list_all().await
    })
}

/// Puts a small object where there is none; false if there is one.
pub(super) fn put_new(url: &Url, bytes: Vec<u8>) -> Result<bool> {
    ask_for(url, |network, url| async move {
        network.stores.create(&url).await?.put_new(bytes).await
    })
}

/// Puts a small object in the place of the bytes with this tag; false if it has other bytes, or is gone.
pub(super) fn swap(url: &Url, known: &Tag, bytes: Vec<u8>) -> Result<bool> {
    let known = known.clone();
    ask_for(url, |network, url| async move {
        let object = network.stores.create(&url).await?;
        object.swap(known, bytes).await
    })
}

/// Removes objects of one bucket, in any order; that there are none is no error.
pub(super) fn remove(urls: Vec<Url>) -> Result<()> {
    let context = urls.first().and_then(|url| url.context.0.clone());
    ask(context.as_deref(), |network| async move {
        network.stores.remove(&urls).await
    })
}

/// Reads small objects; `None` for one that isn't there.
pub(super) fn read_all(urls: Vec<Url>, limit: u64) -> Result<Vec<Option<Tagged>>> {
    ask_for_each(urls, move |network, url| async move {
        network.stores.open(&url).await?.read(limit).await
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_is_within_four_digits_of_a_year() {
        let (epoch, second) = (SystemTime::UNIX_EPOCH, Duration::from_secs(1));
        let last = epoch + Duration::from_secs(YEAR_10000) - second;
        for now in [epoch, SystemTime::now(), last] {
            check_clock(now).unwrap();
        }
        let year_262_144 = epoch + Duration::from_secs(8_210_266_876_800);
        for now in [epoch - second, last + second, year_262_144] {
            let error = check_clock(now).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Failed);
            assert!(error.to_string().contains("set the clock"), "{error}");
        }
    }
}
