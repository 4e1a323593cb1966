//! Checks the environment variables of a store: object_store panics at some values, or only fails with
//! them.

use std::path::Path;

use reqwest::Certificate;
use tracelake_core::error::{Error, ErrorKind, Result};

use crate::disk::{open_file, read_small};
use crate::url::{Scheme, Url};

/// The most bytes of a token or a bundle of certificates that are read.
const SMALL: u64 = 16 << 20;

/// A rule for the values of variables.
struct Rule {
    is_kept: fn(&str) -> bool,
    /// Whether it's for credentials, which are read only where requests are signed.
    is_for_credentials: bool,
    reason: &'static str,
    hint: &'static str,
    /// Their first words say of which store they are.
    variables: &'static [&'static str],
}

const RULES: [Rule; 3] = [
    Rule {
        is_kept: is_endpoint,
        is_for_credentials: false,
        reason: "is not the URL of a server",
        hint: "write http://HOST:PORT or https://HOST",
        variables: &[
            "AWS_ENDPOINT_URL",
            "AWS_ENDPOINT_URL_S3",
            "AWS_ENDPOINT_URL_STS",
            "AWS_ENDPOINT",
            "AWS_METADATA_ENDPOINT",
            "AWS_CONTAINER_CREDENTIALS_FULL_URI",
            "GOOGLE_BASE_URL",
            "AZURE_STORAGE_ENDPOINT",
            "AZURE_ENDPOINT",
            "AZURE_STORAGE_AUTHORITY_HOST",
            "AZURE_AUTHORITY_HOST",
            "AZURE_MSI_ENDPOINT",
            "AZURE_IDENTITY_ENDPOINT",
            "IDENTITY_ENDPOINT",
        ],
    },
    // A part of a host's name.
    Rule {
        is_kept: |value| {
            value
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte))
        },
        is_for_credentials: false,
        reason: "is not a name",
        hint: "correct it: a name has letters, digits, - and _",
        variables: &[
            "AWS_REGION",
            "AWS_DEFAULT_REGION",
            "AZURE_STORAGE_ACCOUNT_NAME",
        ],
    },
    Rule {
        is_kept: |value| can_be_sent(value.as_bytes()),
        is_for_credentials: true,
        reason: "has a line end, or another character that can't be sent",
        hint: "set it again, without anything after the value",
        variables: &[
            "AWS_ACCESS_KEY_ID",
            "AWS_SECRET_ACCESS_KEY",
            "AWS_SESSION_TOKEN",
            "GOOGLE_BEARER_TOKEN",
            "AZURE_STORAGE_TOKEN",
        ],
    },
];

fn is_endpoint(value: &str) -> bool {
    let url = reqwest::Url::parse(value);
    value.bytes().all(|byte| byte.is_ascii_graphic())
        && url.is_ok_and(|url| matches!(url.scheme(), "http" | "https") && url.has_host())
}

/// Whether a value can be sent in a header.
fn can_be_sent(value: &[u8]) -> bool {
    let mut letters = value.iter();
    letters.all(|&byte| byte == b' ' || byte.is_ascii_graphic())
}

/// The variable that names the file of a token, which is sent in a header.
const TOKEN_FILE: &str = "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE";

/// The variable that names the certificates to trust in place of the system's.
const CA_BUNDLE: &str = "AWS_CA_BUNDLE";

/// Variables with which the file of a token isn't read.
const INSTEAD: &[&str] = &[
    "AWS_ACCESS_KEY_ID",
    "AWS_SECRET_ACCESS_KEY",
    "AWS_WEB_IDENTITY_TOKEN_FILE",
    "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
];

/// Looks a variable up.
type Variables<'a> = &'a dyn Fn(&str) -> Option<String>;

/// The environment of this process.
pub(super) fn variable(name: &str) -> Option<String> {
    let value = std::env::var_os(name)?;
    Some(value.to_string_lossy().into_owned())
}

/// Whether a variable says anything.
pub(super) fn is_set(name: &str) -> bool {
    variable(name).is_some_and(|value| !value.is_empty())
}

/// Fails if the environment holds a value that no store can be made with. Credentials count only where
/// requests are signed. No value is shown: a secret may be in the wrong variable.
pub(super) fn check(url: &Url, is_signed: bool, variables: Variables<'_>) -> Result<()> {
    let wrong = |name: &str, reason: &str, hint: &'static str| {
        let error = Error::new(ErrorKind::Failed, format!("{name} {reason}"));
        Err(error.at(url.to_string()).hint(hint))
    };
    let is_read = |name: &str| match url.scheme {
        Scheme::S3 => name.starts_with("AWS_"),
        Scheme::Gs => name.starts_with("GOOGLE_"),
        Scheme::Azure => name.starts_with("AZURE_") || name.starts_with("IDENTITY_"),
        Scheme::Web(_) => false,
    };
    for rule in RULES
        .iter()
        .filter(|rule| is_signed || !rule.is_for_credentials)
    {
        let is_broken = |name: &str| variables(name).is_some_and(|value| !(rule.is_kept)(&value));
        let mut names = rule.variables.iter();
        if let Some(name) = names.find(|name| is_read(name) && is_broken(name)) {
            return wrong(name, rule.reason, rule.hint);
        }
    }
    let is_instead = INSTEAD.iter().any(|name| variables(name).is_some());
    if is_signed
        && url.scheme == Scheme::S3
        && !is_instead
        && let Some(path) = variables(TOKEN_FILE)
        && !can_be_sent(&read(url, TOKEN_FILE, &path)?)
    {
        let reason = "names a file with a line end, or another character that can't be sent";
        let hint = "remove what follows the token, such as with: printf %s \"$(cat FILE)\"";
        return wrong(TOKEN_FILE, reason, hint);
    }
    Ok(())
}

/// The certificates to trust in place of the system's, if the environment names any.
pub(super) fn certificates(
    url: &Url,
    variables: Variables<'_>,
) -> Result<Option<Vec<Certificate>>> {
    let path = variables(CA_BUNDLE).filter(|path| !path.is_empty());
    let Some(path) = path.filter(|_| url.scheme == Scheme::S3) else {
        return Ok(None);
    };
    let bytes = read(url, CA_BUNDLE, &path)?;
    let found = Certificate::from_pem_bundle(&bytes).unwrap_or_default();
    if found.is_empty() {
        let reason = format!("{CA_BUNDLE} names a file without certificates");
        return Err(Error::new(ErrorKind::Failed, reason)
            .at(url.to_string())
            .hint("name a file with certificates in PEM form"));
    }
    Ok(Some(found))
}

/// Reads the small file that a variable names.
fn read(url: &Url, name: &str, path: &str) -> Result<Vec<u8>> {
    let path = Path::new(path);
    let bytes = open_file(path).and_then(|file| read_small(file, SMALL));
    bytes.map_err(|error| {
        let error = error.or_at(path);
        let reason = format!("{name} names a file that can't be read: {error}");
        Error::new(ErrorKind::Failed, reason)
            .at(url.to_string())
            .because(error)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checked(url: &str, name: &str, value: &str) -> Result<()> {
        let variables = |asked: &str| (asked == name).then(|| value.to_owned());
        check(&Url::parse(url).unwrap(), true, &variables)
    }

    #[test]
    fn values_that_no_store_can_be_made_with_are_errors_that_name_the_variable() {
        const S3: &str = "s3://bucket/a";
        const GS: &str = "gs://bucket/a";
        const AZ: &str = "az://bucket/a";
        for (url, name, value) in [
            (S3, "AWS_ENDPOINT_URL", "ht!tp://host"),
            (S3, "AWS_ENDPOINT_URL", "localhost:9000"),
            (S3, "AWS_ENDPOINT_URL", ""),
            (S3, "AWS_ENDPOINT_URL_S3", "http://"),
            (S3, "AWS_ENDPOINT_URL", "http://u:SECRET@ho st"),
            (S3, "AWS_METADATA_ENDPOINT", "ftp://host"),
            (S3, "AWS_SESSION_TOKEN", "SECRET\n"),
            (S3, "AWS_ACCESS_KEY_ID", "SECRET\u{fc}"),
            (S3, "AWS_REGION", "eu west"),
            (S3, "AWS_REGION", "SECRET/SECRET"),
            (S3, "AWS_ENDPOINT_URL", "SECRET/SECRET"),
            (S3, "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", "/nowhere"),
            (GS, "GOOGLE_BASE_URL", "host\n"),
            (GS, "GOOGLE_BEARER_TOKEN", "SECRET\r\n"),
            (AZ, "AZURE_STORAGE_ACCOUNT_NAME", "SECRET="),
            (AZ, "AZURE_STORAGE_ENDPOINT", "host"),
            (AZ, "AZURE_STORAGE_TOKEN", "SECRET\n"),
            (AZ, "AZURE_STORAGE_ACCOUNT_NAME", "a/b"),
        ] {
            let error = checked(url, name, value).unwrap_err().to_string();
            assert!(error.starts_with(&format!("{url}: {name} ")), "{error}");
            assert!(!error.contains("SECRET"), "{error}");
        }
        assert!(checked(S3, "AWS_ENDPOINT_URL", "http://localhost:9000").is_ok());
        assert!(checked(S3, "AWS_SESSION_TOKEN", "a+b/c==").is_ok());
        // Variables of another store aren't looked at, nor are unused ones.
        assert!(checked(GS, "AWS_SESSION_TOKEN", "SECRET\n").is_ok());
        let url = Url::parse("s3://bucket/a").unwrap();
        let unused = |name: &str| name.contains("TOKEN").then(|| "SECRET\n".to_owned());
        assert!(check(&url, true, &unused).is_err());
        assert!(check(&url, false, &unused).is_ok());
    }

    #[test]
    fn a_token_file_must_not_end_in_a_line_end() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("token");
        let name = "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE";
        for (token, is_right) in [("SECRET\n", false), ("SECRET", true)] {
            std::fs::write(&path, token).unwrap();
            let checked = checked("s3://bucket/a", name, path.to_str().unwrap());
            assert_eq!(checked.is_ok(), is_right, "{checked:?}");
            let message = format!("{checked:?}");
            assert!(!message.contains("SECRET"), "{message}");
        }
    }

    #[test]
    fn a_bundle_without_certificates_is_an_error() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("bundle");
        std::fs::write(&path, "none").unwrap();
        let url = Url::parse("s3://bucket/a").unwrap();
        for path in [path.to_str().unwrap(), "/nowhere"] {
            let variables = |name: &str| (name == CA_BUNDLE).then(|| path.to_owned());
            let error = certificates(&url, &variables).unwrap_err().to_string();
            assert!(error.contains("AWS_CA_BUNDLE names a file "), "{error}");
        }
        assert!(certificates(&url, &|_| None).unwrap().is_none());
    }
}
