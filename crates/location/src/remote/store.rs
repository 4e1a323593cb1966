//! Stores: made from the environment, signed where there are credentials, and what can be asked of an
//! object.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use futures_util::StreamExt;
use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey};
use object_store::azure::{AzureConfigKey, MicrosoftAzureBuilder};
use object_store::gcp::{GcpCredential, GoogleCloudStorageBuilder, GoogleConfigKey};
use object_store::http::HttpBuilder;
use object_store::path::Path;
use object_store::{
    BackoffConfig, ClientOptions, CredentialProvider, GetOptions, GetRange, GetResult, HeaderValue,
    MultipartUpload, ObjectMeta, ObjectStore, PutMode, RetryConfig, StaticCredentialProvider,
};
use percent_encoding::percent_decode_str;
use tokio::sync::Mutex;
use tracelake_core::error::{Error, ErrorKind, Result};
use tracelake_schema::TRACES;

use super::super::url::Scheme;
use super::super::{Entry, Listed, LocationKind, Tagged, Url, Version};
use super::client::{Connector, is_truthy};
use super::environment::{self, is_set};
use super::explain::{Failure, explain, misconfigured, no_credentials};
use super::keys::unmarked;

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
enum Signing {
    /// With the credentials of the environment, whose errors are errors.
    Signed,
    /// Not at all.
    Unsigned,
    /// If the metadata service answers in time.
    AskMetadata,
}

impl Signing {
    fn of(url: &Url) -> Self {
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
    Some(
        home.join(below)
            .join("application_default_credentials.json"),
    )
}

/// Whether a bucket is one that a publisher has put a trace into, for everybody to read.
fn is_published(url: &Url) -> bool {
    let root = url.root();
    TRACES.urls().any(|published| {
        let rest = published.strip_prefix(&root);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    })
}

/// The stores that were asked for so far, by the starts of their URLs.
#[derive(Default)]
pub(super) struct Stores {
    known: Mutex<HashMap<String, Store>>,
}

/// A bucket, or the client for a web server.
#[derive(Debug, Clone)]
struct Store {
    objects: Arc<dyn ObjectStore>,
    unsigned: bool,
}

impl Stores {
    /// The object at a URL, to be written.
    pub(super) async fn create(&self, url: &Url) -> Result<Object> {
        let object = self.open(url).await?;
        if object.store.unsigned && Signing::of(url) == Signing::AskMetadata {
            return Err(no_credentials(url));
        }
        Ok(object)
    }

    /// The object at a URL, which need not exist.
    pub(super) async fn open(&self, url: &Url) -> Result<Object> {
        if let Scheme::Web(_) = url.scheme {
            return Ok(Object {
                url: url.clone(),
                store: web(url)?,
                path: Path::default(),
            });
        }
        let path = path_of(url)?;
        // One at a time, so that a metadata service is asked only once.
        let mut known = self.known.lock().await;
        let store = match known.get(&url.root()) {
            Some(store) => store.clone(),
            None => {
                let store = bucket(url).await?;
                known.insert(url.root(), store.clone());
                store
            }
        };
        Ok(Object {
            url: url.clone(),
            store,
            path,
        })
    }

    /// Removes objects of one bucket, in as few requests as the store allows; that there are none is no error.
    pub(super) async fn remove(&self, urls: &[Url]) -> Result<()> {
        let Some(first) = urls.first() else {
            return Ok(());
        };
        let Store { objects, unsigned } = self.create(first).await?.store;
        let paths: Vec<Path> = urls.iter().map(path_of).collect::<Result<_>>()?;
        let paths = futures_util::stream::iter(paths).map(Ok).boxed();
        // To the end, whatever fails: the rest is removed. The answers are in the order of the paths.
        let answers: Vec<_> = objects.delete_stream(paths).collect().await;
        for (url, answer) in urls.iter().zip(answers) {
            match answer {
                Ok(_) | Err(object_store::Error::NotFound { .. }) => {}
                Err(error) => return Err(explain(url, unsigned, "remove", Failure::of(error))),
            }
        }
        Ok(())
    }
}

/// The path of an object in its bucket.
fn path_of(url: &Url) -> Result<Path> {
    Path::parse(&url.path).map_err(|error| {
        let error = Error::new(ErrorKind::Usage, error.to_string());
        error.at(url.to_string()).hint("write the path out")
    })
}

/// A web server, seen from one file.
fn web(url: &Url) -> Result<Store> {
    let mut address = url.to_string();
    if let Some(query) = &url.secret.query {
        address = format!("{address}?{query}");
    }
    let authorization = url.secret.user.as_ref().map(|user| {
        let decoded: Vec<u8> = percent_decode_str(user).collect();
        let text = format!("Basic {}", STANDARD.encode(decoded));
        let mut value = HeaderValue::from_str(&text).expect("base64 is ASCII");
        value.set_sensitive(true);
        value
    });
    let store = HttpBuilder::new()
        .with_url(address)
        .with_retry(retry())
        .with_client_options(ClientOptions::new().with_allow_http(true))
        .with_http_connector(Connector {
            is_web: true,
            authorization,
            ..Connector::default()
        })
        .build();
    Ok(Store {
        objects: Arc::new(store.map_err(|error| misconfigured(url, &error))?),
        unsigned: url.secret == Default::default(),
    })
}

/// Makes the store of a bucket from the environment.
async fn bucket(url: &Url) -> Result<Store> {
    let signing = Signing::of(url);
    environment::check(url, signing != Signing::Unsigned, &environment::variable)?;
    tracing::debug!(url = url.root(), ?signing, "opening a store");
    if signing != Signing::AskMetadata {
        return build(url, signing == Signing::Unsigned).map(|(store, _)| store);
    }
    let (signed, credentials) = build(url, false)?;
    match tokio::time::timeout(METADATA_PATIENCE, credentials).await {
        Ok(true) => Ok(signed),
        _ => build(url, true).map(|(store, _)| store),
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

fn build(url: &Url, unsigned: bool) -> Result<(Store, Credentials)> {
    let failed = |error: object_store::Error| misconfigured(url, &error);
    let bucket = url.bucket.clone();
    let connector = Connector {
        is_signed: !unsigned,
        certificates: environment::certificates(url, &environment::variable)?,
        ..Connector::default()
    };
    let (objects, credentials): (Arc<dyn ObjectStore>, Credentials) = match url.scheme {
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
            let mut connector = connector;
            let encoding = HeaderValue::from_static("gzip");
            connector.headers.insert("accept-encoding", encoding);
            let mut builder = GoogleCloudStorageBuilder::from_env()
                .with_bucket_name(bucket)
                .with_retry(retry())
                .with_http_connector(connector);
            if let Ok(emulator) = std::env::var(EMULATOR) {
                let scheme = if emulator.contains("://") {
                    ""
                } else {
                    "http://"
                };
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
        Scheme::Web(_) => (web(url)?.objects, Box::pin(std::future::ready(true))),
    };
    Ok((Store { objects, unsigned }, credentials))
}

/// Whether an endpoint is named without TLS, which allows to do without.
fn is_plain(endpoint: &str) -> bool {
    endpoint.starts_with("http://")
}

/// Whether a tag stays the same for bytes that are only similar.
pub(super) fn is_weak(tag: &str) -> bool {
    tag.starts_with("W/")
}

/// A request for the first byte. A server that isn't asked for the head alone says why it refuses, and some URLs are
/// signed for this method only.
pub(super) fn first_byte() -> GetOptions {
    GetOptions::new().with_range(Some(GetRange::Bounded(0..1)))
}

/// An object in a store, or a file on a web server.
#[derive(Clone)]
pub(super) struct Object {
    url: Url,
    store: Store,
    path: Path,
}

impl fmt::Debug for Object {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Object({})", self.url)
    }
}

impl Object {
    /// The ETag of the object in the store.
    pub(super) async fn etag(&self) -> Result<Option<String>> {
        let answer = match self.get(first_byte()).await {
            // An empty object has no first byte.
            Err(Failure::NoRanges | Failure::NoSuchRange) => self.get(GetOptions::new()).await,
            answer => answer,
        };
        match answer {
            Ok(found) => Ok(found.meta.e_tag),
            Err(failure) => Err(self.error("read", failure)),
        }
    }

    /// Asks for the object, or a range of it.
    pub(super) async fn get(&self, options: GetOptions) -> std::result::Result<GetResult, Failure> {
        let found = self.store.objects.get_opts(&self.path, options).await;
        found.map_err(Failure::of)
    }

    /// Its size and tag; `None` if there is no such object, or nothing in it.
    pub(super) async fn version_if_there(&self) -> Result<Option<Version>> {
        match self.get(first_byte()).await {
            Ok(found) => Ok(Some((found.meta.size, found.meta.e_tag))),
            Err(Failure::Missing | Failure::NoSuchRange) => Ok(None),
            Err(failure) => Err(self.error("read", failure)),
        }
    }

    /// Its size, tag and time of the last change.
    pub(super) async fn version(&self) -> Result<ObjectMeta> {
        let found = self.get(first_byte()).await;
        Ok(found.map_err(|failure| self.error("read", failure))?.meta)
    }

    /// Reads all of it, with its tag; `None` if there is no such object.
    pub(super) async fn read(&self, limit: u64) -> Result<Option<Tagged>> {
        let answer = match self.get(GetOptions::new()).await {
            Ok(answer) => answer,
            Err(Failure::Missing) => return Ok(None),
            Err(failure) => return Err(self.error("read", failure)),
        };
        if answer.meta.size > limit {
            let reason = format!("is larger than {limit} bytes; such a file never is");
            return Err(Error::new(ErrorKind::Corrupt, reason)
                .at(self.url.to_string())
                .hint("it is not what its name says: move it away"));
        }
        let etag = answer.meta.e_tag.clone().filter(|tag| !is_weak(tag));
        let bytes = answer
            .bytes()
            .await
            .map_err(|error| self.failed("read", error))?;
        Ok(Some((bytes.into(), etag)))
    }

    /// Puts bytes in its place, and returns what the store names them by.
    pub(super) async fn put(&self, bytes: Vec<u8>) -> Result<Option<String>> {
        let put = self
            .store
            .objects
            .put_opts(&self.path, bytes.into(), PutMode::Overwrite.into());
        let written = put.await.map_err(|error| self.failed("write", error))?;
        Ok(written.e_tag)
    }

    /// Puts bytes where there is no object yet; false if there is one.
    pub(super) async fn put_new(&self, bytes: Vec<u8>) -> Result<bool> {
        let put = self
            .store
            .objects
            .put_opts(&self.path, bytes.into(), PutMode::Create.into());
        match put.await {
            Ok(_) => Ok(true),
            Err(object_store::Error::AlreadyExists { .. }) => Ok(false),
            Err(object_store::Error::Precondition { .. }) => Ok(false),
            Err(error) => Err(self.failed("write", error)),
        }
    }

    /// Begins to put an object part by part.
    pub(super) async fn begin_parts(&self) -> Result<Box<dyn MultipartUpload>> {
        let begun = self
            .store
            .objects
            .put_multipart_opts(&self.path, Default::default());
        begun.await.map_err(|error| self.failed("write", error))
    }

    /// All objects below it.
    pub(super) async fn list_all(&self) -> Result<Vec<Listed>> {
        let prefix = (!self.path.as_ref().is_empty()).then_some(&self.path);
        let depth = self.path.parts().count();
        let mut listed = self.store.objects.list(prefix);
        let mut all = Vec::new();
        while let Some(object) = listed.next().await {
            let object = object.map_err(|error| self.failed("list", error))?;
            let names: Vec<String> = object
                .location
                .parts()
                .skip(depth)
                .map(|part| unmarked(part.as_ref()).to_owned())
                .collect();
            if !names.is_empty() {
                all.push(Listed {
                    path: names.join("/"),
                    bytes: object.size,
                    etag: object.e_tag,
                });
            }
        }
        Ok(all)
    }

    /// The error of the store.
    pub(super) fn failed(&self, doing: &str, error: object_store::Error) -> Error {
        self.error(doing, Failure::of(error))
    }

    /// The names below it.
    pub(super) async fn list(&self) -> Result<Vec<Entry>> {
        let prefix = (!self.path.as_ref().is_empty()).then_some(&self.path);
        let listed = self
            .store
            .objects
            .list_with_delimiter(prefix)
            .await
            .map_err(|error| self.failed("list", error))?;
        let depth = self.path.parts().count() + 1;
        // A store may hold an empty object for the directory itself.
        let is_child = |path: &Path| path.parts().count() == depth;
        let name = |path: &Path| path.filename().unwrap_or_default().to_owned();
        let objects = listed.objects.iter();
        let children = objects.filter(|object| is_child(&object.location));
        let files = children.map(|object| Entry {
            name: name(&object.location),
            kind: LocationKind::File { bytes: object.size },
            etag: object.e_tag.clone(),
        });
        let prefixes = listed.common_prefixes.iter().filter(|path| is_child(path));
        let directories = prefixes.map(|path| Entry {
            name: name(path),
            kind: LocationKind::Directory,
            etag: None,
        });
        let entries = files.chain(directories);
        let unmarked = entries.map(|entry| match unmarked(&entry.name) {
            name if name == entry.name => entry,
            // No name of a file, and nothing that could be opened by it.
            name => Entry {
                name: format!("{name}/"),
                kind: LocationKind::Other,
                etag: None,
            },
        });
        Ok(unmarked.collect())
    }

    /// Reports what isn't wrong yet. Only the program shows it.
    pub(super) fn warn(&self, what: &str) {
        tracing::warn!("{}: {what}", self.url);
    }

    /// The error for a request that failed.
    pub(super) fn error(&self, doing: &str, failure: Failure) -> Error {
        explain(&self.url, self.store.unsigned, doing, failure)
    }
}

#[cfg(test)]
impl Object {
    /// An object of a store that is but memory.
    pub(super) async fn in_memory(url: &Url, bytes: Vec<u8>) -> Self {
        use object_store::ObjectStoreExt;
        let store = object_store::memory::InMemory::new();
        let path = Path::parse(&url.path).expect("a path");
        store.put(&path, bytes.into()).await.expect("memory");
        Self {
            url: url.clone(),
            store: Store {
                objects: Arc::new(store),
                unsigned: false,
            },
            path,
        }
    }
}
