//! The HTTP client: reqwest, with a server's wish for a pause respected and its refusals kept.

use std::fmt;
use std::time::Duration;

use async_trait::async_trait;
use object_store::client::{
    ClientOptions, HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpResponse,
    HttpResponseBody, HttpService, ReqwestConnector,
};
use object_store::{HeaderMap, HeaderValue};

/// The longest pause that a server's `Retry-After` may ask for.
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// How long a connection may be silent.
const SILENCE: Duration = Duration::from_secs(30);

/// The most bytes of an error's body that are read.
const BODY: usize = 64 << 10;

/// Hosts that hand out credentials; object_store understands their refusals itself.
const METADATA: &[&str] = &[
    "169.254.169.254",
    "169.254.170.2",
    "metadata.google.internal",
];

/// Makes clients for one server.
#[derive(Debug, Clone, Default)]
pub(super) struct Connector {
    /// The user name and password of a URL, as a header.
    pub(super) authorization: Option<HeaderValue>,
}

impl HttpConnector for Connector {
    fn connect(&self, options: &ClientOptions) -> object_store::Result<HttpClient> {
        // A large object takes its time, so there is no limit on a whole request.
        let options = options.clone().with_timeout_disabled();
        let options = options.with_read_timeout(SILENCE);
        Ok(HttpClient::new(Service {
            client: ReqwestConnector::default().connect(&options)?,
            authorization: self.authorization.clone(),
        }))
    }
}

#[derive(Debug)]
struct Service {
    client: HttpClient,
    authorization: Option<HeaderValue>,
}

/// What a server said that trying again won't change.
#[derive(Debug)]
pub(super) struct Refusal {
    /// The status of the response, such as 403.
    pub(super) status: u16,
    /// The store's name for what is wrong, such as `AccessDenied`.
    pub(super) code: Option<String>,
    /// The region that the bucket is in, if the request went to another one.
    pub(super) region: Option<String>,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "status {}", self.status)?;
        match &self.code {
            Some(code) => write!(f, " {code}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for Refusal {}

#[async_trait]
impl HttpService for Service {
    async fn call(&self, mut request: HttpRequest) -> Result<HttpResponse, HttpError> {
        if let Some(authorization) = &self.authorization {
            let headers = request.headers_mut();
            headers.insert("authorization", authorization.clone());
        }
        let host = request.uri().host().unwrap_or_default();
        let is_metadata = METADATA.contains(&host);
        let response = self.client.execute(request).await?;
        let status = response.status().as_u16();
        match status {
            200..300 | 304 => Ok(response),
            408 | 429 | 500.. => {
                if let Some(pause) = pause(response.headers()) {
                    tokio::time::sleep(pause).await;
                }
                Ok(response)
            }
            // object_store knows what these are, once it is known that there is a bucket.
            404 | 409 | 412 => {
                let (parts, body) = response.into_parts();
                let body = start(body).await?;
                let code = code(&parts.headers, &body);
                match code.as_deref() {
                    Some("NoSuchBucket" | "ContainerNotFound") => Err(refusal(status, code, None)),
                    _ => Ok(HttpResponse::from_parts(parts, body.into())),
                }
            }
            _ if is_metadata => Ok(response),
            _ => {
                let (parts, body) = response.into_parts();
                let body = start(body).await?;
                let code = code(&parts.headers, &body);
                let region = text(&parts.headers, "x-amz-bucket-region");
                let region = region.or_else(|| element(&body, "Region"));
                Err(refusal(status, code, region))
            }
        }
    }
}

fn refusal(status: u16, code: Option<String>, region: Option<String>) -> HttpError {
    let refusal = Refusal {
        status,
        code,
        region,
    };
    HttpError::new(HttpErrorKind::Unknown, refusal)
}

/// How long the server asks to wait. A date is left to the usual back-off.
fn pause(headers: &HeaderMap) -> Option<Duration> {
    let seconds = headers.get("retry-after")?.to_str().ok()?.parse().ok()?;
    Some(Duration::from_secs(seconds).min(LONGEST_PAUSE))
}

/// The start of a body.
async fn start(body: HttpResponseBody) -> Result<Vec<u8>, HttpError> {
    let mut body = Box::pin(body);
    let mut start = Vec::new();
    while start.len() < BODY {
        let frame =
            std::future::poll_fn(|context| http_body::Body::poll_frame(body.as_mut(), context));
        let Some(frame) = frame.await else {
            break;
        };
        if let Ok(bytes) = frame?.into_data() {
            start.extend_from_slice(&bytes);
        }
    }
    Ok(start)
}

/// The store's name for what is wrong.
fn code(headers: &HeaderMap, body: &[u8]) -> Option<String> {
    text(headers, "x-ms-error-code").or_else(|| element(body, "Code"))
}

fn text(headers: &HeaderMap, name: &str) -> Option<String> {
    let value = headers.get(name)?.to_str().ok()?;
    word(value)
}

/// The text of an XML element that holds a single word.
fn element(body: &[u8], name: &str) -> Option<String> {
    let body = std::str::from_utf8(body).ok()?;
    let (_, rest) = body.split_once(&format!("<{name}>"))?;
    let (value, _) = rest.split_once("</")?;
    word(value)
}

/// A word, and nothing that could be more than one: it is shown to people.
fn word(text: &str) -> Option<String> {
    let is_word = (1..=64).contains(&text.len())
        && text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    is_word.then(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_single_words() {
        let body = b"<?xml?><Error><Code>NoSuchBucket</Code><Message>a b</Message></Error>";
        assert_eq!(element(body, "Code").as_deref(), Some("NoSuchBucket"));
        assert_eq!(element(body, "Message"), None);
        assert_eq!(element(body, "Region"), None);
        assert_eq!(element(b"\xff", "Code"), None);
    }

    #[test]
    fn pauses_are_bounded() {
        let headers = |value: &'static str| {
            let value = HeaderValue::from_static(value);
            let mut headers = HeaderMap::new();
            headers.insert("retry-after", value);
            headers
        };
        assert_eq!(pause(&headers("2")), Some(Duration::from_secs(2)));
        assert_eq!(pause(&headers("86400")), Some(LONGEST_PAUSE));
        assert_eq!(pause(&headers("Wed, 21 Oct 2026 07:28:00 GMT")), None);
        assert_eq!(pause(&HeaderMap::new()), None);
    }
}
