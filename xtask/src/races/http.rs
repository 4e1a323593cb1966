//! Minimal HTTP for a proxy: one request and its answer on a connection.

use std::io::{self, BufRead, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

/// How long a server may take for an answer.
const ANSWERS: Duration = Duration::from_secs(60);

/// A request; its headers go on as they came.
#[derive(Debug, Clone)]
pub(super) struct Request {
    pub(super) method: String,
    /// The path and the query, encoded.
    pub(super) target: String,
    /// Lines without their ends, and without `Connection`.
    headers: Vec<String>,
    body: Vec<u8>,
}

impl Request {
    /// A request of the task itself. moto wants to know who asks, but doesn't check the signature.
    pub(super) fn new(method: &str, target: &str, body: &[u8]) -> Self {
        let who = "AWS4-HMAC-SHA256 Credential=races/20260101/us-east-1/s3/aws4_request, \
                   SignedHeaders=host, Signature=0";
        let headers = vec![
            "Host: 127.0.0.1".to_owned(),
            format!("Authorization: {who}"),
            format!("Content-Length: {}", body.len()),
        ];
        Self {
            method: method.to_owned(),
            target: target.to_owned(),
            headers,
            body: body.to_vec(),
        }
    }

    /// Reads a request; `None` where the connection ends before it.
    pub(super) fn read(reader: &mut impl BufRead) -> io::Result<Option<Self>> {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let mut words = line.split_whitespace();
        let (Some(method), Some(target)) = (words.next(), words.next()) else {
            return Ok(None);
        };
        let mut headers = Vec::new();
        let mut length = 0;
        loop {
            let mut line = String::new();
            reader.read_line(&mut line)?;
            let Some((name, value)) = line.trim_end().split_once(':') else {
                break;
            };
            if name.eq_ignore_ascii_case("content-length") {
                length = value.trim().parse().map_err(io::Error::other)?;
            }
            if !name.eq_ignore_ascii_case("connection") {
                headers.push(line.trim_end().to_owned());
            }
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body)?;
        Ok(Some(Self {
            method: method.to_owned(),
            target: target.to_owned(),
            headers,
            body,
        }))
    }

    /// The user that it is signed for.
    pub(super) fn user(&self) -> Option<&str> {
        let credential = |line: &String| line.find("Credential=").map(|at| at + 11);
        let line = self
            .headers
            .iter()
            .find(|line| credential(line).is_some())?;
        line.get(credential(line)?..)?.split('/').next()
    }

    pub(super) fn is_write(&self) -> bool {
        !matches!(&self.method[..], "GET" | "HEAD")
    }

    pub(super) fn is_listing(&self) -> bool {
        self.method == "GET" && self.target.contains("list-type=2")
    }

    /// Has a server carry it out, and returns the answer as it came.
    pub(super) fn send(&self, address: &str) -> io::Result<Vec<u8>> {
        let mut head = format!("{} {} HTTP/1.1\r\n", self.method, self.target);
        for header in &self.headers {
            head += header;
            head += "\r\n";
        }
        head += "Connection: close\r\n\r\n";
        let mut stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(ANSWERS))?;
        stream.write_all(&[head.as_bytes(), &self.body].concat())?;
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer)?;
        Ok(answer)
    }
}

/// The status and the body of an answer.
pub(super) fn parts(mut answer: Vec<u8>) -> io::Result<(u16, Vec<u8>)> {
    let blank = answer.windows(4).position(|four| four == b"\r\n\r\n");
    let end = blank.ok_or_else(|| io::Error::other("an answer without an end of its head"))?;
    let body = answer.split_off(end + 4);
    let head = String::from_utf8_lossy(&answer);
    let status = head.split_whitespace().nth(1).unwrap_or_default();
    Ok((status.parse().map_err(io::Error::other)?, body))
}
