//! The HTTP client: reqwest, with a server's wish for a pause respected, its refusals kept, and its answers
//! checked.

use std::collections::HashMap;
use std::error::Error as _;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;
use std::{fmt, io};

use async_trait::async_trait;
use http::response::Parts;
use http_body_util::BodyExt;
use object_store::client::{
    HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpResponse,
    HttpResponseBody, HttpService,
};
use object_store::{ClientConfigKey, ClientOptions, HeaderMap, HeaderValue};
use reqwest::Certificate;
use reqwest::redirect::Policy;
use tracelake_core::error::escape;

use super::body::{self, Announced, UNKNOWN, Unusable};
use super::keys;

/// The longest pause that a server's `Retry-After` may ask for.
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// How long it may take to connect.
const CONNECT: Duration = Duration::from_secs(10);

/// How long a connection may be silent.
const SILENCE: Duration = Duration::from_secs(30);

/// The most bytes of an error's body that are read.
const BODY: usize = 64 << 10;

/// The most bytes of an answer that are read at once, if it isn't an object: a token, or a list of a thousand keys, or
/// the five thousand of Azure.
const WHOLE: usize = 16 << 20;

/// The most bytes of a list that comes in several answers: of about 300,000 keys.
const PAGES: u64 = 128 << 20;

/// How often a request may be sent on to another URL.
const REDIRECTS: usize = 10;

/// Hosts that hand out credentials; object_store understands their refusals itself.
const METADATA: &[&str] = &[
    "169.254.169.254",
    "169.254.170.2",
    "metadata.google.internal",
];

/// Paths of a metadata service whose answer becomes a part of the next request.
const METADATA_WORDS: &[&str] = &["/latest/api/token", "/iam/security-credentials/"];

/// The codes of stores for a bucket that doesn't exist.
pub(super) const NO_BUCKET: &[&str] = &["NoSuchBucket", "ContainerNotFound"];

/// Marks a request for the bytes of an object. They aren't kept in memory here: their reader decides how many it takes.
/// Every other answer is small by nature, and is read with a limit.
#[derive(Debug, Clone, Copy)]
pub(super) struct ForObject;

/// Makes clients for one server.
#[derive(Debug, Clone, Default)]
pub(super) struct Connector {
    /// Whether it is a web server, and not a store.
    pub(super) is_web: bool,
    /// The user name and password of a URL, as a header.
    pub(super) authorization: Option<HeaderValue>,
    /// Headers of every request.
    pub(super) headers: HeaderMap,
    /// Whether requests may hold a secret, and must not be sent on to another host.
    pub(super) is_signed: bool,
    /// The certificates to trust in place of the system's.
    pub(super) certificates: Option<Vec<Certificate>>,
    /// The client that all web servers share.
    pub(super) shared: Option<SharedClient>,
}

/// A client, once the first request has made it. Making one reads the system's certificates, and its connections are kept
/// for the next file.
pub(super) type SharedClient = Arc<OnceLock<reqwest::Client>>;

impl HttpConnector for Connector {
    fn connect(&self, options: &ClientOptions) -> object_store::Result<HttpClient> {
        let made = self.shared.as_ref().and_then(|shared| shared.get());
        let client = match made {
            Some(client) => client.clone(),
            None => self.client(options)?,
        };
        if let Some(shared) = &self.shared {
            // Another thread may have made one; any will do.
            let _ = shared.set(client.clone());
        }
        Ok(HttpClient::new(Service {
            client,
            connector: self.clone(),
            lists: Mutex::default(),
        }))
    }
}

impl Connector {
    fn client(&self, options: &ClientOptions) -> object_store::Result<reqwest::Client> {
        let allowed = options.get_config_value(&ClientConfigKey::AllowHttp);
        let is_plain = allowed.is_some_and(|allowed| is_truthy(&allowed));
        let stays = self.is_signed;
        // A large object takes its time, so there is no limit on a whole request.
        let mut builder = reqwest::Client::builder()
            .user_agent(concat!("tracelake/", env!("CARGO_PKG_VERSION")))
            .default_headers(self.headers.clone())
            .connect_timeout(CONNECT)
            .read_timeout(SILENCE)
            .https_only(!is_plain)
            // By default it repeats the URL before, whose query may be a secret.
            .referer(false)
            .redirect(Policy::custom(move |attempt| {
                match redirected(attempt.previous(), attempt.url(), stays) {
                    Ok(true) => attempt.follow(),
                    Ok(false) => attempt.stop(),
                    Err(unusable) => attempt.error(unusable),
                }
            }));
        if let Some(certificates) = &self.certificates {
            builder = builder.tls_certs_only(certificates.iter().cloned());
        }
        let client = builder.build();
        client.map_err(|error| object_store::Error::Generic {
            store: "HTTP",
            source: error.without_url().into(),
        })
    }
}

/// Whether an option is set, as object_store reads it.
pub(super) fn is_truthy(text: &str) -> bool {
    matches!(
        &text.to_ascii_lowercase()[..],
        "1" | "true" | "yes" | "on" | "y"
    )
}

/// Whether to ask at the URL that a server sends a request on to. False keeps its answer.
fn redirected(
    previous: &[reqwest::Url],
    next: &reqwest::Url,
    stays: bool,
) -> Result<bool, Unusable> {
    if previous.len() > REDIRECTS {
        return Err(Unusable {
            reason: format!("redirected more than {REDIRECTS} times"),
            hint: "check the URL: the server sends it round in circles",
        });
    }
    let Some(last) = previous.last() else {
        return Ok(true);
    };
    if last.scheme() == "https" && next.scheme() != "https" {
        return Err(Unusable {
            reason: "redirected from https to http, where anybody can change the bytes".to_owned(),
            hint: "download the file, and name it",
        });
    }
    Ok(!stays || last.origin() == next.origin())
}

#[derive(Debug)]
struct Service {
    client: reqwest::Client,
    connector: Connector,
    /// The bytes of each list so far that comes in several answers, by its request without the place to continue at.
    lists: Mutex<HashMap<String, u64>>,
}

/// A server's response that trying again won't change.
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
        if let Some(authorization) = &self.connector.authorization {
            let headers = request.headers_mut();
            headers.insert("authorization", authorization.clone());
        }
        let host = request.uri().host().unwrap_or_default();
        let is_metadata = METADATA.contains(&host);
        let sent = Sent::of(&request);
        let response = self.send(request).await?;
        let (parts, body) = response.into_parts();
        let status = parts.status.as_u16();
        match status {
            200..300 if sent.is_object => return self.object(&sent, parts, body),
            200..300 => return self.whole(&sent, parts, body).await,
            304 | 408 | 429 | 500.. => {
                if let Some(pause) = pause(&parts.headers).filter(|_| status != 304) {
                    tokio::time::sleep(pause).await;
                }
                // The request is sent again, or its status is reported. The body isn't read.
                return Ok(HttpResponse::from_parts(parts, Vec::new().into()));
            }
            _ => {}
        }
        let body = body::start(body, BODY).await?;
        let code = code(&parts.headers, &body);
        let is_understood = match status {
            // object_store knows what these are, once it is known that there is a bucket.
            404 | 409 | 412 => !NO_BUCKET.contains(&code.as_deref().unwrap_or_default()),
            _ => is_metadata,
        };
        if is_understood {
            return Ok(HttpResponse::from_parts(parts, body.into()));
        }
        let region = word_of(&parts.headers, "x-amz-bucket-region");
        let refusal = Refusal {
            status,
            code,
            region: region.or_else(|| element(&body, "Region")),
        };
        Err(HttpError::new(HttpErrorKind::Unknown, refusal))
    }
}

/// The error for a request that failed. object_store repeats those of some kinds; an error of a certificate, and an
/// answer that isn't HTTP, stay the same.
fn failed(error: reqwest::Error) -> HttpError {
    let error = error.without_url();
    let causes = || std::iter::successors(error.source(), |&cause| cause.source());
    let is_refused = causes().any(|cause| cause.to_string().contains("invalid peer certificate"));
    let kind = match () {
        () if is_refused => HttpErrorKind::Unknown,
        () if error.is_timeout() => HttpErrorKind::Timeout,
        () if error.is_connect() => HttpErrorKind::Connect,
        () if error.is_decode() => HttpErrorKind::Decode,
        () => causes().find_map(kind_of).unwrap_or(HttpErrorKind::Unknown),
    };
    HttpError::new(kind, error)
}

/// The kind of an error that has this cause, if the cause is one of those after which another request may succeed.
fn kind_of(cause: &(dyn std::error::Error + 'static)) -> Option<HttpErrorKind> {
    use io::ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset, TimedOut, UnexpectedEof};
    if let Some(cause) = cause.downcast_ref::<hyper::Error>() {
        if cause.is_closed() || cause.is_incomplete_message() || cause.is_body_write_aborted() {
            return Some(HttpErrorKind::Request);
        }
        return cause.is_timeout().then_some(HttpErrorKind::Timeout);
    }
    match cause.downcast_ref::<io::Error>()?.kind() {
        TimedOut => Some(HttpErrorKind::Timeout),
        ConnectionAborted | ConnectionReset | BrokenPipe | UnexpectedEof => {
            Some(HttpErrorKind::Interrupted)
        }
        _ => None,
    }
}

/// The parameters that say where a list continues: of S3 and Google, and of Azure.
const CONTINUES: &[&str] = &["continuation-token=", "marker="];

/// A request, as far as its answer is checked.
struct Sent {
    path: String,
    query: String,
    is_object: bool,
    is_list: bool,
}

impl Sent {
    fn of(request: &HttpRequest) -> Self {
        let query = request.uri().query().unwrap_or_default();
        let mut pairs = query.split('&');
        Self {
            path: request.uri().path().to_owned(),
            query: query.to_owned(),
            is_object: request.extensions().get::<ForObject>().is_some(),
            is_list: request.method() == "GET"
                && pairs.any(|pair| pair == "list-type=2" || pair == "comp=list"),
        }
    }

    /// The request for the start of a list, and whether this one continues it.
    fn list(&self) -> (String, bool) {
        let continues = |pair: &&str| CONTINUES.iter().any(|name| pair.starts_with(name));
        let (next, start): (Vec<&str>, Vec<&str>) = self.query.split('&').partition(continues);
        (
            format!("{}?{}", self.path, start.join("&")),
            !next.is_empty(),
        )
    }
}

impl Service {
    /// Sends a request. object_store can do this as well, with HTTP/2 and streams, which take crates that nothing
    /// here needs.
    async fn send(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let request = request.map(|body| match body.as_bytes() {
            // In one piece it can be sent again on a new connection.
            Some(bytes) => reqwest::Body::from(bytes.clone()),
            None => reqwest::Body::wrap(body),
        });
        let request = request.try_into().map_err(failed)?;
        let response = self.client.execute(request).await.map_err(failed)?;
        let response: http::Response<reqwest::Body> = response.into();
        Ok(response.map(|body| HttpResponseBody::new(body.map_err(failed))))
    }

    /// An answer that is small by nature.
    async fn whole(
        &self,
        sent: &Sent,
        mut parts: Parts,
        body: HttpResponseBody,
    ) -> Result<HttpResponse, HttpError> {
        let body = body::whole(body, WHOLE).await?;
        if METADATA_WORDS.iter().any(|path| sent.path.ends_with(path))
            && !body.iter().all(|byte| byte.is_ascii_graphic())
        {
            return Err(Unusable {
                reason: "the metadata service answers something else".to_owned(),
                hint: "set credentials; docs/object-stores.md lists the variables",
            }
            .into());
        }
        if !sent.is_list {
            return Ok(HttpResponse::from_parts(parts, body.into()));
        }
        self.count_list(sent, body.len() as u64)?;
        parts.headers.remove("content-length");
        let list = match String::from_utf8(body) {
            Ok(list) => keys::marked(list).into_bytes(),
            Err(error) => error.into_bytes(),
        };
        Ok(HttpResponse::from_parts(parts, list.into()))
    }

    /// Fails if a list has no end.
    fn count_list(&self, sent: &Sent, bytes: u64) -> Result<(), Unusable> {
        let (list, continues) = sent.list();
        let mut lists = self.lists.lock().unwrap_or_else(PoisonError::into_inner);
        if !continues {
            lists.remove(&list);
            return Ok(());
        }
        let so_far = lists.entry(list).or_default();
        *so_far = so_far.saturating_add(bytes);
        match *so_far <= PAGES {
            true => Ok(()),
            false => Err(Unusable {
                reason: format!("the server sends a list of more than {PAGES} bytes"),
                hint: "name a prefix with fewer objects",
            }),
        }
    }

    /// An object, whose bytes are still to come.
    fn object(
        &self,
        sent: &Sent,
        mut parts: Parts,
        body: HttpResponseBody,
    ) -> Result<HttpResponse, HttpError> {
        let is_web = self.connector.is_web;
        if is_web {
            check_encoding(&sent.path, &parts.headers)?;
        }
        let size = match parts.status.as_u16() {
            206 => Some(part_of(&parts.headers)?),
            _ if is_web => Some(UNKNOWN),
            _ => None,
        };
        let length = header(&parts.headers, "content-length");
        let length = length.and_then(|length| length.parse().ok());
        let most = size.unwrap_or(UNKNOWN).min(length.unwrap_or(UNKNOWN));
        if let Some(size) = size.filter(|_| !parts.headers.contains_key("content-length")) {
            if size == UNKNOWN {
                check_end(&parts.headers)?;
            }
            parts.headers.insert("content-length", size.into());
        }
        let body = HttpResponseBody::new(Announced::new(body, most));
        Ok(HttpResponse::from_parts(parts, body))
    }
}

/// Refuses a body that is not the file itself.
fn check_encoding(path: &str, headers: &HeaderMap) -> Result<(), Unusable> {
    let encoding = header(headers, "content-encoding").unwrap_or_default();
    let encoding = encoding.trim();
    // Some servers say so of a file that is gzip itself, and send it as it is.
    let name = path.to_ascii_lowercase();
    let is_file = [".gz", ".tgz"].iter().any(|end| name.ends_with(end));
    match &encoding.to_ascii_lowercase()[..] {
        "" | "identity" => Ok(()),
        "gzip" | "x-gzip" if is_file => Ok(()),
        other => Err(Unusable {
            reason: format!(
                "the server compresses it on the way (Content-Encoding: {})",
                escape(other.as_bytes(), 40)
            ),
            hint: "download the file, decompress it if need be, and name it",
        }),
    }
}

/// The bytes that a partial answer has, by its `Content-Range`.
fn part_of(headers: &HeaderMap) -> Result<u64, Unusable> {
    let range = header(headers, "content-range").unwrap_or_default();
    size_of_range(range).ok_or_else(|| Unusable {
        reason: format!(
            "the server sends a part of the file with a Content-Range that can't be used: '{}'",
            escape(range.as_bytes(), 80)
        ),
        hint: "download the file, and name it",
    })
}

/// The size of `bytes FIRST-LAST/TOTAL`.
fn size_of_range(range: &str) -> Option<u64> {
    let (range, total) = range.trim().strip_prefix("bytes ")?.split_once('/')?;
    let (first, last) = range.split_once('-')?;
    let [first, last, total] = [first, last, total].map(|number| number.parse::<u64>().ok());
    let end = last?.checked_add(1)?;
    end.checked_sub(first?)
        .filter(|&size| size > 0 && Some(end) <= total)
}

/// Fails if the end of an answer without a length can't be told from a connection that was cut.
fn check_end(headers: &HeaderMap) -> Result<(), Unusable> {
    let transfer = headers.get("transfer-encoding");
    let is_chunked = transfer.is_some_and(|transfer| transfer.as_bytes().ends_with(b"chunked"));
    if is_chunked {
        return Ok(());
    }
    Err(Unusable {
        reason: "the server doesn't say where the file ends".to_owned(),
        hint: "download the file, and name it",
    })
}

fn header<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name)?.to_str().ok()
}

/// How long the server asks to wait. A date is left to the usual back-off.
fn pause(headers: &HeaderMap) -> Option<Duration> {
    let seconds = header(headers, "retry-after")?.parse().ok()?;
    Some(Duration::from_secs(seconds).min(LONGEST_PAUSE))
}

/// The store's name for what is wrong.
fn code(headers: &HeaderMap, body: &[u8]) -> Option<String> {
    word_of(headers, "x-ms-error-code").or_else(|| element(body, "Code"))
}

fn word_of(headers: &HeaderMap, name: &str) -> Option<String> {
    word(header(headers, name)?)
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
mod tests;
