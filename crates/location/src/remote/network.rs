//! The thread that talks to servers, and waiting for its answers.

use std::fmt;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use futures_util::future::BoxFuture;
use futures_util::{StreamExt, TryStreamExt};
use tokio::runtime::Handle;
use tokio::task::AbortHandle;
use tracelake_core::Context;
use tracelake_core::error::{Error, ErrorKind, Result};

use super::object::{Object, Stores};
use crate::url::Url;

/// How long an answer is waited for before the next look at whether to stop.
const POLL: Duration = Duration::from_millis(50);

/// Objects that are asked for at a time.
pub(super) const AT_A_TIME: usize = 16;

/// The first time after those that a request can have, in seconds since 1970: the year 10000.
const YEAR_10000: u64 = 253_402_300_800;

/// The thread that talks to servers, and the stores that it knows.
struct Network {
    /// The process that the thread is in; a forked process has none.
    process: u32,
    runtime: Handle,
    stores: Stores,
}

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

/// An answer that is to come; dropping it ends the work.
pub(super) enum Pending<T> {
    /// The network's thread works on it.
    Sent(Receiver<Result<T>>, AbortHandle),
    /// A bucket of this process may wait for other threads, so it's asked by the one that waits.
    Own(Handle, BoxFuture<'static, Result<T>>),
}

impl<T> fmt::Debug for Pending<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Pending")
    }
}

impl<T: Send + 'static> Pending<T> {
    /// Starts to work on an answer about a URL.
    pub(super) fn start(
        url: &Url,
        work: impl Future<Output = Result<T>> + Send + 'static,
    ) -> Result<Self> {
        let runtime = network()?.runtime.clone();
        if url.own.is_some() {
            return Ok(Self::Own(runtime, Box::pin(work)));
        }
        let (sender, answer): (SyncSender<Result<T>>, _) = sync_channel(1);
        let task = runtime.spawn(async move {
            // Dropped work has no receiver.
            let _ = sender.send(work.await);
        });
        Ok(Self::Sent(answer, task.abort_handle()))
    }

    /// Opens an object, and starts to work on it.
    pub(super) fn open<W>(
        url: &Url,
        work: impl FnOnce(Object) -> W + Send + 'static,
    ) -> Result<Self>
    where
        W: Future<Output = Result<T>> + Send,
    {
        let (network, own) = (network()?, url.clone());
        Self::start(
            url,
            async move { work(network.stores.open(own).await?).await },
        )
    }

    pub(super) fn wait(&mut self, context: Option<&Context>) -> Result<T> {
        loop {
            if let Some(context) = context {
                context.check()?;
            }
            let answer = match self {
                Self::Own(runtime, work) => return runtime.block_on(work),
                Self::Sent(answer, _) => answer.recv_timeout(POLL),
            };
            match answer {
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
        if let Self::Sent(_, task) = self {
            task.abort();
        }
    }
}

/// Works on an answer about a URL, and waits for it.
pub(super) fn wait_for<T: Send + 'static>(
    url: &Url,
    work: impl Future<Output = Result<T>> + Send + 'static,
) -> Result<T> {
    Pending::start(url, work)?.wait(url.context.as_deref())
}

/// Asks an object for something, and waits for the answer.
pub(super) fn ask<T, W>(url: &Url, work: impl FnOnce(Object) -> W + Send + 'static) -> Result<T>
where
    T: Send + 'static,
    W: Future<Output = Result<T>> + Send,
{
    Pending::open(url, work)?.wait(url.context.as_deref())
}

/// Asks objects below a URL for something, [`AT_A_TIME`] at a time; the answers are in the order of the paths. The
/// first error ends the others.
pub(super) fn ask_each<T, W>(
    url: &Url,
    paths: &[String],
    work: impl Fn(Object) -> W + Copy + Send + Sync + 'static,
) -> Result<Vec<T>>
where
    T: Send + 'static,
    W: Future<Output = Result<T>> + Send,
{
    let network = network()?;
    let urls: Vec<Url> = paths.iter().map(|path| url.join(path)).collect();
    wait_for(url, async move {
        let requests = futures_util::stream::iter(urls).map(move |url| {
            let network = Arc::clone(&network);
            async move { work(network.stores.open(url).await?).await }
        });
        requests.buffered(AT_A_TIME).try_collect().await
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
