//! Puts on a condition, whose answers may be lost.

use tracelake_core::error::{Error, ErrorKind, Result};

use crate::IDENTITY;
use crate::backend::waits::{TRIALS, Waits};
use crate::backend::{Backend, Version};
use crate::rules::{Rule, holds};

/// The outcome of a put where nothing may be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Put {
    /// This call put it.
    New,
    /// These bytes are there. They may be its own: an answer may be lost.
    There(Vec<u8>),
}

/// Puts small objects, each where there is none.
pub(crate) fn put_all(
    backend: &dyn Backend,
    objects: &[(String, Vec<u8>)],
    limit: u64,
) -> Result<Vec<Result<Put>>> {
    let answers = backend.put_if_absent(objects.to_vec())?;
    let pairs = objects.iter().zip(answers);
    let put = pairs.map(|((path, bytes), answer)| {
        if !holds(Rule::AnswersMayBeLost) {
            return match answer? {
                true => Ok(Put::New),
                false => Ok(Put::There(Vec::new())),
            };
        }
        settle(backend, path, bytes, limit, answer)
    });
    Ok(put.collect())
}

/// Puts a small object where there is none.
pub(crate) fn put(backend: &dyn Backend, path: &str, bytes: Vec<u8>, limit: u64) -> Result<Put> {
    let objects = [(path.to_owned(), bytes)];
    put_all(backend, &objects, limit)?
        .pop()
        .unwrap_or(Ok(Put::New))
}

/// Puts a small object that can be made again: in the place of other bytes, too. Says whether there was none.
pub(crate) fn put_or_replace(
    backend: &dyn Backend,
    path: &str,
    bytes: Vec<u8>,
    limit: u64,
) -> Result<bool> {
    match put(backend, path, bytes.clone(), limit)? {
        Put::New => return Ok(true),
        Put::There(found) if found == bytes => {}
        Put::There(_) => {
            if let Some(found) = backend.get(path, limit)? {
                backend.swap(path, &found.version, bytes)?;
            }
        }
    }
    Ok(false)
}

/// After any answer but a plain yes, looks at what is there, and tries again if that is nothing.
fn settle(
    backend: &dyn Backend,
    path: &str,
    bytes: &[u8],
    limit: u64,
    mut answer: Result<bool>,
) -> Result<Put> {
    let mut waits = Waits::new();
    for _ in 0..TRIALS {
        match answer {
            Ok(true) => return Ok(Put::New),
            Err(error) if matches!(error.kind(), ErrorKind::Stopped(_)) => return Err(error),
            Ok(false) | Err(_) => {}
        }
        if let Some(found) = backend.get(path, limit)? {
            return match answer {
                Err(error) if found.bytes != bytes => Err(error),
                _ => Ok(Put::There(found.bytes)),
            };
        }
        answer?;
        if waits.wait().is_none() {
            break;
        }
        let put = backend.put_if_absent(vec![(path.to_owned(), bytes.to_vec())])?;
        answer = put.into_iter().next().unwrap_or(Ok(true));
    }
    Err(refused(backend, path))
}

/// The error for a put that is refused again and again although nothing is in its way.
pub(crate) fn refused(backend: &dyn Backend, path: &str) -> Error {
    let reason =
        "cannot be written: the store refuses it again and again, though nothing is in the way";
    Error::new(ErrorKind::Failed, reason)
        .at(backend.root().join(path))
        .hint("run the same command again; what is finished is kept")
}

/// Checks that a store keeps its conditions, by the identity of the lake, which has these bytes: it must be neither put
/// again, nor replaced by its own bytes with a wrong tag. Else two runs could replace each other's facts.
pub(crate) fn check_conditions(backend: &dyn Backend, identity: &[u8]) -> Result<()> {
    if backend.is_disk() || !holds(Rule::ConditionsAreChecked) {
        return Ok(());
    }
    let again = vec![(IDENTITY.to_owned(), identity.to_vec())];
    let is_put = backend.put_if_absent(again)?.pop().unwrap_or(Ok(false))?;
    if !is_put && !backend.swap(IDENTITY, &Version::of_nothing(), identity.to_vec())? {
        return Ok(());
    }
    let reason = "the store ignores conditional writes, which tracelake needs to keep runs apart";
    Err(Error::new(ErrorKind::Failed, reason)
        .at(backend.root())
        .hint("see docs/object-stores.md for the stores that have them"))
}

#[cfg(test)]
mod tests {
    use std::fmt;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use async_trait::async_trait;
    use futures_util::stream::BoxStream;
    use object_store::memory::InMemory;
    use object_store::path::Path;
    use object_store::{
        CopyOptions, Error as StoreError, GetOptions, GetResult, ListResult, MultipartUpload,
        ObjectMeta, ObjectStore, PutMultipartOptions, PutOptions, PutPayload, PutResult,
        Result as StoreResult,
    };
    use tracelake_location::{Location, Url};

    use super::*;
    use crate::backend::backend;

    /// A store whose puts on a condition fail in a way.
    #[derive(Debug)]
    struct Failing {
        objects: InMemory,
        /// How many puts are still refused although nothing is there.
        refuses: AtomicUsize,
        /// Whether the answer to a put is lost.
        loses: bool,
    }

    impl fmt::Display for Failing {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("Failing")
        }
    }

    #[async_trait]
    impl ObjectStore for Failing {
        async fn put_opts(
            &self,
            path: &Path,
            bytes: PutPayload,
            options: PutOptions,
        ) -> StoreResult<PutResult> {
            let left = self.refuses.load(Ordering::Relaxed);
            if left > 0 {
                self.refuses.store(left - 1, Ordering::Relaxed);
                return Err(StoreError::AlreadyExists {
                    path: path.to_string(),
                    source: "refused".into(),
                });
            }
            let put = self.objects.put_opts(path, bytes, options).await;
            match self.loses {
                true => Err(StoreError::Generic {
                    store: "Failing",
                    source: "no answer".into(),
                }),
                false => put,
            }
        }

        async fn get_opts(&self, path: &Path, options: GetOptions) -> StoreResult<GetResult> {
            self.objects.get_opts(path, options).await
        }

        fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, StoreResult<ObjectMeta>> {
            self.objects.list(prefix)
        }

        fn delete_stream(
            &self,
            paths: BoxStream<'static, StoreResult<Path>>,
        ) -> BoxStream<'static, StoreResult<Path>> {
            self.objects.delete_stream(paths)
        }

        async fn list_with_delimiter(&self, prefix: Option<&Path>) -> StoreResult<ListResult> {
            self.objects.list_with_delimiter(prefix).await
        }

        async fn put_multipart_opts(
            &self,
            path: &Path,
            options: PutMultipartOptions,
        ) -> StoreResult<Box<dyn MultipartUpload>> {
            self.objects.put_multipart_opts(path, options).await
        }

        async fn copy_opts(&self, from: &Path, to: &Path, how: CopyOptions) -> StoreResult<()> {
            self.objects.copy_opts(from, to, how).await
        }
    }

    fn put_to(refuses: usize, loses: bool, is_taken: bool) -> Result<Put> {
        let objects = InMemory::new();
        if is_taken {
            let bucket = Url::of_store("bucket", Arc::new(objects.clone()));
            bucket
                .join("lake")
                .join(IDENTITY)
                .put_new(b"theirs".to_vec())?;
        }
        let store = Failing {
            objects,
            refuses: AtomicUsize::new(refuses),
            loses,
        };
        let url = Url::of_store("bucket", Arc::new(store)).join("lake");
        put(
            &*backend(&Location::Url(url)),
            IDENTITY,
            b"ours".to_vec(),
            100,
        )
    }

    #[test]
    fn a_put_that_is_refused_for_nothing_is_tried_ten_times() {
        assert_eq!(put_to(0, false, false).unwrap(), Put::New);
        assert_eq!(put_to(TRIALS - 1, false, false).unwrap(), Put::New);
        let error = put_to(TRIALS, false, false).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Failed);
        assert!(error.to_string().contains("again and again"), "{error}");
    }

    #[test]
    fn an_answer_that_is_lost_is_looked_for() {
        assert_eq!(
            put_to(0, true, false).unwrap(),
            Put::There(b"ours".to_vec())
        );
        assert_eq!(
            put_to(0, false, true).unwrap(),
            Put::There(b"theirs".to_vec())
        );
        // Whether it's lost or refused can't be told, but something else is there.
        assert!(put_to(0, true, true).is_err());
    }
}
