//! URLs as people type them: taken apart, put together again, and shown without their secrets.

use std::borrow::Cow;
use std::fmt;
use std::path::Path;
#[cfg(feature = "urls")]
use std::sync::Arc;

#[cfg(feature = "urls")]
use object_store::ObjectStore;
use percent_encoding::{AsciiSet, CONTROLS, percent_decode, utf8_percent_encode};
use tracelake_core::Context;
use tracelake_core::error::{Error, ErrorKind, Result};
use tracelake_core::redact;

/// The kind of server that has the bytes of a URL.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Scheme {
    S3,
    Gs,
    Azure,
    /// A web server, whose URL starts with this.
    Web(&'static str),
}

/// The schemes of URLs.
const SCHEMES: [(&str, Scheme); 6] = [
    ("s3", Scheme::S3),
    ("gs", Scheme::Gs),
    ("az", Scheme::Azure),
    ("abfss", Scheme::Azure),
    ("https", Scheme::Web("https")),
    ("http", Scheme::Web("http")),
];

const KNOWN: &str = "use s3://, gs://, az://, abfss://, https:// or http://, or a path";

/// A URL of an object, of what objects start with, or of a file on a web server.
///
/// It is shown without what may be a secret: user name, password and query.
#[derive(Clone)]
pub struct Url {
    pub(super) scheme: Scheme,
    /// The bucket or the container; of a web server, its host and port.
    pub(super) bucket: String,
    /// The host that an Azure URL names: `account.dfs.core.windows.net`.
    pub(super) account: Option<String>,
    /// Names with slashes between them, none at either end. On a web server, as in the URL, with `%20`;
    /// in an object store, as in the store.
    pub(super) path: String,
    /// Whether it ended in a slash, which names a directory.
    pub(super) ends_in_slash: bool,
    /// `user:password` for a web server, a secret.
    pub(super) user: Option<String>,
    /// The text after the question mark, which a web server may take for a secret.
    pub(super) query: Option<String>,
    /// The context in which its server is waited for.
    pub(super) context: Option<Box<Context>>,
    /// The bucket, if this process keeps it.
    #[cfg(feature = "urls")]
    pub(super) own: Option<Arc<dyn ObjectStore>>,
}

/// Equal if they name the same, in whatever context.
impl PartialEq for Url {
    fn eq(&self, other: &Self) -> bool {
        self.to_string() == other.to_string()
            && self.ends_in_slash == other.ends_in_slash
            && (&self.user, &self.query) == (&other.user, &other.query)
    }
}

impl Eq for Url {}

/// Whether a text is a URL, if perhaps a malformed one.
pub(super) fn is_url(text: &str) -> bool {
    text.split_once("://").is_some_and(|(scheme, _)| {
        let mut bytes = scheme.bytes();
        bytes.next().is_some_and(|byte| byte.is_ascii_alphabetic())
            && bytes.all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte))
    })
}

/// Why a path that doesn't exist was probably meant to be a URL, such as `s3:/bucket`.
pub(super) fn misspelt(text: &str) -> Option<Error> {
    if text.contains("://") {
        let shown = redact::redacted(text);
        let error = Error::new(ErrorKind::Usage, "is not a URL").at(shown);
        return Some(error.hint("a URL starts with its scheme, such as s3://"));
    }
    let scheme = SCHEMES.iter().find(|(scheme, _)| {
        let start = text.get(..scheme.len());
        let rest = text.get(scheme.len()..).unwrap_or_default();
        start.is_some_and(|start| start.eq_ignore_ascii_case(scheme))
            && (rest.starts_with(':') || rest.starts_with("//"))
    });
    if let Some((scheme, _)) = scheme {
        return Some(malformed(text, "is not a URL").hint(format!(
            "a URL starts with {scheme}:// and is a text, not a path"
        )));
    }
    // As a path it would be repeated in messages.
    let shown = redact::redacted(text);
    let is_path = shown == text || text.starts_with('.') || Path::new(text).is_absolute();
    (!is_path).then(|| {
        let reason = "looks like a piece of a URL with a secret in it";
        let hint = "write the whole URL, or, for a path, ./ before it";
        Error::new(ErrorKind::Usage, reason).at(shown).hint(hint)
    })
}

fn malformed(text: &str, reason: &str) -> Error {
    Error::new(ErrorKind::Usage, reason).at(redact::redacted_url(text))
}

impl Url {
    /// Takes a URL apart.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`] if it is malformed.
    pub(super) fn parse(text: &str) -> Result<Self> {
        let wrong = |reason: &str| malformed(text, reason);
        // What is in place of a host or a bucket may be a secret.
        let unnamed =
            |name: &str, reason| Error::new(ErrorKind::Usage, reason).at(format!("{name}://…"));
        let (scheme, rest) = text.split_once("://").unwrap_or_default();
        let known = SCHEMES
            .iter()
            .find(|(known, _)| scheme.eq_ignore_ascii_case(known));
        let Some(&(name, scheme)) = known else {
            return Err(wrong("is not a kind of URL that is read").hint(KNOWN));
        };
        if text.chars().any(|character| character.is_control()) {
            return Err(wrong("has control characters").hint("remove them"));
        }
        let (rest, query) = match rest.split_once('?') {
            Some((rest, query)) => (rest, Some(query.to_owned())),
            None => (rest, None),
        };
        let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
        let (user, host) = match authority.rsplit_once('@') {
            Some((user, host)) => (Some(user.to_owned()), host),
            None => (None, authority),
        };
        let mut url = Self::new(scheme, host, path);
        let path = path.trim_end_matches('/');
        let is_plain = match scheme {
            Scheme::Web(_) => stays_inside(path),
            _ => path.split('/').all(is_name),
        };
        if !path.is_empty() && !is_plain {
            return Err(wrong("has an empty name, `.` or `..` in its path").hint("write it out"));
        }
        if redact::has_secret_value(path) {
            let hint = "a query follows a question mark, which is not written %3F";
            return Err(wrong("holds a query in its path").hint(hint));
        }
        if let Scheme::Web(_) = scheme {
            if text.contains('#') {
                let hint = "write %23 for a # in a name, or leave out what follows it";
                return Err(wrong("has a fragment, which no server gets").hint(hint));
            }
            if !is_host(host) {
                return Err(
                    unnamed(name, "names no host").hint(format!("write {name}://HOST/PATH"))
                );
            }
            if path.chars().any(char::is_whitespace) {
                return Err(wrong("has a blank in it").hint("write %20"));
            }
            (url.user, url.query) = (user, query);
            return Ok(url);
        }
        if query.is_some() {
            let hint = match scheme {
                Scheme::Azure => "put a SAS token into AZURE_STORAGE_SAS_KEY",
                _ => "leave out what follows the question mark",
            };
            return Err(wrong("has a query, which such a URL doesn't have").hint(hint));
        }
        match (scheme, user) {
            (Scheme::Azure, Some(container)) if !container.contains(':') => {
                url.account = Some(host.to_owned());
                url.bucket = container;
                let is_account = host.split('.').count() > 2 && is_host(host);
                if !is_account {
                    return Err(unnamed(name, "names no account").hint(AZURE));
                }
            }
            (_, Some(_)) => {
                let hint = "set credentials in the environment; docs/object-stores.md lists how";
                return Err(wrong("has a user name or password").hint(hint));
            }
            _ => {}
        }
        if !is_bucket(&url.bucket) {
            let hint = match scheme {
                Scheme::Azure => Cow::Borrowed(AZURE),
                _ => Cow::Owned(format!("write {name}://BUCKET/PATH")),
            };
            return Err(unnamed(name, "names no bucket").hint(hint));
        }
        Ok(url)
    }

    fn new(scheme: Scheme, bucket: &str, path: &str) -> Self {
        Self {
            scheme,
            bucket: bucket.to_owned(),
            account: None,
            path: path.trim_end_matches('/').to_owned(),
            ends_in_slash: path.ends_with('/'),
            user: None,
            query: None,
            context: None,
            #[cfg(feature = "urls")]
            own: None,
        }
    }

    /// The root of a bucket that this process keeps, such as one in memory; shown as a bucket of S3. Requests run on the
    /// thread that waits for them.
    #[cfg(feature = "urls")]
    #[must_use]
    pub fn of_store(name: &str, store: Arc<dyn ObjectStore>) -> Self {
        Self {
            own: Some(store),
            ..Self::new(Scheme::S3, name, "")
        }
    }

    /// Whether it can be written to, and listed.
    #[must_use]
    pub fn is_bucket(&self) -> bool {
        !matches!(self.scheme, Scheme::Web(_))
    }

    /// The URL of a file or directory below this one.
    #[must_use]
    pub fn join(&self, path: &str) -> Self {
        let path = match self.scheme {
            Scheme::Web(_) => encoded(path),
            _ => path.to_owned(),
        };
        let separator = if self.path.is_empty() { "" } else { "/" };
        Self {
            ends_in_slash: path.ends_with('/'),
            path: format!("{}{separator}{}", self.path, path.trim_end_matches('/')),
            ..self.clone()
        }
    }

    /// Whether another URL is this one, or is below it.
    pub fn holds(&self, other: &Self) -> bool {
        let rest = other.path.strip_prefix(&self.path);
        self.root() == other.root()
            && rest.is_some_and(|rest| {
                self.path.is_empty() || rest.is_empty() || rest.starts_with('/')
            })
    }

    pub(super) fn name(&self) -> Option<&str> {
        let name = self.path.rsplit('/').next();
        name.filter(|name| !name.is_empty())
    }

    pub(super) fn parent(&self) -> Option<Self> {
        if self.path.is_empty() {
            return None;
        }
        let (parent, _) = self.path.rsplit_once('/').unwrap_or_default();
        Some(Self {
            path: parent.to_owned(),
            ends_in_slash: true,
            ..self.clone()
        })
    }

    /// The bucket with its scheme, as URLs start.
    pub(super) fn root(&self) -> String {
        match (self.scheme, &self.account) {
            (Scheme::S3, _) => format!("s3://{}", self.bucket),
            (Scheme::Gs, _) => format!("gs://{}", self.bucket),
            (Scheme::Azure, None) => format!("az://{}", self.bucket),
            (Scheme::Azure, Some(account)) => format!("abfss://{}@{account}", self.bucket),
            (Scheme::Web(scheme), _) => format!("{scheme}://{}", self.bucket),
        }
    }
}

const AZURE: &str = "write az://CONTAINER/PATH or \
                     abfss://CONTAINER@ACCOUNT.dfs.core.windows.net/PATH";

/// Whether a name in a path is one, and leads nowhere else.
fn is_name(name: &str) -> bool {
    !matches!(name, "" | "." | "..")
}

/// Whether a path in a URL of a web server leads below where it starts, however its dots and slashes are written: in
/// `%2e%2e`, the HTTP client and servers see `..`, and in `%252e`, servers behind servers do.
pub(super) fn stays_inside(path: &str) -> bool {
    if !path.split('/').all(is_name) {
        return false;
    }
    let mut written = Cow::Borrowed(path.as_bytes());
    loop {
        let decoded: Vec<u8> = percent_decode(&written).collect();
        let mut names = decoded.split(|byte| b"/\\".contains(byte));
        if names.any(|name| matches!(name, b"." | b"..")) {
            return false;
        }
        if decoded == *written {
            return true;
        }
        written = Cow::Owned(decoded);
    }
}

/// A host, with or without a port.
fn is_host(text: &str) -> bool {
    // The client would take the rest for something else, so nothing may follow the host.
    url::Url::parse(&format!("https://{text}/"))
        .is_ok_and(|url| url.path() == "/" && url.username().is_empty() && url.query().is_none())
}

/// The name of a bucket or container; the stores' own rules are stricter.
fn is_bucket(text: &str) -> bool {
    let mut letters = text.bytes();
    let is_name = letters.all(|byte| byte.is_ascii_alphanumeric() || b".-_$".contains(&byte));
    is_name && !text.starts_with('.') && !text.is_empty()
}

/// Characters that a path in a URL may not have.
const ENCODED: &AsciiSet = &CONTROLS
    .add(b' ')
    .add(b'"')
    .add(b'#')
    .add(b'<')
    .add(b'>')
    .add(b'?')
    .add(b'[')
    .add(b'\\')
    .add(b']')
    .add(b'^')
    .add(b'`')
    .add(b'{')
    .add(b'|')
    .add(b'}');

/// A path as a URL of a web server has it. What is encoded already stays as it is.
fn encoded(path: &str) -> String {
    let encode = |text| utf8_percent_encode(text, ENCODED);
    let mut pieces = path.split('%');
    let mut url: String = pieces.next().into_iter().flat_map(encode).collect();
    for piece in pieces {
        let is_code = |code: &[u8]| code.iter().all(u8::is_ascii_hexdigit);
        let is_encoded = piece.as_bytes().get(..2).is_some_and(is_code);
        url += if is_encoded { "%" } else { "%25" };
        url.extend(encode(piece));
    }
    url
}

impl fmt::Display for Url {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let slash = if self.path.is_empty() { "" } else { "/" };
        write!(f, "{}{slash}{}", self.root(), self.path)
    }
}

impl fmt::Debug for Url {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Url({self})")
    }
}

#[cfg(test)]
mod tests;
