//! Bodies of answers, none of which is longer than it may be: what a server sends has no end if it doesn't want to.

use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use http_body::{Body, Frame};
use http_body_util::BodyExt;
use object_store::client::{HttpError, HttpErrorKind, HttpResponseBody};

/// The size of an object whose server doesn't say it.
pub(super) const UNKNOWN: u64 = u64::MAX;

/// How long a small body may take. A connection that is merely silent ends before.
const PATIENCE: Duration = Duration::from_secs(5 * 60);

/// An answer that can't be used.
#[derive(Debug)]
pub(super) struct Unusable {
    pub(super) reason: String,
    pub(super) hint: &'static str,
}

impl fmt::Display for Unusable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.reason)
    }
}

impl std::error::Error for Unusable {}

impl From<Unusable> for HttpError {
    fn from(unusable: Unusable) -> Self {
        Self::new(HttpErrorKind::Unknown, unusable)
    }
}

/// Reads a body that is small by nature.
///
/// # Errors
/// If it has more than `most` bytes, or doesn't come.
pub(super) async fn whole(body: HttpResponseBody, most: usize) -> Result<Vec<u8>, HttpError> {
    let whole = start(body, most + 1).await?;
    if whole.len() > most {
        return Err(Unusable {
            reason: format!("the server sends more than {most} bytes where an answer is short"),
            hint: "check the endpoint: it may be no store",
        }
        .into());
    }
    Ok(whole)
}

/// Reads the start of a body, of this size or a little more.
pub(super) async fn start(mut body: HttpResponseBody, most: usize) -> Result<Vec<u8>, HttpError> {
    let start = async {
        let mut start = Vec::new();
        while start.len() < most
            && let Some(frame) = body.frame().await
        {
            if let Ok(bytes) = frame?.into_data() {
                start.extend_from_slice(&bytes);
            }
        }
        Ok(start)
    };
    let in_time = tokio::time::timeout(PATIENCE, start).await;
    in_time.unwrap_or_else(|late| Err(HttpError::new(HttpErrorKind::Timeout, late)))
}

/// A body that fails if it is longer than was announced. Its last piece is held back until it has ended.
pub(super) struct Announced {
    body: HttpResponseBody,
    left: u64,
    last: Bytes,
}

impl Announced {
    pub(super) fn new(body: HttpResponseBody, length: u64) -> Self {
        Self {
            body,
            left: length,
            last: Bytes::new(),
        }
    }
}

impl Body for Announced {
    type Data = Bytes;
    type Error = HttpError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, HttpError>>> {
        loop {
            let Some(frame) = ready!(Pin::new(&mut self.body).poll_frame(context)) else {
                let last = std::mem::take(&mut self.last);
                return Poll::Ready((!last.is_empty()).then(|| Ok(Frame::data(last))));
            };
            let Ok(bytes) = frame?.into_data() else {
                continue;
            };
            let Some(left) = self.left.checked_sub(bytes.len() as u64) else {
                let longer = Unusable {
                    reason: "the server sends more bytes than it announced".to_owned(),
                    hint: "download the file, and name it",
                };
                return Poll::Ready(Some(Err(longer.into())));
            };
            self.left = left;
            match left {
                0 if self.last.is_empty() => self.last = bytes,
                _ => return Poll::Ready(Some(Ok(Frame::data(bytes)))),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A body of these pieces.
    struct Pieces(Vec<&'static str>);

    impl Body for Pieces {
        type Data = Bytes;
        type Error = HttpError;

        fn poll_frame(
            mut self: Pin<&mut Self>,
            _: &mut Context<'_>,
        ) -> Poll<Option<Result<Frame<Bytes>, HttpError>>> {
            let next = (!self.0.is_empty()).then(|| self.0.remove(0));
            Poll::Ready(next.map(|piece| Ok(Frame::data(piece.into()))))
        }
    }

    fn run<T>(work: impl Future<Output = T>) -> T {
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        runtime.enable_all().build().unwrap().block_on(work)
    }

    fn body(pieces: &[&'static str]) -> HttpResponseBody {
        HttpResponseBody::new(Pieces(pieces.to_vec()))
    }

    #[test]
    fn a_body_is_as_long_as_announced_or_shorter() {
        let read = |pieces: &[&'static str], length| {
            let announced = Announced::new(body(pieces), length);
            run(start(HttpResponseBody::new(announced), 100)).map_err(|error| error.to_string())
        };
        for (pieces, length) in [
            (&["ab", "c"][..], 3),
            (&["ab", "c"], 9),
            (&["ab", "c"], UNKNOWN),
            (&["ab", "", "c", ""], 3),
        ] {
            assert_eq!(read(pieces, length).unwrap(), b"abc", "{length}");
        }
        assert_eq!(read(&[], 0).unwrap(), b"");
        for (pieces, length) in [(&["ab", "cd"][..], 3), (&["abc", "d"], 3), (&["a"], 0)] {
            let error = read(pieces, length).unwrap_err();
            assert!(error.contains("more bytes than it announced"), "{error}");
        }
    }

    #[test]
    fn a_small_body_has_a_limit() {
        let read = |most| run(whole(body(&["ab", "cd"]), most));
        assert_eq!(read(4).unwrap(), b"abcd");
        assert!(read(3).is_err());
    }
}
