//! A second opinion on a lake: its files against its manifest and, where the source is at hand,
//! every value against the source, read with flate2, the csv crate and the standard library.
//! Nothing that parsed a row on the way in is used here.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Lines, Read};
use std::path::{Path, PathBuf};

use arrow::array::{Array, AsArray, RecordBatch};
use arrow::datatypes::{Float64Type, Int32Type, Int64Type};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use csv::{ByteRecord, Terminator};
use flate2::bufread::GzDecoder;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use rayon::prelude::*;
use serde::Deserialize;
use tracelake_schema::arrow::{arrow_schema, fingerprint};
use tracelake_schema::{Column, Kind, TRACES, Table, Trace};

use crate::error::{Error, ErrorKind, Result, escape};
use crate::event::{Event, Watcher};
use crate::layout::Layout;
use crate::manifest::{FileFacts, Manifest, PartFacts};
use crate::plan::{ChecksumSource, Plan, Request, plan};
use crate::source;
use crate::store::{files, inside, read_manifest};

/// What a verification found.
#[derive(Debug)]
pub struct Verdict {
    /// The manifest that the lake was held against.
    pub manifest: Manifest,
    /// Parts that were looked at.
    pub parts: usize,
    /// Values that were compared with the source.
    pub values: u64,
    /// Parts of the source that the lake does not have.
    pub not_converted: usize,
    /// Everything that is wrong, in the order of the manifest.
    pub findings: Vec<Error>,
}

/// Holds a lake against its manifest and, if `source` is given, against its source.
///
/// # Errors
/// When there is no finished lake, or no source. What is wrong with the lake itself is in
/// [`Verdict::findings`].
pub fn verify(
    root: &Path,
    source: Option<&Path>,
    threads: usize,
    watch: Watcher<'_>,
) -> Result<Verdict> {
    let manifest = read_manifest(root)?;
    let trace = tracelake_schema::trace(&manifest.origin.trace).ok_or_else(|| {
        let name = escape(manifest.origin.trace.as_bytes(), 80);
        Error::new(
            ErrorKind::Refused,
            format!("a lake of the trace '{name}', which is not known"),
        )
        .at(root)
        .hint("use the version of tracelake that made it")
    })?;
    let plan = match source {
        Some(source) => Some(source_plan(source, trace)?),
        None => None,
    };
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
    let pool = pool.map_err(|error| {
        Error::new(
            ErrorKind::Failed,
            format!("cannot start {threads} threads: {error}"),
        )
    })?;
    let mut findings: Vec<Error> = manifest.check_counts().err().into_iter().collect();
    findings.extend(strays(root, &manifest)?);
    let parts: Vec<(&str, &PartFacts)> = manifest.parts().collect();
    let checked: Vec<(u64, Option<Error>)> = pool.install(|| {
        parts
            .par_iter()
            .map(|(table, part)| {
                let checked = verify_part(root, trace, table, part, plan.as_ref());
                watch(Event::Read {
                    bytes: part.output.bytes,
                });
                match checked {
                    Ok(values) => (values, None),
                    Err(error) => (0, Some(error)),
                }
            })
            .collect()
    });
    let values = checked.iter().map(|(values, _)| values).sum();
    let number = parts.len();
    findings.extend(checked.into_iter().filter_map(|(_, finding)| finding));
    let not_converted = plan.as_ref().map_or(0, |plan| {
        let there = |table: &str, number| {
            manifest
                .parts()
                .any(|(name, part)| name == table && part.file_number == number)
        };
        let parts = plan.parts();
        parts
            .filter(|(table, part)| !there(plan.tables[*table].layout.table.name, part.file_number))
            .count()
    });
    Ok(Verdict {
        manifest,
        parts: number,
        values,
        not_converted,
        findings,
    })
}

/// What is in the source, however incomplete: the manifest says what has to be there.
fn source_plan(source: &Path, trace: &'static Trace) -> Result<Plan> {
    let mut request = Request::new(source.to_owned());
    request.trace = Some(trace);
    request.allow_missing = true;
    request.checksums = ChecksumSource::None;
    plan(&request)
}

/// Files of tables that the manifest does not name; a reader of the whole directory would take them.
fn strays(root: &Path, manifest: &Manifest) -> Result<Vec<Error>> {
    let tables: BTreeSet<&str> = TRACES
        .iter()
        .flat_map(|trace| trace.tables)
        .map(|table| table.name)
        .collect();
    let named: BTreeSet<&str> = manifest.files().map(|file| file.path.as_str()).collect();
    let strays = files(root, &tables)?
        .into_iter()
        .filter(|path| !named.contains(&path[..]));
    let finding = |path: String| {
        corrupt("is not in the manifest")
            .at(root.join(path))
            .hint("move it out of the lake")
    };
    Ok(strays.map(finding).collect())
}

fn corrupt(reason: impl Into<String>) -> Error {
    Error::new(ErrorKind::Corrupt, reason)
}

/// Checks one part; returns how many values were compared with the source.
fn verify_part(
    root: &Path,
    trace: &'static Trace,
    table: &str,
    part: &PartFacts,
    plan: Option<&Plan>,
) -> Result<u64> {
    let table = trace.table(table).ok_or_else(|| {
        let table = escape(table.as_bytes(), 80);
        corrupt(format!("the manifest names the unknown table '{table}'")).at(root)
    })?;
    let path = verify_file(root, &part.output)?;
    let rejects = match &part.rejects {
        Some(rejects) => Some(verify_file(root, rejects)?),
        None => None,
    };
    let reader = open_parquet(&path)?;
    let rows = reader.metadata().file_metadata().num_rows();
    if u64::try_from(rows) != Ok(part.rows_out) {
        let reason = format!(
            "its footer says {rows} rows, the manifest {}",
            part.rows_out
        );
        return Err(corrupt(reason).at(path).hint(AGAIN));
    }
    if fingerprint(reader.schema()) != fingerprint(&arrow_schema(table)) {
        return Err(corrupt(format!("has not the schema of {}", table.name))
            .at(path)
            .hint(AGAIN));
    }
    match plan {
        Some(plan) => verify_values(plan, table, part, (&path, rejects.as_deref()), reader),
        None => Ok(0),
    }
}

/// What to do about a file of the lake that is not what it was.
const AGAIN: &str = "run convert again to make it anew";

/// Checks that a file has the bytes that it was committed with.
fn verify_file(root: &Path, facts: &FileFacts) -> Result<PathBuf> {
    let path = inside(root, &facts.path)?;
    let found = source::fingerprint(&path).map_err(|error| error.hint(AGAIN))?;
    if found.bytes != facts.bytes {
        let reason = format!(
            "has {} bytes, but the manifest says {}",
            found.bytes, facts.bytes
        );
        return Err(corrupt(reason).at(path).hint(AGAIN));
    }
    if found.sha256 != facts.sha256 {
        let reason = format!(
            "has SHA-256 {}, but the manifest says {}",
            found.sha256, facts.sha256
        );
        return Err(corrupt(reason).at(path).hint(AGAIN));
    }
    Ok(path)
}

fn open_parquet(path: &Path) -> Result<ParquetRecordBatchReaderBuilder<File>> {
    let file = File::open(path).map_err(|error| Error::io("open", path, error))?;
    ParquetRecordBatchReaderBuilder::try_new(file).map_err(|error| {
        corrupt(format!("is not Parquet: {error}"))
            .at(path)
            .because(error)
    })
}

/// Compares every value of a part with its source.
fn verify_values(
    plan: &Plan,
    table: &'static Table,
    part: &PartFacts,
    (output, rejects): (&Path, Option<&Path>),
    reader: ParquetRecordBatchReaderBuilder<File>,
) -> Result<u64> {
    let planned = plan
        .tables
        .iter()
        .find(|planned| planned.layout.table.name == table.name);
    let found = planned.and_then(|planned| {
        let part = planned
            .parts
            .iter()
            .find(|found| found.file_number == part.file_number)?;
        Some((&planned.layout, plan.source.join(&part.source)))
    });
    let Some((layout, path)) = found else {
        return Err(corrupt(format!(
            "its source {} is not there",
            escape(part.source.path.as_bytes(), 200)
        ))
        .at(output)
        .field(table.name)
        .hint("name the directory that the lake was made from"));
    };
    let sha256 = source::fingerprint(&path)?.sha256;
    if sha256 != part.source.sha256 {
        let reason = format!(
            "has SHA-256 {sha256}, but the lake was made from {}",
            part.source.sha256
        );
        return Err(corrupt(reason).at(path).field(table.name));
    }
    let field_of = |index| layout.fields.iter().position(|field| field.index == index);
    let fields: Vec<Option<usize>> = (0..table.columns.len()).map(field_of).collect();
    let mut rows = PlainRows::open(&path, rejects)?;
    let broken = |error: String| corrupt(format!("cannot be read: {error}")).at(output);
    let batches = reader.build().map_err(|error| broken(error.to_string()))?;
    let mut seen = 0;
    for batch in batches {
        let batch = batch.map_err(|error| broken(error.to_string()))?;
        for row in 0..batch.num_rows() {
            if !rows.advance()? {
                let reason = format!("has {} rows, but its source {seen}", part.rows_out);
                return Err(corrupt(reason).at(output).field(table.name));
            }
            compare(layout, &fields, &rows.record, &batch, row).map_err(|(column, reason)| {
                corrupt(format!(
                    "{reason}, in row {} of {}",
                    seen + 1,
                    output.display()
                ))
                .at(&path)
                .line(rows.line(), None)
                .field(format!("{}.{}", table.name, column.name))
            })?;
            seen += 1;
        }
    }
    if rows.advance()? {
        let reason = format!("has {seen} rows, but its source more");
        return Err(corrupt(reason).at(output).field(table.name));
    }
    if rows.rejected() != part.rows_rejected {
        let reason = format!(
            "{} rows are rejected, the manifest says {}",
            rows.rejected(),
            part.rows_rejected
        );
        return Err(corrupt(reason).at(output).field(table.name));
    }
    Ok(seen * table.columns.len() as u64)
}

/// Compares one row of the source with one of the lake; `fields` has the field of each column.
fn compare(
    layout: &Layout,
    fields: &[Option<usize>],
    record: &ByteRecord,
    batch: &RecordBatch,
    row: usize,
) -> std::result::Result<(), (&'static Column, String)> {
    let columns = layout.table.columns;
    if record.len() != layout.fields.len() {
        let reason = format!("the source has {} fields", record.len());
        return Err((&columns[0], reason));
    }
    for (index, column) in columns.iter().enumerate() {
        let text = fields[index]
            .and_then(|field| record.get(field))
            .unwrap_or_default();
        let array = batch.column(index);
        let found = if array.is_null(row) {
            None
        } else {
            Some(array)
        };
        let equal = match (text, found) {
            (b"", None) => true,
            (b"", Some(_)) | (_, None) => false,
            (text, Some(array)) => equals(column, text, array.as_ref(), row),
        };
        if !equal {
            let shown = arrow::util::display::array_value_to_string(array, row);
            let lake = if array.is_null(row) {
                "NULL".to_owned()
            } else {
                shown.unwrap_or_default()
            };
            let source = escape(text, 80);
            return Err((
                column,
                format!("the source has '{source}', the lake {lake}"),
            ));
        }
    }
    Ok(())
}

/// Whether a field that is not empty means the value of an array, by the standard library.
fn equals(column: &Column, text: &[u8], array: &dyn Array, row: usize) -> bool {
    let Ok(text) = str::from_utf8(text) else {
        return false;
    };
    match column.kind {
        Kind::Integer => {
            let sentinel = column
                .sentinels
                .iter()
                .find(|sentinel| sentinel.also == Some(text));
            let expected =
                sentinel.map_or_else(|| text.parse().ok(), |sentinel| Some(sentinel.value));
            expected == Some(array.as_primitive::<Int64Type>().value(row))
        }
        Kind::Code => text.parse() == Ok(array.as_primitive::<Int32Type>().value(row)),
        Kind::Float => text.parse().is_ok_and(|expected: f64| {
            expected.to_bits() == array.as_primitive::<Float64Type>().value(row).to_bits()
        }),
        Kind::Boolean => {
            let value = array.as_boolean().value(row);
            text == if value { "1" } else { "0" }
        }
        Kind::Text => text == array.as_string::<i32>().value(row),
    }
}

/// The good rows of a source file through the csv crate.
struct PlainRows {
    path: PathBuf,
    reader: csv::Reader<GoodLines>,
    record: ByteRecord,
}

impl PlainRows {
    fn open(path: &Path, rejects: Option<&Path>) -> Result<Self> {
        let open = |path: &Path| {
            let file = File::open(path).map_err(|error| Error::io("open", path, error))?;
            Ok(BufReader::with_capacity(1 << 17, file))
        };
        let gzip = path
            .extension()
            .is_some_and(|extension| extension.eq_ignore_ascii_case("gz"));
        let file = open(path)?;
        let text: Box<dyn Read + Send> = if gzip {
            Box::new(Members {
                member: Some(GzDecoder::new(file)),
            })
        } else {
            Box::new(file)
        };
        let mut lines = GoodLines {
            text: BufReader::with_capacity(1 << 17, text),
            rejects: rejects.map(open).transpose()?.map(BufRead::lines),
            next_reject: None,
            rejected: 0,
            lines: 0,
            line: Vec::new(),
            served: 0,
        };
        lines
            .read_reject()
            .map_err(|error| Error::io("read", path, error))?;
        let reader = csv::ReaderBuilder::new()
            .has_headers(false)
            .flexible(true)
            .quoting(false)
            .terminator(Terminator::CRLF)
            .from_reader(lines);
        Ok(Self {
            path: path.to_owned(),
            reader,
            record: ByteRecord::new(),
        })
    }

    /// Goes to the next good row; false at the end.
    fn advance(&mut self) -> Result<bool> {
        self.reader
            .read_byte_record(&mut self.record)
            .map_err(|error| {
                corrupt(format!("cannot be read: {error}"))
                    .at(&self.path)
                    .because(error)
            })
    }

    /// The line of the row at hand: the reader below hands out one line at a time.
    fn line(&self) -> u64 {
        self.reader.get_ref().lines
    }

    fn rejected(&self) -> u64 {
        self.reader.get_ref().rejected
    }
}

/// A text without the lines that a rejects file names; each of them has to stand there as it does
/// in the text.
struct GoodLines {
    text: BufReader<Box<dyn Read + Send>>,
    rejects: Option<Lines<BufReader<File>>>,
    next_reject: Option<Reject>,
    rejected: u64,
    lines: u64,
    line: Vec<u8>,
    served: usize,
}

/// What a line of a rejects file says of a row.
#[derive(Deserialize)]
struct Reject {
    line: u64,
    raw: String,
    raw_base64: Option<String>,
}

impl GoodLines {
    fn read_reject(&mut self) -> io::Result<()> {
        let json = self.rejects.as_mut().and_then(Iterator::next).transpose()?;
        self.next_reject = json.map(|json| serde_json::from_str(&json)).transpose()?;
        Ok(())
    }

    /// Reads the next good line; it is empty at the end.
    fn next_line(&mut self) -> io::Result<()> {
        self.served = 0;
        loop {
            self.line.clear();
            if self.text.read_until(b'\n', &mut self.line)? == 0 {
                return Ok(());
            }
            self.lines += 1;
            let Some(reject) = self.next_reject.take_if(|reject| reject.line == self.lines) else {
                return Ok(());
            };
            let line = self.line.strip_suffix(b"\n").unwrap_or(&self.line);
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            let raw = match &reject.raw_base64 {
                Some(text) => STANDARD.decode(text).map_err(io::Error::other)?,
                None => reject.raw.into_bytes(),
            };
            if raw != line {
                let line = self.lines;
                return Err(io::Error::other(format!(
                    "line {line} is not as in the rejects file"
                )));
            }
            self.rejected += 1;
            self.read_reject()?;
        }
    }
}

impl Read for GoodLines {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.served == self.line.len() {
            self.next_line()?;
        }
        let read = (&self.line[self.served..]).read(into)?;
        self.served += read;
        Ok(read)
    }
}

/// All members of a gzip file by flate2, up to the end or to NUL padding.
struct Members<R> {
    member: Option<GzDecoder<R>>,
}

impl<R: BufRead> Read for Members<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        while let Some(member) = &mut self.member {
            let read = member.read(into)?;
            if read > 0 || into.is_empty() {
                return Ok(read);
            }
            let next = member.get_mut().fill_buf()?.first().copied();
            self.member = match (self.member.take(), next) {
                (Some(ended), Some(first)) if first != 0 => {
                    Some(GzDecoder::new(ended.into_inner()))
                }
                _ => None,
            };
        }
        Ok(0)
    }
}
