//! Explains a server's answer to people: the reason and what to do about it, without any secret.
//!
//! The text of an object_store error holds the whole URL, so it is never shown. What is shown is the
//! status, the store's own name for the error, and the reason at the end of the chain of causes.

use std::error::Error as StdError;

use object_store::client::{HttpError, HttpErrorKind};
use tracelake_core::error::{Error, ErrorKind, Replaced, Unanswered, escape};
use tracelake_core::redact::redacted;

use super::super::Url;
use super::super::url::Scheme;
use super::body::Unusable;
use super::client::Refusal;
use super::environment::is_set;

/// The longest foreign reason that is shown, in bytes.
const REASON: usize = 200;

/// Why a request failed.
#[derive(Debug)]
pub(super) enum Failure {
    /// There is no such object.
    Missing,
    /// It has no such bytes: it may be empty, or the server gives no ranges.
    NoSuchRange,
    /// The server doesn't give ranges.
    NoRanges,
    /// It isn't the object that it was before.
    Changed,
    /// The connection was cut more often than is tried again.
    Cut,
    /// It came too slowly for too long.
    Slow,
    /// Anything else.
    Other(object_store::Error),
}

impl Failure {
    pub(super) fn of(error: object_store::Error) -> Self {
        match error {
            object_store::Error::NotFound { .. } => Self::Missing,
            object_store::Error::Precondition { .. } => Self::Changed,
            object_store::Error::NotSupported { .. } => Self::NoRanges,
            error => match find::<Refusal>(&error) {
                Some(Refusal { status: 416, .. }) => Self::NoSuchRange,
                Some(Refusal { status: 405, .. }) => Self::Missing,
                _ => Self::Other(error),
            },
        }
    }

    /// Whether the server answers, and with what can't be used.
    pub(super) fn is_unusable(&self) -> bool {
        matches!(self, Self::Other(error) if find::<Unusable>(error).is_some())
    }

    /// Whether the server didn't answer, however often it was asked: so it is of no use to ask it for anything else.
    fn is_unanswered(&self) -> bool {
        match self {
            Self::Cut | Self::Slow => true,
            Self::Other(error) => {
                let is_answer =
                    find::<Unusable>(error).is_some() || find::<Refusal>(error).is_some();
                let is_tried_again = || status(error).is_some_and(|(_, again)| again);
                !is_answer && (find::<HttpError>(error).is_some() || is_tried_again())
            }
            _ => false,
        }
    }
}

/// The first cause of a type.
fn find<'a, T: StdError + 'static>(error: &'a (dyn StdError + 'static)) -> Option<&'a T> {
    let mut cause = Some(error);
    while let Some(error) = cause {
        if let Some(found) = error.downcast_ref::<T>() {
            return Some(found);
        }
        cause = error.source();
    }
    None
}

/// The last cause, without what may be a secret.
fn last(error: &(dyn StdError + 'static)) -> String {
    // These repeat values of what they can't read, and they read credentials.
    if find::<serde_json::Error>(error).is_some() {
        return "the answer is not the JSON that was expected".to_owned();
    }
    let mut last = error;
    while let Some(cause) = last.source() {
        last = cause;
    }
    let text = redacted(&last.to_string());
    let text = match text.split_once("WebIdentity response: ") {
        Some((reason, _)) => format!("{reason}WebIdentity response"),
        None => text,
    };
    escape(text.as_bytes(), REASON)
}

/// The environment of a store, for hints.
struct Environment {
    credentials: &'static str,
    endpoint: &'static str,
}

fn environment(scheme: Scheme) -> Environment {
    let (credentials, endpoint) = match scheme {
        Scheme::S3 => (
            "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY",
            "AWS_ENDPOINT_URL",
        ),
        Scheme::Gs => ("GOOGLE_APPLICATION_CREDENTIALS", "GOOGLE_BASE_URL"),
        Scheme::Azure => (
            "AZURE_STORAGE_ACCOUNT_KEY or AZURE_STORAGE_SAS_KEY",
            "AZURE_STORAGE_ENDPOINT",
        ),
        Scheme::Web(_) => ("user name and password in the URL", "the host"),
    };
    Environment {
        credentials,
        endpoint,
    }
}

/// The error for a request of `url` that failed.
pub(super) fn explain(url: &Url, unsigned: bool, doing: &str, failure: Failure) -> Error {
    let (reason, hint) = match &failure {
        Failure::Missing => (
            "there is no such object".to_owned(),
            match url.is_web() {
                true => "check the URL; if SHA256SUM lists more than the server has, pass --tables or --parts",
                false => "check the URL; case matters",
            }
            .to_owned(),
        ),
        Failure::NoSuchRange => (
            format!("cannot {doing}: the server says that it doesn't have that range"),
            AGAIN.to_owned(),
        ),
        Failure::NoRanges => (
            format!("cannot {doing}: the server doesn't do what was asked"),
            "download the file, and name it".to_owned(),
        ),
        Failure::Changed => (
            "changed while it was read".to_owned(),
            "when it no longer changes, run the same command again".to_owned(),
        ),
        Failure::Cut => (
            format!("cannot {doing}: the connection was cut repeatedly"),
            AGAIN.to_owned(),
        ),
        Failure::Slow => (
            format!("cannot {doing}: less than 1 KiB arrived in a second for five minutes"),
            AGAIN.to_owned(),
        ),
        Failure::Other(error) => match find::<Unusable>(error) {
            Some(unusable) => (
                format!("cannot {doing}: {unusable}"),
                unusable.hint.to_owned(),
            ),
            None => other(url, unsigned, doing, error),
        },
    };
    let error = Error::new(ErrorKind::Failed, reason)
        .at(url.to_string())
        .hint(hint);
    match failure {
        Failure::Changed => error.because(Replaced),
        failure if failure.is_unanswered() => error.because(Unanswered),
        _ => error,
    }
}

fn other(url: &Url, unsigned: bool, doing: &str, error: &object_store::Error) -> (String, String) {
    match (find::<Refusal>(error), find::<HttpError>(error)) {
        (Some(refusal), _) => refused(url, unsigned, doing, refusal),
        (None, Some(http)) => unreachable(url, doing, http),
        (None, None) => match status(error) {
            Some((status, true)) => (
                format!("cannot {doing}: status {status}, again and again"),
                AGAIN.to_owned(),
            ),
            Some((status, false)) => (
                format!("cannot {doing}: status {status}"),
                format!("check the URL and {}", environment(url.scheme).endpoint),
            ),
            None => (
                format!("cannot {doing}: {}", last(error)),
                format!("check the URL and {}", environment(url.scheme).endpoint),
            ),
        },
    }
}

const AGAIN: &str = "run the same command again; what is finished is kept";

/// The status of the last answer, and whether the request was tried again because of it.
fn status(error: &object_store::Error) -> Option<(String, bool)> {
    let mut causes = std::iter::successors(error.source(), |&error| error.source());
    causes.find_map(|cause| {
        let text = cause.to_string();
        let (_, end) = text.split_once("status code: ")?;
        let status = end.split(": ").next()?;
        let is_tried_again =
            status.starts_with('5') || ["408", "429"].iter().any(|it| status.starts_with(it));
        Some((escape(status.as_bytes(), REASON), is_tried_again))
    })
}

/// The hint for a profile, which isn't read.
fn export_profile(url: &Url) -> Option<String> {
    let has_profile = ["AWS_PROFILE", "AWS_DEFAULT_PROFILE"]
        .into_iter()
        .any(is_set);
    let is_missed = url.scheme == Scheme::S3 && has_profile && !is_set("AWS_ACCESS_KEY_ID");
    is_missed.then(|| {
        "profiles aren't read; run: eval \"$(aws configure export-credentials --format env)\""
            .to_owned()
    })
}

/// The hint if there are no credentials that are read.
fn set_credentials(url: &Url) -> String {
    export_profile(url).unwrap_or_else(|| {
        let credentials = environment(url.scheme).credentials;
        format!("set {credentials}; docs/object-stores.md lists the variables")
    })
}

fn refused(url: &Url, unsigned: bool, doing: &str, refusal: &Refusal) -> (String, String) {
    let names = environment(url.scheme);
    let code = refusal.code.as_deref();
    let is_region = matches!(
        code,
        Some(
            "PermanentRedirect"
                | "AuthorizationHeaderMalformed"
                | "IllegalLocationConstraintException"
        )
    );
    if url.scheme == Scheme::S3 && (is_region || (300..400).contains(&refusal.status)) {
        let region = refusal.region.as_deref();
        return (
            "the bucket is in another region".to_owned(),
            match region {
                Some(region) => format!("set AWS_REGION={region}"),
                None => "set AWS_REGION to the region of the bucket".to_owned(),
            },
        );
    }
    match (code, refusal.status) {
        (Some("NoSuchBucket" | "ContainerNotFound"), _) => (
            "there is no such bucket".to_owned(),
            "check its name; tracelake schema TRACE prints where a trace is published".to_owned(),
        ),
        (
            Some(
                "InvalidAccessKeyId"
                | "SignatureDoesNotMatch"
                | "ExpiredToken"
                | "InvalidToken"
                | "AuthenticationFailed"
                | "InvalidAuthenticationInfo",
            ),
            _,
        ) => (
            format!("the credentials are wrong: {refusal}"),
            format!("check {}", names.credentials),
        ),
        (Some("RequestTimeTooSkewed"), _) => (
            "the clock of this machine is wrong".to_owned(),
            "set it".to_owned(),
        ),
        (_, 401 | 403) if unsigned => (
            format!("forbidden without credentials: {refusal}"),
            match url.scheme {
                Scheme::Web(_) => "check that the URL is public and hasn't expired".to_owned(),
                _ => set_credentials(url),
            },
        ),
        (_, 401 | 403) => (
            format!("forbidden with these credentials: {refusal}"),
            export_profile(url)
                .unwrap_or_else(|| format!("check {} and what they allow", names.credentials)),
        ),
        _ => (
            format!("cannot {doing}: the server refuses: {refusal}"),
            format!("check the URL and {}", names.endpoint),
        ),
    }
}

fn unreachable(url: &Url, doing: &str, error: &HttpError) -> (String, String) {
    let names = environment(url.scheme);
    let reason = last(error);
    let hint = if reason.contains("certificate") {
        let variable = match url.scheme {
            Scheme::S3 => "AWS_CA_BUNDLE",
            _ => "SSL_CERT_FILE",
        };
        format!("set {variable} to the certificates to trust, if this is the right server")
    } else if error.kind() == HttpErrorKind::Connect {
        format!("check the network, the URL and {}", names.endpoint)
    } else {
        AGAIN.to_owned()
    };
    (format!("cannot {doing}: {reason}"), hint)
}

/// The error for a store that is written to without credentials.
pub(super) fn no_credentials(url: &Url) -> Error {
    Error::new(ErrorKind::Failed, "there are no credentials to write with")
        .at(url.to_string())
        .hint(set_credentials(url))
}

/// The error for an environment that no store can be made from.
pub(super) fn misconfigured(url: &Url, error: &object_store::Error) -> Error {
    // A builder names what is missing, but may also repeat what it can't parse.
    let reason = last(error);
    let (reason, hint) = match url.scheme {
        Scheme::Azure if reason.contains("Account must be specified") => (
            "the storage account is not known".to_owned(),
            "set AZURE_STORAGE_ACCOUNT_NAME, or write \
             abfss://CONTAINER@ACCOUNT.dfs.core.windows.net/PATH"
                .to_owned(),
        ),
        _ => {
            let names = environment(url.scheme);
            (
                "the environment doesn't describe a store that can be used".to_owned(),
                format!(
                    "check {} and {}; docs/object-stores.md lists the variables",
                    names.credentials, names.endpoint
                ),
            )
        }
    };
    Error::new(ErrorKind::Failed, reason)
        .at(url.to_string())
        .hint(hint)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is said of this refusal, and the hint.
    fn said(url: &str, unsigned: bool, status: u16, code: &str) -> (String, String) {
        let code = Some(code.to_owned()).filter(|code| !code.is_empty());
        let refusal = Refusal {
            status,
            code,
            region: None,
        };
        refused(&Url::parse(url).unwrap(), unsigned, "read", &refusal)
    }

    #[test]
    fn a_refusal_says_what_to_do() {
        let (bucket, web) = ("s3://bucket/a", "https://example.org/a");
        let cases = [
            (bucket, false, 301, "", "in another region", "AWS_REGION"),
            (
                bucket,
                false,
                404,
                "NoSuchBucket",
                "no such bucket",
                "check its name",
            ),
            (
                bucket,
                false,
                403,
                "SignatureDoesNotMatch",
                "credentials are wrong",
                "check ",
            ),
            (
                bucket,
                false,
                403,
                "RequestTimeTooSkewed",
                "the clock",
                "set it",
            ),
            (
                bucket,
                false,
                403,
                "AccessDenied",
                "forbidden with these",
                "check ",
            ),
            (
                bucket,
                true,
                403,
                "AccessDenied",
                "forbidden without",
                "set ",
            ),
            (web, true, 401, "", "forbidden without", "the URL is public"),
            (
                bucket,
                false,
                409,
                "",
                "cannot read: the server refuses",
                "check the URL",
            ),
        ];
        for (url, unsigned, status, code, reason, hint) in cases {
            let found = said(url, unsigned, status, code);
            assert!(found.0.contains(reason), "{found:?}");
            // On a machine with a profile, the hint is how to export it.
            let is_exported = found.1.contains("export-credentials");
            assert!(is_exported || found.1.contains(hint), "{found:?}");
        }
    }
}
