//! Explains a server's answer to people: the reason and what to do about it, without any secret.
//!
//! The text of an object_store error holds the whole URL, so it is never shown. What is shown is the
//! status, the store's own name for the error, and the reason at the end of the chain of causes.

use std::error::Error as StdError;

use object_store::client::{HttpError, HttpErrorKind};
use tracelake_core::error::{Error, ErrorKind, Replaced, Unanswered, escape};
use tracelake_core::redact::redacted;

use super::body::Unusable;
use super::client::{NO_BUCKET, Refusal};
use super::environment::is_set;
use crate::url::{Scheme, Url};

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

/// An error and its causes.
fn causes<'a>(
    error: &'a (dyn StdError + 'static),
) -> impl Iterator<Item = &'a (dyn StdError + 'static)> {
    std::iter::successors(Some(error), |&error| error.source())
}

/// The first cause of a type.
fn find<'a, T: StdError + 'static>(error: &'a (dyn StdError + 'static)) -> Option<&'a T> {
    causes(error).find_map(|cause| cause.downcast_ref::<T>())
}

/// The last cause, without what may be a secret.
fn last(error: &(dyn StdError + 'static)) -> String {
    // These repeat values of what they can't read, and they read credentials.
    if find::<serde_json::Error>(error).is_some() {
        return "the answer is not the JSON that was expected".to_owned();
    }
    let last = causes(error).last().unwrap_or(error);
    let text = redacted(&last.to_string());
    let text = match text.split_once("WebIdentity response: ") {
        Some((reason, _)) => format!("{reason}WebIdentity response"),
        None => text,
    };
    escape(text.as_bytes(), REASON)
}

/// The variables of a store for hints, or what is in their place.
fn credentials(url: &Url) -> &'static str {
    match url.scheme {
        Scheme::S3 => "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY",
        Scheme::Gs => "GOOGLE_APPLICATION_CREDENTIALS",
        Scheme::Azure => "AZURE_STORAGE_ACCOUNT_KEY or AZURE_STORAGE_SAS_KEY",
        Scheme::Web(_) => "user name and password in the URL",
    }
}

fn endpoint(url: &Url) -> &'static str {
    match url.scheme {
        Scheme::S3 => "AWS_ENDPOINT_URL",
        Scheme::Gs => "GOOGLE_BASE_URL",
        Scheme::Azure => "AZURE_STORAGE_ENDPOINT",
        Scheme::Web(_) => "the host",
    }
}

/// The error for a request of `url` that failed.
pub(super) fn explain(url: &Url, unsigned: bool, doing: &str, failure: Failure) -> Error {
    let cannot = |why: &str| format!("cannot {doing}: {why}");
    let (reason, hint) = match &failure {
        Failure::Missing => (
            "there is no such object".to_owned(),
            match url.is_bucket() {
                true => "check the URL; case matters",
                false => "check the URL; if SHA256SUM lists more than the server has, pass --tables or --parts",
            }
            .to_owned(),
        ),
        Failure::NoSuchRange => (
            cannot("the server says that it doesn't have that range"),
            AGAIN.to_owned(),
        ),
        Failure::NoRanges => (
            cannot("the server doesn't do what was asked"),
            "download the file, and name it".to_owned(),
        ),
        Failure::Changed => (
            "changed while it was read".to_owned(),
            "when it no longer changes, run the same command again".to_owned(),
        ),
        Failure::Cut => (
            cannot("the connection was cut repeatedly"),
            AGAIN.to_owned(),
        ),
        Failure::Slow => (
            cannot("less than 1 KiB arrived in a second for five minutes"),
            AGAIN.to_owned(),
        ),
        Failure::Other(error) => match (find::<Unusable>(error), find::<Refusal>(error)) {
            (Some(unusable), _) => (cannot(&unusable.reason), unusable.hint.to_owned()),
            (None, Some(refusal)) => refused(url, unsigned, doing, refusal),
            (None, None) => {
                let (reason, hint) = unanswered(url, error);
                (cannot(&reason), hint)
            }
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

/// The reason and the hint for a request to which no answer is known, or only a status.
fn unanswered(url: &Url, error: &object_store::Error) -> (String, String) {
    let check = || format!("check the URL and {}", endpoint(url));
    let Some(http) = find::<HttpError>(error) else {
        return match status(error) {
            Some((status, true)) => (
                format!("status {status}, again and again"),
                AGAIN.to_owned(),
            ),
            Some((status, false)) => (format!("status {status}"), check()),
            None => (last(error), check()),
        };
    };
    let reason = last(http);
    let hint = if reason.contains("certificate") {
        let variable = match url.scheme {
            Scheme::S3 => "AWS_CA_BUNDLE",
            _ => "SSL_CERT_FILE",
        };
        format!("set {variable} to the certificates to trust, if this is the right server")
    } else if http.kind() == HttpErrorKind::Connect {
        format!("check the network, the URL and {}", endpoint(url))
    } else {
        AGAIN.to_owned()
    };
    (reason, hint)
}

/// The codes of stores for a bucket in another region.
const OTHER_REGION: &[&str] = &[
    "PermanentRedirect",
    "AuthorizationHeaderMalformed",
    "IllegalLocationConstraintException",
];

/// The codes of stores for credentials that are wrong.
const WRONG_CREDENTIALS: &[&str] = &[
    "InvalidAccessKeyId",
    "SignatureDoesNotMatch",
    "ExpiredToken",
    "InvalidToken",
    "AuthenticationFailed",
    "InvalidAuthenticationInfo",
];

const AGAIN: &str = "run the same command again; what is finished is kept";

/// The status of the last answer, and whether the request was tried again because of it.
fn status(error: &object_store::Error) -> Option<(String, bool)> {
    causes(error).skip(1).find_map(|cause| {
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
        format!(
            "set {}; docs/object-stores.md lists the variables",
            credentials(url)
        )
    })
}

fn refused(url: &Url, unsigned: bool, doing: &str, refusal: &Refusal) -> (String, String) {
    let code = refusal.code.as_deref().unwrap_or_default();
    let is_redirected = (300..400).contains(&refusal.status);
    if url.scheme == Scheme::S3 && (is_redirected || OTHER_REGION.contains(&code)) {
        let hint = match &refusal.region {
            Some(region) => format!("set AWS_REGION={region}"),
            None => "set AWS_REGION to the region of the bucket".to_owned(),
        };
        return ("the bucket is in another region".to_owned(), hint);
    }
    match refusal.status {
        _ if NO_BUCKET.contains(&code) => (
            "there is no such bucket".to_owned(),
            "check its name; tracelake schema TRACE prints where a trace is published".to_owned(),
        ),
        _ if WRONG_CREDENTIALS.contains(&code) => (
            format!("the credentials are wrong: {refusal}"),
            format!("check {}", credentials(url)),
        ),
        _ if code == "RequestTimeTooSkewed" => (
            "the clock of this machine is wrong".to_owned(),
            "set it".to_owned(),
        ),
        401 | 403 if unsigned => (
            format!("forbidden without credentials: {refusal}"),
            match url.scheme {
                Scheme::Web(_) => "check that the URL is public and hasn't expired".to_owned(),
                _ => set_credentials(url),
            },
        ),
        401 | 403 => (
            format!("forbidden with these credentials: {refusal}"),
            export_profile(url)
                .unwrap_or_else(|| format!("check {} and what they allow", credentials(url))),
        ),
        _ => (
            format!("cannot {doing}: the server refuses: {refusal}"),
            format!("check the URL and {}", endpoint(url)),
        ),
    }
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
        _ => (
            "the environment doesn't describe a store that can be used".to_owned(),
            format!(
                "check {} and {}; docs/object-stores.md lists the variables",
                credentials(url),
                endpoint(url)
            ),
        ),
    };
    Error::new(ErrorKind::Failed, reason)
        .at(url.to_string())
        .hint(hint)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_says_what_to_do() {
        const CASES: &str = "
            s3://b/a signed 301 - | in another region | AWS_REGION
            s3://b/a signed 404 NoSuchBucket | no such bucket | check its name
            s3://b/a signed 403 SignatureDoesNotMatch | credentials are wrong | check
            s3://b/a signed 403 RequestTimeTooSkewed | the clock | set it
            s3://b/a signed 403 AccessDenied | forbidden with these | check
            s3://b/a unsigned 403 AccessDenied | forbidden without | set
            https://host/a unsigned 401 - | forbidden without | the URL is public
            s3://b/a signed 409 - | cannot read: the server refuses | check the URL";
        for case in CASES.lines().skip(1) {
            let words: Vec<&str> = case
                .split(['|', ' '])
                .filter(|word| !word.is_empty())
                .collect();
            let said: Vec<&str> = case.split('|').map(str::trim).collect();
            let refusal = Refusal {
                status: words[2].parse().unwrap(),
                code: Some(words[3].to_owned()).filter(|code| code != "-"),
                region: None,
            };
            let url = Url::parse(words[0]).unwrap();
            let (reason, hint) = refused(&url, words[1] == "unsigned", "read", &refusal);
            assert!(reason.contains(said[1]), "{case}: {reason}");
            // On a machine with a profile, the hint is how to export it.
            let is_exported = hint.contains("export-credentials");
            assert!(is_exported || hint.contains(said[2]), "{case}: {hint}");
        }
    }
}
