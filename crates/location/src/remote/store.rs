//! Stores, made from the environment and signed where there are credentials.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey};
use object_store::azure::{AzureConfigKey, MicrosoftAzureBuilder};
use object_store::gcp::{GcpCredential, GoogleCloudStorageBuilder, GoogleConfigKey};
use object_store::http::HttpBuilder;
use object_store::{
    BackoffConfig, ClientOptions, CredentialProvider, HeaderValue, ObjectStore, RetryConfig,
    StaticCredentialProvider,
};
use percent_encoding::percent_decode_str;
use tracelake_core::error::Result;
use tracelake_schema::TRACES;

use super::client::{Connector, SharedClient, is_truthy};
use super::environment::{self, is_set};
use super::explain::misconfigured;
use crate::url::{Scheme, Url};

/// How long the metadata service of a cloud machine may take to hand out credentials.
const METADATA_PATIENCE: Duration = Duration::from_secs(1);

/// How often, and for how long, a request is tried again. What was read before counts as progress, so a
/// file may take any number of connections.
fn retry() -> RetryConfig {
    RetryConfig {
        backoff: BackoffConfig {
            init_backoff: Duration::from_millis(100),
            max_backoff: Duration::from_secs(10),
            base: 2.0,
        },
        max_retries: 8,
        retry_timeout: Duration::from_secs(120),
    }
}

/// The environment variables that hold credentials, or say where to get them.
const S3_CREDENTIALS: &[&str] = &[
    "AWS_ACCESS_KEY_ID",
    "AWS_SECRET_ACCESS_KEY",
    "AWS_WEB_IDENTITY_TOKEN_FILE",
    "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
    "AWS_CONTAINER_CREDENTIALS_FULL_URI",
];
const GS_CREDENTIALS: &[&str] = &[
    "GOOGLE_APPLICATION_CREDENTIALS",
    "GOOGLE_SERVICE_ACCOUNT",
    "GOOGLE_SERVICE_ACCOUNT_PATH",
    "GOOGLE_SERVICE_ACCOUNT_KEY",
    "GOOGLE_BEARER_TOKEN",
    "SERVICE_ACCOUNT",
];
const AZURE_CREDENTIALS: &[&str] = &[
    "AZURE_STORAGE_ACCOUNT_KEY",
    "AZURE_STORAGE_ACCESS_KEY",
    "AZURE_STORAGE_MASTER_KEY",
    "AZURE_STORAGE_SAS_KEY",
    "AZURE_STORAGE_SAS_TOKEN",
    "AZURE_STORAGE_TOKEN",
    "AZURE_STORAGE_CLIENT_SECRET",
    "AZURE_CLIENT_SECRET",
    "AZURE_FEDERATED_TOKEN_FILE",
    "AZURE_STORAGE_USE_EMULATOR",
    "AZURE_USE_AZURE_CLI",
    "AZURE_FABRIC_TOKEN_SERVICE_URL",
];

fn is_true(variable: &str) -> bool {
    is_truthy(&std::env::var(variable).unwrap_or_default())
}

/// How requests are signed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Signing {
    /// With the credentials of the environment, whose errors are errors.
    Signed,
    /// Not at all.
    Unsigned,
    /// If the metadata service answers in time.
    AskMetadata,
}

impl Signing {
    pub(super) fn of(url: &Url) -> Self {
        let (variables, skip) = match url.scheme {
            Scheme::S3 => (S3_CREDENTIALS, "AWS_SKIP_SIGNATURE"),
            Scheme::Gs => (GS_CREDENTIALS, "GOOGLE_SKIP_SIGNATURE"),
            Scheme::Azure => (AZURE_CREDENTIALS, "AZURE_SKIP_SIGNATURE"),
            Scheme::Web(_) => return Self::Unsigned,
        };
        let is_emulator = url.scheme == Scheme::Gs && is_set(EMULATOR);
        if is_true(skip) || is_published(url) || is_emulator {
            return Self::Unsigned;
        }
        let has_file = url.scheme == Scheme::Gs && google_file().is_some_and(|file| file.exists());
        match variables.iter().any(|name| is_set(name)) || has_file {
            true => Self::Signed,
            false => Self::AskMetadata,
        }
    }
}

/// The variable that Google's own libraries take the address of an emulator from.
const EMULATOR: &str = "STORAGE_EMULATOR_HOST";

/// The file where gcloud puts the user's credentials.
fn google_file() -> Option<std::path::PathBuf> {
    let (variable, below) = match cfg!(windows) {
        true => ("APPDATA", "gcloud"),
        false => ("HOME", ".config/gcloud"),
    };
    let home = std::path::PathBuf::from(std::env::var_os(variable)?);
    let folder = home.join(below);
    Some(folder.join("application_default_credentials.json"))
}

/// Whether a bucket is one that a publisher has put a trace into, for everybody to read.
fn is_published(url: &Url) -> bool {
    let root = url.root();
    TRACES.urls().any(|published| {
        let rest = published.strip_prefix(&root);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    })
}

/// A store that is open, and whether requests to it aren't signed.
pub(super) type Store = (Arc<dyn ObjectStore>, bool);

/// Opens a web server, seen from one file.
pub(super) fn open_web(url: &Url, client: &SharedClient) -> Result<Store> {
    let has_secret = url.user.is_some() || url.query.is_some();
    let (store, _) = build(url, true, Some(client))?;
    Ok((store, !has_secret))
}

/// Opens the store of a bucket by the environment.
pub(super) async fn open(url: &Url) -> Result<Store> {
    let signing = Signing::of(url);
    environment::check(url, signing != Signing::Unsigned, &environment::variable)?;
    tracing::debug!(url = url.root(), ?signing, "opening a store");
    if signing != Signing::AskMetadata {
        let unsigned = signing == Signing::Unsigned;
        return Ok((build(url, unsigned, None)?.0, unsigned));
    }
    let (signed, credentials) = build(url, false, None)?;
    match tokio::time::timeout(METADATA_PATIENCE, credentials).await {
        Ok(true) => Ok((signed, false)),
        _ => Ok((build(url, true, None)?.0, true)),
    }
}

/// Whether a store's credentials can be had.
type Credentials = std::pin::Pin<Box<dyn Future<Output = bool> + Send>>;

fn can_be_had<C>(provider: &Arc<dyn CredentialProvider<Credential = C>>) -> Credentials
where
    C: fmt::Debug + Send + Sync + 'static,
{
    let provider = Arc::clone(provider);
    Box::pin(async move { provider.get_credential().await.is_ok() })
}

fn build(
    url: &Url,
    unsigned: bool,
    client: Option<&SharedClient>,
) -> Result<(Arc<dyn ObjectStore>, Credentials)> {
    let failed = |error: object_store::Error| misconfigured(url, &error);
    let bucket = url.bucket.clone();
    let mut connector = Connector {
        is_signed: !unsigned,
        certificates: environment::certificates(url, &environment::variable)?,
        shared: client.cloned(),
        ..Connector::default()
    };
    Ok(match url.scheme {
        Scheme::S3 => {
            let mut builder = AmazonS3Builder::from_env()
                .with_bucket_name(bucket)
                .with_retry(retry())
                .with_http_connector(connector);
            let endpoints = [AmazonS3ConfigKey::Endpoint, AmazonS3ConfigKey::S3Endpoint]
                .map(|key| builder.get_config_value(&key));
            if endpoints.iter().flatten().any(|url| is_plain(url)) {
                builder = builder.with_allow_http(true);
            }
            if unsigned {
                builder = builder.with_skip_signature(true);
            }
            let store = builder.build().map_err(failed)?;
            let credentials = can_be_had(store.credentials());
            (Arc::new(store), credentials)
        }
        Scheme::Gs => {
            // Without this, a store in which an object is stored compressed would decompress it.
            let encoding = HeaderValue::from_static("gzip");
            connector.headers.insert("accept-encoding", encoding);
            let mut builder = GoogleCloudStorageBuilder::from_env()
                .with_bucket_name(bucket)
                .with_retry(retry())
                .with_http_connector(connector);
            if let Ok(emulator) = std::env::var(EMULATOR) {
                let has_scheme = emulator.contains("://");
                let scheme = if has_scheme { "" } else { "http://" };
                builder = builder.with_base_url(&format!("{scheme}{emulator}"));
            }
            let endpoint = builder.get_config_value(&GoogleConfigKey::BaseUrl);
            let plain = endpoint.is_some_and(|url| is_plain(&url));
            builder = builder.with_client_options(ClientOptions::new().with_allow_http(plain));
            if unsigned {
                let no_token = StaticCredentialProvider::new(GcpCredential {
                    bearer: String::new(),
                });
                builder = builder
                    .with_credentials(Arc::new(no_token))
                    .with_skip_signature(true);
            }
            let store = builder.build().map_err(failed)?;
            let credentials = can_be_had(store.credentials());
            (Arc::new(store), credentials)
        }
        Scheme::Azure => {
            let mut builder = MicrosoftAzureBuilder::from_env()
                .with_container_name(bucket)
                .with_retry(retry())
                .with_http_connector(connector);
            if let Some(host) = &url.account {
                let (account, _) = host.split_once('.').unwrap_or((host, ""));
                builder = builder.with_account(account);
                if host.contains(".fabric.") {
                    builder = builder.with_use_fabric_endpoint(true);
                }
            }
            let endpoint = builder.get_config_value(&AzureConfigKey::Endpoint);
            if endpoint.is_some_and(|url| is_plain(&url)) {
                builder = builder.with_allow_http(true);
            }
            if unsigned {
                builder = builder.with_skip_signature(true);
            }
            let store = builder.build().map_err(failed)?;
            let credentials = can_be_had(store.credentials());
            (Arc::new(store), credentials)
        }
        Scheme::Web(_) => {
            let query = url.query.as_ref().map(|query| format!("?{query}"));
            connector.is_web = true;
            connector.authorization = url.user.as_ref().map(|user| {
                let decoded: Vec<u8> = percent_decode_str(user).collect();
                let text = format!("Basic {}", STANDARD.encode(decoded));
                let mut value = HeaderValue::from_str(&text).expect("base64 is ASCII");
                value.set_sensitive(true);
                value
            });
            let builder = HttpBuilder::new()
                .with_url(format!("{url}{}", query.unwrap_or_default()))
                .with_retry(retry())
                .with_client_options(ClientOptions::new().with_allow_http(true))
                .with_http_connector(connector);
            let store = builder.build().map_err(failed)?;
            (Arc::new(store), Box::pin(std::future::ready(true)))
        }
    })
}

/// Whether an endpoint is named without TLS, which allows to do without.
fn is_plain(endpoint: &str) -> bool {
    endpoint.starts_with("http://")
}
