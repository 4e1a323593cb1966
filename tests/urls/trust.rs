//! Certificates: those that are trusted, and those that aren't.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::thread;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};

use super::with_stores;
use tracelake_testkit::ended;

/// A file beside this one. The certificate is for 127.0.0.1, and the key is for nothing but these tests.
pub(crate) fn beside(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../tests/urls")
        .join(name)
}

/// The answer of a server that has nothing.
pub(crate) const NOTHING: &[u8] =
    b"HTTP/1.1 404 x\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";

/// The port of a server that speaks TLS, and the first lines of what it was asked. `answer` returns the whole answer to
/// such a line, after which the connection ends.
pub(crate) fn start(
    answer: impl Fn(&str) -> Vec<u8> + Send + 'static,
) -> (u16, Arc<Mutex<Vec<String>>>) {
    let certificate = CertificateDer::from_pem_file(beside("trust.pem")).unwrap();
    let key = PrivateKeyDer::from_pem_file(beside("trust.key")).unwrap();
    let ring = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(ring)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key)
        .unwrap();
    let config = Arc::new(config);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let asked = Arc::new(Mutex::new(Vec::new()));
    let known = Arc::clone(&asked);
    thread::spawn(move || {
        for stream in listener.incoming() {
            let connection = ServerConnection::new(Arc::clone(&config)).unwrap();
            let mut stream = StreamOwned::new(connection, stream.unwrap());
            let mut request = Vec::new();
            let mut byte = [0];
            while !request.ends_with(b"\r\n\r\n")
                && stream.read(&mut byte).is_ok_and(|read| read > 0)
            {
                request.push(byte[0]);
            }
            if let Some(line) = String::from_utf8(request).unwrap().lines().next() {
                known.lock().unwrap().push(line.to_owned());
                // A client may go away whenever it likes.
                let _ = stream.write_all(&answer(line));
                stream.conn.send_close_notify();
                let _ = stream.flush();
            }
        }
    });
    (port, asked)
}

#[test]
fn a_bundle_of_aws_is_trusted() {
    let (port, asked) = start(|_| NOTHING.into());
    let endpoint = format!("https://127.0.0.1:{port}");
    let inspect = |bundle: Option<PathBuf>| {
        let mut command = with_stores(&endpoint);
        if let Some(bundle) = bundle {
            command.env("AWS_CA_BUNDLE", bundle);
        }
        ended(command.args(["inspect", "s3://bucket/a"]).output().unwrap())
    };
    let refused = inspect(None);
    assert_eq!(refused.code, 1, "{}", refused.stderr);
    refused.prints("set AWS_CA_BUNDLE");
    assert_eq!(asked.lock().unwrap().len(), 0, "{}", refused.stderr);

    let trusted = inspect(Some(beside("trust.pem")));
    assert_eq!(trusted.code, 1, "{}", trusted.stderr);
    assert!(
        !trusted.stderr.contains("certificate"),
        "{}",
        trusted.stderr
    );
    let lines = asked.lock().unwrap().clone();
    assert!(
        lines.iter().any(|line| line.starts_with("GET /bucket")),
        "{lines:?}"
    );
}
