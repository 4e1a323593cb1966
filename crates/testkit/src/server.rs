//! An HTTP server on loopback with faults: a web server, and the calls of S3's and Google's XML
//! interface that reading needs. It needs nothing but the standard library, so its tests always run.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

/// A request, as far as rules look at it.
#[derive(Debug, Clone)]
pub struct Asked {
    /// `GET`, `PUT` and so on.
    pub method: String,
    /// Without the slash at its start and without the query; decoded.
    pub path: String,
    /// The query, not decoded.
    pub query: String,
    /// With names in lower case.
    pub headers: BTreeMap<String, String>,
    /// The body of the request.
    pub body: Vec<u8>,
    /// How many requests with this method and path came before.
    pub before: usize,
}

impl Asked {
    /// The first byte that is asked for, and the one after the last; `None` without a range.
    pub fn range(&self) -> Option<(usize, usize)> {
        let range = self.headers.get("range")?.strip_prefix("bytes=")?;
        let (start, end) = range.split_once('-')?;
        Some((start.parse().ok()?, end.parse::<usize>().ok()? + 1))
    }
}

/// How a request is answered.
#[derive(Debug, Clone)]
pub enum Answer {
    /// The correct answer.
    Well,
    /// With this status, these headers and this body.
    Status(u16, Vec<(&'static str, String)>, String),
    /// Well, but the connection ends after this number of bytes of the body.
    Cut(usize),
    /// Well, but with a `Content-Length` that is off by this much, and as many bytes.
    Off(isize),
    /// Ignores ranges: the whole file.
    Whole,
    /// Like `Whole`, but the connection ends after this number of bytes of the body.
    WholeCut(usize),
    /// Well, in chunks and without a `Content-Length`; with ranges or without.
    Chunked(bool),
    /// In chunks and without ranges, but the connection ends after this number of bytes of the body.
    ChunkedCut(usize),
    /// Without a length and without chunks, as the connection ends.
    Endless,
    /// With this status, these headers, and a body without an end: in chunks, unless a header says how long it is.
    Flood(u16, Vec<(&'static str, String)>),
    /// Well, with this header too.
    With(&'static str, &'static str),
    /// Well, with this `ETag`, or none if it is empty.
    Tag(String),
    /// Ignores conditions.
    Unconditional,
    /// Well, but this number of bytes every ten milliseconds.
    Slow(usize),
    /// Not at all, while the server lives.
    Silent,
    /// Not at all, and the connection ends; but what was asked for is done.
    Lost,
    /// Well, but what was asked for is done twice, and the answer is the second one.
    Twice,
    /// Well, but a listing lacks this number of the last changes.
    Late(usize),
}

/// A status without more.
pub fn status(status: u16) -> Answer {
    Answer::Status(status, Vec::new(), String::new())
}

/// A status with an error as S3 writes it.
pub fn refusal(status: u16, code: &str) -> Answer {
    let body = format!("<?xml version=\"1.0\"?><Error><Code>{code}</Code></Error>");
    Answer::Status(status, Vec::new(), body)
}

/// A redirect to a port that nothing listens on, each time it is called.
///
/// # Panics
/// When no port is free.
pub fn to_closed_port() -> impl Fn() -> Answer {
    let free = TcpListener::bind("127.0.0.1:0").unwrap();
    let closed = format!("http://{}/", free.local_addr().unwrap());
    move || Answer::Status(302, vec![("Location", closed.clone())], String::new())
}

type Rule = Box<dyn Fn(&Asked) -> Answer + Send + Sync>;

type Object = Arc<Vec<u8>>;
type Files = BTreeMap<String, Object>;

struct Shared {
    files: Mutex<Files>,
    /// Objects as they were before each change, the oldest first.
    changes: Mutex<Vec<(String, Option<Object>)>>,
    /// Parts of objects that aren't complete, by the number of the upload.
    uploads: Mutex<BTreeMap<usize, BTreeMap<usize, Vec<u8>>>>,
    begun: AtomicUsize,
    rule: Rule,
    asked: Mutex<Vec<Asked>>,
    /// How many requests there were with a method and path.
    counts: Mutex<BTreeMap<(String, String), usize>>,
    /// Open connections, and the most there were at a time.
    open: AtomicUsize,
    most_open: AtomicUsize,
    stopped: AtomicBool,
}

/// A server that lives until it is dropped.
pub struct Server {
    address: String,
    shared: Arc<Shared>,
}

impl Server {
    /// Serves the files of a directory, below this prefix.
    pub fn of(
        directory: &Path,
        prefix: &str,
        rule: impl Fn(&Asked) -> Answer + Send + Sync + 'static,
    ) -> Self {
        let mut files = BTreeMap::new();
        let mut open = vec![directory.to_owned()];
        while let Some(path) = open.pop() {
            if path.is_dir() {
                open.extend(fs::read_dir(&path).unwrap().map(|one| one.unwrap().path()));
                continue;
            }
            let name = path.strip_prefix(directory).unwrap().to_str().unwrap();
            files.insert(format!("{prefix}{name}"), fs::read(&path).unwrap());
        }
        Self::start(files, rule)
    }

    /// Starts on a free port with these files; `rule` answers each request.
    pub fn start(
        files: BTreeMap<String, Vec<u8>>,
        rule: impl Fn(&Asked) -> Answer + Send + Sync + 'static,
    ) -> Self {
        let named = files.into_iter();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let shared = Arc::new(Shared {
            files: Mutex::new(named.map(|(name, bytes)| (name, Arc::new(bytes))).collect()),
            changes: Mutex::default(),
            uploads: Mutex::default(),
            begun: AtomicUsize::new(0),
            rule: Box::new(rule),
            asked: Mutex::default(),
            counts: Mutex::default(),
            open: AtomicUsize::new(0),
            most_open: AtomicUsize::new(0),
            stopped: AtomicBool::new(false),
        });
        let serving = Arc::clone(&shared);
        thread::spawn(move || {
            for stream in listener.incoming() {
                if serving.stopped.load(Ordering::Relaxed) {
                    break;
                }
                let shared = Arc::clone(&serving);
                thread::spawn(move || {
                    let open = 1 + shared.open.fetch_add(1, Ordering::Relaxed);
                    shared.most_open.fetch_max(open, Ordering::Relaxed);
                    // A client may go away whenever it likes.
                    let _ = stream.and_then(|stream| shared.serve(stream));
                    shared.open.fetch_sub(1, Ordering::Relaxed);
                    std::io::Result::Ok(())
                });
            }
        });
        Self { address, shared }
    }

    /// `http://127.0.0.1:12345`.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The objects below a prefix, by what follows it.
    pub fn objects(&self, prefix: &str) -> BTreeMap<String, Vec<u8>> {
        let files = self.shared.files.lock().unwrap();
        let below = files.iter().filter_map(|(name, bytes)| {
            let rest = name.strip_prefix(prefix)?;
            Some((rest.to_owned(), bytes.to_vec()))
        });
        below.collect()
    }

    /// Removes the objects below a prefix, and parts of what isn't complete.
    pub fn clear(&self, prefix: &str) {
        let mut files = self.shared.files.lock().unwrap();
        files.retain(|name, _| !name.starts_with(prefix));
        self.shared.uploads.lock().unwrap().clear();
    }

    /// How many uploads were begun, and neither completed nor aborted.
    pub fn uploads(&self) -> usize {
        self.shared.uploads.lock().unwrap().len()
    }

    /// The most connections that were open at a time.
    pub fn most_open(&self) -> usize {
        self.shared.most_open.load(Ordering::Relaxed)
    }

    /// Every request so far.
    pub fn asked(&self) -> Vec<Asked> {
        self.shared.asked.lock().unwrap().clone()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.shared.stopped.store(true, Ordering::Relaxed);
        let _ = TcpStream::connect(&self.address);
    }
}

impl Shared {
    fn serve(&self, stream: TcpStream) -> std::io::Result<()> {
        // Else the body of a small answer waits for the client to acknowledge its head.
        stream.set_nodelay(true)?;
        let mut reader = BufReader::new(stream.try_clone()?);
        let mut writer = stream;
        while let Some(asked) = self.read(&mut reader)? {
            let answer = (self.rule)(&asked);
            if !self.answer(&asked, answer, &mut writer)? {
                return Ok(());
            }
        }
        Ok(())
    }

    fn read(&self, reader: &mut impl BufRead) -> std::io::Result<Option<Asked>> {
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 {
            return Ok(None);
        }
        let mut words = line.split_whitespace();
        let (method, target) = (words.next().unwrap(), words.next().unwrap());
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let path = decoded(path.trim_start_matches('/'));
        let mut headers = BTreeMap::new();
        loop {
            let mut line = String::new();
            reader.read_line(&mut line)?;
            let Some((name, value)) = line.trim_end().split_once(": ") else {
                break;
            };
            headers.insert(name.to_ascii_lowercase(), value.to_owned());
        }
        let said = headers.get("content-length");
        let length = said.map_or(0, |length| length.parse().unwrap());
        let mut body = vec![0; length];
        reader.read_exact(&mut body)?;
        let mut known = self.asked.lock().unwrap();
        let mut counts = self.counts.lock().unwrap();
        let count = counts.entry((method.to_owned(), path.clone())).or_default();
        let before = *count;
        *count += 1;
        let asked = Asked {
            before,
            method: method.to_owned(),
            path,
            query: query.to_owned(),
            headers,
            body,
        };
        known.push(Asked {
            body: Vec::new(),
            ..asked.clone()
        });
        Ok(Some(asked))
    }

    /// Answers; false if the connection has to end.
    fn answer(
        &self,
        asked: &Asked,
        answer: Answer,
        writer: &mut dyn Write,
    ) -> std::io::Result<bool> {
        if let Answer::Lost | Answer::Twice = answer {
            self.answer(asked, Answer::Well, &mut std::io::sink())?;
        }
        if let Answer::Lost = answer {
            return Ok(false);
        }
        if let Answer::Silent = answer {
            while !self.stopped.load(Ordering::Relaxed) {
                thread::sleep(Duration::from_millis(20));
            }
            return Ok(false);
        }
        if let Answer::Flood(status, headers) = answer {
            flood(writer, status, &headers)?;
            return Ok(false);
        }
        if let Answer::Status(status, headers, body) = answer {
            let headers: Vec<_> = headers
                .into_iter()
                .map(|(name, value)| (name.to_owned(), value))
                .collect();
            respond(writer, status, &headers, body.len(), body.as_bytes())?;
            return Ok(true);
        }
        if asked.method != "GET" && asked.method != "HEAD" {
            let mut asked = asked.clone();
            if let Answer::Unconditional = answer {
                asked.headers.clear();
            }
            let (status, body) = self.write(&asked);
            let written = self.files.lock().unwrap().get(&asked.path).cloned();
            // A part of an upload has a tag too.
            let tag = tag_of(written.as_deref().unwrap_or(&asked.body));
            let headers = [("ETag".to_owned(), tag)];
            respond(writer, status, &headers, body.len(), body.as_bytes())?;
            return Ok(true);
        }
        if asked.query.contains("list-type=2") {
            let lacks = match answer {
                Answer::Late(changes) => changes,
                _ => 0,
            };
            let body = self.list(asked, lacks);
            respond(writer, 200, &[], body.len(), body.as_bytes())?;
            return Ok(true);
        }
        let Some(bytes) = self.files.lock().unwrap().get(&asked.path).cloned() else {
            respond(writer, 404, &[], 0, b"")?;
            return Ok(true);
        };
        let tag = match &answer {
            Answer::Tag(tag) => tag.clone(),
            _ => tag_of(&bytes),
        };
        let mut headers = vec![(
            "Last-Modified".to_owned(),
            "Wed, 21 Oct 2015 07:28:00 GMT".to_owned(),
        )];
        if !tag.is_empty() {
            headers.push(("ETag".to_owned(), tag.clone()));
        }
        headers.push(("x-goog-generation".to_owned(), generation_of(&bytes)));
        if asked
            .headers
            .get("if-match")
            .is_some_and(|wanted| *wanted != tag)
        {
            respond(writer, 412, &headers, 0, b"")?;
            return Ok(true);
        }
        let has_ranges = !matches!(
            answer,
            Answer::Whole
                | Answer::WholeCut(_)
                | Answer::Chunked(false)
                | Answer::ChunkedCut(_)
                | Answer::Endless
        );
        if let Answer::With(name, value) = answer {
            headers.push((name.to_owned(), value.to_owned()));
        }
        let (status, body) = match asked.range().filter(|_| has_ranges) {
            None => (200, &bytes[..]),
            Some((start, _)) if start >= bytes.len() => (416, &[][..]),
            Some((start, asked_end)) => {
                let end = asked_end.min(bytes.len());
                let range = format!("bytes {start}-{}/{}", end - 1, bytes.len());
                headers.push(("Content-Range".to_owned(), range));
                (206, &bytes[start..end])
            }
        };
        let length = body.len();
        match answer {
            Answer::Cut(most) | Answer::WholeCut(most) if most < body.len() => {
                respond(writer, status, &headers, length, &body[..most])?;
                return Ok(false);
            }
            Answer::Slow(bytes) => {
                respond(writer, status, &headers, length, b"")?;
                for piece in body.chunks(bytes) {
                    thread::sleep(Duration::from_millis(10));
                    writer.write_all(piece)?;
                    writer.flush()?;
                }
            }
            Answer::Chunked(_) => in_chunks(writer, status, &headers, body, true)?,
            Answer::ChunkedCut(most) => {
                in_chunks(writer, status, &headers, &body[..most.min(length)], false)?;
                return Ok(false);
            }
            Answer::Endless => {
                writer.write_all(b"HTTP/1.1 200 x\r\nConnection: close\r\n\r\n")?;
                writer.write_all(body)?;
                return Ok(false);
            }
            Answer::Off(by) => {
                let wrong_length = length.saturating_add_signed(by);
                let mut wrong_body = body.to_vec();
                wrong_body.resize(wrong_length, b'x');
                respond(writer, status, &headers, wrong_length, &wrong_body)?;
            }
            _ => respond(writer, status, &headers, length, body)?,
        }
        Ok(true)
    }

    /// Carries out a request that changes something: the status, and the body of the answer.
    fn write(&self, asked: &Asked) -> (u16, String) {
        let mut files = self.files.lock().unwrap();
        let mut uploads = self.uploads.lock().unwrap();
        let query: BTreeMap<&str, &str> = asked
            .query
            .split('&')
            .map(|pair| pair.split_once('=').unwrap_or((pair, "")))
            .collect();
        let upload = query.get("uploadId").map(|id| id.parse::<usize>().unwrap());
        let path = asked.path.clone();
        match (&asked.method[..], upload) {
            ("POST", None) if query.contains_key("uploads") => {
                let id = self.begun.fetch_add(1, Ordering::Relaxed);
                uploads.insert(id, BTreeMap::new());
                let body = format!(
                    "<InitiateMultipartUploadResult><UploadId>{id}</UploadId>\
                     </InitiateMultipartUploadResult>"
                );
                return (200, body);
            }
            ("POST", None) if query.contains_key("delete") => {
                let body = String::from_utf8(asked.body.clone()).unwrap();
                let keys = body.split("<Key>").skip(1);
                let mut deleted = "<DeleteResult>".to_owned();
                for key in keys.map(|rest| rest.split_once("</Key>").unwrap().0) {
                    let name = format!("{}/{key}", path.trim_end_matches('/'));
                    self.change(&mut files, name, None);
                    deleted += &format!("<Deleted><Key>{key}</Key></Deleted>");
                }
                return (200, deleted + "</DeleteResult>");
            }
            ("PUT", Some(id)) => {
                let number = query["partNumber"].parse().unwrap();
                match uploads.get_mut(&id) {
                    Some(parts) => parts.insert(number, asked.body.clone()),
                    None => return (404, String::new()),
                };
            }
            ("POST", Some(id)) => {
                let Some(parts) = uploads.remove(&id) else {
                    return (404, String::new());
                };
                let bytes: Vec<u8> = parts.into_values().flatten().collect();
                let body = format!(
                    "<CompleteMultipartUploadResult><ETag>{}</ETag></CompleteMultipartUploadResult>",
                    tag_of(&bytes)
                );
                self.change(&mut files, path, Some(bytes));
                return (200, body);
            }
            ("DELETE", Some(id)) => {
                uploads.remove(&id);
                return (204, String::new());
            }
            ("PUT", None) => {
                let headers = &asked.headers;
                // S3, and Google's XML interface.
                let generation = headers.get("x-goog-if-generation-match");
                let is_new = headers.get("if-none-match").is_some_and(|tag| tag == "*")
                    || generation.is_some_and(|it| it == "0");
                let there = files.get(&path);
                let known = headers.get("if-match");
                let is_another = |tag: &String| there.is_none_or(|bytes| tag_of(bytes) != *tag);
                let is_changed = known.is_some_and(is_another);
                let known = generation.filter(|it| *it != "0");
                let is_newer = |it: &String| there.is_none_or(|bytes| generation_of(bytes) != *it);
                if is_new && there.is_some() || is_changed || known.is_some_and(is_newer) {
                    return (412, String::new());
                }
                self.change(&mut files, path, Some(asked.body.clone()));
            }
            ("DELETE", None) => {
                self.change(&mut files, path, None);
                return (204, String::new());
            }
            other => panic!("{other:?} {path}"),
        }
        (200, String::new())
    }

    /// Puts an object, or removes it.
    fn change(&self, files: &mut Files, name: String, bytes: Option<Vec<u8>>) {
        let before = match bytes {
            Some(bytes) => files.insert(name.clone(), Arc::new(bytes)),
            None => files.remove(&name),
        };
        self.changes.lock().unwrap().push((name, before));
    }

    /// A list of the objects of a bucket before the last changes, as S3 and Google write it.
    fn list(&self, asked: &Asked, lacks: usize) -> String {
        let query: BTreeMap<&str, String> = asked
            .query
            .split('&')
            .filter_map(|pair| pair.split_once('='))
            .map(|(name, value)| (name, decoded(&value.replace('+', " "))))
            .collect();
        let prefix = query.get("prefix").cloned().unwrap_or_default();
        let bucket = format!("{}/", asked.path.trim_end_matches('/'));
        let mut body = "<ListBucketResult>".to_owned();
        let mut prefixes = BTreeSet::new();
        let mut files = self.files.lock().unwrap().clone();
        for (name, before) in self.changes.lock().unwrap().iter().rev().take(lacks) {
            match before {
                Some(bytes) => files.insert(name.clone(), Arc::clone(bytes)),
                None => files.remove(name),
            };
        }
        for (name, bytes) in &files {
            let Some(rest) = name.strip_prefix(&bucket) else {
                continue;
            };
            let Some(below) = rest.strip_prefix(&prefix) else {
                continue;
            };
            match below.split_once('/') {
                Some((directory, _)) if query.contains_key("delimiter") => {
                    prefixes.insert(format!("{prefix}{directory}/"));
                }
                _ => {
                    body += &format!(
                        "<Contents><Key>{rest}</Key><Size>{}</Size><ETag>{}</ETag>\
                         <LastModified>2015-10-21T07:28:00.000Z</LastModified></Contents>",
                        bytes.len(),
                        tag_of(bytes)
                    );
                }
            }
        }
        for prefix in prefixes {
            body += &format!("<CommonPrefixes><Prefix>{prefix}</Prefix></CommonPrefixes>");
        }
        body + "</ListBucketResult>"
    }
}

/// A tag that names these bytes.
fn tag_of(bytes: &[u8]) -> String {
    let mut hasher = DefaultHasher::new();
    bytes.hash(&mut hasher);
    format!("\"{:016x}\"", hasher.finish())
}

/// The generation for these bytes, by which Google's stores swap an object.
fn generation_of(bytes: &[u8]) -> String {
    let mut hasher = DefaultHasher::new();
    bytes.hash(&mut hasher);
    (1 + (hasher.finish() >> 2)).to_string()
}

/// Responds without a `Content-Length`.
fn in_chunks(
    writer: &mut dyn Write,
    status: u16,
    headers: &[(String, String)],
    body: &[u8],
    is_whole: bool,
) -> std::io::Result<()> {
    let mut head = format!("HTTP/1.1 {status} x\r\nTransfer-Encoding: chunked\r\n");
    for (name, value) in headers {
        head += &format!("{name}: {value}\r\n");
    }
    writer.write_all((head + "\r\n").as_bytes())?;
    for chunk in body.chunks(64 << 10) {
        writer.write_all(format!("{:x}\r\n", chunk.len()).as_bytes())?;
        writer.write_all(chunk)?;
        writer.write_all(b"\r\n")?;
    }
    if is_whole {
        writer.write_all(b"0\r\n\r\n")?;
    }
    writer.flush()
}

/// Responds with text until the client goes away.
fn flood(
    writer: &mut dyn Write,
    status: u16,
    headers: &[(&'static str, String)],
) -> std::io::Result<()> {
    let is_long = headers.iter().any(|(name, _)| *name == "Content-Length");
    let mut head = format!("HTTP/1.1 {status} x\r\n");
    for (name, value) in headers {
        head += &format!("{name}: {value}\r\n");
    }
    if !is_long {
        head += "Transfer-Encoding: chunked\r\n";
    }
    writer.write_all((head + "\r\n").as_bytes())?;
    let piece = [b'x'; 64 << 10];
    loop {
        if !is_long {
            writer.write_all(format!("{:x}\r\n", piece.len()).as_bytes())?;
        }
        writer.write_all(&piece)?;
        if !is_long {
            writer.write_all(b"\r\n")?;
        }
    }
}

/// A text with bytes such as `%20`.
fn decoded(text: &str) -> String {
    let mut pieces = text.split('%');
    let mut bytes = pieces.next().unwrap().as_bytes().to_vec();
    for piece in pieces {
        let (code, rest) = piece.split_at(2);
        bytes.push(u8::from_str_radix(code, 16).unwrap());
        bytes.extend_from_slice(rest.as_bytes());
    }
    String::from_utf8(bytes).unwrap()
}

fn respond(
    writer: &mut dyn Write,
    status: u16,
    headers: &[(String, String)],
    length: usize,
    body: &[u8],
) -> std::io::Result<()> {
    let mut head = format!("HTTP/1.1 {status} x\r\nContent-Length: {length}\r\n");
    for (name, value) in headers {
        head += &format!("{name}: {value}\r\n");
    }
    head += "\r\n";
    writer.write_all(head.as_bytes())?;
    writer.write_all(body)?;
    writer.flush()
}
