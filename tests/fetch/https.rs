//! TLS: certificates, and requests that are sent on.

use std::fs;

use super::{MOON, moon};
use crate::urls::trust::{NOTHING, beside, start};
use tracelake_testkit::{Run, Scratch, ended, plain};

/// Fetches the small table from a server with this answer to a request for its file.
fn fetch(trusts: bool, answer: Vec<u8>) -> (Run, Option<Vec<u8>>) {
    let (port, _) = start(move |line| match line.contains("craters.csv.gz") {
        true => answer.clone(),
        false => NOTHING.into(),
    });
    let scratch = Scratch::new();
    let description = scratch.path().join("moon.toml");
    let text = MOON.replace("SERVER", &format!("https://127.0.0.1:{port}"));
    fs::write(&description, text).unwrap();
    let mut command = plain();
    if trusts {
        command.env("SSL_CERT_FILE", beside("trust.pem"));
    }
    command.arg("fetch").arg(description).arg(scratch.out());
    let run = ended(command.args(["--tables", "craters"]).output().unwrap());
    (run, fs::read(scratch.out().join("craters.csv.gz")).ok())
}

fn answer(head: &str, body: &[u8]) -> Vec<u8> {
    let length = body.len();
    let head = format!("HTTP/1.1 {head}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n");
    [head.as_bytes(), body].concat()
}

#[test]
fn a_file_comes_over_https_from_a_server_that_is_trusted() {
    let file = &moon()["craters.csv.gz"];
    let (run, found) = fetch(true, answer("200 x", file));
    run.exits(0);
    assert!(found.as_ref() == Some(file));
    let (run, found) = fetch(false, answer("200 x", file));
    run.refuses(1, "set SSL_CERT_FILE to the certificates to trust");
    assert_eq!(found, None);
}

#[test]
fn nobody_is_sent_on_from_https_to_http() {
    let (run, found) = fetch(true, answer("302 x\r\nLocation: http://127.0.0.1:1/a", b""));
    run.refuses(
        1,
        "redirected from https to http, where anybody can change the bytes",
    );
    assert_eq!(found, None);
}
