//! A lake against another one: row by row where both were made alike, or where one is the other in files of another size,
//! and else as multisets, so that lakes of two forms of a trace, or of two orders, can be called equal.
//!
//! The digests of all rows of a table and cell are added up modulo 2^128. Equal sums are equal rows but for a chance of
//! 2^-128; rows in two different sums are found by the bucket of their digest.

use std::collections::{BTreeMap, BTreeSet};
use std::slice::{self, from_ref};

use arrow_array::cast::AsArray;
use arrow_array::{Array, RecordBatch, StructArray};
use arrow_schema::DataType;
use sha2::{Digest as _, Sha256};
use tracelake_core::Context;
use tracelake_core::digest::Digest;
use tracelake_core::error::{Error, ErrorKind, Result, escape};
use tracelake_core::part_key::{CellName, PartKey, of_cell};
use tracelake_core::words::several;
use tracelake_lake::inside;
use tracelake_lake::manifest::{Manifest, PartFacts};
use tracelake_location::Location;
use tracelake_schema::{Table, Trace};

use super::finding::corrupt;
use super::output::Output;
use super::parquet_text::write_group;
use super::scalar::{Scalar, scalar};

/// The buckets that digests are in, by their first bits.
const BUCKETS: usize = 1 << 12;

/// The rows of a bucket that are looked at for those that differ.
const BUCKET_ROWS: usize = 1 << 16;

/// The differences of a table that are named.
const NAMED: usize = 3;

/// The longest row that a message shows.
const SHOWN: usize = 300;

/// A lake whose files were verified.
#[derive(Clone, Copy)]
pub(super) struct VerifiedLake<'a> {
    pub(super) root: &'a Location,
    pub(super) manifest: &'a Manifest,
}

/// The outcome of a comparison.
#[derive(Default)]
pub(super) struct Compared {
    /// Values that were compared.
    pub(super) values: u64,
    /// Parts of the other lake whose table, or whose number, this one doesn't have.
    pub(super) beyond: usize,
    pub(super) findings: Vec<Error>,
}

impl Compared {
    /// Adds a finding.
    fn find(&mut self, reason: String, place: &Location, table: &str) {
        let finding = corrupt(reason).at(place).field(table);
        self.findings.push(finding);
    }
}

/// How the rows of two lakes correspond.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Likeness {
    /// The rows of a part, in their order, are those of the part of the same number.
    ByPart,
    /// The rows of all parts, in their order, are those of all parts.
    InOrder,
    /// In any order.
    AsMultisets,
}

/// Compares the rows of all tables of a lake with those of another one of the same trace, whose manifest has the digest
/// `of_other`.
///
/// # Errors
/// Once the context is cancelled.
///
/// # Memory
/// A batch of rows of each lake; where tables differ, the rows of one bucket in 4,096.
pub(super) fn compare(
    context: &Context,
    trace: &Trace,
    lake: VerifiedLake<'_>,
    other: VerifiedLake<'_>,
    of_other: Digest,
) -> Result<Compared> {
    let mut compared = Compared::default();
    let likeness = likeness(lake.manifest, other.manifest, of_other);
    let mut groups: BTreeSet<(&str, Option<CellName>)> = BTreeSet::new();
    groups.extend(
        lake.manifest
            .parts()
            .map(|(table, part)| (table, part.cell)),
    );
    for (name, cell) in groups {
        let Some(table) = trace.table(name) else {
            continue;
        };
        let [own, others] = [lake, other].map(|lake| lake.parts(name, cell));
        if others.is_empty() {
            let reason = format!("has no {name}{}", of_cell(cell));
            compared.find(reason, other.root, name);
            continue;
        }
        let sides = [(lake, &own[..]), (other, &others[..])];
        let found = match likeness {
            Likeness::ByPart => by_part(context, table, sides, &mut compared),
            Likeness::InOrder => in_order(context, table, sides, &mut compared),
            Likeness::AsMultisets => as_multisets(context, table, cell, sides, &mut compared),
        };
        if let Err(error) = found {
            context.check()?;
            compared.findings.push(error.or_at(lake.root));
        }
    }
    let own: BTreeSet<(&str, PartKey)> = keys(lake.manifest).collect();
    let own_tables: BTreeSet<&str> = own.iter().map(|(table, _)| *table).collect();
    let is_beyond = |(table, key): &(&str, PartKey)| match likeness {
        Likeness::ByPart => !own.contains(&(*table, *key)),
        _ => !own_tables.contains(table),
    };
    compared.beyond = keys(other.manifest).filter(is_beyond).count();
    Ok(compared)
}

fn keys(manifest: &Manifest) -> impl Iterator<Item = (&str, PartKey)> {
    manifest.parts().map(|(table, part)| (table, part.key()))
}

/// Parts with the same number have the same rows in the same order if both lakes were made from the same form of the source
/// with the same options. Compacting a lake keeps its rows and their order.
fn likeness(one: &Manifest, other: &Manifest, of_other: Digest) -> Likeness {
    let (one, other) = (&one.origin, &other.origin);
    let cut = one.clustered.as_ref().filter(|how| how.by.is_none());
    if cut.is_some_and(|how| how.source == of_other) {
        return Likeness::InOrder;
    }
    let mut options = other.options.clone();
    options.on_bad_row = one.options.on_bad_row;
    // How files are compressed and named doesn't matter.
    options.layout = one.options.layout;
    options.format = one.options.format;
    options.compression = one.options.compression;
    options.row_group_rows = one.options.row_group_rows;
    match options == one.options && one.clustered == other.clustered {
        true => Likeness::ByPart,
        false => Likeness::AsMultisets,
    }
}

impl<'a> VerifiedLake<'a> {
    /// The parts of a table in a cell, by their numbers.
    fn parts(self, table: &str, cell: Option<CellName>) -> Vec<&'a PartFacts> {
        let parts = self.manifest.parts();
        let of_table = parts.filter(|(name, part)| *name == table && part.cell == cell);
        let mut parts: Vec<&'a PartFacts> = of_table.map(|(_, part)| part).collect();
        parts.sort_by_key(|part| part.file_number);
        parts
    }

    fn open(self, part: &PartFacts) -> Result<Output> {
        let path = inside(self.root, &part.output.path)?;
        Output::open(&path, self.manifest.origin.options.format)
    }
}

type Side<'a> = (VerifiedLake<'a>, &'a [&'a PartFacts]);

/// Compares the rows of a table in their order, whatever parts they are in.
fn in_order(
    context: &Context,
    table: &Table,
    sides: [Side<'_>; 2],
    compared: &mut Compared,
) -> Result<()> {
    let [(lake, own), _] = sides;
    if let Some(reason) = difference(context, table, sides)? {
        compared.find(reason, lake.root, &table.name);
    }
    let rows = own.iter().map(|part| part.rows_out);
    let rows = rows.fold(0, u64::saturating_add);
    compared.values += rows * table.columns.len() as u64;
    Ok(())
}

/// The first row in which two sides differ, in words; both in their order.
fn difference(context: &Context, table: &Table, sides: [Side<'_>; 2]) -> Result<Option<String>> {
    let [mut rows, mut other_rows] = sides.map(|side| AllRows::new(context, table, side));
    loop {
        let (row, other_row) = (rows.next()?, other_rows.next()?);
        if row != other_row {
            let reason = format!("{}, and not {}", rows.described(), other_rows.described());
            return Ok(Some(reason));
        }
        if row.is_none() {
            return Ok(None);
        }
    }
}

/// The rows of some parts, one part after the other.
struct AllRows<'a> {
    context: &'a Context,
    table: &'a Table,
    lake: VerifiedLake<'a>,
    parts: slice::Iter<'a, &'a PartFacts>,
    rows: Option<Rows<'a>>,
    /// How often a row was asked for.
    count: u64,
}

impl<'a> AllRows<'a> {
    fn new(context: &'a Context, table: &'a Table, (lake, parts): Side<'a>) -> Self {
        Self {
            context,
            table,
            lake,
            parts: parts.iter(),
            rows: None,
            count: 0,
        }
    }

    /// The next row; `None` after the last one.
    fn next(&mut self) -> Result<Option<Vec<u8>>> {
        if self.count.is_multiple_of(1024) {
            self.context.check()?;
        }
        self.count += 1;
        loop {
            if let Some(rows) = &mut self.rows
                && let Some(row) = rows.next()?
            {
                return Ok(Some(row));
            }
            match self.parts.next() {
                Some(part) => self.rows = Some(Rows::of(self.table, self.lake, part)?),
                None => return Ok(None),
            }
        }
    }

    /// The row that was read last, for people.
    fn described(&self) -> String {
        let rows = self.rows.as_ref();
        rows.map_or_else(|| "no rows".to_owned(), |rows| rows.described(self.table))
    }
}

/// Compares the parts of a table row by row.
fn by_part(
    context: &Context,
    table: &Table,
    [(lake, own), (other, others)]: [Side<'_>; 2],
    compared: &mut Compared,
) -> Result<()> {
    for part in own {
        context.check()?;
        let mut same = others
            .iter()
            .filter(|other| other.file_number == part.file_number);
        let Some(other_part) = same.next() else {
            let reason = format!("has no part {} of {}", part.key(), table.name);
            compared.find(reason, other.root, &table.name);
            continue;
        };
        // Their digests were checked.
        let is_same_file = part.output.sha256 == other_part.output.sha256;
        let sides = [(lake, from_ref(part)), (other, from_ref(other_part))];
        if !is_same_file && let Some(reason) = difference(context, table, sides)? {
            compared.find(reason, &inside(lake.root, &part.output.path)?, &table.name);
        }
        compared.values += part.rows_out * table.columns.len() as u64;
    }
    Ok(())
}

/// Compares all rows of a table in a cell, in whatever order and parts they are.
fn as_multisets(
    context: &Context,
    table: &Table,
    cell: Option<CellName>,
    sides: [Side<'_>; 2],
    compared: &mut Compared,
) -> Result<()> {
    let mut sums = [vec![0_u128; BUCKETS], vec![0_u128; BUCKETS]];
    let mut counts = [0_u64; 2];
    for ((side, sums), count) in sides.into_iter().zip(&mut sums).zip(&mut counts) {
        each_row(context, table, side, |digest, _| {
            let sum = &mut sums[bucket(digest)];
            *sum = sum.wrapping_add(digest);
            *count += 1;
        })?;
    }
    compared.values += counts[0] * table.columns.len() as u64;
    let [own, others] = &sums;
    let Some(differing) = own.iter().zip(others).position(|(one, other)| one != other) else {
        return Ok(());
    };
    // How often each row of the bucket is in the lake, less how often in the other.
    let mut found: BTreeMap<u128, (i64, String)> = BTreeMap::new();
    for (side, step) in sides.into_iter().zip([1, -1]) {
        each_row(context, table, side, |digest, rows| {
            let has_room = found.len() < BUCKET_ROWS || found.contains_key(&digest);
            if bucket(digest) == differing && has_room {
                let entry = found.entry(digest);
                entry.or_insert_with(|| (0, rows.described())).0 += step;
            }
        })?;
    }
    let [one, other] = sides.map(|(lake, _)| lake.root);
    let [own_rows, other_rows] = counts.map(|count| several(count, "row"));
    let what = format!("{}{}", table.name, of_cell(cell));
    let reason = format!("{what} has {own_rows}, and {other_rows} in {other}; they differ");
    compared.find(reason, one, &table.name);
    let differing = found.into_values().filter(|(surplus, _)| *surplus != 0);
    for (surplus, row) in differing.take(NAMED) {
        let (has, lacks) = if surplus > 0 {
            (one, other)
        } else {
            (other, one)
        };
        let times = match surplus.unsigned_abs() {
            1 => String::new(),
            times => format!(", {times} times"),
        };
        let reason = format!("has a row that {lacks} lacks{times}: {row}");
        compared.find(reason, has, &table.name);
    }
    Ok(())
}

fn bucket(digest: u128) -> usize {
    usize::try_from(digest >> 116).expect("twelve bits are left")
}

/// Gives `take` the digest of each row of some parts.
fn each_row(
    context: &Context,
    table: &Table,
    side: Side<'_>,
    mut take: impl FnMut(u128, &AllRows<'_>),
) -> Result<()> {
    let mut rows = AllRows::new(context, table, side);
    while let Some(row) = rows.next()? {
        let digest: [u8; 32] = Sha256::digest(&row).into();
        let half = digest.first_chunk().expect("a digest has 32 bytes");
        take(u128::from_be_bytes(*half), &rows);
    }
    Ok(())
}

/// The rows of a part, each as bytes that only equal rows share.
struct Rows<'a> {
    batches: Box<dyn Iterator<Item = Result<RecordBatch>> + 'a>,
    path: Location,
    batch: StructArray,
    next: usize,
    /// Rows before the batch.
    before: u64,
}

impl<'a> Rows<'a> {
    fn of(table: &Table, lake: VerifiedLake<'a>, part: &PartFacts) -> Result<Self> {
        let output = lake.open(part)?;
        let path = output.path.clone();
        let names = output
            .schema()
            .fields()
            .iter()
            .map(|field| field.name().as_str());
        if !names.eq(table.columns.iter().map(|column| &*column.name)) {
            let reason = "has other columns than the other lake";
            return Err(Error::new(ErrorKind::Usage, reason)
                .at(path)
                .hint("compare lakes of the same columns"));
        }
        Ok(Self {
            batches: Box::new(output.batches()?),
            path,
            batch: StructArray::new_empty_fields(0, None),
            next: 0,
            before: 0,
        })
    }

    /// The next row; `None` after the last one.
    fn next(&mut self) -> Result<Option<Vec<u8>>> {
        while self.next == self.batch.len() {
            self.before += self.batch.len() as u64;
            let Some(batch) = self.batches.next() else {
                self.batch = StructArray::new_empty_fields(0, None);
                self.next = 0;
                return Ok(None);
            };
            (self.batch, self.next) = (StructArray::from(batch?), 0);
        }
        let mut bytes = Vec::new();
        encode(&self.batch, self.next, &mut bytes);
        self.next += 1;
        Ok(Some(bytes))
    }

    /// The row that was read last, for people: as JSON, and where it is.
    fn described(&self, table: &Table) -> String {
        let Some(row) = self.next.checked_sub(1) else {
            return "no more rows".to_owned();
        };
        let mut json = Vec::new();
        write_group(
            &table.columns,
            |column| &column.name,
            &self.batch,
            row,
            &mut json,
        );
        let number = self.before + self.next as u64;
        format!("{}, row {number} of {}", escape(&json, SHOWN), self.path)
    }
}

/// Writes a value as bytes: equal ones for equal values, and none that begin like others.
fn encode(array: &dyn Array, row: usize, out: &mut Vec<u8>) {
    if array.is_null(row) {
        return out.push(0);
    }
    out.push(1);
    match (scalar(array, row), array.data_type()) {
        (Some(Scalar::Integer(value)), _) => out.extend(value.to_le_bytes()),
        (Some(Scalar::Float(value)), _) => out.extend(value.to_le_bytes()),
        (Some(Scalar::Boolean(value)), _) => out.push(value.into()),
        (Some(Scalar::Text(text)), _) => {
            out.extend((text.len() as u64).to_le_bytes());
            out.extend_from_slice(text.as_bytes());
        }
        (None, DataType::Struct(_)) => {
            for column in array.as_struct().columns() {
                encode(column, row, out);
            }
        }
        (None, _) => {
            let items = array.as_list::<i32>().value(row);
            out.extend((items.len() as u64).to_le_bytes());
            for item in 0..items.len() {
                encode(&items, item, out);
            }
        }
    }
}
