//! moto, the S3 server by others that `cargo xtask buckets` installs, with one bucket.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result, ensure};

use super::http::{Request, parts};
use crate::readers::target;
use tracelake_testkit::process::Process;

/// Objects by their name below [`PREFIX`].
pub(super) type Objects = BTreeMap<String, Vec<u8>>;

/// Where the lake of every race is.
pub(super) const OUT: &str = "s3://bucket/races/lake";
const PREFIX: &str = "races/lake/";

/// How often an object is read that others may remove at the same time.
const READINGS: usize = 5;

/// A server that lives until it is dropped.
pub(super) struct Moto(Process);

impl Moto {
    pub(super) fn start(root: &Path) -> Result<Self> {
        let program = target(root).join("buckets/moto/bin/moto_server");
        let arguments = |port: &str| ["-H", "127.0.0.1", "-p", port].map(str::to_owned).to_vec();
        Ok(Self(Process::start(&program, arguments, &[])?))
    }

    /// `127.0.0.1:12345`.
    pub(super) fn address(&self) -> &str {
        self.0.address()
    }

    /// Removes everything, and puts these objects.
    pub(super) fn reset(&self, objects: &Objects) -> Result<()> {
        self.ask("POST", "/moto-api/reset", b"")?;
        self.ask("PUT", "/bucket", b"")?;
        for (name, bytes) in objects {
            self.ask("PUT", &format!("/bucket/{PREFIX}{name}"), bytes)?;
        }
        Ok(())
    }

    /// The objects of the lake. One that is removed after it was listed, as by a request that arrives twice, isn't
    /// one of them.
    pub(super) fn objects(&self) -> Result<Objects> {
        let target = format!("/bucket?list-type=2&prefix={PREFIX}");
        let listing = String::from_utf8(self.ask("GET", &target, b"")?)?;
        let is_whole = listing.contains("<IsTruncated>false</IsTruncated>");
        ensure!(is_whole, "a listing of more than one page");
        let mut objects = Objects::new();
        for rest in listing.split("<Key>").skip(1) {
            let (key, _) = rest.split_once("</Key>").context("a key without an end")?;
            let target = format!("/bucket/{key}");
            let (status, bytes) = self.read(&target)?;
            if status == 404 {
                continue;
            }
            ensure!(status == 200, "moto: GET {target}: {status}");
            let name = key.strip_prefix(PREFIX).context("a key of another lake")?;
            objects.insert(name.to_owned(), bytes);
        }
        Ok(objects)
    }

    /// Reads an object. If it is removed while it is read, moto answers 500.
    fn read(&self, target: &str) -> Result<(u16, Vec<u8>)> {
        let ask = || parts(Request::new("GET", target, b"").send(self.address())?);
        for _ in 1..READINGS {
            let answer = ask()?;
            if answer.0 < 500 {
                return Ok(answer);
            }
        }
        Ok(ask()?)
    }

    fn ask(&self, method: &str, target: &str, body: &[u8]) -> Result<Vec<u8>> {
        let answer = Request::new(method, target, body).send(self.address())?;
        let (status, body) = parts(answer)?;
        ensure!(status == 200, "moto: {method} {target}: {status}");
        Ok(body)
    }
}
