//! Servers by others, each started on a free port of loopback, and what tests need of them: buckets, and
//! the objects in them.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::Command;

use object_store::azure::{AzureAccessKey, AzureAuthorizer, AzureCredential};
use object_store::client::{HttpRequest, HttpRequestBody};

use super::super::plain;
use crate::readers::installed;
use tracelake_testkit::process::Process;
use tracelake_testkit::tree;

/// The account of every Azurite, and its key, which its documentation publishes.
const ACCOUNT: &str = "devstoreaccount1";
pub(super) const KEY: &str =
    "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==";

/// A server that lives until it is dropped, with a bucket named `bucket`.
pub(super) struct Emulator {
    kind: Kind,
    process: Process,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Moto,
    Azurite,
}

impl Emulator {
    /// An S3 server: moto.
    pub(super) fn moto() -> Self {
        Self::moto_with(&[])
    }

    /// Like [`Self::moto`], with more variables.
    pub(super) fn moto_with(variables: &[(&str, &str)]) -> Self {
        Self::start(Kind::Moto, variables)
    }

    /// An Azure server: Azurite.
    pub(super) fn azurite() -> Self {
        Self::start(Kind::Azurite, &[])
    }

    fn start(kind: Kind, variables: &[(&str, &str)]) -> Self {
        let (program, arguments): (_, &[&str]) = match kind {
            Kind::Moto => ("moto/bin/moto_server", &["-H", "127.0.0.1", "-p"]),
            Kind::Azurite => (
                "azurite/node_modules/.bin/azurite-blob",
                &[
                    "--inMemoryPersistence",
                    "--disableTelemetry",
                    "--skipApiVersionCheck",
                    "--blobHost",
                    "127.0.0.1",
                    "--blobPort",
                ],
            ),
        };
        let arguments = |port: &str| {
            let arguments = arguments.iter().chain([&port]);
            arguments.map(|&argument| argument.to_owned()).collect()
        };
        let process =
            Process::start(&installed("buckets").join(program), arguments, variables).unwrap();
        let emulator = Self { kind, process };
        let bucket = match kind {
            Kind::Moto => "/bucket",
            Kind::Azurite => "/bucket?restype=container",
        };
        let (status, said) = emulator.ask("PUT", bucket, &[], b"");
        assert!(matches!(status, 200 | 201), "{status}: {said:?}");
        emulator
    }

    /// How URLs of the bucket start.
    pub(super) fn bucket(&self) -> &'static str {
        match self.kind {
            Kind::Moto => "s3://bucket",
            Kind::Azurite => "az://bucket",
        }
    }

    /// The program, with this server's address and credentials in its environment.
    pub(super) fn program(&self) -> Command {
        let mut command = self.without_credentials();
        match self.kind {
            Kind::Moto => command
                .env("AWS_ACCESS_KEY_ID", "tests")
                .env("AWS_SECRET_ACCESS_KEY", "tests"),
            Kind::Azurite => command.env("AZURE_STORAGE_ACCOUNT_KEY", KEY),
        };
        command
    }

    /// Like [`Self::program`], without credentials; the metadata service's address has no server.
    pub(super) fn without_credentials(&self) -> Command {
        let mut command = plain();
        match self.kind {
            Kind::Moto => command
                .env(
                    "AWS_ENDPOINT_URL",
                    format!("http://{}", self.process.address()),
                )
                .env("AWS_METADATA_ENDPOINT", "http://127.0.0.1:1"),
            Kind::Azurite => command
                .env(
                    "AZURE_STORAGE_ENDPOINT",
                    format!("http://{}/{ACCOUNT}", self.process.address()),
                )
                .env("AZURE_STORAGE_ACCOUNT_NAME", ACCOUNT)
                .env("IDENTITY_ENDPOINT", "http://127.0.0.1:1"),
        };
        command
    }

    /// Puts the files of a directory into the bucket, below this prefix.
    pub(super) fn put(&self, directory: &Path, prefix: &str) {
        for (name, bytes) in tree(directory).unwrap() {
            let Some(bytes) = bytes else {
                continue;
            };
            let headers = match self.kind {
                Kind::Moto => &[][..],
                Kind::Azurite => &[("x-ms-blob-type", "BlockBlob")],
            };
            let (status, said) =
                self.ask("PUT", &format!("/bucket/{prefix}{name}"), headers, &bytes);
            assert!(matches!(status, 200 | 201), "{status}: {said:?}");
        }
    }

    /// The names of the objects below a prefix, by what follows it.
    pub(super) fn names(&self, prefix: &str) -> Vec<String> {
        let (query, tag) = match self.kind {
            Kind::Moto => ("list-type=2", "Key"),
            Kind::Azurite => ("restype=container&comp=list", "Name"),
        };
        self.elements(&format!("/bucket?{query}&prefix={prefix}"), tag)
            .iter()
            .map(|name| name.strip_prefix(prefix).unwrap().replace("%3D", "="))
            .collect()
    }

    /// The objects below a prefix, by what follows it.
    pub(super) fn objects(&self, prefix: &str) -> BTreeMap<String, Vec<u8>> {
        let read = |name: String| {
            let (status, bytes) = self.ask("GET", &format!("/bucket/{prefix}{name}"), &[], b"");
            assert_eq!(status, 200, "{name}");
            (name, bytes)
        };
        self.names(prefix).into_iter().map(read).collect()
    }

    /// How many uploads were begun, and neither completed nor aborted. Azurite has no list of them; what
    /// was not committed is in no other list.
    pub(super) fn uploads(&self) -> usize {
        match self.kind {
            Kind::Moto => self.elements("/bucket?uploads", "UploadId").len(),
            Kind::Azurite => 0,
        }
    }

    /// The texts of the elements of this name in an answer.
    fn elements(&self, target: &str, name: &str) -> Vec<String> {
        let (status, body) = self.ask("GET", target, &[], b"");
        let body = String::from_utf8(body).unwrap();
        assert_eq!(status, 200, "{body}");
        let start = format!("<{name}>");
        let pieces = body.split(&start).skip(1);
        let text = |piece: &str| piece.split_once("</").unwrap().0.to_owned();
        pieces.map(text).collect()
    }

    /// One request on a separate connection: the status and the body of the answer.
    fn ask(
        &self,
        method: &str,
        target: &str,
        headers: &[(&'static str, &str)],
        body: &[u8],
    ) -> (u16, Vec<u8>) {
        let target = match self.kind {
            Kind::Moto => target.to_owned(),
            Kind::Azurite => format!("/{ACCOUNT}{target}"),
        };
        let mut request = HttpRequest::new(HttpRequestBody::empty());
        *request.method_mut() = method.parse().unwrap();
        *request.uri_mut() = format!("http://{}{target}", self.process.address())
            .parse()
            .unwrap();
        let length = body.len().to_string();
        let of_body = [("content-length", &length[..])];
        let of_put = of_body.iter().filter(|_| method == "PUT");
        for (name, value) in headers.iter().chain(of_put) {
            request.headers_mut().insert(*name, value.parse().unwrap());
        }
        match self.kind {
            Kind::Moto => {
                // It wants to know who asks, but doesn't check the signature.
                let who = "AWS4-HMAC-SHA256 Credential=tests/20260101/us-east-1/s3/aws4_request, \
                           SignedHeaders=host, Signature=0";
                let headers = request.headers_mut();
                headers.insert("authorization", who.parse().unwrap());
            }
            Kind::Azurite => {
                let key = AzureCredential::AccessKey(AzureAccessKey::try_new(KEY).unwrap());
                let authorizer = AzureAuthorizer::new(&key, ACCOUNT);
                authorizer.try_authorize(&mut request).unwrap();
            }
        }
        let address = self.process.address();
        let mut head = format!("{method} {target} HTTP/1.0\r\nhost: {address}\r\n");
        for (name, value) in request.headers() {
            head += &format!("{name}: {}\r\n", value.to_str().unwrap());
        }
        let mut stream = TcpStream::connect(address).unwrap();
        stream.write_all(format!("{head}\r\n").as_bytes()).unwrap();
        stream.write_all(body).unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).unwrap();
        let end = answer.windows(4).position(|four| four == b"\r\n\r\n");
        let body = answer.split_off(end.unwrap() + 4);
        let head = String::from_utf8(answer).unwrap();
        let status = head.split_whitespace().nth(1).unwrap();
        (status.parse().unwrap(), body)
    }
}
